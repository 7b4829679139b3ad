"""The command line, mostly called in this process: starting Python anew takes longer than most calls."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from paths import PACKAGES

from bpetite.cli import main

__all__ = ["Done", "bpe", "process", "start"]


def start(*arguments: object, **how: Any) -> subprocess.Popen[Any]:
    """``python -m bpetite ARGUMENTS`` in a process of its own, whose output goes into pipes."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES), **how.pop("env", {})}
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment, **how}
    return subprocess.Popen([sys.executable, "-W", "error", "-m", "bpetite", *map(str, arguments)], **how)


def process(*arguments: object, stdin: str | bytes = "", **how: Any) -> Done:
    """The end of such a process; all is text, unless `stdin` is bytes."""
    text = {"text": True, "encoding": "utf-8"} if isinstance(stdin, str) else {}
    with start(*arguments, stdin=subprocess.PIPE, **text, **how) as begun:
        out, err = begun.communicate(stdin, timeout=120)
    return Done(begun.returncode, out, err)


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: Any
    err: Any


def bpe(*arguments: object, cwd: Path | None = None, stdin: str = "") -> Done:
    """``python -m bpetite ARGUMENTS`` in this process, with standard streams that are files."""
    before, here = (sys.stdin, sys.stdout, sys.stderr), os.getcwd()
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
        said = []
        for file in (out, err):
            file.flush()
            file.seek(0)
            said.append(file.read())
    return Done(code if isinstance(code, int) else 0, *said)
