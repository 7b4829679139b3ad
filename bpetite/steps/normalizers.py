"""Normalizers, which rewrite text before it is split: Unicode normalization, and more steps of tokenizer.json."""
from __future__ import annotations

import marshal
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar

from ..errors import short_repr
from ..patterns import as_tuple, unescaped
from ._rewriting import CharsMap, NormalForm, Rewriter
from .charsmap import Precompiled, compiled, mapped

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
#: Characters that steps may make of each one, and in any case.
MOST, SPARE = 64, 1024
FORMS_FILE = os.path.join(os.path.dirname(__file__), "..", "data", "normal-forms-9.0.bin")
MAPS = ("Lowercase", "StripAccents")
MAPS_FILE = os.path.join(os.path.dirname(__file__), "..", "data", "character-maps.bin")


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


@dataclass(frozen=True)
class Mapped:
    """Map each character alone as ``tokenizers`` 0.23.3 does in the normalizer `name`, one of :data:`MAPS`: to lower
    case, or to nothing if it is an accent. `tools/character_maps.py` writes the file."""

    saved_name: ClassVar[str] = "Mapped"
    name: str


def trimming(space: str) -> tuple[tuple[Replace, ...], Replace]:
    """The steps that take spaces from the start of a text and all but one of several, and the one that takes spaces, by
    then written as `space`, from its end."""
    return (Replace(r"\A +", ""), Replace(" {2,}", " ")), Replace(rf"{space}+\Z", "")


Normalizer = str | Prepend | Replace | Mapped | Precompiled
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
        elif isinstance(one, Mapped):
            if one.name not in MAPS:
                raise ValueError(f"normalization {one!r} is not one of {', '.join(MAPS)}")
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
        given = len(text)
        for step, function in zip(as_tuple(normalization), functions, strict=True):
            text = function(text)
            check_growth(step, len(text), given)
        return text

    return apply


def _function(step: Normalizer) -> Callable[[str], str]:
    if isinstance(step, Prepend):
        return lambda text: step.text + text if text else text
    if isinstance(step, Replace | Precompiled):
        return partial(_replace, step)
    function: Callable[[str], str] = character_map(step.name) if isinstance(step, Mapped) else normal_form(step)
    return function


def _replace(step: Replace | Precompiled, text: str) -> str:
    made, at = [], 0
    for start, end, content in replacements(step, text):
        made += [text[at:start], content]
        at = end
    return "".join([*made, text[at:]])


def replacements(step: Replace | Mapped | Precompiled, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, content) of what a step replaces in a text."""
    made = 0
    if isinstance(step, Mapped):
        found = iter(character_map(step.name).replacements(text))
    else:
        found = mapped(step, text) if isinstance(step, Precompiled) else _matched(step, text)
    for start, end, content in found:
        made += len(content)
        check_growth(step, made, len(text))
        yield start, end, content


def _matched(step: Replace, text: str) -> Iterator[tuple[int, int, str]]:
    import regex

    from ..splitting.pattern.regex_text import matches

    for start, end in matches(regex.compile(step.pattern), text) if text else ():  # tokenizers replaces none in ""
        yield start, end, step.content


def check_growth(step: Normalizer, made: int, given: int) -> None:
    """Raise ValueError if a step has made more than :data:`MOST` characters for each one given, and :data:`SPARE`: a
    few steps that each double a text would take all memory."""
    if made > MOST * given + SPARE:
        raise ValueError(
            f"normalization {short_repr(step)} makes more than {MOST} times its length and {SPARE} characters "
            f"of a text of {given}"
        )


@cache
def normal_form(form: str) -> NormalForm:
    """The function that puts text into one of :data:`FORMS`. Characters are those of Unicode 9.0, as in ``tokenizers``
    0.23.3; all others stay as they are. `tools/normal_forms.py` writes the file.

    >>> normal_form("NFC")("e\\u0301")
    'é'
    """
    import zlib  # not at the top: most files do without it

    with open(FORMS_FILE, "rb") as file:
        marks, canonical, compatible, pairs = marshal.loads(zlib.decompress(file.read()))
    if "K" in form:
        canonical |= compatible
        pairs = {pair: char for pair, char in pairs.items() if char not in compatible}
    return NormalForm(form.endswith("C"), marks, canonical, pairs)


@cache
def character_map(name: str, first: Rewriter | None = None) -> CharsMap:
    """The function of a step :class:`Mapped`, after that of the steps `first`.

    >>> character_map("Lowercase")("ÉΣ")
    'éσ'
    """
    import zlib

    with open(MAPS_FILE, "rb") as file:
        return CharsMap(marshal.loads(zlib.decompress(file.read()))[name], first=first)
