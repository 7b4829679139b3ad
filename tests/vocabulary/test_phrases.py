"""Phrases as pre-tokens: the ids of superwords, for any list of merges."""
from __future__ import annotations

import pickle
import random
from array import array
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, Vocab, patterns
from bpetite.reference import split

ALPHABET = "ab c.é\u00a0"
BYTES = [bytes([byte]) for byte in range(256)]


@st.composite
def vocabularies(draw: st.DrawFn) -> Vocab:
    """Merges of a few tokens, in any order, or ranks; some tokens are made in several ways."""
    tokens = [bytes([byte]) for byte in ALPHABET.encode()]
    pairs = [(b"\xc3", b"\xa9")][: draw(st.integers(0, 1))]
    for _ in range(draw(st.integers(1, 24))):
        left, right = draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens))
        if len(left + right) <= 12 and (left, right) not in pairs:
            pairs.append((left, right))
            tokens.append(left + right)
    if draw(st.booleans()):
        draw(st.randoms(use_true_random=False)).shuffle(pairs)
    order = list(dict.fromkeys([*BYTES, *(left + right for left, right in pairs)]))
    ids = {token: at for at, token in enumerate(order)}
    merges = None if draw(st.booleans()) else tuple(dict.fromkeys((ids[left], ids[right]) for left, right in pairs))
    pattern = draw(st.sampled_from([None, patterns.SUPERBPE, patterns.GPT2, r"\."]))
    return Vocab(dict(enumerate(order)), merges, {}, pattern)


def plain(vocab: Vocab, text: str) -> list[int]:
    """Each pre-token merged from its bytes, at once."""
    found: list[int] = []
    for part in split(text, vocab.pattern):
        whole = vocab.id_of.get(part.encode()) if vocab.merges is None else None
        found += [whole] if whole is not None else vocab.merge_table.apply(array("I", list(part.encode())))
    return found


@settings(deadline=None, max_examples=300)
@given(vocabularies(), st.lists(st.text(ALPHABET, max_size=60), min_size=1, max_size=3))
def test_equals_merging_at_once(vocab: Vocab, texts: list[str]) -> None:
    tok = Tokenizer.from_vocab(vocab)
    for text in [*texts, *texts, " ".join(texts) * 40]:
        assert tok.encode(text) == plain(vocab, text)
        assert tok.count(text) == len(plain(vocab, text))


@pytest.fixture(scope="module")
def trained() -> Tokenizer:
    random.seed(3)
    words = ["".join(random.choice(part) for part in ("bcdfg", "aeiou", "lmnrst", "aeiou")) for _ in range(60)]
    texts = [" ".join(random.choices(words, k=12)) + random.choice([". ", ", ", " – ", "\n"]) for _ in range(300)]
    return Tokenizer.train(texts, 600, superwords_from=400, pattern="o200k", num_threads=1)


def texts_of(tok: Tokenizer) -> list[str]:
    random.seed(4)
    parts = [token.decode(errors="ignore") for token in tok.vocab.values() if token != b"<|endoftext|>"]
    parts += ["的", "\u00a0 ", "x1 ", "\r\n", "'s"]
    return ["".join(random.choices(parts, k=random.randint(1, 60))) for _ in range(150)]


def test_trained_saved_and_ranks(trained: Tokenizer, tmp_path: Path) -> None:
    vocab = trained.to_vocab()
    for name in ("tokenizer.json", "own.json"):
        trained.save(tmp_path / name)
    others = [Tokenizer.load(tmp_path / "tokenizer.json"), Tokenizer.load(tmp_path / "own.json"),
              pickle.loads(pickle.dumps(trained)), trained.with_cache(0), trained.with_cache(1 << 12)]  # fmt: skip
    ranks = trained.to_ranks()
    texts = texts_of(trained)
    for text in [*texts, "".join(texts), *texts]:
        expected = plain(vocab, text)
        for tok in (trained, *others):
            assert tok.encode(text) == expected
        assert ranks.encode(text) == plain(ranks.to_vocab(), text)
    assert trained.encode_batch(texts, num_threads=2) == [plain(vocab, text) for text in texts]


def test_cut_offs(trained: Tokenizer) -> None:
    """Phrases about as long as a block of the word cache, and joins about as long as merging by scanning goes."""
    vocab = trained.to_vocab()
    word = next(token for token in vocab.tokens.values() if token.count(b" ") == 1 and token[0] == 32).decode()
    superword = next(token for token in vocab.tokens.values() if token.count(b" ") == 2).decode()
    for number in (1, 47, 48, 49, 95, 96, 97, 98, 191, 192, 193, 385):
        for text in (word * number, superword * number, (word + "q") * number, "q" * number + word, word[:-1] * number):
            assert trained.encode(text) == plain(vocab, text)
    assert trained.encode("a" * 5000 + word) == plain(vocab, "a" * 5000 + word)


def test_a_byte_without_a_token() -> None:
    vocab = {97: b"a", 32: b" ", 98: b"b", 300: b" a", 301: b"a ", 302: b"x", 303: b"a b"}
    tok = Tokenizer(vocab, [(b" ", b"a"), (b"a", b" "), (b"a ", b"b")], pattern=None)
    assert tok.encode("a a b") == [97, 300, 32, 98]
    with pytest.raises(ValueError, match=r"byte 0x63, at offset 4 of the text"):
        tok.encode("a a c")


def test_dropout(trained: Tokenizer) -> None:
    assert trained.encode("lo ba. " * 9, dropout=1.0) == list(("lo ba. " * 9).encode())
