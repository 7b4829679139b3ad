"""Normalizers, which rewrite text before it is split: Unicode normalization, and more steps of tokenizer.json.

Python sorts the combining marks behind a character by insertion: normalizing n of them takes n^2 steps, with the
interpreter lock held. Here long runs of marks are sorted first, and then Python has none to move.

If a version of Unicode is named, code points that it does not assign stay as they are, as Python's own data left them
before it assigned them: nothing combines across them.
"""
from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ..patterns import as_tuple
from ..record import Record
from . import sequences
from .charsmap import Precompiled, char_class, compiled, mapped

if TYPE_CHECKING:  # what imports `regex` comes when it is needed: most files have no normalizer, or a form of Python's
    import regex

__all__ = ["FORMS", "Normalization", "Precompiled", "Prepend", "Replace", "normalize", "normalizer", "replacements"]

FORMS = ("NFC", "NFD", "NFKC", "NFKD")


class Prepend(Record):
    """Put `text` before a text that is not empty."""

    text: str


class Replace(Record):
    """Replace every match of a regular expression by `content`, taken literally."""

    pattern: str
    content: str

    @property
    def writes_spaces(self) -> str:
        """The text that it writes for every space; "" if it does something else."""
        return self.content if self.pattern in sequences.SPACES else ""


FIELDS: sequences.StepFields = {
    Prepend: {"prepend": str},
    Replace: {"replace": str, "content": str},
    Precompiled: {"charsmap": str, "graphemes": bool, "kept": str},
}
Normalizer = str | Prepend | Replace | Precompiled
Normalization = Normalizer | tuple[Normalizer, ...] | None


def check(normalization: Any, unicode: str | None = None) -> None:
    """Raise ValueError unless this is a normalization that this Python can apply by the given version of Unicode."""
    known = unicodedata.unidata_version
    for one in as_tuple(normalization):
        try:
            str([*one.settings().values()][-1] if isinstance(one, Prepend | Replace) else "").encode("utf-8")
        except UnicodeEncodeError as bad:
            raise ValueError(f"normalization {one!r} puts in a lone surrogate, {bad.object[bad.start]!r}") from None
        if isinstance(one, Replace) and not one.writes_spaces:
            from ..splitting.pattern.regex_parser import compile_regex
            from ..splitting.pattern.unicode_version import stand_ins

            compile_regex(one.pattern, f"normalization {one!r}: pattern")
            if unicode is not None:
                try:
                    stand_ins(unicode, one.pattern)
                except ValueError as bad:
                    raise ValueError(f"normalization {one!r}: {bad}") from None
        elif isinstance(one, Precompiled):
            compiled(one)
        elif not isinstance(one, Prepend | Replace) and one not in FORMS:
            raise ValueError(f"normalization {one!r} is not one of {', '.join(FORMS)} or None")
        elif one in FORMS and unicode is not None and _numbers(unicode) > _numbers(known):
            raise ValueError(
                f"normalization {one!r} with unicode={unicode!r}: Python's unicodedata is of Unicode {known}; "
                "name that version or an older one, or take a newer Python"
            )


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")][:2]


def normalizer(normalization: Normalization, unicode: str | None = None) -> Callable[[str], str] | None:
    """The function that applies a normalization to a text; None for no normalization.

    >>> normalizer((Prepend("_"), Replace(" ", "_")))("a b")
    '_a_b'
    """
    functions = [_function(step, unicode) for step in as_tuple(normalization)]
    if len(functions) < 2:
        return functions[0] if functions else None

    def apply(text: str) -> str:
        for function in functions:
            text = function(text)
        return text

    return apply


def _function(step: Normalizer, unicode: str | None) -> Callable[[str], str]:
    if isinstance(step, Prepend):
        return lambda text: step.text + text if text else text
    if isinstance(step, Replace | Precompiled):
        return partial(_replace, step, unicode)
    return partial(normalize, step, unicode=unicode)


def _replace(step: Replace | Precompiled, unicode: str | None, text: str) -> str:
    made, at = [], 0
    for start, end, content in replacements(step, unicode, text):
        made += [text[at:start], content]
        at = end
    return "".join([*made, text[at:]])


def replacements(step: Replace | Precompiled, unicode: str | None, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, content) of what a step replaces in a text."""
    if isinstance(step, Precompiled):
        yield from mapped(step, text)
        return
    import regex

    from ..splitting.pattern.unicode_version import matches

    for start, end in matches(regex.compile(step.pattern), unicode, text):
        yield start, end, step.content


def normalize(form: str, text: str, unicode: str | None = None) -> str:
    """A text in a normal form, as `unicodedata.normalize` gives it, in linear time.

    Args:
        form: One of :data:`FORMS`.
        text: The text.
        unicode: A version of Unicode, whose unassigned code points stay as they are; None for the version of Python.
    """
    fixed = None if unicode is None or text.isascii() else _unknown(unicode)
    if fixed is None:
        return _normalize(form, text)
    parts = fixed.split(text)
    parts[::2] = [_normalize(form, part) for part in parts[::2]]
    return "".join(parts)


#: The longest run of marks that is left to Python's insertion sort.
RUN = 64


@cache
def _marks() -> tuple[regex.Pattern[str], regex.Pattern[str], regex.Pattern[str]]:
    """Patterns of a character that may be, or decompose to, a mark, and of a run of marks before and behind a place.
    `regex` may know more marks than Python, or fewer, which costs only time."""
    import regex

    mark = r"[\P{ccc=0}\u0f73\u0f75\u0f81\uff9e\uff9f]"
    return regex.compile(mark), regex.compile(f"(?r){mark}++"), regex.compile(f"{mark}++")


def _normalize(form: Any, text: str) -> str:
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


def _sorted_marks(form: Any, run: str) -> str:
    """Decompose a run of marks and sort it by combining class; marks of class 0 keep their places."""
    table = {mark: unicodedata.normalize(form, mark) for mark in set(run)}
    decomposed = "".join(map(table.__getitem__, run))
    classes = {mark: unicodedata.combining(mark) for mark in set(decomposed)}
    parts: list[str] = []
    for _, group in groupby(decomposed, lambda mark: classes[mark] > 0):
        parts += sorted(group, key=classes.__getitem__)
    return "".join(parts)


@cache
def _unknown(unicode: str) -> re.Pattern[str] | None:
    """A pattern of the code points that a version of Unicode does not assign, and Python normalizes or combines."""
    from ..splitting.pattern.unicode_version import unassigned

    later = [
        chr(point)
        for start, stop in unassigned(unicode)
        for point in range(start, stop)
        if not 0x40000 <= point < 0xE0000
    ]
    parts = {char: unicodedata.decomposition(char) for char in later}
    joining = {char for char in later if parts[char] or unicodedata.combining(char)}
    joining.update([chr(int(part, 16)) for char in joining for part in parts[char].split() if not part.startswith("<")])
    joining &= parts.keys()
    return re.compile(f"({char_class(joining)}+)") if joining else None


#: A normalization as a JSON value, and back.
to_json: Callable[[Any], Any] = partial(sequences.to_json, classes=FIELDS)
from_json: Callable[[Any], Any] = partial(sequences.from_json, name="normalization", classes=FIELDS)
