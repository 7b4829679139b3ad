"""The alphabet of a vocabulary whose merges begin from characters, as SentencePiece makes them; or from bytes, some of
which have no token, or which carry marks."""
from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from ..errors import short_repr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._merge_list import MergeList

#: What decoding takes from the beginning of a text: nothing, one space, the spaces of the first token.
Strip: TypeAlias = Literal["none", "one", "token"]
#: The text of tokens: their bytes; as their file spells them with spaces for marks; or that with a space between two.
Decoding: TypeAlias = Literal["bytes", "marks", "spaced"]
#: The values of the settings that are names.
NAMES: dict[str, tuple[str, ...]] = {
    "strip": ("none", "one", "token"), "units": ("characters", "bytes"), "missing": ("refuse", "drop"),
    "decoding": ("bytes", "marks", "spaced"),
}  # fmt: skip
#: The settings that every file of an alphabet has.
LATER = 5


@dataclass(frozen=True)
class Alphabet:
    """An alphabet. A character without a token becomes the tokens of its bytes in UTF-8, else `unknown`.

    Args:
        byte_ids: The ids of the tokens for the bytes 0 to 255, None for a byte without one; or () for no such tokens.
        unknown: The id for other characters without a token; None to refuse them.
        fuse_unknown: Neighbours of these become one id.
        space: The character that files write for a space, "▁"; in a text it is one. "" for none.
        strip: What decoding takes from the beginning of a text: "none", "one" space, or all spaces of the first
            "token".
        units: Merges begin from "characters" or "bytes".
        suffix: The mark that the last of these in a pre-token carries, as "</w>" of CLIP: it has another token there,
            whose bytes end in the mark. "" for none.
        missing: A character without any token, where there is no `unknown`, is an error ("refuse") or gives nothing
            ("drop").
        decoding: The text of tokens: their "bytes" joined; with "marks", the mark at the end of a word is a space, but
            for the last token; "spaced", as files spell them, with a space between two.

    >>> Alphabet(unknown=0).unknown
    0
    """

    saved_name: ClassVar[str] = "Alphabet"
    byte_ids: tuple[int | None, ...] = ()
    unknown: int | None = None
    fuse_unknown: bool = False
    space: str = ""
    strip: Strip = "none"
    units: Literal["characters", "bytes"] = "characters"
    suffix: str = ""
    missing: Literal["refuse", "drop"] = "refuse"
    decoding: Decoding = "bytes"

    def __post_init__(self) -> None:
        if not isinstance(self.byte_ids, tuple) or len(self.byte_ids) not in (0, 256):
            raise ValueError(f"byte_ids is a tuple of 256 ids, or (), not {short_repr(self.byte_ids)}")
        for value in (*self.byte_ids, self.unknown):
            if value is not None and (type(value) is not int or not 0 <= value < 2**32 - 1):
                raise ValueError(f"alphabet: {short_repr(value)} is no id below {2**32 - 1}")
        if type(self.fuse_unknown) is not bool:
            raise TypeError(f"fuse_unknown is a bool, not {short_repr(self.fuse_unknown)}")
        if not isinstance(self.space, str) or len(self.space) > 1 or self.space == " ":
            raise ValueError(f'space is a character other than a space, or "", not {short_repr(self.space)}')
        for name, known in NAMES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is one of {known}, not {short_repr(getattr(self, name))}")
        if not isinstance(self.suffix, str) or (self.suffix and (self.space or self.byte_ids)):
            raise ValueError(f"suffix is a str, \"\" beside a space or byte tokens, not {short_repr(self.suffix)}")
        if self.units == "bytes" and (self.space or self.byte_ids or self.strip != "none"):
            raise ValueError("an alphabet of bytes has no space, byte_ids or strip")

    def check(self, tokens: Mapping[int, bytes], merges: MergeList) -> None:
        """Raise ValueError unless the alphabet fits tokens and merges."""
        if len(last := tokens.get(2**32 - 1, b"").decode("utf-8", "replace")) == 1:
            raise ValueError(f"alphabet: the character {last!r} has the id {2**32 - 1}, and must have one below it")
        merged = merges.parts_among({*self.byte_ids, self.unknown} - {None})
        for byte, token_id in enumerate(self.byte_ids):
            if token_id is None:
                continue
            if tokens.get(token_id) != bytes([byte]):
                raise ValueError(f"alphabet: id {token_id} of byte 0x{byte:02X} holds {tokens.get(token_id)!r}")
            if token_id in merged:
                raise ValueError(f"alphabet: id {token_id} of byte 0x{byte:02X} is a part of a merge")
        if self.unknown is not None:
            if self.unknown not in tokens:
                raise ValueError(f"alphabet: unknown is {self.unknown}, which is no token")
            if self.unknown in merged:
                raise ValueError(f"alphabet: the id for unknown characters, {self.unknown}, is a part of a merge")

    @property
    def of_characters(self) -> bool:
        """True if merges begin from characters."""
        return self.units == "characters"

    def is_symbol(self, token: bytes) -> bool:
        """True for the bytes of a character or byte, perhaps with the mark."""
        parts = (token, token.removesuffix(self.suffix.encode("utf-8")))
        return any(len(part.decode("utf-8", "replace") if self.of_characters else part) == 1 for part in parts)

    def read_spelled(self, spelled: str) -> bytes:
        """The bytes of a token as a file spells it.

        >>> Alphabet(space="▁").read_spelled("▁the"), Alphabet(byte_ids=(None,) * 256).read_spelled("<0x0A>")
        (b' the', b'\\n')
        """
        if len(spelled) == 6 and self.byte_ids and re.fullmatch("<0x[0-9A-F]{2}>", spelled):
            return bytes([int(spelled[3:5], 16)])
        return (spelled.replace(self.space, " ") if self.space else spelled).encode("utf-8")

    def spell(self, token: bytes, token_id: int) -> str:
        """A token as a file spells it: the inverse of :meth:`read_spelled`."""
        if len(token) == 1 and self.byte_ids and self.byte_ids[token[0]] == token_id:
            return f"<0x{token[0]:02X}>"
        return token.decode("utf-8").replace(" ", self.space or " ")

    def renumbered(self, ids: Mapping[int, int]) -> Alphabet:
        """The alphabet after its tokens got other ids: old id -> new id."""
        byte_ids = tuple(None if token_id is None else ids[token_id] for token_id in self.byte_ids)
        return replace(self, byte_ids=byte_ids, unknown=None if self.unknown is None else ids[self.unknown])

    def to_json(self) -> dict[str, Any]:
        """The alphabet as a JSON value, without the later settings where they are not set."""
        unset = {field.name for field in fields(self)[LATER:] if getattr(self, field.name) == field.default}
        settings = vars(self) | {"byte_ids": list(self.byte_ids)}
        return {name: value for name, value in settings.items() if name not in unset}

    @classmethod
    def from_json(cls, value: Any) -> Alphabet:
        """The alphabet that :meth:`to_json` wrote. Raises ValueError for a value that it never writes."""
        names = [field.name for field in fields(cls)]
        if not isinstance(value, dict) or not {*names[:LATER]} <= value.keys() <= {*names}:
            raise ValueError(f"alphabet must be an object with the settings of one, not {short_repr(value)}")
        if not isinstance(value["byte_ids"], list):
            raise ValueError(f"alphabet: byte_ids must be an array, not {short_repr(value['byte_ids'])}")
        return cls(**value | {"byte_ids": tuple(value["byte_ids"])})
