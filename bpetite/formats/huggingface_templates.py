"""The post-processor of tokenizer.json, read and written as a template.

Source: https://github.com/huggingface/tokenizers, ``tokenizers/src/processors``
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import FormatError, short_repr
from .files import errors_named
from .huggingface_steps import sequence_of, steps_of, value_of

if TYPE_CHECKING:  # imported at run time only for the files that have one
    from ..steps.template import Template, TemplatePart


#: A part of a template as the fields of a TemplatePart: ids, text, type_id.
Part = tuple[tuple[int, ...], str, int]


def read_post_processor(content: Any, where: str) -> Template | None:
    """The template of a file."""
    parts: tuple[list[Part], list[Part]] | None = None
    trims: list[bool] = []
    for step, at in steps_of(content, where, "processors"):
        # without these settings the library takes a RobertaProcessing for a BertProcessing
        roberta = step["type"] == "RobertaProcessing" and {"trim_offsets", "add_prefix_space"} <= step.keys()
        if (step["type"] == "ByteLevel" or roberta) and value_of(step, at, "trim_offsets", bool, True):
            trims.append(value_of(step, at, "add_prefix_space", bool, True))
        if step["type"] == "ByteLevel":
            continue
        if parts is not None:
            raise FormatError(f"{at}: a second post-processor that adds tokens")
        if step["type"] in ("RobertaProcessing", "BertProcessing"):
            parts = _roberta_or_bert(step, at, roberta)
        elif step["type"] == "TemplateProcessing":
            ids = _template_ids(step, at)
            parts = _parts(step.get("single"), ids, f"{at}.single"), _parts(step.get("pair"), ids, f"{at}.pair")
        else:
            raise FormatError(f"{at}: bpetite does not have the post-processor {step['type']}")
    if parts is None and not trims:
        return None
    from ..steps.template import BARE, Template, TemplatePart

    with errors_named(where):
        single, pair = (tuple(TemplatePart(*part) for part in some) for some in parts or ((), ()))
        return replace(Template(single, pair) if parts else BARE, trim_offsets=tuple(trims))


def _roberta_or_bert(step: dict[str, Any], where: str, roberta: bool) -> tuple[list[Part], list[Part]]:
    ids = []
    for key in ("cls", "sep"):
        pair = step.get(key)
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[1]) is not int:
            raise FormatError(f"{where}.{key} must be [token, id], not {short_repr(pair)}")
        ids.append(pair[1])
    begin, end, text = ((ids[0],), "", 0), ((ids[1],), "", 0), ((), "A", 0)
    second: list[Part] = [end, ((), "B", 0), end] if roberta else [((), "B", 1), ((ids[1],), "", 1)]
    return [begin, text, end], [begin, text, end, *second]


def _template_ids(step: dict[str, Any], where: str) -> dict[str, tuple[int, ...]]:
    entries = step.get("special_tokens")
    if not isinstance(entries, dict):
        raise FormatError(f"{where}.special_tokens must be an object, not {short_repr(entries)}")
    made = {}
    for key, entry in entries.items():
        ids = entry.get("ids") if isinstance(entry, dict) else None
        if not isinstance(ids, list) or not all(type(one) is int for one in ids):
            raise FormatError(
                f"{where}.special_tokens[{short_repr(key)}] must have an array of ids, not {short_repr(entry)}"
            )
        made[key] = tuple(ids)
    return made


def _parts(entries: Any, ids: dict[str, tuple[int, ...]], where: str) -> list[Part]:
    if not isinstance(entries, list):
        raise FormatError(f"{where} must be an array, not {short_repr(entries)}")
    return [_part(entry, ids, f"{where}[{number}]") for number, entry in enumerate(entries)]


def _part(entry: Any, ids: dict[str, tuple[int, ...]], where: str) -> Part:
    type_name, inner = next(iter(entry.items())) if isinstance(entry, dict) and len(entry) == 1 else ("", None)
    if isinstance(inner, dict) and type(inner.get("type_id")) is int:
        name = inner.get("id")
        if type_name == "Sequence" and name in ("A", "B"):
            return (), name, inner["type_id"]
        if type_name == "SpecialToken" and isinstance(name, str) and name in ids:
            return ids[name], "", inner["type_id"]
    raise FormatError(f"{where} is no part of a template: {short_repr(entry)}")


def write_post_processor(template: Template | None, tokens: Mapping[int, bytes]) -> Any:
    """The post-processor in a file."""
    if template is None:
        return {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    from ..steps.template import BARE

    made: list[dict[str, Any]] = [
        {"type": "ByteLevel", "add_prefix_space": keeps_space, "trim_offsets": True, "use_regex": True}
        for keeps_space in template.trim_offsets
    ]
    if made and replace(template, trim_offsets=()) == BARE:
        return sequence_of(made, "processors")
    special: dict[str, dict[str, Any]] = {}

    def write(part: TemplatePart) -> dict[str, Any]:
        if part.text:
            return {"Sequence": {"id": part.text, "type_id": part.type_id}}
        names = [tokens[one].decode("utf-8", "replace") for one in part.ids]
        key = " ".join(names)
        while special.get(key, {}).get("ids", [*part.ids]) != [*part.ids]:
            key += "'"  # bytes that are not UTF-8 have one name
        special[key] = {"id": key, "ids": list(part.ids), "tokens": names}
        return {"SpecialToken": {"id": key, "type_id": part.type_id}}

    single = [write(part) for part in template.single]
    pair = [write(part) for part in template.pair]
    made.append({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special})
    return sequence_of(made, "processors")
