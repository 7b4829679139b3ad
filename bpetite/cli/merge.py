"""``bpetite merge``: the outputs of several ranks merged into one."""
from __future__ import annotations

import json

import click

from ..corpus import merge_outputs
from .reports import progress_bar, say

__all__ = ["command"]


@click.command()
@click.argument("parts", nargs=-1)
@click.option("-o", "--output", required=True, help="The name that the ranks were given, or another.")
@click.option("--overwrite", is_flag=True, help="Replace an existing output.")
def command(parts: tuple[str, ...], output: str, overwrite: bool) -> None:
    """Join the outputs of `encode --rank R --world-size W` into what one run would have written.

    PARTS are the ranks' outputs [default: those of the same name beside the output]. They are not deleted.
    """
    with progress_bar(unit=" tokens", unit_scale=True) as bar:
        manifest = merge_outputs(output, parts, overwrite=overwrite, progress=bar.update)
    files = [file["name"] for file in manifest["files"]]
    say(f"{manifest['documents']:,} documents, {manifest['tokens']:,} tokens in {len(files)} files")
    click.echo(json.dumps({"documents": manifest["documents"], "tokens": manifest["tokens"], "files": files}))
