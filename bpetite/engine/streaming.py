"""Encoding a text that arrives in chunks, or in segments, exactly as if it were whole.

The text after a chunk can change its tokens: `<|endo` may become a special token, `'` a contraction, spaces belong to
the word after them, an `e` may get an accent in normalization, two bytes are half a character. So each step keeps the
open end and passes on the rest:

    chunk -> whole characters -> special tokens and the text between them -> normalized text -> closed pre-tokens -> ids

The compiled encoder knows the certain part of a text. Without normalization it takes the first, second and fourth step
at once (core/_ids.pyx). The rest, an open pre-token or the start of a special token, is put before the next chunk.
A rest of more than a few bytes is read again only when it has doubled, so the cost does not depend on the cuts between
chunks, and at most twice the necessary text is held.

All ids that are certain are given before the next chunk is asked for, but for those of such a rest: a chunk may depend
on them. So chunks are never taken together; lines of a file take up to half as long again as larger chunks.

Two kinds of tokenizer hold more. Where only `regex` can split (`tok.scanner == "regex"`), or nothing splits, the text
between two special tokens is held until it ends, because its rest may change any of its tokens. A
tokenizer with rare steps from tokenizer.json (rewritten text, flags of special tokens) holds the whole text.
"""
from __future__ import annotations

from array import array
from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain

from .._merge import Dropout
from ..core._ids import IdsOfChunks, OpenText
from ..core._special import Specials
from ..core._tokenizer_base import TokenizerBase
from ..errors import short_repr
from ..steps.normalizers import normal_form
from .call_options import SpecialSelection

#: The special tokens that a call recognises, and the ones that it refuses or None.
chosen_specials: Callable[
    [TokenizerBase, SpecialSelection, SpecialSelection], tuple[Specials, Specials | None]
] = TokenizerBase._specials
#: The ids of bytes that are one pre-token, and need not be text.
encode_pretoken: Callable[[TokenizerBase, bytes], list[int]] = TokenizerBase._encode_pretoken


def encode_iterable(
    tokenizer: TokenizerBase,
    chunks: Iterable[str | bytes],
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
    dropout: Dropout | None = None,
) -> Iterator[int]:
    """The ids of :meth:`bpetite.Tokenizer.encode_iterable`, without the tokens of a template. Arguments are checked at
    the call, chunks when they are read."""
    given: object = chunks
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        hint = "; [chunks] is one of them" if isinstance(given, bytes) else ""
        raise TypeError(f"chunks is an iterable of str or bytes, not {short_repr(chunks)}{hint}")
    specials, refused = tokenizer._specials(allowed_special, disallowed_special)
    if tokenizer._pretokenizer.scanner is not None and not tokenizer._cut_in_python:
        chunks = iter(chunks) if refused is None else refusing(characters(chunks), refused)
        return IdsOfChunks(OpenText(tokenizer, specials, dropout), chunks, Characters())
    data = characters(chunks)
    if refused is not None:
        data = refusing(data, refused)
    if tokenizer._cut_in_python:
        return _at_the_end(tokenizer, data, specials, dropout)
    return _as_it_comes(OpenSpecials(tokenizer, specials, dropout), data)


def _as_it_comes(stream: OpenSpecials, data: Iterator[bytes]) -> Iterator[int]:
    """A generator: one that is advanced by its own chunks raises ValueError, where `itertools.chain` of CPython 3.11
    ends the process."""
    for text in data:
        yield from stream.feed(text, False)
    yield from stream.feed(b"", True)


def _at_the_end(
    tokenizer: TokenizerBase, data: Iterator[bytes], specials: Specials, dropout: Dropout | None
) -> Iterator[int]:
    assert tokenizer._pipeline is not None
    yield from tokenizer._encode_items(tokenizer._pipeline.items(b"".join(data).decode("utf-8"), specials), dropout)


