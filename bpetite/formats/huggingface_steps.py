"""The pipeline around the model in tokenizer.json: normalizer, pre-tokenizer, post-processor, decoder, both ways.

Source: https://github.com/huggingface/tokenizers, ``tokenizers/src/{normalizers,pre_tokenizers,processors}``
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import regex

from .. import patterns
from ..errors import FormatError
from ..patterns import as_tuple
from ..steps.normalizers import FORMS, Normalization, Prepend, Replace
from ..steps.splits import PrefixSpace, Printable, Split, SplitPattern, Step
from ..steps.template import Template, TemplatePart
from .dialects import from_oniguruma, to_oniguruma
from .files import show

__all__ = [
    "check_decoder",
    "read_normalizer",
    "read_post_processor",
    "read_pre_tokenizer",
    "write_normalizer",
    "write_post_processor",
    "write_pre_tokenizer",
]

BEHAVIORS = {
    "Isolated": "isolated",
    "Removed": "removed",
    "MergedWithPrevious": "merged_with_previous",
    "MergedWithNext": "merged_with_next",
    "Contiguous": "contiguous",
}
#: What counts as punctuation there: Unicode's, and all ASCII characters that are neither letters, digits nor space.
PUNCTUATION = r"[!-/:-@\[-`{-~\p{P}]"

#: Sequences inside sequences that are followed.
DEEP = 32


class Reader:
    """Reads the parts of one file; errors name it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fail(self, what: str) -> FormatError:
        return FormatError(f"{self.name}: {what}")

    def parts(self, found: Any, place: str, sequence: str, depth: int = 0) -> Iterator[tuple[dict[str, Any], str]]:
        """(part, its place) of a part or a Sequence of them, flattened; nothing for null."""
        if found is None:
            return
        if not isinstance(found, dict) or not isinstance(found.get("type"), str):
            raise self.fail(f"{place} must be an object with a type, not {show(found)}")
        if found["type"] == "Sequence":
            if depth > DEEP:
                raise self.fail(f"{place.partition('[')[0]}: sequences nested too deep")
            inner = found.get(sequence)
            if not isinstance(inner, list):
                raise self.fail(f"{place}.{sequence} must be an array, not {show(inner)}")
            for number, one in enumerate(inner):
                yield from self.parts(one, f"{place}[{number}]", sequence, depth + 1)
        else:
            yield found, place

    def value(self, part: dict[str, Any], place: str, key: str, kind: type, default: Any = None) -> Any:
        found = part.get(key, default)
        if type(found) is not kind:
            raise self.fail(f"{place}.{key} must be a {kind.__name__}, not {show(found)}")
        return found

    def pattern(self, part: dict[str, Any], place: str) -> str:
        """The regular expression in {"Regex": ...} or {"String": ...}."""
        found = part.get("pattern")
        if isinstance(found, dict) and len(found) == 1:
            kind, text = next(iter(found.items()))
            if isinstance(text, str) and kind == "String":
                return str(regex.escape(text, special_only=True))
            if isinstance(text, str) and kind == "Regex":
                try:
                    return from_oniguruma(text)
                except FormatError as bad:
                    raise self.fail(f"{place}: {bad}") from None
        raise self.fail(f'{place}.pattern must be {{"Regex": ...}} or {{"String": ...}}, not {show(found)}')


def read_normalizer(found: Any, name: str) -> Normalization:
    """The normalization of a file."""
    read = Reader(name)
    made: list[str | Prepend | Replace] = []
    for part, place in read.parts(found, "normalizer", "normalizers"):
        if part["type"] in FORMS:
            made.append(part["type"])
        elif part["type"] == "Prepend":
            made.append(Prepend(read.value(part, place, "prepend", str)))
        elif part["type"] == "Replace":
            made.append(Replace(read.pattern(part, place), read.value(part, place, "content", str)))
        else:
            raise read.fail(f"{place}: the normalizer {part['type']} is none that bpetite runs")
    if len(made) == 1 and isinstance(made[0], str):
        return made[0]
    return tuple(made) or None


