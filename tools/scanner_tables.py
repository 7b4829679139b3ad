"""Writes `bpetite/data/scanners-VERSION.bin`, the scanner tables of the named patterns, for the version of Unicode of
the installed ``regex``.

    python tools/scanner_tables.py

A new named pattern, or a change of how patterns are compiled: run this with a release of ``regex`` for each version in
RELEASES in `bpetite/splitting/compile/scanner_tables.py`. A new release of ``regex``: put it at its end; with a new
version of Unicode, see `tools/unicode_ages.py` first.
"""
from pathlib import Path

from bpetite import patterns
from bpetite.splitting.compile.compile_pattern import compile_pattern
from bpetite.splitting.compile.scanner_tables import file_of, to_file
from bpetite.splitting.pattern.unicode_version import unicode_version


def main() -> None:
    named = [patterns.as_tuple(pattern) for pattern in patterns.NAMED.values()]
    keys = sorted({*named, *((stage,) for stage in patterns.STAGES)})
    Path(file_of(unicode_version())).write_bytes(to_file({key: compile_pattern(key) for key in keys}))


if __name__ == "__main__":
    main()
