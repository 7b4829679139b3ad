"""count with a limit, count_batch, fits and truncate, held to their plain meaning."""
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from splits import COMPILED, texts

from bpetite import Tokenizer, patterns, reference
from bpetite.engine.options import SpecialSelection
from bpetite.steps.normalizers import Prepend
from bpetite.steps.splits import Split

END = "<|endoftext|>"
SPECIALS = [END, END + END, "<|endo", "<", "the cat"]
CORPUS = "I'll say the cat's naïve: don't été  12345 的的的 <end>\n\n  x = 1 zzzzzzzz          \n\n\n" * 3


def tokenizer(pattern: object = patterns.GPT2, normalization: object = None) -> Tokenizer:
    trained = Tokenizer.train(CORPUS, 330, special_tokens=SPECIALS, pattern=patterns.CL100K)
    return Tokenizer(trained.vocab, trained.merges, trained.special_tokens, pattern=pattern, normalization=normalization)  # type: ignore[arg-type]


#: All named patterns and others that compile; what only `regex` splits; no pattern; normalization; steps of a pipeline.
TOKENIZERS = {
    **{name: tokenizer(pattern) for name, pattern in COMPILED.items()},
    "regex": tokenizer(r"\b\w+|\s+"),
    "none": tokenizer(None),
    **{form: tokenizer(patterns.CL100K, form) for form in ("NFC", "NFKD")},
    "regex NFC": tokenizer(r"\b\w+|\s+", "NFC"),
    "pipeline": tokenizer((Split(r"\d", "removed"), patterns.GPT2), (Prepend("_"),)),
}
TOKENIZERS |= {f"{name}, ranks": TOKENIZERS[name].to_ranks() for name in ("gpt2", "cl100k", "none", "regex", "NFC")}

pieces = st.one_of(st.sampled_from([END, "<|endo", "<|", ">", "the ", "cat", "<", "的", "e\u0301"]), texts(6))
some_texts = st.lists(pieces, max_size=10).map("".join)
names = st.sampled_from(sorted(TOKENIZERS))


@given(names, some_texts, st.integers(0, 30))
@settings(max_examples=400)
def test_count_to_a_limit(name: str, text: str, limit: int) -> None:
    tok = TOKENIZERS[name]
    for times in (1, 40):
        long = text * times
        for allowed in ("all", (), (END,)):
            expected = min(len(tok.encode(long, allowed_special=allowed)), limit + 1)
            assert tok.count(long, limit=limit, allowed_special=allowed) == expected
            assert tok.count(long.encode(), limit=limit, allowed_special=allowed) == expected


@given(names, some_texts, st.integers(0, 30), st.sampled_from(["all", (), (END,)]))
@settings(max_examples=400)
def test_truncate(name: str, text: str, limit: int, allowed: SpecialSelection) -> None:
    tok = TOKENIZERS[name]

    def encode(part: str) -> list[int]:
        return tok.encode(part, allowed_special=allowed)

    spans = tok.encode_with_offsets(text, allowed_special=allowed)[1]
    right = tok.truncate(text, limit, allowed_special=allowed)
    assert right == reference.truncate(text, limit, encode, spans)
    left = tok.truncate(text, limit, allowed_special=allowed, truncation_side="left")
    assert left == reference.truncate(text, limit, encode, spans, side="left")
    assert (right is text) == (left is text) == tok.fits(text, limit, allowed_special=allowed)
