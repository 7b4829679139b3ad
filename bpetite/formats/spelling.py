"""Tokens in a printable form, with their ids and merges, in vocab.json, merges.txt and other JSON files."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..bytelevel import decode_token_bytes, decode_tokens_bytes, encode_token, encode_tokens
from ..errors import FormatError, short_repr
from ..vocabulary._tokens import TokenTable
from ..vocabulary.vocab import Vocab

if TYPE_CHECKING:
    from ..vocabulary.alphabet import Alphabet


def check_ids(ids: Any, name: str, position: str) -> dict[str, int]:
    """``ids``, if it is a JSON object of ids without repeats; otherwise a FormatError that names the position."""
    if not isinstance(ids, dict):
        raise FormatError(f"{name}: {position} must be a JSON object, not {short_repr(ids)}")
    if set(map(type, ids.values())) - {int}:
        key, value = next(item for item in ids.items() if type(item[1]) is not int)
        raise FormatError(
            f"{name}: {position}: the id of {short_repr(key)} must be an integer, not {short_repr(value)}"
        )
    if len(set(ids.values())) != len(ids):
        raise FormatError(f"{name}: {position}: {same_id(ids)}")
    return ids


def same_id(ids: dict[str, int]) -> str:
    """An error message that names two tokens with the same id."""
    first: dict[int, str] = {}
    for key, token_id in ids.items():
        if first.setdefault(token_id, key) != key:
            return f"{short_repr(first[token_id])} and {short_repr(key)} have the same id {token_id}"
    return "an id occurs twice"


class SpelledTokens(Mapping[str, int]):
    """The ids of tokens as a file spells them, all in printable form.

    >>> SpelledTokens(TokenTable({5: b" a"}))["Ġa"]
    5
    """

    def __init__(self, tokens: TokenTable) -> None:
        self._tokens = tokens

    def __getitem__(self, spelled: str) -> int:
        try:
            token_id: int | None = self._tokens.find_id(decode_token_bytes(spelled))
        except ValueError:
            token_id = None
        if token_id is None:
            raise KeyError(spelled)
        return token_id

    def __iter__(self) -> Iterator[str]:
        return map(encode_token, self._tokens.values())

    def __len__(self) -> int:
        return len(self._tokens)


def decode_or_utf8(spelled: str) -> bytes:
    """The bytes of a token. A token that is not in printable form, which no text reaches, decodes as it is spelled."""
    try:
        return decode_token_bytes(spelled)
    except ValueError:
        return spelled.encode("utf-8", "surrogatepass")


def read_spelled(ids: dict[str, int]) -> tuple[dict[int, bytes], frozenset[int]]:
    """id -> bytes of tokens as a file spells them; and the ids of the unreachable tokens, which are empty or not in
    printable form."""
    unreachable = {ids[""]} if "" in ids else set()
    try:
        return dict(zip(ids.values(), decode_tokens_bytes(ids), strict=True)), frozenset(unreachable)
    except ValueError:
        pass
    tokens: dict[int, bytes] = {}
    for spelled, token_id in ids.items():
        try:
            tokens[token_id] = decode_token_bytes(spelled)
        except ValueError:
            tokens[token_id] = decode_or_utf8(spelled)
            unreachable.add(token_id)
    return tokens, frozenset(unreachable)


def spell(vocab: Vocab, what: str) -> dict[int, str]:
    """id -> token as a file spells it, in the order of ids: the inverse of :func:`read_spelled`.

    Raises:
        FormatError: The file, called ``what``, would make a token reachable that no text reaches.
    """
    by_id = sorted(vocab.tokens.items())
    if vocab.alphabet is not None:
        return _spell_characters(dict(by_id), vocab.alphabet, vocab.unreachable, what)
    spelled = dict(zip(dict(by_id), encode_tokens(token for _, token in by_id), strict=True))
    taken: set[str] = set()
    for token_id in vocab.unreachable:
        token = vocab.tokens[token_id]
        try:
            spelled[token_id] = token.decode("utf-8")
            held = not token or token_id in read_spelled({spelled[token_id]: token_id})[1]
        except UnicodeDecodeError:
            held = False
        if not held or spelled[token_id] in taken:
            raise FormatError(f"{what} cannot hold token {token_id} {token!r} as one that no text reaches")
        taken.add(spelled[token_id])
    return spelled


def _spell_characters(
    tokens: dict[int, bytes], alphabet: Alphabet, unreachable: frozenset[int], what: str
) -> dict[int, str]:
    spelled = {token_id: alphabet.spell(token, token_id) for token_id, token in tokens.items()}
    letters = set(spelled.values())
    for token_id in unreachable:
        token = tokens[token_id]
        is_byte = token.isascii() and spelled[token_id] == f"<0x{token[:1].hex().upper()}>"
        if token and not (is_byte and alphabet.spell(token, -1) in letters):
            raise FormatError(f"{what} cannot hold token {token_id} {token!r} as one that no text reaches")
    return spelled


def refuse_aliases(vocab: Vocab, what: str) -> None:
    """Raise FormatError where special tokens share an id, which the file called ``what`` cannot hold."""
    for literal, token_id in vocab.aliases.items():
        raise FormatError(
            f"{what} cannot hold the special token {literal!r}, which has the id {token_id} of "
            f"{vocab.tokens[token_id].decode('utf-8')!r} (vocab.replace(special_tokens=...) makes a "
            "vocabulary without it)"
        )


def without_unreachable(
    merges: tuple[tuple[int, int], ...], unreachable: frozenset[int]
) -> tuple[tuple[int, int], ...]:
    """Leave out merges of unreachable tokens, which never apply."""
    return tuple(pair for pair in merges if unreachable.isdisjoint(pair)) if unreachable else merges


def merge_pairs(
    merges: Any,
    ids: dict[str, int],
    name: str,
    position: Callable[[int], str] = "merge {}".format,
    *,
    as_lists: bool = False,
) -> tuple[tuple[int, int], ...]:
    """The ids of merges that are spelled as two tokens with a space between, or as lists of two tokens.

    Args:
        merges: The merges in the file.
        ids: spelled token -> id.
        name: The file, for error messages.
        position: The name of merge number n in error messages.
        as_lists: Each merge is a list of two tokens.
    """
    if not isinstance(merges, list):
        raise FormatError(f"{name}: merges must be a JSON array, not {short_repr(merges)}")
    pairs = []
    shape = "a pair of tokens" if as_lists else "two tokens with one space between"
    for rank, merge in enumerate(merges):
        pair = merge
        if not as_lists:
            pair = merge.split(" ") if isinstance(merge, str) else None
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise FormatError(f"{name}: {position(rank)} must be {shape}, not {short_repr(merge)}")
        for part in pair:
            if part not in ids:
                raise FormatError(
                    f"{name}: {position(rank)} {short_repr(merge)}: {short_repr(part)} is not in the vocabulary"
                )
        pairs.append((ids[pair[0]], ids[pair[1]]))
    return tuple(pairs)
