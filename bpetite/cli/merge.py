"""``bpetite merge``: the outputs of several ranks merged into one."""
from __future__ import annotations

import click

from ..corpus import merge_outputs
from .base import Command
from .options import json_option, overwrite_option
from .reports import counted, progress_bar, say, show_summary

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "bpetite merge -o tokens/megatron",
        "bpetite merge tokens/megatron.ranks/*.manifest.json -o tokens/whole --delete",
    ],
    after_interrupt="nothing is lost, the same command merges again",
)
@click.argument("parts", nargs=-1)
@click.option("-o", "--output", required=True, help="The name that the ranks were given, or another.")
@overwrite_option
@click.option("--delete", is_flag=True, help="Delete the ranks' files when they have been verified and merged.")
@json_option
def command(parts: tuple[str, ...], output: str, overwrite: bool, delete: bool, as_json: bool) -> None:
    """Join the outputs of `encode --rank R --world-size W` into what one run would have written.

    PARTS are the ranks' outputs [default: those of the same name beside the output]. Those beside the output are moved
    into a folder NAME.ranks, because a trainer that reads a whole folder would read them, too. A summary goes to
    standard output as JSON; to a terminal only with --json.
    """
    if not output:
        raise click.UsageError("--output has no name; . is this folder")
    with progress_bar(unit=" tokens", unit_scale=True) as bar:
        manifest = merge_outputs(output, parts, overwrite=overwrite, delete=delete, progress=bar.update)
    files = [file["name"] for file in manifest["files"]]
    numbers = [counted(manifest[f"{noun}s"], noun) for noun in ("document", "token")]
    say(f"{', '.join(numbers)} in {counted(len(files), 'file')}")
    show_summary({"documents": manifest["documents"], "tokens": manifest["tokens"], "files": files}, as_json)
