"""Superwords and plain BPE compared: bytes per token of held-out text, the speed of encoding it, and the time of the
second stage as a multiple of the first.

    python -m benchmarks.superwords [--memory MEGABYTES]

Each text is cut at its documents; nine of ten are for training. With --memory, a text of so many megabytes is made by
repetition with changes and trained on once: peak memory and time are printed, and nothing else.
"""
from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Iterator

from bpetite import Tokenizer

from . import texts

SIZES = {"english": (8_000, 16_000, 32_000, 64_000), "code": (16_000, 32_000), "multilingual": (16_000, 32_000)}
SHARES = (0.5, 0.9)  # of the vocabulary, within words


def parts(name: str) -> tuple[list[str], list[str]]:
    """Documents to train on, and those held out."""
    text = texts.text(name, 32_000_000)
    found = text.split(texts.END)
    if len(found) < 100:
        found = [text[at : at + 20_000] for at in range(0, len(text), 20_000)]
    return [one for at, one in enumerate(found) if at % 10], found[::10]


def speed(tok: Tokenizer, before: list[str], texts: list[str]) -> float:
    """Megabytes a second of texts that come after others, by one thread: the best of three."""
    taken = []
    for _ in range(3):
        fresh = Tokenizer.from_vocab(tok.to_vocab())
        fresh.encode_batch_to_numpy(before, num_threads=1)
        start = time.process_time()
        fresh.encode_batch_to_numpy(texts, num_threads=1)
        taken.append(time.process_time() - start)
    return sum(len(text.encode()) for text in texts) / min(taken) / 1e6


def compare() -> None:
    print(f"{'text':14}{'vocabulary':>11}{'plain':>8}" + "".join(f"{f't = {share:.0%}':>10}" for share in SHARES)
          + f"{'fewer':>8}{'stage 2 / stage 1':>20}{'MB/s':>14}")  # fmt: skip
    for name, sizes in SIZES.items():
        train, held = parts(name)
        size = sum(len(one.encode()) for one in held)
        for vocab_size in sizes:
            plain = Tokenizer.train(train, vocab_size, pattern="o200k", num_threads=1)
            rates = [size / sum(map(len, plain.encode_batch(held)))]
            ratios = []
            speeds = [speed(plain, train, held)]
            for share in SHARES:
                first, both = [], []
                for _ in range(5):
                    before = time.process_time()
                    Tokenizer.train(train, int(vocab_size * share), pattern="o200k", num_threads=1)
                    middle = time.process_time()
                    tok = Tokenizer.train(
                        train, vocab_size, pattern="o200k", superwords_from=int(vocab_size * share), num_threads=1
                    )
                    first.append(middle - before)
                    both.append(time.process_time() - middle)
                ratios.append((min(both) - min(first)) / min(first))
                rates.append(size / sum(map(len, tok.encode_batch(held))))
                speeds.append(speed(tok, train, held))
            print(f"{name:14}{vocab_size:>11,}" + f"{rates[0]:>8.2f}" + "".join(f"{one:>10.2f}" for one in rates[1:])
                  + f"{1 - rates[0] / max(rates):>8.0%}" + f"{' '.join(f'{one:.1f}' for one in ratios):>20}"
                  + f"{' '.join(f'{one:.0f}' for one in speeds):>14}",
                  flush=True)  # fmt: skip


class Changed:
    """A text again and again, as documents of 20,000 characters in which one word of twenty is another one."""

    def __init__(self, megabytes: int) -> None:
        text = texts.text("english", 32_000_000)
        self.documents = [text[at : at + 20_000].split(" ") for at in range(0, len(text), 20_000)]
        self.words = [word for document in self.documents[:200] for word in document]
        self.size = megabytes * 1_000_000

    def __iter__(self) -> Iterator[str]:
        made = number = 0
        while made < self.size:
            random.seed(number)
            words = list(self.documents[number % len(self.documents)])
            for at in random.sample(range(len(words)), len(words) // 20):
                words[at] = random.choice(self.words)
            text = " ".join(words)
            yield text
            made += len(text.encode())
            number += 1


def memory(megabytes: int) -> None:
    start = time.perf_counter()
    corpus = Changed(megabytes)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tok = Tokenizer.train(corpus, 32_000, superwords_from=24_000, pattern="o200k", num_threads=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{megabytes} MB: {peak / 1e6:.2f} GB at most, {before / 1e6:.2f} GB before; "
          f"{time.perf_counter() - start:.0f} s with making the text; {len(tok):,} tokens")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", type=int, metavar="MEGABYTES")
    chosen = parser.parse_args()
    memory(chosen.memory) if chosen.memory else compare()
