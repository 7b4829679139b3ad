"""Normalizers, which rewrite text before it is split: Unicode normalization, and more steps of tokenizer.json.

Python sorts the combining marks after a character by insertion: normalizing n of them takes n^2 steps, with the
interpreter lock held. Here long runs of marks are sorted first, and then Python has none to move.
"""
from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from ..patterns import as_tuple, unescaped
from .charsmap import Precompiled, compiled, mapped

if TYPE_CHECKING:  # what imports `regex` comes when it is needed: most files have no normalizer, or a form of Python's
    import regex

FORMS = ("NFC", "NFD", "NFKC", "NFKD")


@dataclass(frozen=True)
class Prepend:
    """Put `text` before a text that is not empty."""

    saved_name: ClassVar[str] = "Prepend"
    text: str


@dataclass(frozen=True)
class Replace:
    """Replace every match of a regular expression by `content`, taken literally."""

    saved_name: ClassVar[str] = "Replace"
    pattern: str
    content: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", unescaped(self.pattern))

    @property
    def writes_spaces(self) -> str:
        """The text that it writes for every space; "" if it does something else."""
        return self.content if self.pattern == " " else ""


Normalizer = str | Prepend | Replace | Precompiled
Normalization = Normalizer | tuple[Normalizer, ...] | None


def check(normalization: Any) -> None:
    """Raise ValueError unless this is a normalization."""
    for one in as_tuple(normalization):
        put_in = one.text if isinstance(one, Prepend) else one.content if isinstance(one, Replace) else ""
        try:
            str(put_in).encode("utf-8")
        except UnicodeEncodeError as bad:
            raise ValueError(f"normalization {one!r} puts in a lone surrogate, {bad.object[bad.start]!r}") from None
        if isinstance(one, Replace) and not one.writes_spaces:
            from ..splitting.pattern.regex_parser import compile_regex

            compile_regex(one.pattern, f"normalization {one!r}: pattern")
        elif isinstance(one, Precompiled):
            compiled(one)
        elif not isinstance(one, Prepend | Replace) and one not in FORMS:
            raise ValueError(f"normalization {one!r} is not one of {', '.join(FORMS)} or None")


def normalizer(normalization: Normalization) -> Callable[[str], str] | None:
    """The function that applies a normalization to a text; None for no normalization.

    >>> normalizer((Prepend("_"), Replace(" ", "_")))("a b")
    '_a_b'
    """
    functions = [_function(step) for step in as_tuple(normalization)]
    if len(functions) < 2:
        return functions[0] if functions else None

    def apply(text: str) -> str:
        for function in functions:
            text = function(text)
        return text

    return apply


def _function(step: Normalizer) -> Callable[[str], str]:
    if isinstance(step, Prepend):
        return lambda text: step.text + text if text else text
    if isinstance(step, Replace | Precompiled):
        return partial(_replace, step)
    return partial(normalize, step)


def _replace(step: Replace | Precompiled, text: str) -> str:
    made, at = [], 0
    for start, end, content in replacements(step, text):
        made += [text[at:start], content]
        at = end
    return "".join([*made, text[at:]])


def replacements(step: Replace | Precompiled, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, content) of what a step replaces in a text."""
    if isinstance(step, Precompiled):
        yield from mapped(step, text)
        return
    import regex

    from ..splitting.pattern.regex_text import matches

    for start, end in matches(regex.compile(step.pattern), text):
        yield start, end, step.content


#: The longest run of marks that is left to Python's insertion sort.
RUN = 64


@cache
def _marks() -> tuple[regex.Pattern[str], regex.Pattern[str], regex.Pattern[str]]:
    """Patterns of a character that may be, or decompose to, a mark, and of a run of marks before and after a place.
    `regex` may know more marks than Python, or fewer, which costs only time."""
    import regex

    mark = r"[\P{ccc=0}\u0f73\u0f75\u0f81\uff9e\uff9f]"
    return regex.compile(mark), regex.compile(f"(?r){mark}++"), regex.compile(f"{mark}++")


def normalize(form: Any, text: str) -> str:
    """A text in a normal form, one of :data:`FORMS`, as `unicodedata.normalize` gives it, in linear time."""
    if len(text) < RUN or text.isascii():
        return unicodedata.normalize(form, text)
    sampled = text[RUN - 1 :: RUN]  # every run of RUN marks or more has one there
    if sampled.isascii():
        return unicodedata.normalize(form, text)
    mark, marks_before, marks = _marks()
    parts, done = [], 0
    for match in mark.finditer(sampled):
        at = RUN - 1 + match.start() * RUN
        if at < done:
            continue
        before, after = marks_before.match(text, done, at + 1), marks.match(text, at)
        start, end = before.start() if before else at, after.end() if after else at + 1
        if end - start >= RUN:
            parts += [text[done:start], _sorted_marks("NFKD" if "K" in form else "NFD", text[start:end])]
            done = end
    return unicodedata.normalize(form, "".join([*parts, text[done:]]) if parts else text)


@cache
def quick_checks(form: Any) -> bytes:
    """The quick check of a normal form for code points below 0x30000; all others begin anew.

    Returns:
        bytes[0x30000]: 0 for a character that begins anew: its combining class is 0, and it neither changes nor
        composes with what is before it; 255 for one that may change or compose so; else its combining class.

    Source: Unicode Standard Annex 15, section 9 (``NFC_Quick_Check``)
    """
    made = bytearray(map(unicodedata.combining, map(chr, range(0x30000))))
    for code in range(0xA0, 0x30000):
        char = chr(code)
        if not unicodedata.is_normalized(form, char):
            made[code] = 255
        parts = unicodedata.decomposition(char).split()
        if len(parts) == 2 and form.endswith("C") and not parts[0].startswith("<"):
            made[int(parts[1], 16)] = 255  # it may compose with the character before it
    if form.endswith("C"):
        made[0x1161:0x1176] = b"\xff" * 0x15  # vowels and last consonants of Hangul
        made[0x11A8:0x11C3] = b"\xff" * 0x1B
    return bytes(made)


def begins_anew(char: str, form: Any) -> bool:
    """True if the normal form of text that begins with a character does not depend on the text before it."""
    return ord(char) >= 0x30000 or quick_checks(form)[ord(char)] == 0


class NormalForm:
    """The function that puts a text into one of :data:`FORMS`, with its `quick_checks`."""

    def __init__(self, form: str) -> None:
        self.form = form

    def __call__(self, text: str) -> str:
        return normalize(self.form, text)

    @property
    def table(self) -> bytes:
        return quick_checks(self.form)

    @property
    def low(self) -> int:
        """A power of two; all characters below it begin anew."""
        return 0x200 if self.form == "NFC" else 0x80


def _sorted_marks(form: Any, run: str) -> str:
    """Decompose a run of marks and sort it by combining class; marks of class 0 keep their places."""
    table = {mark: unicodedata.normalize(form, mark) for mark in set(run)}
    decomposed = "".join(map(table.__getitem__, run))
    classes = {mark: unicodedata.combining(mark) for mark in set(decomposed)}
    parts: list[str] = []
    for _, group in groupby(decomposed, lambda mark: classes[mark] > 0):
        parts += sorted(group, key=classes.__getitem__)
    return "".join(parts)
