"""chunks, held to their plain meaning; and what they promise, by itself."""
import re

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_cases import END, TOKENIZERS, names, some_texts

from bpetite import Tokenizer, reference
from bpetite.engine.chunks import BOUNDARIES, Chunk
from bpetite.engine.options import SpecialSelection

wanted = st.sampled_from([None, "paragraph", "line", re.compile(r"[.:] |(?=<)"), regex.compile(r"\p{N}")])


@given(names, some_texts, st.integers(1, 25), st.data(), wanted, st.sampled_from(["all", (), (END,)]))
@settings(max_examples=400)
def test_chunks(
    name: str, text: str, limit: int, data: st.DataObject, boundaries: object, allowed: SpecialSelection
) -> None:
    tok = TOKENIZERS[name]
    overlap = data.draw(st.one_of(st.just(0), st.integers(0, limit - 1)))
    pattern = BOUNDARIES.get(boundaries, boundaries)  # type: ignore[call-overload]
    ends = [] if pattern is None else [match.end() for match in pattern.finditer(text)]

    def encode(part: str) -> tuple[list[int], list[tuple[int, int]]]:
        return tok.encode_with_offsets(part, allowed_special=allowed)

    given = tok.chunks(text, limit, overlap=overlap, boundaries=boundaries, allowed_special=allowed)  # type: ignore[arg-type]
    expected = reference.chunks(text, limit, encode, overlap=overlap, boundaries=ends)
    made: list[Chunk] = []
    try:
        for chunk in expected:
            made.append(next(given))
            assert made[-1] == (text[chunk[0] : chunk[1]], *chunk)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error).split(" has ")[0])):
            next(given)
        return
    assert next(given, None) is None
    assert next(given, None) is None
    for one, two in zip(made, made[1:]):
        assert one.start < two.start <= one.end < two.end
