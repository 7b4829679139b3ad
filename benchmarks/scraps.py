"""Training without scraps (``picky_threshold``) beside plain training: bytes per token of held-out text, and the time.

    python -m benchmarks.scraps

The first four fifths of a text are learned from, the last is held out. Times are of learning from counts.
"""
from __future__ import annotations

import time

import numpy as np

from bpetite import Tokenizer, count_pretokens
from bpetite.analysis import measure

from . import texts

SIZES = (8000, 32000)
THRESHOLDS = (None, 0.9, 0.7)
RARE = 20  # times


def main() -> None:
    """Print a row for each text, size and threshold."""
    print("text          tokens  threshold  bytes/token  gone  rare  seconds")
    for name in texts.NAMES:
        whole = texts.text(name, 32_000_000)
        cut = len(whole) * 4 // 5
        learned_from, held_out = whole[:cut], whole[cut:]
        counts, size = count_pretokens([learned_from]), len(held_out.encode())
        for vocab_size in SIZES:
            plain: set[bytes] = set()
            for threshold in THRESHOLDS:
                began = time.perf_counter()
                tok = Tokenizer.train_from_counts(counts, vocab_size, special_tokens=[], picky_threshold=threshold)
                seconds = time.perf_counter() - began
                tokens = set(tok.vocab.values())
                plain = plain or tokens
                usage = measure(tok, [learned_from])
                rare = int(np.count_nonzero(usage.counts[256:] < RARE))
                print(
                    f"{name:13s} {vocab_size:6d}  {threshold or '-':>9}  {size / tok.count(held_out):11.4f}  "
                    f"{len(plain - tokens):4d}  {rare:4d}  {seconds:7.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
