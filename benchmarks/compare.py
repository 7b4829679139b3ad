"""bpetite beside the peers that are installed, on the same vocabulary and text.

    python -m benchmarks.compare                       # prints the page
    python -m benchmarks.compare --output docs/speed   # writes docs/speed.json, .md and .svg, and README's table

All are run in rounds in one process on one core, so the ratios hold on a noisy machine; a rate is the median of its
runs. The output keeps what was measured there with other vector instructions, which may need another machine. Results
that differ from bpetite's end the run: a time for other work would mean nothing.
"""
from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import bpetite

from . import machine, report, texts
from .rounds import interleaved, median_ratio, timed, wall

ROOT = Path(__file__).resolve().parents[1]

Calls = dict[str, Callable[[], Any]]

#: Tokens of the training.
TRAINED = 8_000


def peers(folder: Path) -> dict[str, Any]:
    """The same vocabulary in every library that is installed and can read it; rustbpe is for training only."""
    tok = texts.tokenizer()
    path = folder / "tokenizer.json"
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
        "rustbpe": lambda m: m,
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


def workloads(text: str, size: int, found: dict[str, Any], folder: Path) -> list[tuple[str, int, Calls]]:
    """(label, bytes, what each library does) for every row."""
    tok, whole, documents = texts.tokenizer(), texts.text(text, size), texts.documents(text, size)
    size = len(whole.encode())
    ids = tok.encode_ordinary(whole)
    array: Calls = {"bpetite": lambda: tok.encode_to_numpy(whole)}
    listed: Calls = {"bpetite": lambda: tok.encode_ordinary(whole)}
    batch: Calls = {"bpetite": lambda: tok.encode_batch_to_numpy(documents, num_threads=1)}
    lists: Calls = {"bpetite": lambda: tok.encode_batch(documents, num_threads=1)}
    decoded: Calls = {"bpetite": lambda: tok.decode(ids)}
    trained: Calls = {"bpetite": lambda: bpetite.Tokenizer.train(documents, TRAINED, num_threads=1).merges}
    one: dict[str, Callable[[str], Any]] = {"bpetite": tok.encode}
    if peer := found.get("tiktoken"):
        array["tiktoken"] = lambda peer=peer: peer.encode_to_numpy(whole)
        listed["tiktoken"] = lambda peer=peer: peer.encode_ordinary(whole)
        lists["tiktoken"] = lambda peer=peer: peer.encode_ordinary_batch(documents, num_threads=1)
        decoded["tiktoken"] = lambda peer=peer: peer.decode(ids)
        one["tiktoken"] = peer.encode
    for name in ("tokenizers", "fastokens"):
        if peer := found.get(name):
            listed[name] = lambda peer=peer: peer.encode(whole).ids
            batch[name] = lambda peer=peer: peer.encode_batch(documents)
            lists[name] = lambda peer=peer: [row.ids for row in peer.encode_batch(documents)]
            decoded[name] = lambda peer=peer: peer.decode(ids)
            one[name] = lambda short, peer=peer: peer.encode(short).ids
    if peer := found.get("fastokens"):
        array["fastokens"] = lambda peer=peer: peer.encode(whole)
    if peer := found.get("gigatoken"):
        array["gigatoken"] = lambda peer=peer: peer.encode(whole)
        listed["gigatoken"] = lambda peer=peer: peer.encode(whole).tolist()
        batch["gigatoken"] = lambda peer=peer: peer.encode_batch(documents, parallel=False)
        lists["gigatoken"] = lambda peer=peer: peer.encode_batch_list(documents, parallel=False)
        decoded["gigatoken"] = lambda peer=peer: peer.decode(ids)
        one["gigatoken"] = lambda short, peer=peer: peer.encode(short).tolist()
        corpus = folder / f"{text}.txt"
        corpus.write_text(texts.END.join(documents), encoding="utf-8")
        separated = sys.modules["gigatoken"].TextFileSource([str(corpus)], separator=texts.END)
        trained["gigatoken"] = lambda: sys.modules["gigatoken"].train_bpe(separated, TRAINED + 1, [texts.END])[1]
    if peer := found.get("splintr"):
        listed["splintr"] = lambda peer=peer: peer.encode(whole)
        lists["splintr"] = lambda peer=peer: peer.encode_batch(documents)
        decoded["splintr"] = lambda peer=peer: peer.decode(ids)
        one["splintr"] = peer.encode
    if peer := found.get("rustbpe"):
        trained["rustbpe"] = lambda peer=peer: train_rustbpe(peer, documents, tok.to_vocab().pattern)
    check(text, listed, ids)
    check(text, decoded, whole)
    rows = [
        ("encode to a list", size, listed), ("encode to an array", size, array),
        ("batch to lists", size, lists), ("batch to one array", size, batch),
    ]  # fmt: skip
    for length in (20, 200, 2000):
        short, times = whole[10_000 : 10_000 + length], 20_000 // length
        calls = {name: repeated(call, short, times) for name, call in one.items()}
        rows.append((f"calls of {length:,} characters", len(short.encode()) * times, calls))
    return [*rows, ("decode a list", size, decoded), (f"train {TRAINED:,} tokens", size, trained)]


