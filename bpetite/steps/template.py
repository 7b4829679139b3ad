"""Templates: the special tokens that a model expects around a text, such as ``<s>`` before and ``</s>`` after it, and
the white space that is left out of the offsets of tokens."""
from __future__ import annotations

from itertools import chain
from typing import Any

from ..record import Record

#: The fields of a template in JSON.
FORM = {"single": list, "pair": list}
#: A further field, if it trims offsets.
TRIM = {"trim_offsets": list}


class TemplatePart(Record):
    """Token ids, or the first or second text.

    Args:
        ids: Token ids; empty for a text.
        text: "A" for the first text, "B" for the second; "" for ids.
        type_id: The segment id (``token_type_ids``) of these tokens.
    """

    ids: tuple[int, ...] = ()
    text: str = ""
    type_id: int = 0


class Template(Record):
    """The ids that ``add_special_tokens=True`` puts around one text, and around a pair of texts.

    Args:
        single: The parts around one text; it is "A".
        pair: The parts around two texts.
        trim_offsets: Kept for tokenizer.json, where it leaves white space out of offsets. Each value stands for one
            pass; true keeps the space that may have been put before the text. Ids do not depend on it.

    >>> Template((TemplatePart((1,)), TemplatePart(text="A"), TemplatePart((2,))), ()).around()
    ([1], [2])
    """

    single: tuple[TemplatePart, ...]
    pair: tuple[TemplatePart, ...]
    trim_offsets: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        for parts, texts in ((self.single, ["A"]), (self.pair, ["A", "B"])):
            placed = [part.text for part in parts if part.text]
            if parts and sorted(placed) != texts:
                raise ValueError(f"a template for {len(texts)} must have {' and '.join(texts)} once each, not {placed}")

    def around(self) -> tuple[list[int], list[int]]:
        """(ids before a single text, ids after it)."""
        at = next((at for at, part in enumerate(self.single) if part.text), 0)
        before, after = ([*chain(*(part.ids for part in parts))] for parts in (self.single[:at], self.single[at:]))
        return before, after

    def ids(self) -> set[int]:
        """All ids that the template adds."""
        return {token_id for part in self.single + self.pair for token_id in part.ids}

    @property
    def bare(self) -> Template:
        """The template without its ids, for ``add_special_tokens=False``."""
        single, pair = (tuple(part for part in parts if part.text) for parts in (self.single, self.pair))
        return Template(single, pair, self.trim_offsets)

    def to_json(self) -> Any:
        """The template as a JSON value."""
        made = {"single": [_write(part) for part in self.single], "pair": [_write(part) for part in self.pair]}
        return made | {"trim_offsets": list(self.trim_offsets)} if self.trim_offsets else made

    @classmethod
    def from_json(cls, content: Any) -> Template:
        """The template that :meth:`to_json` wrote.

        Raises:
            ValueError: A value that it never writes.
        """
        types = {key: type(value) for key, value in content.items()} if isinstance(content, dict) else None
        if types not in (FORM, FORM | TRIM):
            raise ValueError(f"template must be an object with the arrays 'single' and 'pair', not {content!r}")
        trims = content.get("trim_offsets", ())
        if not all(type(one) is bool for one in trims):
            raise ValueError(f"template has trim_offsets {trims!r}, not an array of true and false")
        return cls(tuple(map(_part, content["single"])), tuple(map(_part, content["pair"])), tuple(trims))


#: The texts alone.
BARE = Template((TemplatePart(text="A"),), (TemplatePart(text="A"), TemplatePart(text="B", type_id=1)))


def _write(part: TemplatePart) -> dict[str, Any]:
    stands = {"text": part.text} if part.text else {"ids": list(part.ids)}
    return {**stands, "type_id": part.type_id}


def _part(value: Any) -> TemplatePart:
    if isinstance(value, dict) and type(value.get("type_id")) is int:
        if value.keys() == {"text", "type_id"} and value["text"] in ("A", "B"):
            return TemplatePart(text=value["text"], type_id=value["type_id"])
        ids = value.get("ids")
        if value.keys() == {"ids", "type_id"} and isinstance(ids, list) and all(type(one) is int for one in ids):
            return TemplatePart(tuple(ids), type_id=value["type_id"])
    raise ValueError(f"template has the unknown part {value!r}")
