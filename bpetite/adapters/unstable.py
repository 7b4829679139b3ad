"""What tiktoken does with text whose end is open: bytes cut inside a character, and text that will be continued.

The last pre-token of such a text is unstable: more text may change its tokens. What is said here of cuts and merges
after an open end is tiktoken's guess, followed step by step.

Source: ``_encode_bytes`` and ``_encode_unstable_native`` in https://github.com/openai/tiktoken/tree/main/src (release
0.14.0)
"""
from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["completions", "encode_bytes", "open_end"]

SPACES = b" \n\t"
#: Separators that are white space to str.isspace and not to Unicode.
SEPARATORS = "\x1c\x1d\x1e\x1f"


def encode_bytes(tokenizer: Tokenizer, data: bytes) -> list[int]:
    """The ids of bytes that need not be UTF-8. Those from the first error on are added to the pre-token before it."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        stable, unstable = open_end(tokenizer, data[: error.start])
        return stable + tokenizer._encode_pretoken(tokenizer.decode_bytes(unstable) + data[error.start :])
    return tokenizer.encode_ordinary(data)


def open_end(tokenizer: Tokenizer, text: bytes) -> tuple[list[int], list[int]]:
    """The ids of ordinary text, without those that more text may change, and these.

    These are of the last pre-token, and if that begins with white space, of all white space before it, because
    ``\\s*[\\r\\n]+`` joins what was cut.

    Raises:
        ValueError: The tokenizer does not cut text as it is, by its pattern alone.
    """
    if tokenizer._pipeline is not None or tokenizer.normalization is not None:
        raise ValueError(
            "the open end of a text is known only to a tokenizer that cuts by a pattern and rewrites nothing"
        )
    ends = tokenizer._pretokenizer.ends(text)
    start = ends[-2] if len(ends) > 1 else 0
    ids = tokenizer.encode_ordinary(text)
    last = tokenizer._encode_pretoken(text[start:])
    at = len(ids) - len(last)
    if last and not tokenizer.token_bytes(last[0]).strip(SPACES):
        while at and not tokenizer.token_bytes(ids[at - 1]).strip(SPACES):
            at -= 1
    return ids[:at], ids[at:]


def completions(tokenizer: Tokenizer, unstable: bytes) -> list[list[int]]:
    """Ids that a text which ends in unstable bytes may have in their place once it is continued, in ascending order.

    Args:
        tokenizer: The tokenizer.
        unstable: The bytes, UTF-8 and not empty.
    """
    found: set[tuple[int, ...]] = {(tokenizer.token_id(token),) for token in _starting_with(tokenizer, unstable)}
    # a token may begin inside the unstable bytes and go on behind them
    texts: list[bytes] = []
    broken: list[bytes] = []
    for at in range(1, len(unstable)):
        for token in _starting_with(tokenizer, unstable[at:]):
            (texts if _is_utf8(one := unstable[:at] + token) else broken).append(one)
    encoded = [*tokenizer.encode_batch(texts, allowed_special=()), *(_merged(tokenizer, one) for one in broken)]
    found |= {tuple(_covering(tokenizer, ids, len(unstable))) for ids in encoded}
    # `\s+(?!\S)` cuts before the last space when a word follows
    size = next((size for size in range(1, 5) if _is_utf8(unstable[-size:])), 0)
    last = unstable[-size:].decode("utf-8")
    if len(unstable) > size and last.isspace() and last not in SEPARATORS:
        found.add((*_merged(tokenizer, unstable[:-size]), *_merged(tokenizer, unstable[-size:])))
    return [list(ids) for ids in sorted(found)]


def _starting_with(tokenizer: Tokenizer, prefix: bytes) -> Iterator[bytes]:
    """The bytes of the tokens that begin with a prefix and are not special."""
    special = set(tokenizer.special_tokens.values())
    for token_id in tokenizer._vocab.prefix_index.completions(prefix).tolist():
        if token_id not in special:
            yield tokenizer.token_bytes(token_id)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _merged(tokenizer: Tokenizer, data: bytes) -> array[int]:
    """The ids of bytes by merging alone, even if all of them are one token."""
    found = [tokenizer.token_id(data[at : at + 1]) for at in range(len(data))]
    merged: array[int] = tokenizer._vocab.merge_table.apply(array("I", found))
    return merged


def _covering(tokenizer: Tokenizer, ids: Sequence[int], size: int) -> Iterator[int]:
    """The first ids that have so many bytes together."""
    for token_id in ids:
        yield token_id
        size -= len(tokenizer.token_bytes(token_id))
        if size <= 0:
            return
