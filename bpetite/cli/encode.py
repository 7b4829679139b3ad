"""``bpetite encode``: a corpus to token files."""
from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

import click

from ..core._threads import job_count
from ..corpus import Mixture, Options, make_task
from ..corpus.api import weigh
from ..corpus.run.options import Format
from .base import Command
from .options import (
    COUNT,
    PACKAGED,
    SIZE,
    TASK_BYTES,
    duplicates_option,
    encoding_options,
    engine_options,
    find_corpus,
    json_option,
    load_tokenizer,
    only_with_engine,
    overwrite_option,
    unescape,
    watch_options,
)
from .outputs import is_stream
from .reports import counted, refuse_nothing, report_filtered, report_problems, say, show_summary
from .watching import Watch

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "bpetite encode corpus.txt -t gpt2 -o tokens/gpt2",
        "bpetite encode texts/ -t tok.json -f nanogpt -o tokens/nano/ --val-fraction 0.1",
        "bpetite encode more.jsonl.gz -t tok.json -f llmc -o tokens/run --shard-tokens 100M -j 2",
        "bpetite encode --mixture mixture.toml -t tok.json -o tokens/mixed",
        "bpetite encode corpus.txt -f megatron -o tokens/megatron --rank 0 --world-size 4",
    ],
    after_interrupt="the same command goes on where it was",
)
@click.option(
    "-o", "--output", required=True, help="A file name with or without suffix, or a folder, also as a URL."
)
@click.option(
    "-f", "--format", "format", type=click.Choice(get_args(Format)), default="npy", show_default=True,
    help="Format of the token files.",
)
@overwrite_option
@encoding_options
@click.option("--tokens", type=COUNT, help="Of a --mixture with weights, all tokens [default: no document twice].")
@click.option("--dtype", type=click.Choice(["auto", "uint16", "uint32", "int32"]), default="auto", show_default=True)
@click.option("--eot", type=click.Choice(["append", "prepend", "none"]), help="[default: what the format asks for]")
@click.option("--id-key", default="id", show_default=True, help="Where records have an id (dolma, parquet).")
@click.option("--shuffle", type=int, metavar="SEED", help="Shuffle the documents, in blocks that fit in --memory.")
@duplicates_option
@click.option(
    "--memory", type=SIZE, default="1G", show_default=True,
    help="For --shuffle or --drop-duplicates; of both, half for each.",
)
@click.option(
    "--rejected", is_flag=True, help="Also write OUT.rejected.jsonl.gz, a list of the records with problems."
)
@click.option(
    "--shard-tokens", type=COUNT, help="Tokens of a shard, as 100M [default: one shard; llmc 100M; mds, litdata 33.6M]."
)
@click.option(
    "--pack", type=COUNT, metavar="N",
    help="Pack documents into windows of N tokens: the rows of an array, with the boundaries of documents (npy).",
)
@click.option(
    "--pack-last", type=click.Choice(["drop", "pad"]), default="drop", show_default=True,
    help="The last window, if it is not full: left out, or filled with end-of-text tokens.",
)
@click.option(
    "--loss-mask", is_flag=True,
    help='Documents may be lists of {"text": ..., "label": true}; also write which tokens --pack trains on.',
)
@click.option(
    "--val-fraction", type=click.FloatRange(0, 1, max_open=True), default=0.0,
    help="Part of the documents that goes to a second output.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True,
    help="Chooses them by their content, and so the part of a repeat in a mixture.",
)
@click.option("--rank", type=click.IntRange(0), default=0, help="Which of --world-size equal parts to encode.")
@click.option("--world-size", type=click.IntRange(1), default=1, help="Parts; `merge` joins them.")
@click.option(
    "--checkpoint-seconds", type=click.FloatRange(0), default=10.0, show_default=True,
    help="A crash costs at most this much work.",
)
@click.option(
    "--staging", type=click.Path(file_okay=False),
    help="Where token files grow that go to a URL [default: a folder for temporary files].",
)
@watch_options
@engine_options
@click.option(
    "--no-join", is_flag=True, default=None,
    help="Leave the files of the tasks as they are, for `merge` or for a trainer that reads many.",
)
@json_option
def command(
    files: tuple[str, ...],
    tokenizer: str | None,
    output: str,
    jobs: int | None,
    rank: int,
    world_size: int,
    overwrite: bool,
    checkpoint_seconds: float,
    staging: str | None,
    separator: str | None,
    mixture: Path | None,
    tokens: int | None,
    engine: str,
    address: str | None,
    task_bytes: int | None,
    no_join: bool | None,
    max_errors: str | None,
    status: Path | None,
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
    if not output:
        raise click.UsageError("--output has no name; . is this folder")
    if rank >= world_size:
        raise click.UsageError(f"--rank {rank} is not below --world-size {world_size}")
    settings = Options(separator=unescape(separator), **options)
    settings.check()
    if mixture is None:
        settings.check_together()
    sources = find_corpus(files, mixture, settings.input_kind, settings.whole_files)
    if tokens is not None:
        if not isinstance(sources, Mixture) or sources.sources[0].weight is None:
            raise click.UsageError("--tokens goes with a --mixture whose sources have weights")
        sources = replace(sources, tokens=tokens)
    common: dict[str, Any] = {
        "overwrite": overwrite,
        "tokenizer_name": tokenizer or PACKAGED,
        "checkpoint_seconds": checkpoint_seconds,
        "max_errors": max_errors,
        "staging": staging,
    }
    loaded = load_tokenizer(tokenizer)
    if isinstance(sources, Mixture):
        sources = weigh(sources, loaded, settings, jobs=job_count(jobs), world_size=world_size, log=say)
    if engine == "ray":
        if world_size > 1:
            raise click.UsageError("--engine ray shares the work out itself: leave --rank and --world-size away")
        from ..cluster import ray

        whole = make_task(sources, output, loaded, options=settings, **common)
        with Watch(whole.pieces, status) as watch:
            summary = ray.encode_corpus(
                sources, output, loaded, address=address, threads=jobs or 1, task_bytes=task_bytes or TASK_BYTES,
                join_tasks=not no_join, progress=watch.move, log=say, **common, **asdict(settings),
            )
    else:
        only_with_engine(address=address, task_bytes=task_bytes, no_join=no_join)
        task = make_task(sources, output, loaded, rank=rank, world_size=world_size, options=settings, **common)
        with Watch(task.pieces, status) as watch:
            summary = task.run(
                jobs=job_count(jobs), progress=watch.move, problems=watch.count_problems, log=say
            )
    report_problems(summary)
    report_filtered(summary)
    for name, of in summary.get("sources", {}).items():
        say(f"{name}: {counted(of['documents'], 'document')}, {counted(of['tokens'], 'token')}")
    first, *others = summary["files"]
    more = f" and {counted(len(others), 'more file')}" if others else ""
    numbers = ", ".join(counted(summary[f"{noun}s"], noun) for noun in ("document", "token"))
    say(f"{numbers} in {summary['seconds']:.1f} s: {first}{more}")
    show_summary(summary, as_json)
    refuse_nothing(summary)
