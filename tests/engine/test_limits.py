"""count with a limit, count_batch, fits and truncate, held to their plain meaning."""
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_cases import END, TOKENIZERS, names, some_texts

from bpetite import reference
from bpetite.engine.options import SpecialSelection


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
