"""Prints digests of results, which are the same on every machine and with every form of the loops.

    python tools/digests.py                          of each kind of work that has forms for vector instructions
    python tools/digests.py TOKENIZER... -- TEXT...  of the ids of texts: names or files of tokenizers, files of texts

tests/test_plain_forms.py compares the forms of this machine, tools/arm64.py this machine and another one.
"""
import hashlib
import random
import sys
from itertools import chain
from pathlib import Path

from bpetite import Tokenizer, count_pretokens
from bpetite.patterns import CL100K, GPT2

PIECES = ["the", " cat", " sat", "\n", ", ", " ", "'ll", "7", "1234567", "é", "ß", "ſ", "ж", " нужно", "的", "語", "😀"]
PIECES += ["\x00", "\u0300", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff", " antidisestablishmentarianism"]
PIECES += ["<", "<|", "<|endoftext|>"]


def mixed(seed: int, size: int, pieces: list[str]) -> str:
    return "".join(random.Random(seed).choices(pieces, k=size))


def texts() -> list[str]:
    """Of every width a str has, of every length around the cut-offs, with every kind of character at every place."""
    by_width = [
        [piece for piece in PIECES if piece.isascii()],
        [piece for piece in PIECES if max(piece) < "\u0100"],
        [piece for piece in PIECES if max(piece) < "\U00010000"],
        PIECES,
    ]
    found = [mixed(size, size, pieces) for pieces in by_width for size in [*range(80), 200, 500, 1000, 3000]]
    found += ["a" * at + char + "b" * (40 - at) for char in "é的😀" for at in range(40)]
    return found


def long_texts() -> list[str]:
    """One of each width a str has, over 512 KB in UTF-8, with stretches of each alone."""
    made = texts()
    return [
        "".join(piece for piece in made * 40 if piece.isascii() or piece[-1] <= widest)[:600_000] + widest
        for widest in ("z", "é", "的", "😀")
    ]


def digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def print_ids(names: list[str], paths: list[Path]) -> None:
    """Of the first 200,000 bytes of each text, whole and by lines."""
    for name in names:
        tok = Tokenizer.load(name)
        for path in paths:
            text = path.read_bytes()[:200_000].decode("utf-8", "ignore")
            ids = tok.encode(text)
            lines = [*chain(*tok.encode_batch(text.splitlines(keepends=True), num_threads=2))]
            if tok.decode(ids) != text or tok.decode(lines) != text:
                raise ValueError(f"{path}: the ids of {name} decode to another text")
            print(Path(name).name, path.name, len(ids), digest(ids), digest(lines))


def print_kinds_of_work() -> None:
    sample = texts()
    corpus = sample[::3] * 2
    for name, pattern in (("gpt2", GPT2), ("cl100k", CL100K)):
        tok = Tokenizer.train(corpus, 700, pattern=pattern, special_tokens=["<|endoftext|>"])
        print(name, "train", tok.fingerprint())
        many = [*["<|endoftext|>", "<|", "7", "😀😀"], *[f"<{number}>" for number in range(60)]]
        several = Tokenizer.train(corpus, 700 + 64, pattern=pattern, special_tokens=many)
        print(name, "encode", digest([tok.encode(text) for text in sample]))
        print(name, "many specials", digest([several.encode(text) for text in sample]))
        print(name, "bytes", digest([tok.encode_ordinary(text.encode()) for text in sample]))
        print(name, "long", digest(tok.encode("".join(sample), num_threads=3)))
        print(name, "batch", digest(tok.encode_batch(sample * 3, num_threads=2)))
        small = tok.with_cache(1 << 14)
        print(name, "small cache", digest([small.encode(text) for text in sample]))
        for text in sample:
            assert small.count_batch([text] * 2).tolist() == [len(small.encode(text))] * 2
        print(name, "counted", digest(tok.count_batch(sample * 3, num_threads=2).tolist()))
        for text in long_texts():
            assert len(text) > 512_000
            for threads in (1, 3):
                ids = tok.encode_to_numpy(text, num_threads=threads)
                print(name, "over 512 KB", threads, digest(ids.tolist()), tok.count(text, num_threads=threads))
            assert tok.decode(ids) == text
            assert tok.encode_ordinary(text.encode()) == tok.encode(text, allowed_special=())
            print(name, "parts", digest(tok.truncate(text, 9000)), digest([*several.encode_batch_to_numpy([text] * 2)]))
        print(name, "counts", digest(sorted(count_pretokens(sample, pattern=pattern).items())))
        for at in range(70):
            try:
                tok.encode("é" * at + "\ud800" + "的" * (69 - at))
            except UnicodeEncodeError as error:
                print(name, "surrogate", at, error.start)


if __name__ == "__main__":
    if "--" in sys.argv:
        at = sys.argv.index("--")
        print_ids(sys.argv[1:at], [*map(Path, sys.argv[at + 1 :])])
    else:
        print_kinds_of_work()
