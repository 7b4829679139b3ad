"""``bpetite inspect``: the content of token files, and the state of unfinished ones."""
from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from ..corpus.layouts.registry import layout_of
from ..corpus.layouts.token_file import TokenFile
from ..corpus.merge import find_manifest
from ..corpus.read.stores import path_of
from ..corpus.write.growing import HASH, check_file
from ..corpus.write.manifest import entries_in
from ..corpus.write.partial import unfinished
from ..errors import FormatError
from ..tokenizer import Tokenizer
from .base import Command
from .console import numbers_in, progress_in, show_json
from .shared_options import COUNT_OR_NONE, json_option
from .token_outputs import Output, layout_options, unknown_token


@click.command(
    cls=Command,
    reads_data=True,
    examples=[
        "bpetite inspect tokens/gpt2",
        "bpetite inspect tokens/gpt2 --verify --json",
        "bpetite inspect tokens/nano/train.bin -f nanogpt -t tok.json --tokens 8",
    ],
)
@click.argument("files", nargs=-1, required=True)
@click.option(
    "-t", "--tokenizer", metavar="TOKENIZER",
    help="Shows tokens as text [default: the one that the manifest names, if it is found].",
)
@layout_options
@click.option("--tokens", "shown", type=COUNT_OR_NONE, default=32, show_default=True, help="Tokens to show.")
@click.option("--verify", is_flag=True, help="Compare every file with the hash in the manifest.")
@json_option
def command(
    files: tuple[str, ...],
    tokenizer: str | None,
    format: str | None,
    dtype: str | None,
    shown: int,
    verify: bool,
    as_json: bool,
) -> None:
    """Describe token FILES: documents, tokens, type, the first tokens as text.

    A file may also be an output name as given to encode, a manifest or a folder. Of an output that is not finished, the
    state of each rank. With --json, a line a file or rank.
    """
    for name in files:
        is_token_file = format or verify or find_manifest(name)
        states = {} if is_token_file else {rank: state for rank, state in unfinished(path_of(name)).items() if state}
        for rank, state in states.items():
            _show_state(rank, state, as_json)
        for facts in () if states else _look(Output(name, format, dtype), tokenizer, shown, verify):
            if as_json:
                show_json(facts)
                continue
            if facts["documents"] is None:
                facts["documents"] = "not in this format"
            if "text" in facts:
                facts["text"] = json.dumps(facts["text"], ensure_ascii=False)
            for key, value in facts.items():
                click.echo(f"{key}: {' '.join(map(str, value)) if isinstance(value, list) else value}")


def _show_state(name: str, state: dict[str, Any], as_json: bool) -> None:
    finished = "manifest" in state
    tally, identity = (state, state) if finished else (state["tally"], state["identity"])
    facts = {key: tally[key] for key in ("documents", "tokens")}
    status = "finished" if finished else "unfinished"
    if finished:
        line = numbers_in(facts, "document", "token")
    else:
        facts["problems"] = sum(problem["count"] for problem in tally["problems"].values())
        facts |= state["progress"]
        line = f"{progress_in(facts)}; last checkpoint by process {facts['pid']} of {facts['host']}"
    if as_json:
        show_json({"file": name, "state": status, "rank": identity["rank"], **facts})
    else:
        click.echo(f"{name}: {status}, {line}")


def _look(output: Output, spec: str | None, shown: int, verify: bool) -> Iterator[dict[str, Any]]:
    tokenizer, manifest = output.tokenizer(spec, needed=False), output.manifest
    if not manifest:
        if verify:
            raise FormatError(f"{output.path}: --verify needs the manifest, and there is none beside it")
        yield _describe(output.open(), tokenizer, shown)
        return
    for listed in entries_in(manifest) if verify else ():
        check_file(output.path.parent / listed["name"], listed)
    reader, stored = layout_of(manifest["format"]).reader, manifest["tokenizer"]
    for first, *_ in output.shards:
        if reader is None:
            facts = _describe(output.open(first), tokenizer, shown)
        else:
            facts = {
                "file": str(output.path.parent / first["name"]),
                **{name: manifest[name] for name in ("format", "dtype")},
                **{name: first[name] for name in ("tokens", "documents")},
                "reader": reader,
            }
        facts["tokenizer"] = f"{stored['name']} {stored['fingerprint'][:8]}"
        facts["eot"] = manifest["eot"]
        if verify:
            facts["verified"] = f"{HASH} as in the manifest"
        yield facts


def _describe(file: TokenFile, tokenizer: Tokenizer | None, shown: int) -> dict[str, Any]:
    first = file.read(0, shown)
    facts: dict[str, Any] = {
        "file": str(file.path),
        "format": file.format,
        "dtype": file.dtype.name,
        "tokens": file.tokens,
        "documents": file.documents,
        "first": first.tolist(),
    }
    if tokenizer is not None:
        try:
            facts["text"] = tokenizer.decode(first, errors="replace")
        except KeyError as unknown:
            raise unknown_token(file.path, unknown) from None
    return facts
