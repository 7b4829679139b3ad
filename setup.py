"""Extension modules; everything else about the package is in pyproject.toml.

BPETITE_DEBUG=1     turns Cython's bounds checks back on and compiles with -O1 -g
BPETITE_SANITIZE=S  compiles with -fsanitize=S -O1 -g1; S is address,undefined or thread (see tests/README.md)
BPETITE_ANNOTATE=1  writes build/cython/bpetite/**/*.html, what Cython made of each line
"""
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from Cython.Build import cythonize
from Cython.Build.Dependencies import create_dependency_tree
from Cython.Compiler import Options
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

debug = os.environ.get("BPETITE_DEBUG") == "1"
sanitizers = os.environ.get("BPETITE_SANITIZE")
Options.emit_code_comments = os.environ.get("BPETITE_ANNOTATE") == "1"  # half of the C that Cython writes

# Cython's memoryviews, compiled once instead of in each module that uses them.
SHARED = "bpetite._cython_views"

# -O3 pays where text and ids are read (a tenth to a third against -O2), -O2 where calls begin, -O1 where a token or a
# merge is made at a time. Elsewhere they only cost time to compile: half of it, for all modules together.
LEVELS = {
    "-O3": "_merge core._decode core._encode core._ids core._special formats._json_tokens "
    "splitting.scan._scan training.counting._text_counter training.merging._pairs",
    "-O2": "core._batch core._tokenizer_base formats._ranks "
    "training.counting._count_table training.counting._record_reader training.merging._merger "
    "training.merging._pretokens vocabulary._merge_builder vocabulary._merge_list vocabulary._tokens",
    "-Og": "_cython_views _simd core._threads training.merging._learned_tokens",
}
LEVEL_OF = {f"bpetite.{name}": level for level, names in LEVELS.items() for name in names.split()}
INCLUDED = re.compile(r'(?:extern from|#include) "(.+\.h)"')


def made_of(path: Path) -> list[str]:
    """A module's source, the .pxd files that it imports, and the headers that these include, directly or not."""
    found = {name for name in create_dependency_tree().all_dependencies(path.as_posix()) if not os.path.isabs(name)}
    waiting = [*found]
    while waiting:
        source = Path(waiting.pop())
        for name in INCLUDED.findall(source.read_text(encoding="utf-8")):
            headers = {os.path.normpath(folder / name) for folder in (source.parent, Path("bpetite"))}
            new = {header for header in headers if os.path.exists(header)} - found
            found |= new
            waiting += new
    return sorted(found)


def flags(module: str) -> tuple[list[str], list[str]]:
    """Arguments of the compiler and of the linker."""
    if os.name == "nt":
        return ["/O2"], []
    if sanitizers:
        checks = [f"-fsanitize={sanitizers}", "-fno-omit-frame-pointer"]
        return ["-O1", "-g1", *checks], checks
    return ["-O1", "-g"] if debug else [LEVEL_OF.get(module, "-O1"), "-g0"], []


def extension(path: Path) -> Extension:
    module = ".".join(path.with_suffix("").parts)
    compile_args, link_args = flags(module)
    return Extension(
        module,
        [path.as_posix()],
        depends=made_of(path),
        include_dirs=["bpetite"],
        extra_compile_args=compile_args,
        define_macros=[("CYTHON_COMPRESS_STRINGS", "0")],  # unpacking them took a tenth of the import
        extra_link_args=link_args,
    )


def tell(message: str) -> None:
    """Write a line to the terminal: pip keeps standard output and standard error to itself."""
    try:
        Path("/dev/tty").write_text(f"bpetite: {message}\n")
    except OSError:  # no terminal
        print(message)


class Build(build_ext):
    """Compiles on all processors, unless -j says how many. An editable install compiles nothing again: modules beside
    their sources count, because its build folder, and the Cython that pip installs for it, are new each time."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count() or 1

    def build_extensions(self) -> None:
        stale = [ext for ext in self.extensions if not self.editable_mode or self.is_old(ext)]
        if not stale:
            tell("the compiled modules are up to date")
        elif "build_ext" not in sys.argv:
            tell(f"compiling {len(stale)} modules in {self.parallel} processes, a minute or two of processor time")
        for ext, made in zip(stale, cythonize(stale, **OPTIONS), strict=True):
            ext.sources = made.sources
        for ext in self.extensions:
            if ext not in stale:
                path = Path(self.get_ext_fullpath(ext.name))
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.get_ext_filename(ext.name), path)
        self.extensions = stale
        try:
            super().build_extensions()
        except RuntimeError as error:
            if "new thread" not in str(error):
                raise
            tell("the system allows fewer threads than there are processors: compiling module by module")
            self.parallel = None
            super().build_extensions()
        self.extensions = self.distribution.ext_modules

    def is_old(self, ext: Extension) -> bool:
        """True where the module beside its source is missing, or older than anything that it may be made of."""
        return self.force or newer_group(["setup.py", *ext.depends], self.get_ext_filename(ext.name))


OPTIONS: dict[str, Any] = {
    "build_dir": "build/cython",
    "shared_utility_qualified_name": SHARED,
    "annotate": Options.emit_code_comments,
    "compiler_directives": {
        "language_level": 3,
        "auto_pickle": False,  # C fields from a pickle would be trusted
        "boundscheck": debug,
        "wraparound": False,
        "cdivision": True,
        "initializedcheck": debug,
        "freethreading_compatible": True,  # tools/freethreaded.py --check
    },
}
shared_compile, shared_link = flags(SHARED)
setup(
    cmdclass={"build_ext": Build},
    ext_modules=[
        Extension(
            SHARED,
            ["bpetite/_cython_views.c"],
            extra_compile_args=shared_compile,
            extra_link_args=shared_link,
        ),
        *(extension(path) for path in sorted(Path("bpetite").rglob("*.pyx"))),
    ],
)
