"""``bpetite encode``: a corpus to token files."""
from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import click

from ..corpus import Options, Sources, find_sources, make_task
from ..corpus.pipeline import Progress
from .common import PACKAGED, load_tokenizer, progress_bar
from .engines import TASK_BYTES, engine_options, only_with_engine
from .reading import corpus_options, report_left_out, say, unescape

__all__ = ["command", "meter", "reading_options", "report_problems"]

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ["npy", "nanogpt", "llmc", "megatron", "datatrove", "dolma", "parquet"]


def reading_options(command: Command) -> Command:
    """The options of every command that encodes a corpus."""
    for option in (
        click.option("-j", "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Threads."),
        click.option(
            "--special", type=click.Choice(["text", "allow", "error"]), default="text", show_default=True,
            help="What special tokens in documents are.",
        ),
        click.option("-t", "--tokenizer", help="A tokenizer file, folder or name; the packaged one by default."),
        corpus_options,
    ):
        command = option(command)
    return command


def meter(sources: Sources) -> tuple[Any, Progress]:
    """A progress bar over the bytes of the inputs, and the function that moves it."""
    bar = progress_bar(total=sum(piece.size for piece in sources.pieces) or None, unit="B", unit_scale=True)
    began = time.monotonic()
    first: list[int] = []

    def move(raw: int, tokens: int, documents: int) -> None:
        if bar.disable:
            return
        first.append(tokens) if not first else None
        seconds = max(1e-9, time.monotonic() - began)
        bar.set_postfix_str(f"{(tokens - first[0]) / seconds / 1e6:.1f}M tokens/s", refresh=False)
        bar.update(raw)

    return bar, move


def report_problems(summary: dict[str, Any]) -> None:
    """Say what was left out or replaced."""
    what = "left out" if summary["on_error"] == "skip" else "replaced"
    for kind, problem in summary["problems"].items():
        say(f"{problem['count']} x {kind} {what}, the first at {problem['first']}")


@click.command()
@reading_options
@click.option("-o", "--output", required=True, help="A file name with or without suffix, or a folder.")
@click.option("-f", "--format", "format", type=click.Choice(FORMATS), default="npy", show_default=True)
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

    Killed at any moment, the same command goes on where it was and writes the same bytes. A summary goes to standard
    output as JSON; a manifest with checksums lies beside the token files. With --engine ray, --jobs are the threads of
    a task.
    """
    settings = Options(separator=unescape(separator), **options)
    settings.check()
    sources = find_sources(files, kind=settings.input_kind, whole_files=settings.whole_files)
    report_left_out(sources)
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
        bar, move = meter(sources)
        with bar:
            summary = ray.encode_corpus(
                sources, output, loaded, address=address, threads=jobs, task_bytes=task_bytes or TASK_BYTES,
                join_tasks=not no_join, progress=move, log=say, **common, **asdict(settings),
            )
    else:
        only_with_engine(address=address, task_bytes=task_bytes, no_join=no_join)
        task = make_task(
            sources, output, loaded, rank=rank, world_size=world_size, options=settings, **common
        )
        bar, move = meter(Sources(task.pieces))
        with bar:
            summary = task.run(jobs=jobs, progress=move, log=say)
    report_problems(summary)
    names = summary["files"]
    say(
        f"{summary['documents']:,} documents, {summary['tokens']:,} tokens in {summary['seconds']:.1f} s: "
        f"{names[0]}{f' and {len(names) - 1} more files' if len(names) > 1 else ''}"
    )
    click.echo(json.dumps(summary))
