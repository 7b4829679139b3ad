"""BPE-dropout against its definition by enumeration, and against a plain twin with the same random numbers."""
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, patterns, reference
from bpetite.steps.template import Template, TemplatePart

BYTES = {byte: bytes([byte]) for byte in range(256)}
CORPUS = "the cat sat on the mat, the rat ate the cat's hat; banana naïve café 中文字 中文 aaaaaaaa internationally\n"
TOKENS, MERGES = reference.train([CORPUS] * 2, 330, pattern=patterns.GPT2)
MASK = 2**64 - 1

text = st.one_of(
    st.text(max_size=30),
    st.text("thecatsbn '\n中é🙂", max_size=100),
    st.sampled_from(["the cat", "naïve café", "中文字"]).map(lambda one: one * 9),
    st.sampled_from(["a", "an", "中文"]).flatmap(lambda unit: st.integers(28, 40).map(lambda n: unit * n)),
)
probability = st.sampled_from([0.05, 0.1, 0.5, 0.9, 0.999, 1.0])


@pytest.fixture(scope="module")
def merges() -> Tokenizer:
    return Tokenizer(TOKENS, MERGES, {"<|endoftext|>": 1000})


@pytest.fixture(scope="module")
def ranks() -> Tokenizer:
    return Tokenizer(TOKENS, None, {"<|endoftext|>": 1000})


def ranks_of(tok: Tokenizer) -> Any:
    """What the reference calls ranks."""
    if tok.kind == "ranks":
        return {token: token_id for token_id, token in TOKENS.items()}
    return {pair: rank for rank, pair in enumerate(MERGES)}


