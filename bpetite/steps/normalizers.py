"""Normalizers, which rewrite text before it is split: Unicode normalization, and more steps of tokenizer.json."""
from __future__ import annotations

import marshal
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar, TypeAlias

from ..errors import short_repr
from ..patterns import as_tuple, unescaped
from ._rewriting import CharsMap, NormalForm, Rewriter
from .charsmap import Precompiled, charsmap_of, precompiled_replacements

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
#: The characters that a step may make of a text: `MOST` for each character, and `SPARE` more.
MOST, SPARE = 64, 1024
DATA = os.path.join(os.path.dirname(__file__), "..", "data")
FORMS_FILE, MAPS_FILE = (os.path.join(DATA, name) for name in ("normal-forms-9.0.bin", "character-maps.bin"))
MAPS = ("Lowercase", "StripAccents")
#: The map of :class:`BertNormalizer`, which knows fewer accents, after NFD.
BERT_ACCENTS = "BertStripAccents"


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
        """The text that the step writes for every space; "" if it does something else."""
        return self.content if self.pattern == " " else ""

    def made(self, match: str) -> str:
        """The text that a match becomes."""
        return self.content


class _Surround(Replace):
    """Put `content` before and after every match of a regular expression."""

    def made(self, match: str) -> str:
        return self.content + match + self.content


@dataclass(frozen=True)
class Mapped:
    """Map each character by itself, as the normalizer `name` of ``tokenizers`` 0.23.3, one of :data:`MAPS`, does: to
    lower case, or to nothing if it is an accent. `tools/character_maps.py` writes the file."""

    saved_name: ClassVar[str] = "Mapped"
    name: str


@dataclass(frozen=True)
class BertNormalizer:
    """Remove control characters and make all white space spaces, put spaces around Chinese characters, strip accents,
    map to lower case: each if asked for, in this order, as ``tokenizers`` 0.23.3 does."""

    saved_name: ClassVar[str] = "BertNormalizer"
    clean_text: bool = True
    handle_chinese_chars: bool = True
    strip_accents: bool = True
    lowercase: bool = True

    @property
    def steps(self) -> tuple[Normalizer, ...]:
        """The steps that do the same."""
        return (
            *(BERT_CLEAN if self.clean_text else ()), *((BERT_CHINESE,) if self.handle_chinese_chars else ()),
            *(("NFD", Mapped(BERT_ACCENTS)) if self.strip_accents else ()),
            *((Mapped("Lowercase"),) if self.lowercase else ()),
        )  # fmt: skip


#: Characters that :class:`BertNormalizer` removes, and white space; Chinese characters.
BERT_CLEAN = (
    Replace(
        "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u202a-\u202e"
        "\u2060-\u2064\u2066-\u206f\ue000-\uf8ff\ufeff\ufff9-\ufffb\ufffd\U000110bd\U0001bca0-\U0001bca3"
        "\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f\U000f0000-\U000ffffd\U00100000-\U0010fffd]", ""
    ),
    Replace("[\\t\\n\\r\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]", " "),
)  # fmt: skip
BERT_CHINESE = _Surround(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf"
    "\U0002f800-\U0002fa1f]", " "
)  # fmt: skip


def trimming(space: str) -> tuple[tuple[Replace, ...], Replace]:
    """The steps that remove spaces from the start of a text and collapse runs of spaces; and the step that removes
    spaces, by then written as `space`, from its end."""
    return (Replace(r"\A +", ""), Replace(" {2,}", " ")), Replace(rf"{space}+\Z", "")


Normalizer: TypeAlias = str | Prepend | Replace | Mapped | BertNormalizer | Precompiled
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
            charsmap_of(one)
        elif isinstance(one, Mapped):
            if one.name not in MAPS:
                raise ValueError(f"normalization {one!r} is not one of {', '.join(MAPS)}")
        elif not isinstance(one, Prepend | Replace | BertNormalizer) and one not in FORMS:
            raise ValueError(f"normalization {one!r} is not one of {', '.join(FORMS)} or None")


def expanded(normalization: Normalization) -> tuple[Normalizer, ...]:
    """The steps of a normalization, with those of :class:`BertNormalizer` in its place."""
    steps = as_tuple(normalization)
    return tuple(one for step in steps for one in (step.steps if isinstance(step, BertNormalizer) else (step,)))


def normalizer(normalization: Normalization) -> Callable[[str], str] | None:
    """The function that applies a normalization to a text; None for no normalization.

    >>> normalizer((Prepend("_"), Replace(" ", "_")))("a b")
    '_a_b'
    """
    steps = expanded(normalization)
    functions = [_function(step) for step in steps]
    if len(functions) < 2:
        return functions[0] if functions else None

    def apply(text: str) -> str:
        given = len(text)
        for step, function in zip(steps, functions, strict=True):
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
        found = precompiled_replacements(step, text) if isinstance(step, Precompiled) else _matched(step, text)
    for start, end, content in found:
        made += len(content)
        check_growth(step, made, len(text))
        yield start, end, content


def _matched(step: Replace, text: str) -> Iterator[tuple[int, int, str]]:
    import regex

    from ..splitting.pattern.regex_text import matches

    for start, end in matches(regex.compile(step.pattern), text) if text else ():  # tokenizers replaces none in ""
        yield start, end, step.made(text[start:end])


def check_growth(step: Normalizer, made: int, given: int) -> None:
    """Raise ValueError if the steps have made more characters than :data:`MOST` and :data:`SPARE` allow: a few steps
    that each double a text would take all memory."""
    if made > MOST * given + SPARE:
        raise ValueError(
            f"normalization {short_repr(step)} makes more than {MOST} times its length and {SPARE} characters "
            f"of a text of {given}"
        )


def _tables(path: str) -> Any:
    """The content of a file of tables."""
    import zlib  # not at the top: most files do without it

    with open(path, "rb") as file:
        return marshal.loads(zlib.decompress(file.read()))


@cache
def normal_form(form: str) -> NormalForm:
    """The function that puts text into one of :data:`FORMS`. Characters are those of Unicode 9.0, as in ``tokenizers``
    0.23.3; all others stay as they are. `tools/normal_forms.py` writes the file.

    >>> normal_form("NFC")("e\\u0301")
    'é'
    """
    marks, canonical, compatible, pairs = _tables(FORMS_FILE)
    if "K" in form:
        canonical |= compatible
        pairs = {pair: char for pair, char in pairs.items() if char not in compatible}
    return NormalForm(form.endswith("C"), marks, canonical, pairs)


@cache
def character_map(name: str, first: Rewriter | None = None) -> CharsMap:
    """The function of a step :class:`Mapped`, applied to what the rewriter `first` makes of a text.

    >>> character_map("Lowercase")("ÉΣ")
    'éσ'
    """
    return CharsMap(_tables(MAPS_FILE)[name], first=first)