def read_pre_tokenizer(found: Any, name: str) -> SplitPattern:
    """The split pattern of a file."""
    read = Reader(name)
    made: list[Step] = []
    bytelevel = False
    for part, place in read.parts(found, "pre_tokenizer", "pretokenizers"):
        if bytelevel and Printable() not in made:
            made.append(Printable())
        if part["type"] == "ByteLevel":
            if bytelevel:
                raise read.fail(f"{place}: a second ByteLevel")
            bytelevel = True
            if read.value(part, place, "add_prefix_space", bool, True):
                made.append(PrefixSpace())
            if read.value(part, place, "use_regex", bool, True):
                made.append(patterns.GPT2)
        elif part["type"] == "Split":
            behavior = read.value(part, place, "behavior", str)
            if behavior not in BEHAVIORS:
                raise read.fail(f"{place}.behavior {behavior!r} is not one of {', '.join(BEHAVIORS)}")
            invert = read.value(part, place, "invert", bool, False)
            pattern = read.pattern(part, place)
            # inverted or not, cut at both ends of each match
            plain = behavior == "Isolated"
            made.append(pattern if plain else Split(pattern, BEHAVIORS[behavior], invert))
        elif part["type"] == "Digits":
            made.append(r"\p{N}" if read.value(part, place, "individual_digits", bool, False) else r"\p{N}+")
        elif part["type"] == "Punctuation":
            behavior = read.value(part, place, "behavior", str, "Isolated")
            if behavior not in BEHAVIORS:
                raise read.fail(f"{place}.behavior {behavior!r} is not one of {', '.join(BEHAVIORS)}")
            made.append(PUNCTUATION if behavior == "Isolated" else Split(PUNCTUATION, BEHAVIORS[behavior]))
        else:
            raise read.fail(f"{place}: the pre-tokenizer {part['type']} does not occur with byte-level BPE")
    if not bytelevel:
        raise read.fail("pre_tokenizer: no ByteLevel in it, so this is not byte-level BPE")
    if not made:
        return None
    return made[0] if len(made) == 1 and isinstance(made[0], str) else tuple(made)


def read_post_processor(found: Any, name: str) -> Template | None:
    """The template of a file."""
    read = Reader(name)
    template: Template | None = None
    for part, place in read.parts(found, "post_processor", "processors"):
        if part["type"] == "ByteLevel":
            continue  # it trims offsets and changes no ids
        if template is not None:
            raise read.fail(f"{place}: a second post-processor that puts in tokens")
        if part["type"] in ("RobertaProcessing", "BertProcessing"):
            template = _roberta_or_bert(read, part, place)
        elif part["type"] == "TemplateProcessing":
            ids = _template_ids(read, part, place)
            single = _template(read, part.get("single"), ids, f"{place}.single")
            pair = _template(read, part.get("pair"), ids, f"{place}.pair")
            try:
                template = Template(single, pair)
            except ValueError as bad:
                raise read.fail(f"{place}: {bad}") from None
        else:
            raise read.fail(f"{place}: the post-processor {part['type']} does not occur with byte-level BPE")
    return template


def _roberta_or_bert(read: Reader, part: dict[str, Any], place: str) -> Template:
    found = []
    for key in ("cls", "sep"):
        pair = part.get(key)
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[1]) is not int:
            raise read.fail(f"{place}.{key} must be [token, id], not {show(pair)}")
        found.append(pair[1])
    begin, end = TemplatePart((found[0],)), TemplatePart((found[1],))
    first = (begin, TemplatePart(text="A"), end)
    if part["type"] == "RobertaProcessing":
        return Template(first, (*first, end, TemplatePart(text="B"), end))
    return Template(first, (*first, TemplatePart(text="B", type_id=1), TemplatePart((found[1],), type_id=1)))


def _template_ids(read: Reader, part: dict[str, Any], place: str) -> dict[str, tuple[int, ...]]:
    found = part.get("special_tokens")
    if not isinstance(found, dict):
        raise read.fail(f"{place}.special_tokens must be an object, not {show(found)}")
    made = {}
    for key, entry in found.items():
        ids = entry.get("ids") if isinstance(entry, dict) else None
        if not isinstance(ids, list) or not all(type(one) is int for one in ids):
            raise read.fail(f"{place}.special_tokens[{show(key)}] must have an array of ids, not {show(entry)}")
        made[key] = tuple(ids)
    return made


