"""Templates: the special tokens that a model expects around a text, such as ``<s>`` before and ``</s>`` after it, and
the white space that is left out of the offsets of tokens."""
from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import ClassVar


@dataclass(frozen=True)
class TemplatePart:
    """Token ids, or the first or second text.

    Args:
        ids: Token ids; empty for a text.
        text: "A" for the first text, "B" for the second; "" for ids.
        type_id: The segment id (``token_type_ids``) of these tokens.
    """

    saved_name: ClassVar[str] = "TemplatePart"
    ids: tuple[int, ...] = ()
    text: str = ""
    type_id: int = 0


@dataclass(frozen=True)
class Template:
    """The ids that ``add_special_tokens=True`` puts around one text, and around a pair of texts.

    Args:
        single: The parts around one text; it is "A".
        pair: The parts around two texts.
        trim_offsets: Leaves white space out of offsets. One entry for each post-processor of the file that trims; True
            keeps the space that was put before the text. Ids do not depend on it.

    >>> Template((TemplatePart((1,)), TemplatePart(text="A"), TemplatePart((2,))), ()).around()
    ([1], [2])
    """

    saved_name: ClassVar[str] = "Template"
    single: tuple[TemplatePart, ...]
    pair: tuple[TemplatePart, ...]
    trim_offsets: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        for parts, texts in ((self.single, ["A"]), (self.pair, ["A", "B"])):
            placed = [part.text for part in parts if part.text]
            if parts and sorted(placed) != texts:
                raise ValueError(f"a template must have each of the texts {', '.join(texts)} once, not {placed}")

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


#: The texts alone.
BARE = Template((TemplatePart(text="A"),), (TemplatePart(text="A"), TemplatePart(text="B", type_id=1)))
