"""``bpetite merge``: the outputs of several ranks merged into one, or an output in a random order."""
from __future__ import annotations

import click

from ..corpus import merge_outputs
from ..errors import counted
from .base import Command
from .console import ProgressLine, numbers_in, say, show_summary
from .shared_options import json_option, overwrite_option


@click.command(
    cls=Command,
    reads_data=True,
    examples=[
        "bpetite merge -o tokens/megatron",
        "bpetite merge parts/megatron.rank*.manifest.json -o tokens/whole --delete",
        "bpetite merge tokens/megatron -o tokens/shuffled --shuffle 7",
    ],
    after_interrupt="the same command begins anew",
)
@click.argument("outputs", nargs=-1)
@click.option("-o", "--output", required=True, help="The name that the ranks were given, or another.")
@click.option("--shuffle", type=int, metavar="SEED", help="Write the documents in a random order.")
@overwrite_option
@click.option("--delete", is_flag=True, help="Delete the ranks' files when they are merged.")
@json_option
def command(
    outputs: tuple[str, ...], output: str, shuffle: int | None, overwrite: bool, delete: bool, as_json: bool
) -> None:
    """Make one output of the outputs of `encode --rank R --world-size W`: one file where the format allows it and no
    --shard-tokens were given, else a manifest of all shards.

    OUTPUTS are the outputs of the ranks [default: all ranks of the name given with -o]. A summary goes to standard
    output as JSON; to a terminal only with --json.
    """
    if not output:
        raise click.UsageError("the output has no name; give one, or a folder ('.' is this one)")
    with ProgressLine(unit=" tokens") as bar:
        manifest = merge_outputs(
            output, outputs, shuffle=shuffle, overwrite=overwrite, delete=delete, progress=bar.update
        )
    files = [file["name"] for file in manifest["files"]]
    say(f"{numbers_in(manifest, 'document', 'token')} in {counted(len(files), 'file')}")
    show_summary({"documents": manifest["documents"], "tokens": manifest["tokens"], "files": files}, as_json)
