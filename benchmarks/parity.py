"""Parity-aware BPE beside ordinary BPE on the translations of Debian's installation guide: the Gini coefficient of what
the languages cost, tokens in all, and time.

    apt-get download installation-guide-amd64 && dpkg-deb -x installation-guide-amd64_*.deb guide
    python -m benchmarks.parity guide

Of each translation the first eight tenths are for training, one tenth is the text by which languages are compared, and
the last tenth is held out. "skewed" trains on less of each further language: a half, a third, and so on.
"""
from __future__ import annotations

import argparse
import gzip
import time
from collections.abc import Sequence
from pathlib import Path

from bpetite import Tokenizer, count_pretokens
from bpetite.training import train_parity

SIZES = (8_000, 32_000)


def translations(folder: Path) -> dict[str, str]:
    found = {path.name.split(".")[1]: path for path in folder.rglob("install.*.txt.gz")}
    first = ["en", "de", "fr", "es", "ru", "ja", "zh_CN"]
    names = [name for name in first if name in found] + sorted(found.keys() - set(first))
    encodings = {"ru": "koi8-r"}
    return {name: gzip.decompress(found[name].read_bytes()).decode(encodings.get(name, "utf-8")) for name in names}


def part(text: str, start: float, stop: float) -> str:
    return text[int(len(text) * start) : int(len(text) * stop)]


def gini(costs: Sequence[float]) -> float:
    """The Gini coefficient: the mean difference of two costs over twice their mean, 0 where all are equal."""
    n, total = len(costs), sum(costs)
    return sum((2 * place - n - 1) * cost for place, cost in enumerate(sorted(costs), 1)) / (n * total)


def main(folder: Path) -> None:
    texts = translations(folder)
    if not texts:
        raise SystemExit(f"no install.*.txt.gz in {folder}")
    dev = {name: part(text, 0.8, 0.9) for name, text in texts.items()}
    held = {name: part(text, 0.9, 1) for name, text in texts.items()}
    print(f"{len(texts)} languages: {' '.join(texts)}")
    print(f"{'training':10}{'vocabulary':>11}  {'way':22}{'Gini':>7}{'tokens held out':>17}{'worst / best':>14}"
          f"{'time':>8}")  # fmt: skip
    for shape in ("equal", "skewed"):
        train = {
            name: part(text, 0, 0.8 / (rank + 1 if shape == "skewed" else 1))
            for rank, (name, text) in enumerate(texts.items())
        }
        counts = {name: count_pretokens(text, pattern="o200k") for name, text in train.items()}
        together = count_pretokens(list(train.values()), pattern="o200k")
        for size in SIZES:
            took = None
            for way, function, given, options in (
                ("ordinary", Tokenizer.train_from_counts, together, {}),
                ("parity", train_parity, counts, {}),
                ("parity, dev", train_parity, counts, {"dev": dev}),
                ("parity, dev, hybrid", train_parity, counts, {"dev": dev, "global_merges": size // 2}),
            ):
                times = []
                for _ in range(3):
                    before = time.process_time()
                    tok = function(given, size, **options)
                    times.append(time.process_time() - before)
                took = took or min(times)
                tokens = [tok.count(text) for text in held.values()]
                print(f"{shape:10}{size:>11,}  {way:22}{gini(tokens):>7.3f}{sum(tokens):>17,}"
                      f"{max(tokens) / min(tokens):>14.2f}{min(times) / took:>8.1f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    main(parser.parse_args().folder)
