"""``bpetite merge``: the outputs of several ranks merged into one."""
from __future__ import annotations

import click

from ..core._threads import in_order, job_count
from ..corpus import merge_outputs
from ..corpus.output.naming import check_output_name
from ..corpus.sources.share import check_rank
from ..errors import counted
from .base import Command, usage
from .reports import progress_bar, say, show_summary
from .shared_options import jobs_option, json_option, overwrite_option

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "bpetite merge -o tokens/megatron",
        "bpetite merge parts/megatron.rank*.manifest.json -o tokens/whole --delete",
        "bpetite merge -o tokens/megatron --rank 0 --world-size 4",
    ],
    after_interrupt="the same command makes the shards that are missing",
)
@click.argument("parts", nargs=-1)
@click.option("-o", "--output", required=True, help="The name that the ranks were given, or another.")
@overwrite_option
@click.option("--delete", is_flag=True, help="Delete the ranks' files when they are merged.")
@click.option("--rank", type=click.IntRange(0), default=0, help="Part of the shards that this process makes.")
@click.option("--world-size", type=click.IntRange(1), default=1, help="Processes that merge; the last one finishes.")
@jobs_option
@json_option
def command(
    parts: tuple[str, ...], output: str, overwrite: bool, delete: bool, rank: int, world_size: int, jobs: int | None,
    as_json: bool,
) -> None:
    """Join the outputs of `encode --rank R --world-size W` into the files of one run.

    PARTS are the ranks' outputs [default: all of this name in the output's folder]. A summary goes to standard output
    as JSON; to a terminal only with --json.
    """
    with usage():
        check_output_name(output)
        check_rank(rank, world_size)
    with progress_bar(unit=" tokens", unit_scale=True) as bar:
        manifest = merge_outputs(
            output, parts, overwrite=overwrite, delete=delete, rank=rank, world_size=world_size,
            mapped=lambda function, items: in_order(function, items, job_count(jobs)), progress=bar.update,
        )
    if manifest is None:
        say("the shards of this process are made; others are missing")
        show_summary({"finished": False}, as_json)
        return
    files = [file["name"] for file in manifest["files"]]
    numbers = [counted(manifest[f"{noun}s"], noun) for noun in ("document", "token")]
    say(f"{', '.join(numbers)} in {counted(len(files), 'file')}")
    show_summary({"documents": manifest["documents"], "tokens": manifest["tokens"], "files": files}, as_json)
