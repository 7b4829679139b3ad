"""Encoding a text that arrives in chunks, exactly as if it were whole.

What a chunk means can depend on what follows it: `<|endo` may become a special token, `'` a contraction, spaces belong
to the word after them, an `e` may get an accent when text is normalized, two bytes are half a character. So each step
keeps what is still open and passes on the rest:

    chunk -> whole characters -> special tokens and the text between them -> normalized text -> closed pre-tokens -> ids

Each step keeps no more than it must: the start of a special token, the characters since the last one that no later
character can change, the open pre-token. Nothing is read twice, so the cost does not depend on how the text is cut.

Two kinds of tokenizer hold more. Where only `regex` can split (`tok.scanner == "regex"`), or nothing splits, the text
between two special tokens is held until it ends, because no prefix of it says what its rest may still change. A
tokenizer with rare steps from tokenizer.json (rewritten text, flags of special tokens) holds the whole text.
"""
from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Collection, Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain
from typing import Literal

from ..core._special import Specials, choose
from ..core._tokenizer_base import TokenizerBase
from ..errors import show
from ..splitting.pretokenizer import Pretokenizer
from ..splitting.scan._scan import Scan
from ..steps.normalizers import normalize

__all__ = ["encode_iterable"]


def encode_iterable(
    tokenizer: TokenizerBase,
    chunks: Iterable[str | bytes],
    allowed_special: Literal["all"] | Collection[str] = "all",
    disallowed_special: Literal["all"] | Collection[str] = (),
) -> Iterator[int]:
    """Yield the ids of `tokenizer.encode` for the joined chunks, as soon as they are certain.

    Args:
        tokenizer: Encodes pre-tokens, or the whole text where it has a pipeline.
        chunks: str, or UTF-8 bytes cut anywhere, also inside a character.
        allowed_special: The special tokens to recognise.
        disallowed_special: Special tokens that must not occur.

    Raises:
        ValueError: A disallowed special token, with its offset; a byte that has no token.
        UnicodeError: A lone surrogate in a str, bytes that are not UTF-8.
        TypeError: A chunk that is neither str nor bytes.
    """
    given: object = chunks
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        hint = "; [chunks] is one of them" if isinstance(given, bytes) else ""
        raise TypeError(f"chunks is an iterable of str or bytes, not {show(chunks)}{hint}")
    ids = tokenizer.special_tokens
    recognised, refused = choose(ids, allowed_special, disallowed_special)
    if tokenizer._pipeline is not None and not tokenizer._pipeline.is_compiled:
        return _at_the_end(tokenizer, chunks, allowed_special, disallowed_special)
    stream = Stream(tokenizer, {literal: ids[literal] for literal in recognised}, refused)
    return chain.from_iterable(_steps(stream, chunks))


def _steps(stream: Stream, chunks: Iterable[str | bytes]) -> Iterator[list[int]]:
    for chunk in chunks:
        yield stream.feed(chunk)
    yield stream.finish()


def _at_the_end(
    tokenizer: TokenizerBase,
    chunks: Iterable[str | bytes],
    allowed_special: Literal["all"] | Collection[str],
    disallowed_special: Literal["all"] | Collection[str],
) -> Iterator[int]:
    characters = Characters()
    data = b"".join([*map(characters.feed, chunks), characters.finish()])
    yield from tokenizer.encode(
        data.decode("utf-8"), allowed_special=allowed_special, disallowed_special=disallowed_special
    )


class Stream:
    """The steps of one stream, from chunks to ids."""

    def __init__(self, tokenizer: TokenizerBase, special_tokens: dict[str, int], refused: Collection[str]) -> None:
        self.tokenizer = tokenizer
        self.pretokenizer: Pretokenizer = tokenizer._pretokenizer
        self.characters: Characters = Characters()
        self.specials: OpenSpecials = OpenSpecials(special_tokens)
        self.refused: Refusal | None = Refusal(refused) if refused else None
        form = tokenizer.normalization
        self.normalized: Normalized | None = None
        if isinstance(form, str):
            self.normalized = Normalized(form, tokenizer._vocab.unicode)
        self.text: Scan | Whole | None = None  # the text since the last special token

    def feed(self, chunk: str | bytes) -> list[int]:
        """The ids that are certain now and were not before."""
        return self.read(self.characters.feed(chunk), False)

    def finish(self) -> list[int]:
        """The ids that are left when nothing follows."""
        return self.read(self.characters.finish(), True)

    def read(self, data: bytes, final: bool) -> list[int]:
        if self.refused is not None:
            self.refused.feed(data)
        ids: list[int] = []
        for text, token_id in self.specials.feed(data, final):
            ids += self.ordinary(text, token_id is not None)
            if token_id is not None:
                ids.append(token_id)
        return ids + self.ordinary(b"", True) if final else ids

    def ordinary(self, data: bytes, final: bool) -> list[int]:
        """Text between special tokens; `final` where it ends."""
        if self.normalized is not None:
            data = self.normalized.feed(data, final)
        if self.text is None:
            if not data:
                return []
            scanner = self.pretokenizer.scanner
            self.text = Scan(scanner) if scanner is not None else Whole(self.pretokenizer)
        closed, ends = self.text.feed(data, final=final)
        if final:
            self.text = None
        encode = self.tokenizer._encode_pretoken
        return [one for start, end in zip([0, *ends], ends) for one in encode(closed[start:end])]


