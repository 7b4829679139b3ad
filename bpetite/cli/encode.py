"""``bpetite encode``: a corpus to token files."""
from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, get_args

import click

from ..corpus import Options, make_task
from ..corpus.options import Format
from .options import (
    PACKAGED,
    TASK_BYTES,
    encoding_options,
    engine_options,
    find_inputs,
    load_tokenizer,
    only_with_engine,
    unescape,
)
from .reports import corpus_bar, report_problems, say

__all__ = ["command"]


@click.command()
@encoding_options
@click.option("-o", "--output", required=True, help="A file name with or without suffix, or a folder.")
@click.option("-f", "--format", "format", type=click.Choice(get_args(Format)), default="npy", show_default=True)
@click.option("--dtype", type=click.Choice(["auto", "uint16", "uint32", "int32"]), default="auto", show_default=True)
@click.option("--eot", type=click.Choice(["append", "prepend", "none"]), help="[default: what the format asks for]")
@click.option("--id-key", default="id", show_default=True, help="Where records have an id (dolma, parquet).")
@click.option("--shard-tokens", type=click.IntRange(1), help="Tokens of a shard [default: one shard].")
@click.option("--val-fraction", type=float, default=0.0, help="Part of the documents that goes to a second output.")
@click.option("--seed", type=int, default=0, show_default=True, help="Chooses them, with their content.")
@click.option("--rank", type=click.IntRange(0), default=0, help="Which of --world-size equal parts to encode.")
@click.option("--world-size", type=click.IntRange(1), default=1, help="Parts; `merge` joins them.")
@click.option("--overwrite", is_flag=True, help="Replace an output, or start anew instead of going on.")
@click.option(
    "--checkpoint-seconds", type=click.FloatRange(0), default=10.0, show_default=True,
    help="A crash costs at most this much work.",
)
@engine_options
@click.option(
    "--no-join", is_flag=True, default=None,
    help="Leave the files of the tasks as they are, for `merge` or for a trainer that reads many.",
)
def command(
    files: tuple[str, ...],
    tokenizer: str | None,
    output: str,
    jobs: int,
    rank: int,
    world_size: int,
    overwrite: bool,
    checkpoint_seconds: float,
    separator: str | None,
    engine: str,
    address: str | None,
    task_bytes: int | None,
    no_join: bool | None,
    **options: Any,
) -> None:
    """Encode FILES (text, JSON lines, JSON, Parquet, also .gz and .zst; folders; globs; - for standard input).

    After it was killed at any moment, the same command goes on where it was and writes the same bytes. A summary goes
    to standard output as JSON; a manifest with checksums is beside the token files. With --engine ray, --jobs are the
    threads of a task.
    """
    settings = Options(separator=unescape(separator), **options)
    settings.check()
    sources = find_inputs(files, settings.input_kind, settings.whole_files)
    common: dict[str, Any] = {
        "overwrite": overwrite,
        "tokenizer_name": tokenizer or PACKAGED,
        "checkpoint_seconds": checkpoint_seconds,
    }
    loaded = load_tokenizer(tokenizer)
    if engine == "ray":
        if world_size > 1:
            raise click.UsageError("--engine ray shares the work out itself: leave --rank and --world-size away")
        from ..cluster import ray

        bar, move = corpus_bar(sources.pieces)
        with bar:
            summary = ray.encode_corpus(
                sources, output, loaded, address=address, threads=jobs, task_bytes=task_bytes or TASK_BYTES,
                join_tasks=not no_join, progress=move, log=say, **common, **asdict(settings),
            )
    else:
        only_with_engine(address=address, task_bytes=task_bytes, no_join=no_join)
        task = make_task(sources, output, loaded, rank=rank, world_size=world_size, options=settings, **common)
        bar, move = corpus_bar(task.pieces)
        with bar:
            summary = task.run(jobs=jobs, progress=move, log=say)
    report_problems(summary)
    first, *others = summary["files"]
    more = f" and {len(others)} more files" if others else ""
    say(
        f"{summary['documents']:,} documents, {summary['tokens']:,} tokens in {summary['seconds']:.1f} s: {first}{more}"
    )
    click.echo(json.dumps(summary))
