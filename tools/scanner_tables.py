"""Writes `bpetite/data/scanners-16.0.bin`, the scanner tables of the named patterns.

    python tools/scanner_tables.py

Run this after a new named pattern, or a change of how patterns are compiled.
"""
from pathlib import Path

from bpetite import patterns
from bpetite.splitting.compile.compile_pattern import compile_pattern
from bpetite.splitting.compile.scanner_tables import FILE, to_file


def main() -> None:
    named = [patterns.as_tuple(pattern) for pattern in patterns.NAMED.values()]
    keys = sorted({*named, *((stage,) for stage in patterns.STAGES)})
    Path(FILE).write_bytes(to_file({key: compile_pattern(key) for key in keys}))


if __name__ == "__main__":
    main()
