"""Reports of :mod:`bpetite.analysis`: as text, as JSON, and as a page."""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from .console import say, show_json
from .output_files import STDOUT, check_output, create_output


def check_report(page: Path | None, overwrite: bool, printed: bool) -> None:
    """Find out before the work that a report cannot be written; ``printed``: JSON goes to standard output."""
    check_output(page, overwrite)
    if printed and page is not None and os.fspath(page) in STDOUT:
        raise click.UsageError("--html - is the page alone on standard output: name a file for the page")


def show_report(report: Any, page: Path | None, overwrite: bool, as_json: bool, *, text: bool = True) -> None:
    """Print a report, with ``text`` also for people, and write its page where one is asked for. A page on standard
    output is alone there."""
    if as_json:
        show_json(report.to_dict(), indent=1)
    elif text and (page is None or os.fspath(page) not in STDOUT):
        click.echo(str(report))
    if page is not None:
        with create_output(page, overwrite) as file:
            file.write(report.page().encode("utf-8"))
        if os.fspath(page) not in STDOUT:
            say(f"{page}: written")
