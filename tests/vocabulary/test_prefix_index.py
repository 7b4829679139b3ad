"""The tokens that begin with some bytes, and those that some bytes begin with: by looking at all tokens."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer, Vocab, serving

TOK = Tokenizer.train("the cat's naïve été 的的的 the then" * 3, 330)
ODD = Tokenizer.from_vocab(
    Vocab({7: b"a", 9: b"\xff", 3: b"\xff\xff", 4: b"a\xff", 2**32 - 1: b"a\xffb", 11: b"a"}, None, {"a": 11})
)


@pytest.mark.parametrize("tok", [TOK, ODD], ids=["trained", "odd"])
@given(st.one_of(st.sampled_from([*TOK.vocab.values(), b"\xff\xff\xff", b"a\xffbc"]), st.binary(max_size=3)))
def test_against_all_tokens(tok: Tokenizer, data: bytes) -> None:
    vocab = tok.vocab
    found = serving.completions(tok, data)
    assert found.dtype == "uint32"
    assert found.tolist() == sorted(token_id for token_id, token in vocab.items() if token.startswith(data))
    within = [token_id for token_id, token in vocab.items() if data.startswith(token)]
    found = serving.prefixes(tok, data)
    assert found.dtype == "uint32"
    assert found.tolist() == sorted(within, key=lambda token_id: (len(vocab[token_id]), token_id))


def test_only_bytes() -> None:
    with pytest.raises(TypeError, match="prefix is bytes, not 'a'"):
        serving.completions(TOK, "a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="data is bytes, not 'a'"):
        serving.prefixes(TOK, "a")  # type: ignore[arg-type]
