"""Checks to run before a tokenizer is trusted with a corpus."""
from __future__ import annotations

import pickle
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..steps.normalizers import normalizer
from ..tokenizer import Tokenizer

__all__ = ["Check", "ValidationReport", "validate"]

#: Characters of a text that are checked: streaming, in pieces of one character, is slow.
LONGEST = 1 << 16

#: Failures of a check that are kept.
KEPT = 5


@dataclass
class Check:
    """One property: how often it held, and the first cases in which it did not."""

    name: str
    meaning: str
    passed: int = 0
    failed: int = 0
    failures: list[str] = field(default_factory=list)

    def run(self, case: str, test: Callable[[str], str | None], text: str) -> None:
        """Run a test, which returns what is wrong, and count the result."""
        try:
            wrong = test(text)
        except Exception as error:  # whatever goes wrong is what the report is for
            wrong = f"{type(error).__name__}: {error}"
        if wrong is None:
            self.passed += 1
            return
        self.failed += 1
        if len(self.failures) < KEPT:
            self.failures.append(f"{case}: {wrong}")


@dataclass(repr=False)
class ValidationReport:
    """What :func:`validate` found.

    >>> report = validate(Tokenizer.train("ab ab ab", 258), ["ab <|endoftext|> é"])
    >>> report.ok
    True
    """

    checks: list[Check]
    texts: int

    @property
    def ok(self) -> bool:
        """No check failed."""
        return not any(check.failed for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"ok": self.ok, "texts": self.texts, "checks": [vars(check) for check in self.checks]}

    def __repr__(self) -> str:
        failed = ", ".join(check.name for check in self.checks if check.failed)
        return f"<ValidationReport of {self.texts:,} texts: {f'failed: {failed}' if failed else 'all checks passed'}>"

    def __str__(self) -> str:
        lines = [f"{self.texts} texts: {'all checks passed' if self.ok else 'CHECKS FAILED'}"]
        for check in self.checks:
            verdict = "FAILED" if check.failed else "ok"
            lines.append(f"  {verdict:6} {check.name}: {check.meaning} ({check.passed} passed)")
            lines += [f"         {failure}" for failure in check.failures]
        return "\n".join(lines)


def validate(tokenizer: Tokenizer, texts: Iterable[str], *, seed: int = 0) -> ValidationReport:
    """Check on texts that a tokenizer keeps its promises.

    Args:
        tokenizer: The tokenizer to check.
        texts: Texts to check it on; of each the first 65,536 characters.
        seed: Decides where streamed texts are cut.

    A test that raises counts as failed, with the error as its case; this function raises nothing.
    """
    return _Validation(tokenizer, seed).run(texts)


