"""Extension modules; everything else about the package is in pyproject.toml.

BPETITE_DEBUG=1     turns Cython's bounds checks back on and compiles with -O1 -g
BPETITE_SANITIZE=S  compiles with -fsanitize=S -O1 -g1; S is address,undefined or thread (see tests/README.md)
BPETITE_ANNOTATE=1  writes build/cython/bpetite/**/*.html, what Cython made of each line
"""
import os
from pathlib import Path

from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

debug = os.environ.get("BPETITE_DEBUG") == "1"
sanitizers = os.environ.get("BPETITE_SANITIZE")
Options.emit_code_comments = os.environ.get("BPETITE_ANNOTATE") == "1"  # half of the C that Cython writes

# Cython's memoryviews, compiled once instead of in each module that uses them. -O3 pays where text and ids are read
# (a tenth to a third against -O2); here and where threads are handed their work it only costs time to compile.
SHARED = "bpetite._cython_views"
COLD = {SHARED, "bpetite.core._threads"}
headers = sorted(path.as_posix() for path in Path("bpetite").rglob("*.h"))


def flags(module: str) -> tuple[list[str], list[str]]:
    """Arguments of the compiler and of the linker."""
    if os.name == "nt":
        return ["/O2"], []
    if sanitizers:
        checks = [f"-fsanitize={sanitizers}", "-fno-omit-frame-pointer"]
        return ["-O1", "-g1", *checks], checks
    return ["-O1", "-g"] if debug else ["-O1" if module in COLD else "-O3", "-g0"], []


def extension(path: Path) -> Extension:
    module = ".".join(path.with_suffix("").parts)
    compile_args, link_args = flags(module)
    return Extension(
        module,
        [path.as_posix()],
        depends=headers,
        include_dirs=["bpetite"],
        extra_compile_args=compile_args,
        extra_link_args=link_args,
    )


class ParallelBuild(build_ext):
    """Compiles on all processors, unless -j says how many."""

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.parallel is None:
            self.parallel = os.cpu_count() or 1


shared_compile, shared_link = flags(SHARED)
setup(
    cmdclass={"build_ext": ParallelBuild},
    ext_modules=cythonize(
        [
            Extension(
                SHARED,
                ["bpetite/_cython_views.c"],
                extra_compile_args=shared_compile,
                extra_link_args=shared_link,
            ),
            *(extension(path) for path in sorted(Path("bpetite").rglob("*.pyx"))),
        ],
        build_dir="build/cython",
        shared_utility_qualified_name=SHARED,
        annotate=os.environ.get("BPETITE_ANNOTATE") == "1",
        compiler_directives={
            "language_level": 3,
            "auto_pickle": False,  # C fields from a pickle would be trusted
            "boundscheck": debug,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": debug,
        },
    ),
)
