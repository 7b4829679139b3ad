"""Extension modules; everything else about the package is in pyproject.toml.

BPETITE_DEBUG=1     turns Cython's bounds checks back on and compiles with -O1 -g
BPETITE_SANITIZE=1  compiles with -fsanitize=address,undefined (see tests/README.md)
BPETITE_ANNOTATE=1  writes build/cython/bpetite/**/*.html, what Cython made of each line
"""
import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

debug = os.environ.get("BPETITE_DEBUG") == "1"
sanitize = os.environ.get("BPETITE_SANITIZE") == "1"

if os.name == "nt":
    compile_args, link_args = ["/O2"], []
else:
    compile_args = ["-O1", "-g"] if debug or sanitize else ["-O3", "-g0"]
    link_args = []
    if sanitize:
        flags = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer"]
        compile_args += flags
        link_args += flags

sources = sorted(Path("bpetite").rglob("*.pyx"))
headers = sorted(str(path) for path in Path("bpetite").rglob("*.h"))

setup(
    ext_modules=cythonize(
        [
            Extension(
                ".".join(path.with_suffix("").parts),
                [path.as_posix()],
                depends=headers,
                include_dirs=["bpetite"],
                extra_compile_args=compile_args,
                extra_link_args=link_args,
            )
            for path in sources
        ],
        build_dir="build/cython",
        annotate=os.environ.get("BPETITE_ANNOTATE") == "1",
        compiler_directives={
            "language_level": 3,
            "boundscheck": debug,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": debug,
            "embedsignature": True,
        },
    ),
)