def split_mix(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def draws(seed: int, number: int, position: int) -> Iterator[float]:
    """The random numbers of one pre-token."""
    golden = 0x9E3779B97F4A7C15
    state = 0
    for part in (seed, number, position):
        state = split_mix(state + part + golden & MASK)
    while True:
        state = state + golden & MASK
        yield (split_mix(state) >> 11) / 2**53


def squares(dropout: float) -> list[float]:
    """dropout ** 2 ** i, as the engine multiplies them."""
    made = [dropout]
    while len(made) < 10:
        made.append(made[-1] * made[-1])
    return made


def merge(pretoken: bytes, ranks: Any, dropout: float, drawn: Iterator[float]) -> list[bytes]:
    """A plain twin: one draw says how many of the candidates, best first, are dropped before one is not."""
    tokens = [bytes([byte]) for byte in pretoken]
    powers = squares(dropout)
    while found := sorted(reference.candidates(tokens, ranks)):
        one = next(drawn)
        bound, dropped = 1.0, 0
        for power in reversed(range(10)):
            if one < bound * powers[power]:
                bound, dropped = bound * powers[power], dropped + 2**power
        if dropped >= len(found):
            return tokens
        at = found[dropped][1]
        tokens[at : at + 2] = [tokens[at] + tokens[at + 1]]
    return tokens


def encode(tok: Tokenizer, text: str, dropout: float, seed: int, number: int = 0) -> list[int]:
    id_of = {token: token_id for token_id, token in tok.vocab.items()}
    ids, position = [], 0
    for piece, special in reference.cut_specials(text, tok.special_tokens):
        if special:
            ids.append(tok.special_tokens[piece])
            continue
        for pretoken in reference.split(piece, patterns.GPT2):
            data = pretoken.encode()
            ids += [id_of[one] for one in merge(data, ranks_of(tok), dropout, draws(seed, number, position))]
            position += len(data)
    return ids


@pytest.mark.parametrize("kind", ["merges", "ranks"])
@settings(max_examples=50, deadline=None)
@given(text=text, dropout=probability, seed=st.integers(0, MASK))
def test_every_form_is_the_twin(kind: str, request: Any, text: str, dropout: float, seed: int) -> None:
    """Pre-tokens below and above the length from which on a heap is used, in every form of input and output."""
    tok = request.getfixturevalue(kind)
    text = f"{text}<|endoftext|>{text}"
    expected = encode(tok, text, dropout, seed)
    assert tok.encode(text, dropout=dropout, seed=seed) == expected
    assert tok.encode(text.encode(), dropout=dropout, seed=seed, num_threads=3) == expected
    assert tok.encode_to_numpy(text, dropout=dropout, seed=seed).tolist() == expected
    assert tok.decode(expected) == text
    both = [expected, encode(tok, text, dropout, seed, 1)]
    assert tok.encode_batch([text, text.encode()], dropout=dropout, seed=seed) == both
    assert tok.encode_batch([text] * 2, dropout=dropout, seed=seed) == both
    ids, offsets = tok.encode_batch_to_numpy([text, text], dropout=dropout, seed=seed)
    assert [ids[: offsets[1]].tolist(), ids[offsets[1] :].tolist()] == both
    assert tok.encode(text) == reference.encode(
        text, TOKENS, MERGES if kind == "merges" else None, special_tokens=tok.special_tokens, pattern=patterns.GPT2
    )


def chi_square(counts: dict[Any, int], expected: dict[Any, float]) -> float:
    """How many standard deviations the statistic of Pearson's test lies above its mean (Wilson and Hilferty)."""
    n = sum(counts.values())
    assert not counts.keys() - expected.keys()
    often = {split: chance * n for split, chance in expected.items() if chance * n >= 5}
    rare = sum(chance * n for split, chance in expected.items() if split not in often)
    statistic = sum((counts.get(split, 0) - mean) ** 2 / mean for split, mean in often.items())
    if rare:
        statistic += (sum(count for split, count in counts.items() if split not in often) - rare) ** 2 / rare
    freedom = max(1, len(often) - (not rare))
    return ((statistic / freedom) ** (1 / 3) - 1 + 2 / (9 * freedom)) / math.sqrt(2 / (9 * freedom))


@pytest.mark.parametrize("kind", ["merges", "ranks"])
@pytest.mark.parametrize("word", ["banana", "the", "aaaaaa", " hat"])
@pytest.mark.parametrize("dropout", [0.1, 0.5, 0.8])
def test_distribution(kind: str, request: Any, word: str, dropout: float) -> None:
    """20,000 draws with a fixed seed against the probabilities of the definition."""
    tok = request.getfixturevalue(kind)
    expected = oracles.dropout_distribution(word.encode(), ranks_of(tok), dropout)
    assert math.isclose(sum(expected.values()), 1)
    drawn = Counter(
        tuple(map(tok.token_bytes, ids)) for ids in tok.encode_batch([word] * 20_000, dropout=dropout, seed=20)
    )
    assert chi_square(drawn, expected) < 3.5
    off = {split: (chance * 1.3 if split == max(expected) else chance) for split, chance in expected.items()}
    if expected[max(expected)] > 0.01:
        assert chi_square(drawn, {split: chance / sum(off.values()) for split, chance in off.items()}) > 3.5


def test_ends(merges: Tokenizer, ranks: Tokenizer) -> None:
    for tok in (merges, ranks):
        assert tok.encode(CORPUS, dropout=0, seed=1) == tok.encode(CORPUS) == tok.encode(CORPUS, dropout=False)
        assert tok.encode(CORPUS, dropout=1) == [tok.token_id(bytes([byte])) for byte in CORPUS.encode()]
        assert tok.encode("", dropout=0.5) == tok.encode_batch([], dropout=0.5) == []
    few = Tokenizer({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")])
    with pytest.raises(ValueError, match="byte 0x63, at offset 2 of the text"):
        few.encode("abc", dropout=0.5)
    assert few.encode("ab", dropout=1e-9) == [2]


def test_the_cache_is_left_alone(merges: Tokenizer) -> None:
    plain = merges.encode(CORPUS * 3)
    assert merges.encode(CORPUS * 3, dropout=0.3, seed=1) != plain
    assert merges.encode(CORPUS * 3) == plain


def test_a_seed_is_drawn_for_each_call(merges: Tokenizer) -> None:
    assert len({tuple(merges.encode(CORPUS, dropout=0.5)) for _ in range(4)}) == 4
    one, other = merges.encode_batch([CORPUS, CORPUS], dropout=0.5, seed=7)
    assert one != other


def test_threads_change_nothing(merges: Tokenizer) -> None:
    texts = [CORPUS * (1 + number % 7) for number in range(800)]
    expected = merges.encode_batch(texts, num_threads=1, dropout=0.2, seed=5)
    assert merges.encode_batch(texts, num_threads=4, dropout=0.2, seed=5) == expected
    ids, _ = merges.encode_batch_to_numpy(texts, num_threads=3, dropout=0.2, seed=5)
    assert ids.tolist() == [one for ids in expected for one in ids]
    whole = CORPUS * 8000  # long enough for several threads
    assert len(whole) > 1 << 19
    numpy = merges.encode_to_numpy(whole, dropout=0.2, seed=5, num_threads=2)
    assert (numpy == merges.encode_to_numpy(whole, dropout=0.2, seed=5)).all()


@pytest.mark.parametrize("pattern", [r"(?<=a)b|[^b]+", None, (r"\s+", r"\w\w?")])
def test_other_ways_to_cut(pattern: str | Sequence[str] | None) -> None:
    """A pattern that only regex can split, none at all, and normalization: positions are those of what is merged."""
    tok = Tokenizer(TOKENS, MERGES, pattern=pattern, normalization="NFC")
    given = "the cafe\u0301 cab ab banana"
    ids: list[int] = []
    position = 0
    for pretoken in reference.split(reference.normalize(given, "NFC"), pattern):
        data = pretoken.encode()
        ids += [tok.token_id(one) for one in merge(data, ranks_of(tok), 0.3, draws(9, 0, position))]
        position += len(data)
    assert tok.encode(given, dropout=0.3, seed=9) == ids


def test_a_template_stays_around(merges: Tokenizer) -> None:
    parts = TemplatePart((1000,)), TemplatePart(text="A")
    tok = Tokenizer.from_vocab(replace(merges.to_vocab(), template=Template(parts, ())))
    options: dict[str, Any] = {"dropout": 0.5, "seed": 2, "add_special_tokens": True}
    expected = [1000, *merges.encode(CORPUS, dropout=0.5, seed=2)]
    assert tok.encode(CORPUS, **options) == tok.encode_to_numpy(CORPUS, **options).tolist() == expected
    assert tok.encode_batch([CORPUS], **options) == [expected]


def test_the_dropout_of_a_file_is_for_those_who_ask(tmp_path: Any, merges: Tokenizer) -> None:
    tok = Tokenizer.from_vocab(replace(merges.to_vocab(), kept={"dropout": 0.4}))
    text = CORPUS * 3
    assert tok.encode(text, dropout=True, seed=3) == tok.encode(text, dropout=0.4, seed=3) != tok.encode(text)
    assert tok.encode_batch([text] * 2, dropout=True, seed=3) == tok.encode_batch([text] * 2, dropout=0.4, seed=3)
    for name in ("tok.json", "tokenizer.json"):
        tok.save(tmp_path / name)
        assert Tokenizer.load(tmp_path / name).to_vocab().dropout == 0.4
    assert merges.to_vocab().dropout is None
    with pytest.raises(ValueError, match=r"dropout=True asks for the dropout of the tokenizer, which has none"):
        merges.encode("ab", dropout=True)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dropout": 1.5}, ValueError, "dropout must be 0 to 1, not 1.5"),
        ({"dropout": -0.1}, ValueError, "dropout must be 0 to 1, not -0.1"),
        ({"dropout": math.nan}, ValueError, "dropout must be 0 to 1, not nan"),
        ({"dropout": "0.1"}, TypeError, "dropout is a probability, True or None, not '0.1'"),
        ({"dropout": [0.1]}, TypeError, "dropout is a probability, True or None"),
        ({"dropout": 0.1, "seed": -1}, ValueError, r"seed must be 0 to 18446744073709551615, not -1"),
        ({"dropout": 0.1, "seed": 2**64}, ValueError, "seed must be 0 to"),
        ({"dropout": 0, "seed": "1"}, TypeError, "seed is an int or None, not '1'"),
        ({"dropout": 0.1, "seed": True}, TypeError, "seed is an int or None, not True"),
        ({"seed": 1}, ValueError, "seed is for dropout, and no dropout is given"),
    ],
)
def test_what_is_refused(merges: Tokenizer, options: Any, error: type[Exception], message: str) -> None:
    for call in (merges.encode, merges.encode_to_numpy, merges.encode_batch, merges.encode_batch_to_numpy):
        with pytest.raises(error, match=message):
            call("ab" if "batch" not in call.__name__ else ["ab"], **options)  # type: ignore[operator]


def test_no_step_of_a_long_pretoken_is_linear() -> None:
    """Candidates are many and dropped nearly always: taking those from a heap again in each step would need ages."""
    tok = Tokenizer.train("a" * 64, 259, pattern=None)
    ids = tok.encode("a" * 300_000, dropout=0.999, seed=1)
    assert tok.decode_bytes(ids) == b"a" * 300_000
    assert len(ids) < 200_000