class Characters:
    """Chunks to whole characters; keeps back the bytes of an incomplete one.

    >>> whole = Characters()
    >>> whole(b"a\\xc3", 0) + whole(b"\\xa9", 1) + whole("b", 3)
    'aéb'
    """

    def __init__(self) -> None:
        self.decoder: IncrementalDecoder = getincrementaldecoder("utf-8")()

    def __call__(self, chunk: object, offset: int) -> str:
        """The str of a chunk, or of the end of a text, "". The offset, of what has been kept back, is for messages."""
        if not isinstance(chunk, str | bytes):
            raise TypeError(f"a chunk of text is str or bytes, not {short_repr(chunk)}")
        try:
            return self.decoder.decode(chunk) if isinstance(chunk, bytes) else self.decoder.decode(b"", True) + chunk
        except UnicodeDecodeError as error:
            reason = f"{error.reason} (byte {offset + error.start} of the text)"
            raise UnicodeDecodeError("utf-8", error.object, error.start, error.end, reason) from None


def characters(chunks: Iterable[str | bytes]) -> Iterator[bytes]:
    """Chunks to UTF-8 of whole characters."""
    whole = Characters()
    offset = 0
    for chunk in chain(chunks, [""]):
        data = whole(chunk, offset).encode("utf-8")
        offset += len(data)
        yield data


def refusing(data: Iterator[bytes], refused: Specials) -> Iterator[bytes]:
    """The chunks of a text; a disallowed special token in them is an error."""
    held, offset = b"", 0
    for text in data:
        held += text
        refused.refuse(held, offset, "byte")
        done = max(len(held) - refused.longest + 1, 0)  # the rest is too short to hold one
        held, offset = held[done:], offset + done
        yield text


class OpenSpecials:
    """Text to ids where only `regex` can split the text between special tokens; also keeps back the possible start of a
    special token."""

    def __init__(self, tokenizer: TokenizerBase, specials: Specials, dropout: Dropout | None) -> None:
        self.specials = specials
        self.between: OpenText = OpenText(tokenizer, None, dropout)
        self.open: bytes = b""

    def feed(self, data: bytes, final: bool) -> list[int]:
        data = self.open + data
        tokens, limit = self.specials.cut_beginning(data, final)
        ids: list[int] = []
        at = 0
        for start, end, token_id in tokens:
            ids += [*self.between.feed(data[at:start], True), token_id]
            at = end
        ids += self.between.feed(data[at:limit], final)
        self.open = data[limit:]
        return ids


def encode_joined(tokenizer: TokenizerBase, segments: Sequence[tuple[str, bool]], specials: Specials) -> list[int]:
    """The ids of a text in segments, (text, is it trusted); special tokens are recognised in trusted ones only."""
    if tokenizer._pipeline is not None:
        whole = "".join(text for text, _ in segments)
        ends = accumulate(len(text) for text, _ in segments)
        parts = [(end - len(text), end) for end, (text, trusted) in zip(ends, segments) if trusted]
        return tokenizer._encode_items(tokenizer._pipeline.items(whole, specials, parts))
    ids: list[int] = []
    waiting: list[str] = []  # ordinary text since the last special token
    for text, trusted in segments:
        at = 0
        for start, end, token_id in specials.spans(text) if trusted else ():
            waiting.append(text[at:start])
            ids += tokenizer.encode_ordinary("".join(waiting))
            ids.append(token_id)
            waiting.clear()
            at = end
        waiting.append(text[at:])
    return ids + tokenizer.encode_ordinary("".join(waiting))


def encode_after(tokenizer: TokenizerBase, before: str, text: str, allowed: SpecialSelection) -> list[int]:
    """The ids of a text that comes after ordinary text."""
    specials = tokenizer._specials(allowed)[0]
    if tokenizer._pipeline is not None and tokenizer._cut_in_python:
        start, whole = len(before), before + text
        return tokenizer._encode_items(tokenizer._pipeline.items(whole, specials, [(start, len(whole))], start))
    at = next((first for first, _, _ in specials.spans(text)), len(text))
    rest = tokenizer.encode(text[at:], allowed_special=allowed)
    text = text[:at]
    vocab = tokenizer._vocab
    if vocab.normalization is not None and tokenizer._pipeline is None:
        text = normal_form(str(vocab.normalization))(text)
    seen = before.encode("utf-8")
    if tokenizer._pretokenizer.scanner is not None:
        open_text = OpenText(tokenizer, None, None, is_normal=True)
        open_text.feed(seen)
        seen = seen[open_text.offset :]
    data = seen + text.encode("utf-8")
    cut = len(seen)
    ends = tokenizer._pretokenizer.ends(data)
    pretokens = array("q", [end - cut for end in ends if end > cut])
    return tokenizer._encode_items([(data[cut:], pretokens)]) + rest
