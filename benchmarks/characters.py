"""Vocabularies of characters, as those of Llama 2 and Gemma, beside the peers that are installed and take the file.

    python -m benchmarks.characters llama2/tokenizer.json gemma3/tokenizer.json
    python -m benchmarks.characters gemma3/tokenizer.json --texts cjk --rows calls decode

Most peers remember what they have met, some of them whole texts. So every text comes once: each row has a process of
its own, where all libraries are warmed by one half of a text and timed, in turn, on parts of the other. A line has the
processor time of one call of bpetite, and how many times as long the others take, the median of the rounds.
"""
from __future__ import annotations

import argparse
import importlib
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ |= {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}

from bpetite import Tokenizer

from . import texts

Call = Callable[[Any], Any]
ROUNDS = 12
DOCUMENT = 1_500  # characters
SIZES = (20, 200, 2_000)
MOST_CALLS = 400  # of a round
CJK = texts.SHARED / "text" / "cjk.txt"
TEXTS = [*texts.NAMES, *(["cjk"] if CJK.exists() else [])]
ROWS = ("list", "array", "batch", "calls", "decode", "decode array", "load")

LOADERS: dict[str, Callable[[Any, str], Any]] = {
    "gigatoken": lambda module, path: module.Tokenizer(path),
    "tokenizers": lambda module, path: module.Tokenizer.from_file(path),
    "snaptokens": lambda module, path: module.Tokenizer.from_file(path),
    "tokie": lambda module, path: module.Tokenizer.from_json(path),
    "splintr": lambda module, path: module.from_json(path),
    "iree.tokenizer": lambda module, path: module.Tokenizer.from_file(path),
}


def libraries(path: str) -> tuple[dict[str, Any], dict[str, Callable[[], Any]]]:
    """The tokenizer of each library that is installed and takes the file, and what loads it again."""
    makers: dict[str, Callable[[], Any]] = {"bpetite": lambda: Tokenizer.load(path)}
    made = {"bpetite": makers["bpetite"]()}
    for name, load in LOADERS.items():
        try:
            module = importlib.import_module(name)
            made[name] = load(module, path)
        except Exception as error:  # a peer that is not here or cannot read the file is left out, and that is said
            print(f"# {name} is left out: {str(error)[:80]}")
        else:
            makers[name] = lambda load=load, module=module: load(module, path)
    return made, makers


def calls_of(name: str, tok: Any) -> dict[str, Call]:
    """What a library does for each row; a row that it lacks is left out."""
    if name == "bpetite":
        return {
            "list": tok.encode, "array": tok.encode_to_numpy, "decode": tok.decode, "decode array": tok.decode_bytes,
            "batch": lambda rows: tok.encode_batch(rows, num_threads=1),
        }  # fmt: skip
    if name == "gigatoken":
        return {
            "list": lambda text: tok.encode(text).tolist(), "array": tok.encode,
            "batch": lambda rows: tok.encode_batch_list(rows, parallel=False), "decode": tok.decode,
            "decode array": tok.decode,
        }  # fmt: skip
    if name in ("splintr", "iree.tokenizer"):
        return {"list": tok.encode, "decode": tok.decode}
    made: dict[str, Call] = {
        "list": lambda text: tok.encode(text, add_special_tokens=False).ids, "decode": tok.decode,
        "array": lambda text: tok.encode(text, add_special_tokens=False),
    }  # fmt: skip
    if name == "tokenizers":
        made["batch"] = lambda rows: [one.ids for one in tok.encode_batch(rows, add_special_tokens=False)]
    return made


def parts_of(row: str, whole: str, tok: Tokenizer) -> tuple[list[Any], list[list[Any]]]:
    """What warms the libraries, and the items of each round."""
    half = len(whole) // 2
    begin, rest = whole[:half], whole[half:]
    if row.startswith("calls"):
        size = int(row.split()[1])
        count = min(MOST_CALLS, len(rest) // size // ROUNDS)
        items = [rest[at : at + size] for at in range(0, ROUNDS * count * size, size)]
        return pieces(begin, 2_000), [items[at : at + count] for at in range(0, ROUNDS * count, count)]
    parts = pieces(rest, len(rest) // ROUNDS)[:ROUNDS]
    if row == "batch":
        return [pieces(begin, DOCUMENT)], [[pieces(part, DOCUMENT)] for part in parts]
    if row.startswith("decode"):
        encode: Call = tok.encode if row == "decode" else tok.encode_to_numpy
        return [encode(begin)], [[encode(part)] for part in parts]
    return [begin], [[part] for part in parts]


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def measure(label: str, row: str, whole: str, made: dict[str, Any], makers: dict[str, Callable[[], Any]]) -> None:
    """Print a row, in a process of its own; loading needs the threads that some peers have started here."""
    if row == "load":
        _measure(label, row, whole, made, makers)
        return
    sys.stdout.flush()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        _measure(label, row, whole, made, makers)
    except BaseException as error:  # the process is to end here, whatever it is
        print(f"# {label}: {error!r}")
    finally:
        sys.stdout.flush()
        os._exit(0)


def _measure(label: str, row: str, whole: str, made: dict[str, Any], makers: dict[str, Callable[[], Any]]) -> None:
    calls: dict[str, Call] = {}
    if row == "load":
        calls, rounds = {name: lambda _, make=make: make() for name, make in makers.items()}, [[None]] * 3
    else:
        warm, rounds = parts_of(row, whole, made["bpetite"])
        for name, tok in made.items():
            if call := calls_of(name, tok).get(row.split()[-1] if row.startswith("calls") else row):
                calls[name] = call
                call_all(label, calls, name, warm)
    times: dict[str, list[int]] = {name: [] for name in calls}
    for items in rounds:
        for name in random.sample([*calls], len(calls)):
            began = time.process_time_ns()
            call_all(label, calls, name, items)
            times[name].append(time.process_time_ns() - began)
    ratios = {name: statistics.median(a / b for a, b in zip(times[name], times["bpetite"])) for name in calls}
    found = "  ".join(f"{name} {ratio:.2f}" for name, ratio in sorted(ratios.items(), key=lambda one: one[1])[:6])
    ours = statistics.median(times["bpetite"]) / 1e6 / len(rounds[0])
    print(f"{label:44s} {ours:10.4f} ms   {found}", flush=True)


def call_all(label: str, calls: dict[str, Call], name: str, items: list[Any]) -> None:
    """Give a library all items; one that fails is left out from then on."""
    try:
        for item in items:
            calls[name](item)
    except Exception as error:
        print(f"# {label}: {name} fails: {str(error)[:80]}")
        del calls[name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--texts", nargs="+", default=TEXTS, choices=TEXTS)
    parser.add_argument("--rows", nargs="+", default=ROWS, choices=ROWS)
    parser.add_argument("--mb", type=float, default=8)
    options = parser.parse_args()
    for path in options.files:
        made, makers = libraries(str(path))
        name = path.parent.name if path.name == "tokenizer.json" else path.stem
        for text in options.texts:
            whole = texts.text(text, int(1e6 * options.mb)) if text != "cjk" else CJK.read_text(encoding="utf-8")
            for row in options.rows:
                rows = [f"calls {size} {form}" for size in SIZES for form in ("list", "array")]
                for one in rows if row == "calls" else [row]:
                    if row != "load" or text == options.texts[0]:
                        measure(f"{name} {text} {one}", one, whole, made, makers)


if __name__ == "__main__":
    main()
