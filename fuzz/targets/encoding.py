"""Every way of encoding a text against the reference, and vocabularies of every shape."""
from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

from bpetite import Tokenizer, Vocab, patterns, reference

__all__ = ["WORDS", "one", "seeds", "vocabulary", "vocabulary_seeds"]

CORPUS = "the cat sat on the mat; don't 2024, naïve 中文字 🙂 \n\n  x abab ab abc <s> e\u0301 Ⅷ" * 3

WORDS = tuple(word.encode("utf-8", "surrogatepass") for word in (
    "<s>", "<s", "<|endoftext|>", "<|endof", "ab", " ab", "'ll", "'\u017f", " ", "   ", "\n", "\r\n", "\u00a0",
    "\u3000", "1234567", "é", "e\u0301", "\u0300\u0301", "的", "😀", "\ud800", "\x00", "\u017f", "HelloWORLD",
    "z" * 40, " " * 70,
))  # fmt: skip

Settings = dict[str, Any]


@cache
def _tokenizers() -> list[tuple[Tokenizer, Settings]]:
    """Tokenizers of every kind, each with the arguments of the reference."""
    made = []
    plain: list[tuple[str | tuple[str, ...] | None, str | None, bool]] = [
        (patterns.GPT2, None, False), (patterns.CL100K, None, True), (patterns.O200K, None, False), (None, None, False),
        (patterns.GPT2, "NFC", False), ((r"\d", r"\p{L}+"), None, True), (r"(?<=a)b|\w+", None, False),
    ]  # fmt: skip
    for pattern, normalization, ignore_merges in plain:
        tokens, merges = reference.train([CORPUS], 330, pattern=pattern, normalization=normalization)
        specials = {"<s>": 400, "<|endoftext|>": 401, "<s><s>": 402}
        for listed in (merges, None):
            settings: Settings = {"pattern": pattern, "normalization": normalization}
            if listed is not None:
                settings["ignore_merges"] = ignore_merges
            tok = Tokenizer.from_vocab(Vocab.build(tokens, listed, specials, **settings))
            whole = tokens | {token_id: literal.encode() for literal, token_id in specials.items()}
            settings |= {"tokens": tokens, "merges": listed, "special_tokens": specials, "all": whole}
            made.append((tok, settings))
    return made


def _same(found: Any, expected: Any, what: str) -> None:
    if found != expected:
        raise AssertionError(f"{what}: {found!r}, expected {expected!r}")


def _raises(error: UnicodeError, call: Any, *arguments: Any) -> None:
    """The call raises the same error as Python's codec, at the same place."""
    try:
        found = call(*arguments)
    except UnicodeError as raised:
        _same((type(raised), raised.start), (type(error), error.start), "the place of the error")  # type: ignore[attr-defined]
        return
    raise AssertionError(f"{found!r} for a text that is not Unicode")