def _template(read: Reader, found: Any, ids: dict[str, tuple[int, ...]], place: str) -> tuple[TemplatePart, ...]:
    if not isinstance(found, list):
        raise read.fail(f"{place} must be an array, not {show(found)}")
    made: list[TemplatePart] = []
    for number, entry in enumerate(found):
        kind, inner = next(iter(entry.items())) if isinstance(entry, dict) and len(entry) == 1 else ("", None)
        if not isinstance(inner, dict) or type(inner.get("type_id")) is not int:
            raise read.fail(f"{place}[{number}] is no part of a template: {show(entry)}")
        if kind == "Sequence" and inner.get("id") in ("A", "B"):
            made.append(TemplatePart(text=inner["id"], type_id=inner["type_id"]))
        elif kind == "SpecialToken" and inner.get("id") in ids:
            made.append(TemplatePart(ids[inner["id"]], type_id=inner["type_id"]))
        else:
            raise read.fail(f"{place}[{number}] is no part of a template: {show(entry)}")
    return tuple(made)


def check_decoder(found: Any, name: str) -> None:
    """Raise FormatError unless the decoder is that of byte-level BPE."""
    read = Reader(name)
    for part, place in read.parts(found, "decoder", "decoders"):
        if part["type"] != "ByteLevel":
            raise read.fail(f"{place}: the decoder {part['type']} does not occur with byte-level BPE")


# Writing


def write_normalizer(normalization: Normalization) -> Any:
    """The normalizer for a file."""
    made: list[dict[str, Any]] = []
    for one in as_tuple(normalization):
        if isinstance(one, Prepend):
            made.append({"type": "Prepend", "prepend": one.text})
        elif isinstance(one, Replace):
            made.append({"type": "Replace", "pattern": _pattern(one.pattern), "content": one.content})
        else:
            made.append({"type": one})
    return _sequence(made, "normalizers")


def write_pre_tokenizer(pattern: SplitPattern) -> Any:
    """The pre-tokenizer for a file."""
    names = {behavior: name for name, behavior in BEHAVIORS.items()}
    found = list(as_tuple(pattern))
    at = found.index(Printable()) if Printable() in found else len(found)
    before, after = found[:at], found[at + 1 :]
    # ByteLevel comes last of what is before; it has room for a prefix space and for GPT-2's pattern
    use_regex = bool(before) and before[-1] == patterns.GPT2
    if use_regex:
        before.pop()
    prefix_space = bool(before) and before[-1] == PrefixSpace()
    if prefix_space:
        before.pop()
    bytelevel = {
        "type": "ByteLevel",
        "add_prefix_space": prefix_space,
        "trim_offsets": False,
        "use_regex": use_regex,
    }
    made: list[dict[str, Any]] = []
    for step in (*before, bytelevel, *after):
        if isinstance(step, dict):
            made.append(step)
        elif isinstance(step, PrefixSpace | Printable):
            raise FormatError("tokenizer.json holds a PrefixSpace only right before GPT-2's pattern or at the end")
        else:
            split = Split(step) if isinstance(step, str) else step
            made.append(
                {
                    "type": "Split",
                    "pattern": _pattern(split.pattern),
                    "behavior": names[split.behavior],
                    "invert": split.invert,
                }
            )
    return _sequence(made, "pretokenizers")


def _pattern(pattern: str) -> dict[str, str]:
    try:
        return {"Regex": to_oniguruma(pattern)}
    except FormatError as bad:
        raise FormatError(f"tokenizer.json cannot hold the {bad}") from None


def write_post_processor(template: Template | None, tokens: dict[int, bytes]) -> Any:
    """The post-processor for a file."""
    trim = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    if template is None:
        return trim
    special: dict[str, dict[str, Any]] = {}

    def write(part: TemplatePart) -> dict[str, Any]:
        if part.text:
            return {"Sequence": {"id": part.text, "type_id": part.type_id}}
        names = [tokens[one].decode("utf-8", "replace") for one in part.ids]
        key = " ".join(names)
        special[key] = {"id": key, "ids": list(part.ids), "tokens": names}
        return {"SpecialToken": {"id": key, "type_id": part.type_id}}

    written = {name: [write(part) for part in parts] for name, parts in _named(template)}
    return {"type": "TemplateProcessing", **written, "special_tokens": special}


def _named(template: Template) -> tuple[tuple[str, tuple[TemplatePart, ...]], ...]:
    return ("single", template.single), ("pair", template.pair)


def _sequence(made: list[dict[str, Any]], key: str) -> Any:
    if not made:
        return None
    return made[0] if len(made) == 1 else {"type": "Sequence", key: made}
