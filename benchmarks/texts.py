"""What the benchmarks run on: texts and a tokenizer, from ../shared where present, else from what every machine has."""
from __future__ import annotations

import sysconfig
from functools import cache
from pathlib import Path

from bpetite import Tokenizer, reference

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
NAMES = ("english", "code", "multilingual")


@cache
def text(name: str, size: int = 4_000_000) -> str:
    """About `size` bytes of text: the shared one of this name, else the sources of Python's standard library."""
    path = SHARED / "text" / f"{name}.txt"
    if path.exists():
        with path.open("rb") as file:
            return file.read(size).decode("utf-8", "ignore").replace("<|endoftext|>", "\n\n")
    parts: list[str] = []
    for source in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        parts.append(source.read_text(encoding="utf-8", errors="ignore"))
        if sum(map(len, parts)) > size:
            break
    return "".join(parts)[:size]


def names() -> tuple[str, ...]:
    """The texts there are: the three shared ones, or one that stands in for them."""
    return NAMES if (SHARED / "text").exists() else ("stdlib",)


def documents(name: str) -> list[str]:
    """The text in pieces of 4,000 characters."""
    whole = text(name)
    return [whole[start : start + 4000] for start in range(0, len(whole), 4000)]


@cache
def tokenizer() -> Tokenizer:
    """GPT-2, or the tokenizer that ships with the package."""
    if (SHARED / "gpt2").exists():
        return Tokenizer.from_files(SHARED / "gpt2/vocab.json", SHARED / "gpt2/merges.txt", ["<|endoftext|>"])
    return Tokenizer.load("bpetite-32k")


@cache
def check(name: str) -> None:
    """Raise where the ids of a part of the text are not those of the definition."""
    tok, part = tokenizer(), text(name)[:20_000]
    expected = reference.encode(part, tok.vocab, tok.merges, pattern=tok.to_vocab().pattern)
    whole = tok.encode_ordinary(text(name))
    if tok.encode_ordinary(part) != expected or tok.decode(whole) != text(name):
        raise RuntimeError(f"wrong ids on {name}: a time would mean nothing")
