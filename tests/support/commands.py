"""The command line, called in this process: starting Python anew for each call takes longer than most calls."""
from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, TextIO

from bpetite.cli import main

__all__ = ["Done", "bpe", "run"]


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def bpe(*arguments: object, cwd: Path | None = None, stdin: str = "") -> Done:
    """`run`, for those who want the three values."""
    done = run(*arguments, cwd=cwd, stdin=stdin)
    return Done(done.returncode, done.stdout, done.stderr)


def run(*arguments: object, cwd: Path | None = None, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """``python -m bpetite ARGUMENTS`` with standard streams that are files."""
    before, here, threshold = (sys.stdin, sys.stdout, sys.stderr), os.getcwd(), gc.get_threshold()
    with ExitStack() as stack:

        def opened() -> TextIO:
            return stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", newline=""))

        typed, out, err = opened(), opened(), opened()
        typed.write(stdin)
        typed.seek(0)
        try:
            sys.stdin, sys.stdout, sys.stderr = typed, out, err
            os.chdir(cwd or here)
            main([str(argument) for argument in arguments])
            code: object = 0
        except SystemExit as left:
            code = left.code
        finally:
            sys.stdin, sys.stdout, sys.stderr = before
            os.chdir(here)
            gc.set_threshold(*threshold)
            gc.unfreeze()
        said = []
        for file in (out, err):
            file.flush()
            file.seek(0)
            said.append(file.read())
    return subprocess.CompletedProcess(arguments, code if isinstance(code, int) else 0, *said)