def _cuts(data: bytes, size: int) -> list[int]:
    """Where to cut an input of this size: places that the data says."""
    return sorted({0, size, *(byte * (size + 1) // 256 for byte in data[:4])})


def one(data: bytes) -> None:
    """A byte for the tokenizer, four for the places of cuts, then the text."""
    tokenizers = _tokenizers()
    tok, settings = tokenizers[data[0] % len(tokenizers) if data else 0]
    places, data = data[1:5], data[5:2_000]
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        for call in (tok.encode, tok.encode_ordinary, tok.encode_to_numpy, tok.count):
            _raises(error, call, data)
        try:
            text = data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return
        try:
            text.encode()
        except UnicodeEncodeError as lone:
            for call in (tok.encode, tok.encode_ordinary, tok.encode_to_numpy, tok.count):
                _raises(lone, call, text)
        return
    arguments = {name: settings[name] for name in ("tokens", "merges", "pattern", "normalization")}
    arguments["ignore_merges"] = settings.get("ignore_merges", False)
    ids = reference.encode(text, **arguments, special_tokens=settings["special_tokens"])
    _same(tok.encode(text), ids, "encode")
    _same(tok.encode(data), ids, "encode of bytes")
    _same(tok.encode_to_numpy(data).tolist(), ids, "encode_to_numpy")
    _same(tok.count(text), len(ids), "count")
    _same(tok.encode_batch([text, data], num_threads=2), [ids, ids], "encode_batch")
    _same(tok.encode_ordinary(text), reference.encode(text, **arguments), "encode_ordinary")
    _same(list(tok.encode_iterable([text[i:j] for i, j in pairwise(_cuts(places, len(text)))])), ids, "chunks of str")
    _same(list(tok.encode_iterable([data[i:j] for i, j in pairwise(_cuts(places, len(data)))])), ids, "chunks of bytes")
    _same(tok.encode(text, num_threads=3), ids, "encode on threads")
    found, spans = tok.encode_with_offsets(text)
    _same(found, ids, "encode_with_offsets")
    _same(len(spans), len(ids), "spans")
    if settings["normalization"] is None:
        _same(tok.decode(ids), text, "decode")
        _same("".join(tok.decode_iterable(ids)), text, "decode_iterable")
        for token_id, (start, end) in zip(ids, spans, strict=True):
            if settings["all"][token_id] not in text[start:end].encode():
                raise AssertionError(f"the span {start, end} of token {token_id}")


def seeds() -> list[bytes]:
    made = []
    for number in range(len(_tokenizers())):
        for text in (CORPUS[:100], "<s>ab<s><s>ab <|endoftext|>", "don't  \n  1234 的é\u0301 😀", "ab" * 60 + " " * 9):
            made.append(bytes([number, 3, 90, 140, 230]) + text.encode())
    return [*made, b"\0\0\0\0\0ab\xff", b"\1\0\0\0\0ab\xed\xa0\x80"]


# ---- vocabularies

ALPHABET = b"abc"


def _read_vocabulary(data: bytes) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]], bool]:
    """Merges from bytes: the high half of a byte says the left part, the low half the right one, of the tokens so far.
    The order of merges and of ids is that of the data, so ranks need not follow from how tokens are made."""
    tokens = [bytes([byte]) for byte in ALPHABET]
    merges: list[tuple[bytes, bytes]] = []
    for byte in data[:24]:
        pair = tokens[(byte >> 4) % len(tokens)], tokens[(byte & 15) % len(tokens)]
        joined = pair[0] + pair[1]
        if pair in merges or len(joined) > 12:
            continue
        merges.append(pair)
        if joined not in tokens:
            tokens.append(joined)
    shuffled = bool(data) and data[0] & 1 == 1
    if shuffled:
        merges.reverse()
        tokens.reverse()
    return dict(enumerate(tokens)), merges, shuffled


def vocabulary(data: bytes) -> None:
    """24 bytes for the merges, then a text over three letters."""
    tokens, merges, _ = _read_vocabulary(data[:24])
    text = bytes(ALPHABET[byte % 3] for byte in data[24:150]).decode()
    for listed in (merges, None):
        tok = Tokenizer.from_vocab(Vocab.build(tokens, listed, pattern=None))
        listed_again = tok.to_merges()
        for place in (0, 1):  # the same text again comes out of the word cache
            ids = reference.encode(text[place:], tokens, listed)
            _same(tok.encode(text[place:]), ids, "encode")
            _same(tok.encode(text[place:]), ids, "encode again")
            _same(tok.decode(ids), text[place:], "decode")
            _same(listed_again.encode(text[place:]), ids, "encode by the merge list of the ranks")


def vocabulary_seeds() -> list[bytes]:
    return [
        bytes([0x01, 0x12, 0x34, 0x20, 0x55, 0x36, 0x47, 0x11]) + bytes(16) + b"abcabcaabbccab" * 5,
        bytes([0x00, 0x33, 0x44, 0x55, 0x66]) + bytes(19) + bytes(200),
        bytes(range(0, 240, 10)) + bytes(range(120)),
    ]
