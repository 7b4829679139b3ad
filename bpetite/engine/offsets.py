"""The characters of the given text that each token covers.

Characters of a rewritten text are aligned to the given text as Hugging Face's ``tokenizers`` aligns them, so
that offsets are those of its ``Encoding``.

Source: ``pre_tokenizer.rs`` (``into_encoding``) in https://github.com/huggingface/tokenizers
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from ..bytelevel import encode_token
from ..core._tokenizer_base import TokenizerBase
from ..steps.normalizers import normal_form

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: What trimmed offsets leave out: the space of the printable form, and white space as Rust knows it.
SPACES = "\u0120\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

#: (start, end) in characters.
Range = tuple[int, int]


class Origin:
    """The text that tokens spell, and its origin."""

    def __init__(self) -> None:
        #: Character i comes from the characters ``starts[i]:ends[i]`` of the given text; empty if it is that text.
        self.starts: list[int] = []
        self.ends: list[int] = []
        #: The text in which each special token was found, with white space that it took, by its offset in :attr:`data`.
        self.found: dict[int, str] = {}
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def data(self) -> bytes:
        """The text in UTF-8."""
        return b"".join(self._parts)

    def add(self, data: bytes, starts: Iterable[int], ends: Iterable[int]) -> None:
        """Append ordinary text in UTF-8."""
        self.starts += starts
        self.ends += ends
        self._parts.append(data)
        self._size += len(data)

    def add_special(self, token: bytes, span: Range | None, found: str) -> None:
        """Append a special token that takes up ``span`` of the given text (None if all of it is as given), which is
        ``found`` in it or in the rewritten text."""
        size = len(token.decode("utf-8"))
        self.found[self._size] = found
        start, end = ([span[0]] * size, [span[1]] * size) if span is not None else ((), ())
        self.add(token, start, end)

    def spans(self, tokenizer: TokenizerBase, ids: list[int]) -> list[Range]:
        """(start, end) of each token, in characters of the given text."""
        spans = tokenizer._char_spans(ids, self.data)
        starts, ends = self.starts, self.ends
        return [(starts[start], ends[end - 1]) for start, end in spans] if starts else spans

    def byte_spans(self, tokenizer: TokenizerBase, ids: list[int], text: str) -> npt.NDArray[np.int64]:
        """int64[n, 2]: (start, end) of each token, in bytes of the given text."""
        import numpy as np  # here: encoding to lists does without

        tokens = tokenizer._vocab.tokens
        sizes = np.fromiter((len(tokens[token_id]) for token_id in ids), np.int64, len(ids))
        last = sizes.cumsum() - 1
        if not self.starts:
            return np.column_stack((last + 1 - sizes, last + 1))
        made, given = (np.frombuffer(data, np.uint8) for data in (self.data, text.encode("utf-8")))
        own, edges = _begins(made), np.append(_begins(given), len(given))
        char = np.zeros(len(made), np.int64)  # the number of the character that each byte is of
        char[own[1:]] = 1
        char = char.cumsum()
        first, end = edges[np.array(self.starts)][char], edges[np.array(self.ends)][char]
        # a byte of a character that is as given has one place, and others have that of their origin
        place = first + np.arange(len(made)) - own[char]
        other = (place >= end) | (given[np.minimum(place, len(given) - 1)] != made)
        changed = np.bincount(char, other | (end - first != np.diff(own, append=len(made))[char])) > 0
        starts, ends = np.where(changed[char], first, place), np.where(changed[char], end, place + 1)
        return np.column_stack((starts[last + 1 - sizes], ends[last]))


def _begins(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """The offsets at which the characters of a text begin."""
    import numpy as np

    return np.flatnonzero(data & 0xC0 != 0x80)


def offsets_of(
    tokenizer: TokenizerBase,
    text: str | bytes,
    ids: list[int],
    allowed_special: Literal["all"] | Collection[str],
    trusted: Sequence[Range] | None = None,
) -> list[Range]:
    """(start, end) in characters of a text for each of its ids; `allowed_special` as in the encoding, in parts of the
    text that are `trusted` (all when None)."""
    given = text if isinstance(text, str) else text.decode("utf-8")
    if is_spelled(tokenizer, given):
        return tokenizer._char_spans(ids, given.encode("utf-8"))
    return _trace(tokenizer, given, allowed_special, trusted).spans(tokenizer, ids)


def byte_offsets_of(
    tokenizer: TokenizerBase, text: str | bytes, ids: list[int], allowed_special: Literal["all"] | Collection[str]
) -> npt.NDArray[np.int64]:
    """As :func:`offsets_of`, in bytes of the text in UTF-8: int64[n, 2]."""
    given = text if isinstance(text, str) else text.decode("utf-8")
    return _trace(tokenizer, given, allowed_special, None).byte_spans(tokenizer, ids, given)


def is_spelled(tokenizer: TokenizerBase, text: str) -> bool:
    """True if the bytes of a text's tokens, joined, are the text, because nothing rewrites it."""
    form = tokenizer._vocab.normalization
    if tokenizer._pipeline is not None or tokenizer._vocab.aliases:
        return False
    return not isinstance(form, str) or normal_form(form)(text) == text


