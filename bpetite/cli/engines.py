"""The options of commands that run on an engine too."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from ..corpus.reading.sources import TASK_BYTES

__all__ = ["TASK_BYTES", "engine_options", "only_with_engine"]

Command = TypeVar("Command", bound=Callable[..., Any])


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Bytes, with K, M, G or T for powers of 1024."""
    if value is None:
        return None
    found = re.fullmatch(r"([1-9][0-9]*)([KMGT]?)", value)
    if found is None:
        raise click.BadParameter(f"{value!r} is no size: bytes, or a number with K, M, G or T")
    return int(found[1]) << 10 * " KMGT".index(found[2] or " ")


def engine_options(command: Command) -> Command:
    """--engine, and what goes with it."""
    for option in reversed([
        click.option(
            "--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True,
            help="What runs the work; all nodes see the files at the same paths.",
        ),
        click.option("--address", help="Of the Ray cluster: auto, host:port or ray://... [default: RAY_ADDRESS]."),
        click.option(
            "--task-bytes", callback=_size, metavar="SIZE",
            help=f"Input of a task on an engine, as 64M or 2G [default: {TASK_BYTES >> 20}M].",
        ),
    ]):
        command = option(command)
    return command


def only_with_engine(**values: Any) -> None:
    """Refuse options that mean nothing without an engine."""
    for name, value in values.items():
        if value is not None:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --engine ray")
