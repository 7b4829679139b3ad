"""Untrusted text never gives the id of a special token, in no form, also where merges or ranks reach its bytes."""
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from bpetite import Tokenizer, Vocab, analysis, serving
from bpetite.steps.normalizers import Prepend
from bpetite.steps.splits import PrefixSpace, Split

LITERAL = "<|e"
SPECIAL, LONGER, PHRASE = 302, 303, 304
TOKENS = {byte: bytes([byte]) for byte in range(256)} | {
    300: b"<|", 301: b"|e", SPECIAL: b"<|e", LONGER: b"<|e>", PHRASE: b"a <|e",
}  # fmt: skip
MERGES = (
    (ord("<"), ord("|")), (300, ord("e")), (ord("|"), ord("e")), (ord("<"), 301), (SPECIAL, ord(">")),
)  # fmt: skip
TEXTS = [LITERAL, "a<|e", "<|e>", "a <|e>\n<|e <|e", "é<|eé中", "<|e" * 100]
LONG = "x <|ex " * 20_000  # for several threads


def made(merges: Any = MERGES, special: str = LITERAL, **settings: Any) -> Tokenizer:
    tokens = dict(TOKENS)
    if merges is not None:
        del tokens[PHRASE]
    return Tokenizer.from_vocab(Vocab(tokens, merges, {special: SPECIAL}, **({"pattern": r"\S+|\s+"} | settings)))


def superwords() -> Tokenizer:
    tokens = dict(TOKENS) | {305: b"a "}
    merges = (*MERGES, (ord("a"), ord(" ")), (305, SPECIAL))
    return Tokenizer.from_vocab(Vocab(tokens, merges, {LITERAL: SPECIAL, "a <|e": PHRASE}, pattern=None))


TOKENIZERS = {
    "merges": made(),
    "no cache": made().with_cache(0),
    "no pattern": made(pattern=None),
    "ignore_merges": made(ignore_merges=True),
    "ranks": made(None),
    "ranks, no pattern": made(None, pattern=None),
    "superwords": superwords(),
    "regular expression": made(pattern=r"(?:(?=\S)\X)+|\s+"),
    "byte splits": made(pattern=(r"\S+|\s+", r"[^é]+|é")),
    "NFC": made(normalization="NFC"),
    "NFKD": made(normalization="NFKD"),
    "pipeline": made(normalization=(Prepend("é"),)),
    "prefix space": made(pattern=(PrefixSpace(), r"\S+|\s+")),
    "removed": made(pattern=(Split("é", "removed"), r"\S+|\s+")),
    "flags": made(token_flags={LITERAL: ("lstrip", "normalized")}, normalization="NFC"),
}


def streamed(tok: Tokenizer, text: str) -> Iterable[int]:
    return tok.encode_iterable((text[at : at + 2] for at in range(0, len(text), 2)), allowed_special=())


def padded(tok: Tokenizer, text: str) -> list[int]:
    return tok.encode_padded([text], allowed_special=(), pad_token=0).input_ids.ravel().tolist()


NONE: Any = {"allowed_special": ()}
FORMS: dict[str, Callable[[Tokenizer, str], Iterable[int]]] = {
    "encode_ordinary": lambda tok, text: tok.encode_ordinary(text),
    "encode_ordinary, threads": lambda tok, text: tok.encode_ordinary(text, num_threads=2),
    "bytes": lambda tok, text: tok.encode_ordinary(text.encode()),
    "encode": lambda tok, text: tok.encode(text, **NONE),
    "numpy": lambda tok, text: tok.encode_to_numpy(text, **NONE).tolist(),
    "dropout": lambda tok, text: tok.encode(text, dropout=0.3, seed=1, **NONE),
    "batch": lambda tok, text: tok.encode_batch(["a", text], num_threads=2, **NONE)[1],
    "flat batch": lambda tok, text: tok.encode_batch_to_numpy([text] * 3, **NONE)[0].tolist(),
    "arrow": lambda tok, text: tok.encode_batch_to_arrow([text], **NONE)[0].as_py(),
    "offsets": lambda tok, text: tok.encode_with_offsets(text, **NONE)[0],
    "stream": streamed,
    "padded": padded,
    "tiktoken": lambda tok, text: tok.as_tiktoken().encode_ordinary(text),
    "heal": lambda tok, text: serving.heal(tok, text, **NONE)[0],
    "encode_bytes": lambda tok, text: serving.encode_bytes(tok, text.encode() + b"\xff", errors="bytes", **NONE),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_untrusted_text_gives_no_special_token(name: str, form: str) -> None:
    tok = TOKENIZERS[name]
    if form == "arrow":
        pytest.importorskip("pyarrow")
    for text in [*TEXTS, LONG] if form == "encode_ordinary, threads" else TEXTS:
        found = set(FORMS[form](tok, text))
        assert found.isdisjoint(tok.special_tokens.values()), (text[:40], sorted(found))
        assert SPECIAL in tok.encode(text)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_segments_and_limits(name: str) -> None:
    tok = TOKENIZERS[name]
    for text in TEXTS:
        assert SPECIAL not in serving.encode_segments(tok, [(text, False)])
        assert SPECIAL not in serving.encode_segments(tok, [(text, False)], seams="cut")
        assert SPECIAL not in serving.encode_segments(tok, [("<", False), ("|e", True), ("a", False)])
        ids = tok.encode_ordinary(text)
        assert tok.count(text, allowed_special=()) == len(ids)
        assert tok.count_batch([text], allowed_special=()).tolist() == [len(ids)]
        assert tok.truncate(text, len(ids), allowed_special=()) == text
        part = tok.truncate(text, 2, allowed_special=())
        assert len(tok.encode_ordinary(part)) <= 2
        if "é" not in text:
            chunks = list(tok.chunks(text, 5, allowed_special=()))
            assert "".join(chunk.text for chunk in chunks) == text
            assert [chunk.tokens for chunk in chunks] == [len(tok.encode_ordinary(chunk.text)) for chunk in chunks]


def test_a_plain_token_is_merged() -> None:
    """A token that tokenizer.json marks `special: false` is a word of the vocabulary as well."""
    tok = made(token_flags={LITERAL: ("plain",)})
    assert tok.encode_ordinary(LITERAL) == [SPECIAL]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_audit_lists_special_tokens_that_merges_reach(name: str) -> None:
    found = {one.code: one.examples for one in analysis.audit(TOKENIZERS[name]).findings}
    assert "forgeable-specials" not in found
    named = [example["id"] for example in found.get("merged-specials", ())]
    made_by_merges = [] if name.startswith("ranks") else sorted(TOKENIZERS[name].special_tokens.values())
    assert named == made_by_merges
