"""What the benchmarks run on."""
from __future__ import annotations

import platform
from pathlib import Path

import bpetite


def processor() -> str:
    """The name of the processor."""
    cpuinfo = Path("/proc/cpuinfo")
    names = [line for line in cpuinfo.read_text().splitlines() if "model name" in line] if cpuinfo.exists() else []
    return names[0].partition(":")[2].strip() if names else platform.processor() or platform.machine()


def python() -> str:
    return f"{platform.python_implementation()} {platform.python_version()}"


def vectors() -> str:
    """The architecture, and the vector instructions in use: ``"x86_64, avx2"``."""
    return f"{platform.machine()}, {bpetite.simd()}"
