"""``bpetite encode``: a corpus to token files."""
from __future__ import annotations

from typing import Any

import click

from ..core._threads import job_count
from ..corpus import Options, make_part
from ..corpus.layouts.registry import layout_of
from ..corpus.output.naming import names_of
from ..corpus.run.estimate import estimate
from ..corpus.sources.share import check_rank
from ..errors import counted
from .base import Command, usage
from .reports import Watch, bytes_bar, is_stream, refuse_nothing, report_cuts, report_problems, say, show_summary
from .shared_options import (
    COUNT,
    SIZE,
    corpus_options,
    find_inputs,
    jobs_option,
    json_option,
    load_tokenizer,
    max_errors_option,
    needed_tokenizer,
    option_of,
    overwrite_option,
    special_policy,
)

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "bpetite encode corpus.txt -t gpt2 -o tokens/gpt2",
        "bpetite encode texts/ -t tok.json -f nanogpt -o tokens/nano/ --val-fraction 0.1",
        "bpetite encode more.jsonl.gz -t tok.json -f llmc -o tokens/run --shard-tokens 100M -j 2",
        "bpetite encode corpus.txt -t bpetite-32k -f megatron -o tokens/megatron --rank 0 --world-size 4",
    ],
    after_interrupt="the same command goes on where it was; from standard input it begins anew",
    sections={
        "Options": ("tokenizer", "output", "format", "jobs", "overwrite", "dry_run"),
        "Reading": (
            "input_kind", "separator", "whole_files", "text_key", "special", "on_error", "max_errors", "rejected",
            "max_document_bytes",
        ),
        "Token files": (
            "dtype", "eot", "id_key", "shard_tokens", "shuffle", "memory", "val_fraction", "seed", "stats_by",
        ),
        "Several processes": ("rank", "world_size"),
    },
)
@click.option(
    "-o", "--output", required=True, help="A file name with or without suffix, or a folder, also as a URL."
)
@option_of("format", "-f", "--format")
@overwrite_option
@needed_tokenizer
@special_policy
@jobs_option
@corpus_options
@option_of("dtype")
@option_of("eot")
@option_of("id_key")
@option_of("shuffle", type=int, metavar="SEED")
@option_of("memory", type=SIZE, default="1G")
@option_of("rejected")
@option_of("shard_tokens", type=COUNT)
@option_of("val_fraction", type=click.FloatRange(0, 1, max_open=True))
@option_of("seed", type=int)
@option_of("stats_by", metavar="KEY|file|folder")
@click.option("--rank", type=click.IntRange(0), default=0, help="Which of --world-size equal parts to encode.")
@click.option("--world-size", type=click.IntRange(1), default=1, help="Parts; `merge` joins them.")
@click.option(
    "--checkpoint-seconds", type=click.FloatRange(0), default=10.0, show_default=True,
    help="A crash costs at most this much work.",
)
@max_errors_option
@click.option("--dry-run", is_flag=True, help="Check everything, and estimate tokens, space and time from a sample.")
@json_option
def command(
    files: tuple[str, ...],
    tokenizer: str,
    output: str,
    jobs: int | None,
    rank: int,
    world_size: int,
    overwrite: bool,
    checkpoint_seconds: float,
    max_errors: str | None,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Encode FILES (text, JSON lines, JSON, Parquet, also .gz, .zst, .bz2, .xz; folders; globs; URLs; - for standard
    input).

    After it was killed at any moment, the same command goes on where it was and writes the same bytes; --overwrite
    starts anew. A manifest with checksums is beside the token files. A summary goes to standard output as JSON; to a
    terminal only with --json.
    """
    if is_stream(output):
        raise click.UsageError(f"token files are several files, which do not go to {output}: name a file or a folder")
    with usage():
        names_of(output, layout_of(options["format"]))
        check_rank(rank, world_size)
    settings = Options(**options)
    settings.check()
    sources = find_inputs(files, settings)
    part = make_part(
        sources, output, load_tokenizer(tokenizer), rank=rank, world_size=world_size, options=settings,
        overwrite=overwrite, tokenizer_name=tokenizer, checkpoint_seconds=checkpoint_seconds,
        max_errors=max_errors,
    )  # fmt: skip
    if dry_run:
        expected = estimate(part, job_count(jobs))
        numbers = ", ".join(counted(expected[f"{noun}s"], noun) for noun in ("file", "document", "token"))
        say(f"{numbers} about, in {expected['disk_bytes']:,} bytes and {expected['seconds']:,} s; nothing is written")
        show_summary(expected, as_json)
        return
    with bytes_bar(part.pieces) as bar:
        watch = Watch(bar)
        summary = part.run(jobs=job_count(jobs), progress=watch.move, problems=watch.count_problems, log=say)
    report_problems(summary)
    report_cuts(part.pieces, summary)
    first, *others = summary["files"]
    more = f" and {counted(len(others), 'more file')}" if others else ""
    numbers = ", ".join(counted(summary[f"{noun}s"], noun) for noun in ("document", "token"))
    say(f"{numbers} in {summary['seconds']:.1f} s: {first}{more}")
    show_summary(summary, as_json)
    refuse_nothing(summary)