def _trace(
    tokenizer: TokenizerBase,
    text: str,
    allowed_special: Literal["all"] | Collection[str],
    trusted: Sequence[Range] | None,
) -> Origin:
    if tokenizer._pipeline is not None:
        return tokenizer._pipeline.trace(text, tokenizer._specials(allowed_special)[0], trusted)
    origin, tokens, form = Origin(), tokenizer._vocab.tokens, tokenizer._vocab.normalization
    as_given = is_spelled(tokenizer, text)
    specials = [(text[at + start : at + end], at + start, at + end, tokens[token_id])
                for at, stop in ([(0, len(text))] if trusted is None else trusted)
                for start, end, token_id in tokenizer._special_spans(text[at:stop], allowed_special)]  # fmt: skip
    done = 0
    for found, start, end, token in [*specials, ("", len(text), len(text), b"")]:
        span = text[done:start]
        starts: Sequence[int] = () if as_given else range(done, start)
        ends: Sequence[int] = () if as_given else range(done + 1, start + 1)
        if isinstance(form, str) and not as_given:
            span, sources = normal_form(form).align(span)
            starts, ends = [starts[at] for at in sources], [ends[at] for at in sources]
        if span:
            origin.add(span.encode("utf-8"), starts, ends)
        if token:
            origin.add_special(token, None if as_given else (start, end), found)
        done = end
    return origin


def trimmed_offsets(
    tokenizer: TokenizerBase,
    text: str | bytes,
    ids: list[int],
    allowed_special: Literal["all"] | Collection[str],
    unit: Literal["characters", "bytes"],
) -> list[Range]:
    """As :func:`offsets_of`, in characters or bytes, and without white space where the template trims it."""
    given = text if isinstance(text, str) else text.decode("utf-8")
    origin = _trace(tokenizer, given, allowed_special, None)
    spans = trimmed(tokenizer, ids, origin.spans(tokenizer, ids), origin.found)
    if unit == "characters":
        return spans
    import numpy as np

    own, data = origin.byte_spans(tokenizer, ids, given), given.encode("utf-8")
    edges = np.append(_begins(np.frombuffer(data, np.uint8)), len(data))
    starts, ends = edges[np.array(spans, np.int64).reshape(-1, 2)].T  # a token inside a character has fewer bytes
    starts = starts.clip(own[:, 0], own[:, 1])
    return [*zip(starts.tolist(), ends.clip(starts, own[:, 1]).tolist(), strict=True)]


def trimmed(
    tokenizer: TokenizerBase, ids: Sequence[int], spans: list[Range], found: dict[int, str] | None = None
) -> list[Range]:
    """Spans without the white space that tokens begin and end with, if the template trims them: as ``ByteLevel`` of
    ``tokenizers`` does. ``found`` is that of :class:`Origin`; None where special tokens are found as they are."""
    vocab = tokenizer._vocab
    if vocab.template is None or not vocab.template.trim_offsets:
        return spans
    literals = {token_id: vocab.spelled(literal) for literal, token_id in vocab.special_tokens.items()}
    if found is not None:  # others are found by merges
        unknown = None if vocab.alphabet is None else vocab.alphabet.unknown
        literals = {token_id: text for token_id, text in literals.items() if token_id == unknown}

    def spelled(token_id: int, end: int) -> str:
        token = vocab.tokens[token_id]
        text = (found or {}).get(end - len(token), literals.get(token_id))
        if text is not None:
            return text
        if vocab.alphabet is None or not vocab.alphabet.of_characters:
            return encode_token(token)
        return vocab.alphabet.spell(token, token_id)

    tokens = [*map(spelled, ids, accumulate(len(vocab.tokens[token_id]) for token_id in ids))]
    for keeps_prefix in vocab.template.trim_offsets:
        spans = [_trimmed(*one, keeps_prefix) for one in zip(range(len(ids)), tokens, spans, strict=True)]
    return spans


def _trimmed(at: int, token: str, span: Range, keeps_prefix: bool) -> Range:
    """The span of token number `at` without its white space; with `keeps_prefix` the first one keeps a space, which may
    have been put before the text."""
    start, end = span
    before, after = (len(token) - len(rest) for rest in (token.lstrip(SPACES), token.rstrip(SPACES)))
    if before > 1 or (before and (at > 0 < start or not keeps_prefix)):
        start = min(start + before, end)
    return start, max(end - after, start) if after and end >= after else end
