"""``bpetite inspect``: the content of token files."""
from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import click

from ..core._threads import thread_count
from ..corpus.api import check_inputs
from ..corpus.layouts.registry import DTYPES, layout_in, open_in, open_token_file
from ..corpus.layouts.token_file import TokenFile
from ..corpus.output.checksums import check_file
from ..corpus.run.outputs import Output, file_of_all, find_manifest, read_runs, status_of
from ..corpus.run.tally import stats_rows
from ..errors import FormatError
from ..tokenizer import Tokenizer
from .base import Command
from .decode import find_output, tokenizer_of, unknown_token
from .reports import described, show, show_json
from .shared_options import COUNT_OR_NONE, json_option, load_tokenizer

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "bpetite inspect tokens/gpt2",
        "bpetite inspect tokens/gpt2 --verify --json",
        "bpetite inspect tokens/nano/train.bin -f nanogpt -t tok.json --tokens 8",
    ],
)
@click.argument("files", nargs=-1, required=True)
@click.option(
    "-t", "--tokenizer", metavar="TOKENIZER",
    help="Shows tokens as text [default: that of the manifest, if it is found].",
)
@click.option("-f", "--format", "format", help="Format of the files, if neither they nor a manifest say.")
@click.option("--dtype", type=click.Choice(DTYPES), help="Type of the tokens, if neither says.")
@click.option("--tokens", "shown", type=COUNT_OR_NONE, default=32, show_default=True, help="Tokens to show.")
@click.option("--verify", is_flag=True, help="Compare every file with the checksum in the manifest.")
@click.option(
    "--inputs", is_flag=True,
    help="With --verify: read the inputs again, and compare them with the checksums of what was read.",
)
@click.option("--stats", is_flag=True, help="The statistics that encode made --stats-by, a row a group.")
@json_option
def command(
    files: tuple[str, ...],
    tokenizer: str | None,
    format: str | None,
    dtype: str | None,
    shown: int,
    verify: bool,
    inputs: bool,
    stats: bool,
    as_json: bool,
) -> None:
    """Describe token FILES: documents, tokens, type, the first tokens as text.

    A file may also be an output name as given to encode, a manifest or a folder. Of an output that is not finished, the
    progress of each rank, and of all. With --json, a line a file or rank.
    """
    if inputs and not verify:
        raise click.UsageError("--inputs goes with --verify")
    for name in files:
        output = None if format else find_manifest(name)
        ranks = None if output or format or verify or stats else status_of(name)
        for rank in ranks or ():
            if as_json:
                show_json({"file": name, **rank})
            else:
                show(f"{name}: {_progress(rank)}")
        if ranks is not None:
            continue
        output = output or find_output(name, format)
        if stats:
            _show_stats(name, output, as_json)
            continue
        if inputs:
            if output is None or output[1]["rank"] is not None:
                raise FormatError(f"{name}: --inputs needs the manifest of a whole output")
            check_inputs(output[1], jobs=thread_count(None))
        for facts in _look(name, output, tokenizer, format, dtype, shown, verify):
            _show_facts(facts, as_json)


def _show_facts(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        show_json(facts)
        return
    if "text" in facts:
        facts["text"] = json.dumps(facts["text"], ensure_ascii=False)
    facts.update((f"run {number}", _run(run)) for number, run in enumerate(facts.pop("runs", ()), 1))
    for key, value in facts.items():
        show(f"{key}: {' '.join(map(str, value)) if isinstance(value, list) else value}")


def _look(
    name: str, output: Output | None, spec: str | None, format: str | None, dtype: str | None, shown: int, verify: bool
) -> list[dict[str, Any]]:
    if output is None:
        if verify:
            raise FormatError(f"{name}: --verify needs the manifest, and there is none beside it")
        file = open_token_file(name, format=format, dtype=dtype)
        return [_describe(file, None if spec is None else load_tokenizer(spec), shown)]
    path, manifest, shards = output
    if verify and "rejected" in manifest:
        check_file(path.parent / manifest["rejected"]["name"], manifest["rejected"])
    stored = manifest["tokenizer"]
    tokenizer = tokenizer_of(path, stored, spec, needed=False)
    described = []
    for shard in shards:
        if layout_in(manifest).reader is None:
            facts = _describe(open_in(path.parent, manifest, shard[0]["name"]), tokenizer, shown)
        else:
            facts = {
                "file": str(path.parent / shard[0]["name"]),
                **{name: manifest[name] for name in ("format", "dtype")},
                **{name: shard[0][name] for name in ("tokens", "documents")},
                "reader": layout_in(manifest).reader,
            }
        facts["tokenizer"] = f"{stored['name']} {stored['fingerprint'][:8]}"
        facts["eot"] = manifest["eot"]
        if verify:
            for listed in (*file_of_all(manifest), *shard):
                check_file(path.parent / listed["name"], listed, thread_count(None))
            facts["verified"] = f"{listed['checksum']['algorithm']} of each range as in the manifest"
        described.append(facts)
    described[0]["runs"] = read_runs(path)
    return described


def _show_stats(name: str, output: Output | None, as_json: bool) -> None:
    if output is None or "stats" not in output[1]:
        raise FormatError(f"{name}: no statistics in its manifest; --stats-by of encode makes them")
    rows = stats_rows(output[1])
    if as_json:
        for row in rows:
            show_json(row)
        return
    columns = ("documents", "tokens", "bytes", "rejected", "bytes_per_token")
    width = max((len(row["group"]) for row in rows), default=5)
    show(" ".join([f"{'group':{width}}", *(f"{column:>16}" for column in columns), " lengths"]))
    for row in rows:
        numbers = [f"{row[column]:>16,}" for column in columns]
        lengths = [f"{least}+:{count:,}" for least, count in row["lengths"].items()]
        show(" ".join([f"{row['group']:{width}}", *numbers, "", *lengths]))


def _progress(rank: dict[str, Any]) -> str:
    line = f"rank {rank['rank']}: {rank['state']}, {described(rank)}"
    if "age_seconds" in rank:
        line += f"; last sign of life {timedelta(seconds=rank['age_seconds'])} ago"
    if "host" in rank:
        line += f", process {rank['pid']} of {rank['host']}"
    return f"{line}: {rank['error']}" if "error" in rank else line


def _run(run: dict[str, Any]) -> str:
    job = "".join(f", {name} {value}" for name, value in run["job"].items())
    error = f" ({run['error']})" if "error" in run else ""
    return f"{run['begin']} to {run['end']}{error}, process {run['pid']} of {run['host']}{job}: {run['command']}"


def _describe(file: TokenFile, tokenizer: Tokenizer | None, shown: int) -> dict[str, Any]:
    first = file.read(0, shown)
    facts: dict[str, Any] = {
        "file": str(file.path),
        "format": file.format,
        "dtype": file.dtype.name,
        "tokens": file.tokens,
        "documents": "not in this format" if file.documents is None else file.documents,
        "first": first.tolist(),
    }
    if tokenizer is not None:
        try:
            facts["text"] = tokenizer.decode(first, errors="replace")
        except KeyError as unknown:
            raise unknown_token(file.path, unknown) from None
    return facts