def train_rustbpe(module: Any, documents: list[str], pattern: str) -> list[Any]:
    trainer = module.Tokenizer()
    trainer.train_from_iterator(iter(documents), TRAINED, pattern=pattern)
    learned: list[Any] = trainer.get_mergeable_ranks()[256:]
    return learned


def repeated(call: Callable[[str], Any], short: str, times: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(times):
            call(short)

    return run


def check(text: str, calls: Calls, expected: Any) -> None:
    """End the run where a library gives something else than bpetite; leave out one that has no such call."""
    for name, call in list(calls.items()):
        if not np.array_equal(np.asarray(call()), np.asarray(expected)):
            got = call()
            if isinstance(got, bytes) and got.decode() == expected:
                continue
            sys.exit(f"{text}: {name} gives something else than bpetite: nothing to compare")


def check_trained(text: str, calls: Calls) -> None:
    """Ties may go otherwise; the number of merges may not."""
    learned = {name: len(call()) for name, call in calls.items()}
    if len(set(learned.values())) != 1:
        sys.exit(f"{text}: other numbers of merges: {learned}")


def version(name: str) -> str:
    for distribution in (name, f"{name}-rs"):
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return ""


def measure(seconds: float, size: int) -> dict[str, Any]:
    """text -> work -> "rates" (library -> MB/s) and "times" (peer -> how many times as fast bpetite is)."""
    if hasattr(os, "sched_setaffinity"):  # some peers use all cores whatever they are told
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        found = peers(Path(name))
        for text in texts.NAMES:
            texts.check(text)
            for label, amount, calls in workloads(text, size, found, Path(name)):
                if label.startswith("train"):
                    check_trained(text, calls)
                for call in calls.values():
                    call()
                measured = interleaved({peer: timed(call) for peer, call in calls.items()}, 3, seconds=seconds)
                times = {peer: wall(pairs) for peer, pairs in measured.items()}
                rates = {peer: amount / 1e6 / statistics.median(taken) for peer, taken in times.items()}
                ratios = {peer: median_ratio(taken, times["bpetite"]) for peer, taken in times.items()}
                results.setdefault(text, {})[label] = {
                    "rates": {peer: float(f"{rate:.4g}") for peer, rate in rates.items()},
                    "times": {peer: round(ratio, 2) for peer, ratio in ratios.items() if peer != "bpetite"},
                }
                print(f"{text}: {label}: {report.row(results[text][label])}", file=sys.stderr, flush=True)
    return {
        "texts": results,
        "versions": {"bpetite": bpetite.__version__, **{peer: version(peer) for peer in found}},
        "simd": bpetite.simd(),
    }


def in_a_process(seconds: float, size: int) -> dict[str, Any]:
    """`measure` in a process of its own, with one thread in each library."""
    environment = {**os.environ, "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        command = [sys.executable, "-m", "benchmarks.compare", "--results", str(path)]
        command += ["--seconds", str(seconds), "--megabytes", str(size / 1e6)]
        # peers print to standard output
        subprocess.run(command, cwd=ROOT, env=environment, stdout=sys.stderr, check=True)
        results: dict[str, Any] = json.loads(path.read_text())
        return results


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--output", type=Path, help="write OUTPUT.json, OUTPUT.md and OUTPUT.svg, and README's table")
    ask.add_argument("--seconds", type=float, default=3.0, help="the least time for each row")
    ask.add_argument("--megabytes", type=float, default=8.0, help="of each text")
    ask.add_argument("--results", type=Path, help="measure in this process, and write what was measured")
    args = ask.parse_args()
    size = round(args.megabytes * 1e6)
    if args.results:
        args.results.write_text(json.dumps(measure(args.seconds, size)))
        return
    numbers: dict[str, Any] = {"vocabulary": len(texts.tokenizer()), "megabytes": args.megabytes, "runs": {}}
    if args.output and (before := args.output.with_suffix(".json")).is_file():
        kept = json.loads(before.read_text())
        if {**kept, "runs": {}} == numbers:  # the same work
            numbers = kept
    found = in_a_process(args.seconds, size)
    numbers["runs"][found.pop("simd")] = {
        "machine": f"{machine.processor()}, one core, {machine.python()}",
        "date": datetime.now(UTC).date().isoformat(),
        **found,
    }
    if args.output:
        report.write(numbers, args.output, ROOT / "README.md")
    else:
        print(report.page(numbers))


if __name__ == "__main__":
    main()
