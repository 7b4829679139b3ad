"""bpetite beside the peers that are installed, on the same vocabulary and text: a table in Markdown and a plot in SVG.

    python -m benchmarks.compare                       # prints the table
    python -m benchmarks.compare --output docs/speed   # writes docs/speed.md and docs/speed.svg

All are run in rounds in one process on one core, so the ratios hold on a noisy machine; a rate is the median of its
runs. The first ids that differ from bpetite's end the run: a time for other work would mean nothing.
"""
from __future__ import annotations

import argparse
import importlib
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import bpetite

from . import machine, texts
from .chart import svg
from .rounds import interleaved, median_ratio, timed, wall

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

Calls = dict[str, Callable[[], Any]]
Row = tuple[str, str, dict[str, float], float]  # text, work, library -> MB/s, bpetite to the best of the others


def peers(directory: Path) -> dict[str, Any]:
    """The same vocabulary in every library that is installed and can read it."""
    tok = texts.tokenizer()
    path = directory / "tokenizer.json"
    tok.save(path, format="huggingface")
    pattern = tok.to_vocab().pattern
    ranks = {token: token_id for token_id, token in tok.vocab.items() if token_id not in tok.special_tokens.values()}
    makers: dict[str, Callable[[Any], Any]] = {
        "tiktoken": lambda m: m.Encoding(
            "x", pat_str=pattern, mergeable_ranks=ranks, special_tokens=tok.special_tokens
        ),
        "tokenizers": lambda m: m.Tokenizer.from_file(str(path)),
        "gigatoken": lambda m: m.Tokenizer(str(path)),
        "fastokens": lambda m: m.Tokenizer.from_file(str(path)),
        "splintr": lambda m: m.from_json(str(path)),
    }
    found = {}
    for name, make in makers.items():
        try:
            found[name] = make(importlib.import_module(name))
        except ImportError:
            print(f"{name} is not installed", file=sys.stderr)
        except Exception as error:  # a peer that cannot read this vocabulary is left out, and that is said
            print(f"{name} is left out: {error}", file=sys.stderr)
    return found