class _Validation:
    def __init__(self, tokenizer: Tokenizer, seed: int) -> None:
        self.tokenizer = tokenizer
        self.random = random.Random(seed)
        self.vocab = tokenizer.to_vocab()
        self.normalize = normalizer(self.vocab.normalization, self.vocab.unicode) or (lambda text: text)
        #: Whether decoding gives back special tokens as they were: not those that take white space with them, nor those
        #: that share an id.
        self.exact = self.vocab.normalization is None and self.vocab.template is None
        self.exact = self.exact and not self.vocab.token_flags and not self.vocab.aliases
        self.copy = pickle.loads(pickle.dumps(tokenizer))

    def run(self, texts: Iterable[str]) -> ValidationReport:
        tests: list[tuple[Check, Callable[[str], str | None]]] = [
            (Check("round trip", "decoding gives the text back, in the tokenizer's normal form"), self.round_trip),
            (Check("determinism", "a second call and a pickled copy give the same ids"), self.determinism),
            (Check("one answer", "lists, arrays, counts, batches and bytes agree"), self.one_answer),
            (Check("offsets", "the tokens' spans tile the text"), self.offsets),
            (Check("streaming", "a text in pieces gives the same ids, streamed ids give its text"), self.streaming),
        ]
        specials = Check("special tokens", "each gives its id, alone and inside a text, and its literal back")
        saved = Check("saving", "a saved and loaded copy is equal and has the same special ids")
        number = 0
        for text in texts:
            for check, test in tests:
                check.run(f"text {number}", test, text[:LONGEST])
            number += 1
        for literal in self.vocab.special_tokens:
            specials.run(repr(literal), self.special, literal)
        saved.run("the tokenizer", self.saving, "")
        return ValidationReport([*(check for check, _ in tests), specials, saved], number)

    def round_trip(self, text: str) -> str | None:
        back = self.tokenizer.decode(self.tokenizer.encode_ordinary(text))
        if back != self.normalize(text):
            return f"came back as {_first_difference(self.normalize(text), back)}"
        if self.exact and (back := self.tokenizer.decode(self.tokenizer.encode(text))) != text:
            return f"with special tokens recognised, came back as {_first_difference(text, back)}"
        return None

    def determinism(self, text: str) -> str | None:
        ids = self.tokenizer.encode(text)
        if self.tokenizer.encode(text) != ids:
            return "a second call gave other ids"
        return None if self.copy.encode(text) == ids else "a pickled copy gave other ids"

    def one_answer(self, text: str) -> str | None:
        tokenizer = self.tokenizer
        ids, ordinary = tokenizer.encode(text), tokenizer.encode_ordinary(text)
        flat, offsets = tokenizer.encode_batch_to_numpy([text, "", text])
        size = len(ids)
        answers: dict[str, Any] = {
            "encode(bytes)": tokenizer.encode(text.encode("utf-8")) == ids,
            "encode_batch": tokenizer.encode_batch([text, text]) == [ids, ids],
            "encode_batch_to_numpy": flat.tolist() == ids + ids and offsets.tolist() == [0, size, size, 2 * size],
            "encode_to_numpy": tokenizer.encode_to_numpy(text).tolist() == ids,
            "count": tokenizer.count(text) == len(ids),
            "encode(allowed_special=())": tokenizer.encode(text, allowed_special=()) == ordinary,
            "the vocabulary": set(ids) | set(ordinary) <= self.vocab.tokens.keys(),
        }
        wrong = [name for name, right in answers.items() if not right]
        return f"{', '.join(wrong)} disagrees with encode" if wrong else None

    def offsets(self, text: str) -> str | None:
        ids, spans = self.tokenizer.encode_with_offsets(text)
        if ids != self.tokenizer.encode(text) or len(ids) != len(spans):
            return "encode_with_offsets gives other ids than encode"
        reached = 0
        tiles = self.vocab.normalization is None  # composed characters leave gaps
        for number, (start, end) in enumerate(spans):
            # parts of one character have the same span
            if (tiles and start > reached) or end < reached or start > end:
                return f"token {number} has the span {start}..{end}, but the tokens before it end at {reached}"
            reached = end
        return None if reached == len(text) or not tiles else f"the last token ends at {reached} of {len(text)}"

    def streaming(self, text: str) -> str | None:
        ids = self.tokenizer.encode(text)
        for longest in (1, 7, 1000):
            if list(self.tokenizer.encode_iterable(self.pieces(text, longest))) != ids:
                return f"cut into pieces of up to {longest} characters, the ids differ"
        if "".join(self.tokenizer.decode_iterable(ids)) != self.tokenizer.decode(ids):
            return "decode_iterable gives another text than decode"
        return None

    def pieces(self, text: str, longest: int) -> Iterator[str]:
        at = 0
        while at < len(text):
            size = self.random.randint(1, longest)
            yield text[at : at + size]
            at += size

    def special(self, literal: str) -> str | None:
        token_id = self.vocab.special_tokens[literal]
        for text in (literal, f"a {literal} b"):
            ids = self.tokenizer.encode(text)
            if ids.count(token_id) != 1:
                return f"{text!r} gives {ids[:8]}, which do not hold {token_id} once"
        if self.tokenizer.decode([token_id]) != literal and literal not in self.vocab.aliases:
            return f"{token_id} gives {self.tokenizer.decode([token_id])!r}"
        if token_id in self.tokenizer.encode_ordinary(literal):
            return f"ordinary text gives {token_id}"
        return None

    def saving(self, _: str) -> str | None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tokenizer.json"
            self.tokenizer.save(path, format="native")
            again = Tokenizer.load(path)
        if again != self.tokenizer or again.fingerprint() != self.tokenizer.fingerprint():
            return f"fingerprint {again.fingerprint()[:8]} instead of {self.tokenizer.fingerprint()[:8]}"
        return None if again.special_tokens == self.tokenizer.special_tokens else "special ids changed"


def _first_difference(expected: str, found: str) -> str:
    length = min(len(expected), len(found))
    at = next((at for at in range(length) if expected[at] != found[at]), length)
    return f"{found[at : at + 20]!r} instead of {expected[at : at + 20]!r}, at character {at}"
