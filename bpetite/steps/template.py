"""The special tokens that a model expects around a text, such as ``<s>`` before and ``</s>`` after it."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["TemplatePart", "Template"]


#: What a template is in JSON.
FORM = {"single": list, "pair": list}


@dataclass(frozen=True)
class TemplatePart:
    """Token ids, or the first or second text.

    Args:
        ids: Token ids; empty for a text.
        text: "A" for the first text, "B" for the second; "" for ids.
        type_id: The segment id (``token_type_ids``) of these tokens.
    """

    ids: tuple[int, ...] = ()
    text: str = ""
    type_id: int = 0


@dataclass(frozen=True)
class Template:
    """What ``add_special_tokens=True`` puts around one text, and around a pair of them.

    >>> around = Template((TemplatePart((1,)), TemplatePart(text="A"), TemplatePart((2,))), ())
    >>> around.one([7, 8])
    [1, 7, 8, 2]
    """

    single: tuple[TemplatePart, ...]
    pair: tuple[TemplatePart, ...]

    def __post_init__(self) -> None:
        for parts, texts in ((self.single, ["A"]), (self.pair, ["A", "B"])):
            found = [part.text for part in parts if part.text]
            if parts and sorted(found) != texts:
                raise ValueError(f"a template for {len(texts)} must have {' and '.join(texts)} once each, not {found}")

    def around(self) -> tuple[list[int], list[int]]:
        """The ids before a single text, and those after it."""
        at = next((at for at, part in enumerate(self.single) if part.text), 0)
        return self._ids(self.single[:at]), self._ids(self.single[at:])

    @staticmethod
    def _ids(parts: Sequence[TemplatePart]) -> list[int]:
        return [token_id for part in parts for token_id in part.ids]

    def one(self, ids: Sequence[int]) -> list[int]:
        """The ids of one text with those around it."""
        before, after = self.around()
        return [*before, *ids, *after]

    def ids(self) -> set[int]:
        """All ids that the template adds."""
        return {token_id for part in self.single + self.pair for token_id in part.ids}

    def to_json(self) -> Any:
        """The template as a JSON value."""
        return {"single": [_write(part) for part in self.single], "pair": [_write(part) for part in self.pair]}

    @classmethod
    def from_json(cls, found: Any) -> Template:
        """The template that :meth:`to_json` wrote.

        Raises:
            ValueError: A value that it never writes.
        """
        if not isinstance(found, dict) or {key: type(value) for key, value in found.items()} != FORM:
            raise ValueError(f"template must be an object with the arrays 'single' and 'pair', not {found!r}")
        return cls(tuple(map(_part, found["single"])), tuple(map(_part, found["pair"])))


def _write(part: TemplatePart) -> dict[str, Any]:
    stands = {"text": part.text} if part.text else {"ids": list(part.ids)}
    return {**stands, "type_id": part.type_id}


def _part(found: Any) -> TemplatePart:
    if isinstance(found, dict) and type(found.get("type_id")) is int:
        if found.keys() == {"text", "type_id"} and found["text"] in ("A", "B"):
            return TemplatePart(text=found["text"], type_id=found["type_id"])
        ids = found.get("ids")
        if found.keys() == {"ids", "type_id"} and isinstance(ids, list) and all(type(one) is int for one in ids):
            return TemplatePart(tuple(ids), type_id=found["type_id"])
    raise ValueError(f"template has the unknown part {found!r}")
