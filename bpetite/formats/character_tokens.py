"""Vocabularies of characters in tokenizer.json: their alphabet, and tokens as the file spells them."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ..errors import FormatError, short_repr
from ..patterns import as_tuple
from ..steps.normalizers import Normalization, Replace
from ..steps.splits import Metaspace, SplitPattern
from ..vocabulary._tokens import TokenTable
from ..vocabulary.characters import Characters
from .files import errors_named
from .huggingface_steps import read_decoder

__all__ = ["SpelledCharacters", "read_alphabet", "read_spelled_characters"]


class SpelledCharacters(Mapping[str, int]):
    """The ids of tokens as a file spells them; of :func:`bpetite.vocabulary._printable.read_characters`."""

    def __init__(self, tokens: TokenTable, byte_ids: Sequence[int | None], space: str) -> None:
        self._tokens, self._byte_ids = tokens, byte_ids
        self._spelling = Characters(tuple(byte_ids), space=space)

    def __getitem__(self, spelled: str) -> int:
        token = self._spelling.decode(spelled)
        is_byte = len(token) == 1 and len(spelled) > 1
        found = self._byte_ids[token[0]] if is_byte else self._tokens.find_id(token)
        if found is None or self._spelling.encode(token, found) != spelled:
            raise KeyError(spelled)
        return found

    def __iter__(self) -> Iterator[str]:
        return (self._spelling.encode(token, token_id) for token_id, token in self._tokens.items())

    def __len__(self) -> int:
        return len(self._tokens)


def read_alphabet(
    content: dict[str, Any], ids: Mapping[str, int], normalization: Normalization, pattern: SplitPattern, name: str
) -> Characters:
    """The alphabet of a file.

    Args:
        content: The file.
        ids: spelled token -> id.
        normalization, pattern: Of the file.
        name: The file, for error messages.
    """
    model = content["model"]
    space, byte_tokens, strip = read_decoder(content.get("decoder"), name)
    if space and space not in _written_spaces(normalization, pattern):
        raise FormatError(
            f"{name}: decoder makes a space of {space!r}, and neither normalizer nor pre-tokenizer writes it for one"
        )
    if space and space not in ids:
        raise FormatError(f"{name}: the character for a space, {space!r}, is no token")
    byte_ids: tuple[int | None, ...] = tuple(ids.get(f"<0x{byte:02X}>") for byte in range(256))
    if not any(byte is not None for byte in byte_ids):
        byte_ids = ()
    if bool(byte_ids) and (bool(model.get("byte_fallback")), byte_tokens) != (True, True):
        raise FormatError(
            f"{name}: byte tokens such as <0x0A> need both model.byte_fallback and the decoder ByteFallback"
        )
    unknown = model.get("unk_token")
    if unknown is not None and unknown not in ids:
        raise FormatError(f"{name}: model.unk_token {short_repr(unknown)} is not in the vocabulary")
    with errors_named(name):
        alphabet = Characters(
            byte_ids, None if unknown is None else ids[unknown], bool(model.get("fuse_unk")), space, strip
        )
    lacking = [
        byte for byte, token_id in enumerate(byte_ids[:0xF5])
        if token_id is None and not 0xC0 <= byte < 0xC2 and (byte >= 0x80 or chr(byte) not in ids)
    ]  # fmt: skip
    if lacking and unknown is not None:
        raise FormatError(
            f"{name}: there is no token <0x{lacking[0]:02X}>, and tokenizers puts an unknown character behind the byte "
            "tokens of those that follow"
        )
    return alphabet


def _written_spaces(normalization: Normalization, pattern: SplitPattern) -> set[str]:
    """Characters that replace every space: one of them is written for each."""
    steps = as_tuple(normalization)
    written = {step.space for step in as_tuple(pattern) if isinstance(step, Metaspace)}
    for number, step in enumerate(steps):
        puts_in = [getattr(one, "text", getattr(one, "content", " ")) for one in steps[number + 1 :]]
        if isinstance(step, Replace) and not any(" " in text for text in puts_in):
            written.add(step.writes_spaces)
    return written


def read_spelled_characters(
    ids: dict[str, int], added: Collection[str], alphabet: Characters, name: str
) -> tuple[dict[int, bytes], frozenset[int]]:
    """Return id -> bytes without added tokens, and the ids that no text gives: empty tokens, tokens with a space that
    is written as another character, and byte tokens of characters that have a token."""
    unreachable = {token_id for spelled, token_id in ids.items() if not spelled or (alphabet.space and " " in spelled)}
    for byte, token_id in enumerate(alphabet.byte_ids[:0x80]):
        spelled = alphabet.space if byte == 0x20 and alphabet.space else chr(byte)
        if token_id is not None and spelled in ids:
            unreachable.add(token_id)
    with errors_named(name):
        tokens = {token_id: alphabet.decode(spelled) for spelled, token_id in ids.items() if spelled not in added}
    return tokens, frozenset(unreachable & tokens.keys())