class Characters:
    """Chunks to UTF-8 of whole characters; keeps back the bytes of one that is not complete."""

    def __init__(self) -> None:
        self.open: bytes = b""
        self.offset: int = 0  # of the open bytes in the whole text

    def feed(self, chunk: str | bytes) -> bytes:
        if isinstance(chunk, str):
            if self.open:
                self.finish()
            data = chunk.encode("utf-8")
            self.offset += len(data)
            return data
        if not isinstance(chunk, bytes):
            raise TypeError(f"a chunk of text is str or bytes, not {show(chunk)}")
        data = self.open + chunk
        whole = len(data) - _incomplete(data)
        self.check(data[:whole])
        self.open = data[whole:]
        self.offset += whole
        return data[:whole]

    def finish(self) -> bytes:
        self.check(self.open)
        return b""

    def check(self, data: bytes) -> None:
        if data.isascii():
            return
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            reason = f"{error.reason} (byte {self.offset + error.start} of the text)"
            raise UnicodeDecodeError("utf-8", data, error.start, error.end, reason) from None


def _incomplete(data: bytes) -> int:
    """How many bytes at the end begin a character that they do not complete.

    >>> _incomplete("a的".encode()[:-1])
    2
    """
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            return back if back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) else 0
        if byte < 0x80:
            break
    return 0


class OpenSpecials:
    """Text to special tokens and the text between them; keeps back what may be the start of a special token."""

    def __init__(self, special_tokens: dict[str, int]) -> None:
        self.finder: Specials = Specials(special_tokens)
        self.longest: int = self.finder.longest
        self.open: bytes = b""

    def feed(self, data: bytes, final: bool) -> list[tuple[bytes, int | None]]:
        """[(text, id of the special token after it, or None where more of the text may follow), ...]"""
        data = self.open + data
        found, limit = self.cut(data, final)
        self.open = data[limit:]
        return found

    def cut(self, data: bytes, final: bool) -> tuple[list[tuple[bytes, int | None]], int]:
        """The same of a text from its beginning on, and up to where that is certain."""
        if not self.longest:
            return [(data, None)], len(data)
        found: list[tuple[bytes, int | None]] = []
        at = 0
        limit = len(data) if final else self.finder.first_open(data, 0)
        for start, end, token_id in self.finder.cut(data):
            # The match is certain unless something that starts there or before it may become another one; what
            # begins inside it no longer matters.
            if start >= limit:
                break
            found.append((data[at:start], token_id))
            at = end
            if limit < end:
                limit = self.finder.first_open(data, end)
        if at < limit:
            found.append((data[at:limit], None))
        return found, limit


class Refusal:
    """Watches for special tokens that must not occur."""

    def __init__(self, refused: Collection[str]) -> None:
        self.finder: Specials = Specials(dict.fromkeys(refused, 0))
        self.longest: int = max(len(literal.encode("utf-8")) for literal in refused)
        self.before: bytes = b""  # the end of what was read, too short to hold one
        self.offset: int = 0

    def feed(self, data: bytes) -> None:
        data = self.before + data
        found = self.finder.cut(data)
        if found:
            start, end, _ = found[0]
            raise ValueError(
                f"the text holds the disallowed special token {data[start:end].decode('utf-8')!r} at byte "
                f"{self.offset + start}; allow it (allowed_special) or take the text as it is (disallowed_special=())"
            )
        keep = min(len(data), self.longest - 1)
        self.offset += len(data) - keep
        self.before = data[len(data) - keep :]


class Normalized:
    """Text to normalized text; keeps back what a later character may combine with."""

    def __init__(self, form: str, unicode: str | None) -> None:
        self.form = form
        self.unicode = unicode
        self.open: list[str] = []

    def feed(self, data: bytes, final: bool) -> bytes:
        text = data.decode("utf-8")
        at = len(text)
        if not final:
            at = next((at for at in range(len(text) - 1, -1, -1) if starts_afresh(text[at], self.form)), 0)
        if at == 0:  # nothing closes what is open; final with no text closes it as well
            if text:
                self.open.append(text)
            if not final:
                return b""
            text, at = "", 0
        closed = "".join(self.open) + text[:at]
        self.open = [text[at:]] if at < len(text) else []
        return normalize(self.form, closed, self.unicode).encode("utf-8")


@lru_cache(maxsize=4096)
def starts_afresh(char: str, form: str) -> bool:
    """Whether normalizing text that begins with `char` is independent of what comes before it.

    It is where the first character it decomposes into is no mark and, for the composed forms, is not the second part
    of any character: then nothing before it can be reordered past it or take it in (Unicode Standard Annex 15, 9.1).
    """
    first = unicodedata.normalize("NFKD" if "K" in form else "NFD", char)[0]
    if unicodedata.combining(first):
        return False
    return "D" in form or first not in second_parts()


@cache
def second_parts() -> frozenset[str]:
    """The characters that can be taken in by the one before them when text is composed."""
    hangul = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))
    decompositions = (unicodedata.decomposition(chr(code)) for code in range(0x30000))
    pairs = (parts.split() for parts in decompositions if parts and not parts.startswith("<"))
    return frozenset([*map(chr, hangul), *(chr(int(parts[1], 16)) for parts in pairs if len(parts) == 2)])


class Whole:
    """Text that is cut only when it has ended: used in place of a scan when no compiled scanner can cut."""

    def __init__(self, pretokenizer: Pretokenizer) -> None:
        self.pretokenizer = pretokenizer
        self.parts: list[bytes] = []

    def feed(self, data: bytes, *, final: bool = False) -> tuple[bytes, array[int]]:
        self.parts.append(data)
        if not final:
            return b"", array("q")
        text = b"".join(self.parts)
        return text, self.pretokenizer.ends(text)
