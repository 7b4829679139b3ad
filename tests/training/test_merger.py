"""The order in which pairs are merged, held to the trainer of Hugging Face."""
import json
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, patterns, reference
from bpetite.bytelevel import decode_token_bytes
from bpetite.training._merger import Merger

corpora = st.lists(
    st.one_of(
        st.builds(lambda piece, times: piece * times, st.text("ab", min_size=1, max_size=4), st.integers(1, 40)),
        st.text("ab ", max_size=60),
        st.text("abcd \n'ße的😀\0", max_size=40),
    ),
    max_size=8,
)


def huggingface_merges(texts, vocab_size, *, pattern=True, **options):
    """The merges, in bytes, that Hugging Face's trainer learns from texts."""
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocab_size, show_progress=False, initial_alphabet=alphabet, **options
    )
    theirs.train_from_iterator(texts, trainer)
    learned = json.loads(theirs.to_str())["model"]["merges"]
    return [tuple(map(decode_token_bytes, pair)) for pair in learned]


@settings(deadline=None, max_examples=150)
@given(
    corpus=corpora,
    vocab_size=st.integers(256, 330),
    pattern=st.booleans(),
    min_frequency=st.integers(1, 3),
    max_token_bytes=st.sampled_from([None, None, 2, 3, 7]),
    num_threads=st.integers(1, 3),
)
@pytest.mark.filterwarnings("ignore:no pair is left")
def test_the_merges_of_huggingface(corpus, vocab_size, pattern, min_frequency, max_token_bytes, num_threads):
    longest = None if max_token_bytes is None else max_token_bytes + 1  # there a token is shorter than this
    theirs = huggingface_merges(
        corpus, vocab_size, pattern=pattern, min_frequency=min_frequency, max_token_length=longest
    )
    ours = Tokenizer.train(
        corpus, vocab_size, pattern=patterns.GPT2 if pattern else None, min_frequency=min_frequency,
        max_token_bytes=max_token_bytes, tie_break="tokenizers", num_threads=num_threads,
    )
    assert ours.merges == theirs
    assert ours.vocab.items() >= {byte: bytes([byte]) for byte in range(256)}.items()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no pair is left")
@pytest.mark.parametrize("vocab_size", [1_000, 8_192, 32_000])
@pytest.mark.parametrize("name", ["english", "code", "multilingual", "cjk", "cs336"])
def test_the_merges_of_huggingface_on_texts(shared, name, vocab_size):
    length = 300_000 if name == "cjk" else 1_500_000  # that trainer is slow on long pre-tokens
    data = shared("cs336/corpus.en" if name == "cs336" else f"text/{name}.txt").read_bytes()[:length]
    text = data.decode("utf-8", "ignore")
    texts = [text[start : start + 50_000] for start in range(0, len(text), 50_000)]
    theirs = huggingface_merges(texts, vocab_size)
    for num_threads in (1, 2, 4):
        ours = Tokenizer.train(
            texts, vocab_size, special_tokens=[], tie_break="tokenizers", num_threads=num_threads
        )
        assert ours.merges == theirs


def test_the_order_of_huggingface_goes_on_after_a_vocabulary():
    words = {b"ab": 3, b" a": 2, b"ba": 2, b"\xffab": 2}
    whole = Tokenizer.train_from_counts(words, 260, tie_break="tokenizers")
    first = Tokenizer.train_from_counts(words, 257, tie_break="tokenizers")
    assert first.extend(words, 3, tie_break="tokenizers").merges == whole.merges
    assert first.extend(words, 3).merges != whole.merges


def test_pairs_in_any_number_of_words():
    """Lists of up to two segments, of powers of two and past them, of up to 1024 and longer."""
    numbers = (1, 2, 3, 8, 9, 16, 17, 64, 65, 1024, 1025, 2049)
    words = {f"xy{chr(65 + at)}{word:04}".encode(): 1 for at, number in enumerate(numbers) for word in range(number)}
    _, merges = reference.train([word.decode() for word in words], 300)
    assert Tokenizer.train_from_counts(words, 300, special_tokens=[]).merges == merges


def test_the_tokens_and_merges_of_a_merger():
    merger = Merger(first=bytes(range(255, -1, -1)))
    merger.add_word(b"abab", 2)
    assert merger.learn(258, 1 << 20)
    a, b = 255 - 97, 255 - 98
    assert merger.merges() == ((a, b), (256, 256))
    assert merger.all_tokens()[254:] == [b"\x01", b"\0", b"ab", b"abab"]
    assert merger.all_tokens() == [merger.token(number) for number in range(258)]
    assert merger.merges([number + 7 for number in range(258)]) == ((a + 7, b + 7), (263, 263))
    with pytest.raises(ValueError, match="there are 258 tokens, and ids of 257"):
        merger.merges(list(range(257)))


def test_what_is_known_has_ids_that_there_are():
    merger = Merger()
    merger.know(array("I", [97, 98, 256, 97]))
    assert (merger.token(257), merger.tokens) == (b"aba", 258)
    for pairs in ([97, 258], [300, 97]):
        with pytest.raises(ValueError, match=f"no token has the internal id {max(pairs)}"):
            merger.know(array("I", pairs))
