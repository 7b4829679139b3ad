"""Text with an open end, as tiktoken treats it: more text may change the tokens of its last pre-token.

Source: ``_encode_bytes`` and ``_encode_unstable_native`` in https://github.com/openai/tiktoken/tree/main/src (release
0.14.0), whose rules for cuts and merges there are a guess, followed step by step.
"""
from __future__ import annotations

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["completions", "open_end"]

SPACES = b" \n\t"


def open_end(tokenizer: Tokenizer, text: bytes) -> tuple[list[int], list[int]]:
    """The ids of ordinary text that more text leaves alone, and those that it may change.

    The latter are of the last pre-token, and if that begins with white space, of all white space before it, because
    ``\\s*[\\r\\n]+`` joins what was cut.

    Raises:
        ValueError: The tokenizer does not cut text as it is, by its pattern alone.
    """
    if tokenizer._pipeline is not None or tokenizer.normalization is not None:
        raise ValueError(
            "the open end of a text is known only to a tokenizer that cuts by a pattern and rewrites nothing"
        )
    ends = tokenizer._pretokenizer.ends(text)
    ids = tokenizer.encode_ordinary(text)
    last = tokenizer._encode_pretoken(text[ends[-2] if len(ends) > 1 else 0 :])
    at = len(ids) - len(last)
    if last and not tokenizer.token_bytes(last[0]).strip(SPACES):
        while at and not tokenizer.token_bytes(ids[at - 1]).strip(SPACES):
            at -= 1
    return ids[:at], ids[at:]


def completions(tokenizer: Tokenizer, unstable: bytes) -> list[list[int]]:
    """Ids that may stand in place of the unstable bytes (UTF-8, not empty) once the text is continued; ascending."""
    special = set(tokenizer.special_tokens.values())

    def starting_with(prefix: bytes) -> list[bytes]:
        ids = tokenizer._vocab.prefix_index.completions(prefix).tolist()
        return [tokenizer.token_bytes(token_id) for token_id in ids if token_id not in special]

    def merged(data: bytes) -> list[int]:
        """The ids of bytes by merging alone, even if all of them are one token."""
        return [*tokenizer._vocab.merge_table.apply(array("I", [tokenizer.token_id(bytes([one])) for one in data]))]

    found: set[tuple[int, ...]] = {(tokenizer.token_id(token),) for token in starting_with(unstable)}
    # a token may begin inside the unstable bytes and go on behind them
    for at in range(1, len(unstable)):
        for token in starting_with(unstable[at:]):
            try:
                ids = tokenizer.encode_ordinary((unstable[:at] + token).decode("utf-8"))
            except UnicodeDecodeError:
                ids = merged(unstable[:at] + token)
            ends = accumulate(len(tokenizer.token_bytes(token_id)) for token_id in ids)
            found.add((*ids[: 1 + sum(end < len(unstable) for end in ends)],))
    # `\s+(?!\S)` cuts before the last space when a word follows
    last = unstable.decode("utf-8")[-1]
    rest = unstable[: -len(last.encode("utf-8"))]
    if rest and last.isspace() and last not in "\x1c\x1d\x1e\x1f":  # which are white space to Python alone
        found.add((*merged(rest), *merged(last.encode("utf-8"))))
    return [list(ids) for ids in sorted(found)]