def workloads(name: str, found: dict[str, Any]) -> list[tuple[str, int, Calls]]:
    """(label, bytes, what each library does) for every row."""
    tok, whole, documents = texts.tokenizer(), texts.text(name), texts.documents(name)
    size = len(whole.encode())
    get = found.get
    array: Calls = {"bpetite": lambda: tok.encode_to_numpy(whole)}
    listed: Calls = {"bpetite": lambda: tok.encode_ordinary(whole)}
    batch: Calls = {"bpetite": lambda: tok.encode_batch_to_numpy(documents, num_threads=1)}
    ids = tok.encode_ordinary(whole)
    decoded: Calls = {"bpetite": lambda: tok.decode(ids)}
    lists: Calls = {"bpetite": lambda: tok.encode_batch(documents, num_threads=1)}
    rows = [
        ("array", size, array), ("list", size, listed), ("batch, flat", size, batch), ("batch of lists", size, lists),
        ("decode a list", size, decoded),
    ]  # fmt: skip
    if peer := get("tiktoken"):
        array["tiktoken"] = lambda peer=peer: peer.encode_to_numpy(whole)
        listed["tiktoken"] = lambda peer=peer: peer.encode_ordinary(whole)
        lists["tiktoken"] = lambda peer=peer: peer.encode_ordinary_batch(documents, num_threads=1)
        decoded["tiktoken"] = lambda peer=peer: peer.decode(ids)
    if peer := get("tokenizers"):
        listed["tokenizers"] = lambda peer=peer: peer.encode(whole).ids
        batch["tokenizers"] = lambda peer=peer: peer.encode_batch(documents)
        lists["tokenizers"] = lambda peer=peer: [row.ids for row in peer.encode_batch(documents)]
        decoded["tokenizers"] = lambda peer=peer: peer.decode(ids)
    if peer := get("gigatoken"):
        array["gigatoken"] = lambda peer=peer: peer.encode(whole)
        listed["gigatoken"] = lambda peer=peer: peer.encode(whole).tolist()
        batch["gigatoken"] = lambda peer=peer: peer.encode_batch(documents, parallel=False)
        lists["gigatoken"] = lambda peer=peer: peer.encode_batch_list(documents, parallel=False)
        decoded["gigatoken"] = lambda peer=peer: peer.decode(ids)
    if peer := get("fastokens"):
        array["fastokens"] = lambda peer=peer: peer.encode(whole)
        listed["fastokens"] = lambda peer=peer: peer.encode(whole).ids
        batch["fastokens"] = lambda peer=peer: peer.encode_batch(documents)
        lists["fastokens"] = lambda peer=peer: [row.ids for row in peer.encode_batch(documents)]
    if peer := get("splintr"):
        listed["splintr"] = lambda peer=peer: peer.encode(whole)
        lists["splintr"] = lambda peer=peer: peer.encode_batch(documents)
    for length in (20, 200, 2000):
        short = whole[10_000 : 10_000 + length]
        calls: Calls = {"bpetite": repeated(lambda short=short: tok.encode(short), 20_000 // length)}
        if peer := get("tokenizers"):
            calls["tokenizers"] = repeated(lambda peer=peer, short=short: peer.encode(short).ids, 20_000 // length)
        for other in ("tiktoken", "gigatoken", "splintr"):
            if peer := get(other):
                calls[other] = repeated(lambda peer=peer, short=short: peer.encode(short), 20_000 // length)
        rows.append((f"calls of {length:,}", len(short.encode()) * (20_000 // length), calls))
    check(ids, listed)
    return rows


def repeated(call: Callable[[], Any], times: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(times):
            call()

    return run


def check(ids: list[int], listed: Calls) -> None:
    """End the run where a library gives other ids than bpetite."""
    for name, call in listed.items():
        if not np.array_equal(np.asarray(call()), np.asarray(ids)):
            sys.exit(f"{name} gives other ids than bpetite: nothing to compare")


def warm(calls: Calls) -> None:
    for call in calls.values():
        call()


def version(name: str) -> str:
    for distribution in (name, f"{name}-rs"):
        try:
            return f"{name} {metadata.version(distribution)}"
        except metadata.PackageNotFoundError:
            continue
    return name


def markdown(rows: list[Row], names: list[str], notes: list[str]) -> str:
    lines = [f"| MB/s | {' | '.join(names)} | to the best peer |", "|---|" + "---:|" * (len(names) + 1)]
    for text, label, rates, ratio in rows:
        cells = [f"{rates[name]:,.0f}" if name in rates else "" for name in names]
        lines.append(f"| {text}: {label} | {' | '.join(cells)} | {ratio:.2f} |")
    return "\n".join([*lines, "", *notes, ""])


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--output", type=Path, help="write OUTPUT.md and OUTPUT.svg")
    ask.add_argument("--seconds", type=float, default=3.0, help="the least time for each row")
    args = ask.parse_args()
    if hasattr(os, "sched_setaffinity"):  # some peers use all cores whatever they are told
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as directory:
        found = peers(Path(directory))
    rows: list[Row] = []
    for name in texts.NAMES:
        texts.check(name)
        for label, amount, calls in workloads(name, found):
            warm(calls)
            measured = interleaved({peer: timed(call) for peer, call in calls.items()}, 5, seconds=args.seconds)
            times = {peer: wall(pairs) for peer, pairs in measured.items()}
            rates = {peer: amount / 1e6 / statistics.median(taken) for peer, taken in times.items()}
            mine = times.pop("bpetite")
            ratios = [median_ratio(taken, mine) for taken in times.values()]
            rows.append((name, label, rates, min(ratios, default=1.0)))
            shown = ", ".join(f"{peer} {rate:.0f}" for peer, rate in rates.items())
            print(f"{name}: {label}: {shown}", file=sys.stderr)
    names = ["bpetite", *found]
    size = len(texts.text(texts.NAMES[0]).encode()) / 1e6
    notes = [
        f"A vocabulary of {len(texts.tokenizer()):,} tokens, {size:.0f} MB of each text; medians, the same ids in all.",
        f"{machine.processor()}, one core, {machine.python()}, {datetime.now(timezone.utc).date().isoformat()}.",
        ", ".join([f"bpetite {bpetite.__version__}", *map(version, found)]) + ".",
    ]
    table = markdown(rows, names, notes)
    print(table)
    if args.output:
        args.output.with_suffix(".md").write_text(table, encoding="utf-8")
        panels = {name: [row[1:3] for row in rows if row[0] == name] for name in texts.NAMES}
        args.output.with_suffix(".svg").write_text(svg(panels, names, notes), encoding="utf-8")


if __name__ == "__main__":
    main()
