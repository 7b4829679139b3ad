"""Texts and tokenizers: from ../shared/data where it is present, else made or taken from installed packages."""
from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import made_texts
import published

from bpetite import Tokenizer, patterns, reference

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
NAMES = ("english", "code", "multilingual")
END = made_texts.END


@cache
def text(name: str, size: int = 4_000_000) -> str:
    """The first ``size`` bytes of a text of `NAMES`, repeated where it is shorter; blank lines separate documents."""
    path = SHARED / "text" / f"{name}.txt"
    if path.exists():
        with path.open("rb") as file:
            read = file.read(size).decode("utf-8", "ignore")
    else:
        read = made_texts.text(name, min(size, 8_000_000))
    read = read.replace(END, "\n\n")
    return (read * (1 + size // len(read.encode()))).encode()[:size].decode("utf-8", "ignore")


def documents(name: str, size: int = 4_000_000) -> list[str]:
    """The text in pieces of 4,000 characters."""
    whole = text(name, size)
    return [whole[start : start + 4000] for start in range(0, len(whole), 4000)]


@cache
def vocabulary() -> Path:
    """A folder with ``vocab.json``, ``merges.txt`` and ``tokenizer.json``: of GPT-2, else of the packaged tokenizer."""
    if (SHARED / "gpt2").exists():
        return SHARED / "gpt2"
    folder = Path(_temporary().name)
    written = [published.write(f"gpt2/{file}", folder) for file in ("vocab.json", "merges.txt", "tokenizer.json")]
    if not all(written):
        packaged = Tokenizer.load("bpetite-32k").to_vocab()
        # files of GPT-2 hold one spelling of its pattern, and the packaged tokenizer has the possessive one
        ours = Tokenizer.from_vocab(replace(packaged, pattern=patterns.GPT2))
        ours.save(folder / "gpt2", format="gpt2")
        ours.save(folder / "gpt2" / "tokenizer.json", format="huggingface")
    return folder / "gpt2"


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    """Removed when the process ends."""
    return tempfile.TemporaryDirectory()


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.from_files(vocabulary() / "vocab.json", vocabulary() / "merges.txt", [END])


@cache
def check(name: str) -> None:
    """Raise where the ids of a part of the text are not those of the definition."""
    verify(tokenizer(), text(name))


def verify(tok: Tokenizer, whole: str) -> None:
    part = whole[:20_000]
    expected = reference.encode(part, tok.vocab, tok.merges, pattern=tok.pattern)
    if tok.encode_ordinary(part) != expected or tok.decode(tok.encode_ordinary(whole)) != whole:
        raise RuntimeError(f"wrong ids for {whole[:40]!r}...: a time would mean nothing")
