"""Pre-tokenizers of tokenizer.json that drop, join or see bytes, beside the plain patterns that cut alike.

    python -m benchmarks.pre_tokenizers             # beside tokenizers, where it is installed

GPT-2's model with the pre-tokenizer of GPT-4o as it is often converted (Split, Removed, invert) and of Falcon
(ByteLevel in the middle of a sequence). MB/s are those of the fastest round; ``x`` is the median ratio to the time of
the same cuts as ``Isolated`` steps before ByteLevel. Falcon also cuts inside characters beyond ASCII. The ids are
compared before anything is timed.
"""
from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Callable
from typing import Any

from bpetite import Tokenizer, patterns

from . import texts
from .rounds import interleaved, median_ratio, timed, wall

PUNCTUATION = r"[!-/:-@\[-`{-~\p{P}]"


def split(pattern: str, behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def bytelevel(use_regex: bool = False) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


#: Name -> steps.
ROWS: dict[str, list[dict[str, Any]]] = {
    "GPT-4o, isolated": [split(patterns.O200K), bytelevel()],
    "GPT-4o, removed, inverted": [split(patterns.O200K, "Removed", True), bytelevel()],
    "Falcon, isolated": [
        split(PUNCTUATION + "+"), split(patterns.GPT2), split(r"\p{N}+"), split("[0-9][0-9][0-9]"), bytelevel(),
    ],
    "Falcon": [
        {"type": "Punctuation", "behavior": "Contiguous"},
        bytelevel(use_regex=True),
        {"type": "Digits", "individual_digits": False},
        split("[0-9][0-9][0-9]"),
    ],
}  # fmt: skip


def content(steps: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((texts.vocabulary() / "tokenizer.json").read_text(encoding="utf-8"))
    return found | {"pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}}


def theirs(steps: list[dict[str, Any]]) -> Callable[[str], list[int]] | None:
    """What encodes with tokenizers; None where it is not installed."""
    if importlib.util.find_spec("tokenizers") is None:
        return None
    from tokenizers import Tokenizer as Theirs

    built = Theirs.from_str(json.dumps(content(steps)))
    return lambda text: built.encode(text, add_special_tokens=False).ids


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--size", type=int, default=400_000, help="bytes of each text")
    parser.add_argument("--their-size", type=int, default=50_000, help="bytes of each text for tokenizers")
    options = parser.parse_args()
    for name in texts.NAMES:
        whole, part = texts.text(name, options.size), texts.text(name, options.their_size)
        calls: dict[str, Callable[[], tuple[float, float]]] = {}
        peers: dict[str, Callable[[], tuple[float, float]]] = {}
        for row, steps in ROWS.items():
            tok, peer = Tokenizer.from_huggingface(content(steps)), theirs(steps)
            if peer is not None:
                assert tok.encode_ordinary(part) == peer(part), row
                peers[row] = timed(lambda peer=peer, part=part: peer(part))
            calls[row] = timed(lambda tok=tok, whole=whole: tok.encode_to_numpy(whole))
            tok.encode_to_numpy(whole)
        times = {row: wall(found) for row, found in interleaved(calls, options.rounds).items()}
        their_times = {row: wall(found) for row, found in interleaved(peers, 5).items()}
        for row in ROWS:
            plain = f"{row.partition(',')[0]}, isolated"
            rate = options.size / min(times[row]) / 1e6
            line = f"{name:13s} {row:26s} {rate:6.1f} MB/s  x{median_ratio(times[row], times[plain]):5.2f}"
            if row in their_times:
                line += f"   tokenizers {options.their_size / min(their_times[row]) / 1e6:5.2f} MB/s"
            print(line, flush=True)


if __name__ == "__main__":
    main()
