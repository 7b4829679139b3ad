"""Processes of their own, for what a first call or a whole command takes."""
from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run_python(*arguments: str, bytecode: Path | None = None) -> tuple[float, float, str]:
    """Run Python to its end: wall seconds, processor seconds (user and system), standard error.

    Args:
        arguments: Of the interpreter. Libraries in the process use one thread where the environment can tell them so.
        bytecode: A folder where byte code is kept from the first run on, as it is beside the modules of an installed
            package. None: whatever the environment says.

    Raises:
        RuntimeError: The process failed.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "RAYON_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "OPENBLAS_NUM_THREADS": "1",
    }
    if bytecode is not None:
        environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, *arguments]
    began = time.perf_counter()
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[:3]} failed:\n{said}")
    return wall, usage.ru_utime + usage.ru_stime, said
