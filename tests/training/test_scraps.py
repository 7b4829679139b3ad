"""Training without scraps, against rounds that count every use anew and a trainer that recounts all pairs."""
import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, count_pretokens, reference
from bpetite.reference import Pair
from bpetite.training._token_uses import token_uses
from bpetite.training.counts import table_of
from bpetite.training.scraps import ROUNDS
from tests.support.alarms import Alarm, SecondRing, alarm

pytestmark = pytest.mark.filterwarnings("ignore:no pair is left to learn")

BYTES = [bytes([byte]) for byte in range(256)]
WORDS = ["kentucky", "kentuckian", "kent", "lucky", "luck", "duck", "abab", "aab", "de", "zz"]
word = st.sampled_from(WORDS) | st.text("abk", min_size=1, max_size=6)
corpus = st.lists(st.tuples(word, st.integers(1, 30)), min_size=1, max_size=9).map(
    lambda pairs: sum((Counter({word.encode(): count}) for word, count in pairs), Counter[bytes]())
)


def cut(pretoken: bytes, tokens: list[bytes], merges: list[Pair]) -> list[bytes]:
    return [pretoken] if pretoken in tokens else reference.apply_merges(pretoken, merges)


def learn(counts: Counter[bytes], tokens: list[bytes], merges: list[Pair], size: int, tie_break: str) -> None:
    """Learn from the pre-tokens that are no token, recounting; what is a token already is not made again."""
    words = Counter[tuple[bytes, ...]]()
    for pretoken, count in counts.items():
        if pretoken not in tokens:
            words[tuple(reference.apply_merges(pretoken, merges))] += count
    while len(tokens) < size:
        pairs = {pair: count for pair, count in reference.count_pairs(words).items() if b"".join(pair) not in tokens}
        if not pairs:
            return
        most = max(pairs.values())
        best = [pair for pair, count in pairs.items() if count == most]
        pair = max(best) if tie_break == "bytes" else min(best, key=lambda one: [tokens.index(part) for part in one])
        merges.append(pair)
        tokens.append(b"".join(pair))
        again = Counter[tuple[bytes, ...]]()
        for word, count in words.items():
            again[tuple(reference.replace_pair(word, pair))] += count
        words = again


def plain_round(counts: Counter[bytes], tokens: list[bytes], merges: list[Pair], threshold: float) -> bool:
    """Remove the scraps, as the module's docstring defines them; whether there were any."""
    if not merges:
        return False
    parts: dict[bytes, Pair] = {}
    for pair in merges:
        parts.setdefault(b"".join(pair), pair)

    def comes_by(token: bytes, other: bytes) -> bool:
        return token in parts and (token == other or any(comes_by(part, other) for part in parts[token]))

    whole, inside = Counter[bytes](), Counter[bytes]()
    for pretoken, count in counts.items():
        for token in cut(pretoken, tokens, merges):
            (whole if pretoken in tokens else inside)[token] += count
    through = {
        token: sum(whole[other] + inside[other] for other in tokens if comes_by(other, token)) for token in parts
    }
    lost = {
        token: whole[token] + sum(inside[other] for other in tokens if comes_by(other, token)) for token in parts
    }
    worth = through[b"".join(merges[-1])]
    scraps = [
        token for token in parts
        if whole[token] + inside[token] <= (1 - threshold) * through[token] and lost[token] < worth
    ]  # fmt: skip
    if not scraps:
        return False
    made, kept = [], []
    for pair in merges:
        if b"".join(pair) not in scraps and all(part in BYTES or part in made for part in pair):
            kept.append(pair)
            made.append(b"".join(pair))
    others = [
        token for token in tokens[256:]
        if token not in made and token not in scraps and (token not in parts or whole[token] >= worth)
    ]  # fmt: skip
    tokens[:] = [*BYTES, *dict.fromkeys(made), *others]
    merges[:] = kept
    return True


@pytest.mark.parametrize("tie_break", ["ids", "bytes"])
@settings(max_examples=50, deadline=None)
@given(counts=corpus, size=st.integers(0, 25), threshold=st.sampled_from([0.01, 0.5, 0.9, 1.0]))
def test_equals_plain_rounds(tie_break: Any, counts: Counter[bytes], size: int, threshold: float) -> None:
    options: Any = {"tie_break": tie_break, "special_tokens": []}
    tok = Tokenizer.train_from_counts(counts, 256 + size, **options, picky_threshold=threshold)
    first = Tokenizer.train_from_counts(counts, 256 + size, **options)
    tokens, merges = [token for _, token in sorted(first.vocab.items())], first.merges
    for _ in range(ROUNDS):
        before = [*tokens], [*merges]
        if not plain_round(counts, tokens, merges, threshold):
            break
        learn(counts, tokens, merges, 256 + size, tie_break)
        if len(tokens) < 256 + size:
            tokens, merges = before
            break
    assert (tok.merges, list(tok.vocab.values())) == (merges, tokens)
    assert tok.to_vocab().ignore_merges
    expected = [cut(pretoken, tokens, merges) for pretoken in counts]
    assert [[tok.token_bytes(one) for one in tok._encode_pretoken(pretoken)] for pretoken in counts] == expected


def counts_by_hand() -> Counter[bytes]:
    return Counter({b"kentucky": 100, b"kentuck": 1, b"duck": 40, b"lucky": 40, b"ab": 30, b"cd": 20})


def test_kentucky() -> None:
    """The steps to a frequent word go, the word stays as a whole, and their places are others'."""
    plain = Tokenizer.train_from_counts(counts_by_hand(), 266, special_tokens=[])
    picky = Tokenizer.train_from_counts(counts_by_hand(), 266, special_tokens=[], picky_threshold=0.9)
    gone = set(plain.vocab.values()) - set(picky.vocab.values())
    assert b"kentucky" in picky.vocab.values()
    assert gone
    assert all(token in b"kentucky" for token in gone)
    assert len(picky) == len(plain) == 266
    used = sum(count * len(plain._encode_pretoken(pretoken)) for pretoken, count in counts_by_hand().items())
    assert sum(count * len(picky._encode_pretoken(pretoken)) for pretoken, count in counts_by_hand().items()) < used


def test_special_tokens_and_what_is_recorded() -> None:
    texts = [" ".join(f"{word} kentucky's {word[::-1]} un{word} {word}ed" for word in WORDS) + "<s>"] * 9
    for options in ({"special_ids": "before"}, {"special_ids": "after"}):
        tok = Tokenizer.train(texts, 275, special_tokens=["<s>"], picky_threshold=0.7, **options)  # type: ignore[arg-type]
        assert tok.token_bytes(tok.special_tokens["<s>"]) == b"<s>"
        assert len(tok) == 276
        assert tok.vocab.keys() == set(range(276))
        assert tok.decode(tok.encode(texts[0])) == texts[0]
        assert tok.to_vocab().train_config is not None
        assert tok.to_vocab().train_config["options"]["picky_threshold"] == 0.7
    plain = Tokenizer.train(texts, 275)
    assert plain.to_vocab().train_config is not None
    assert "picky_threshold" not in plain.to_vocab().train_config["options"]


def test_threads_and_the_order_of_counts_change_nothing() -> None:
    texts = ["the cat sat on the mat, kentucky", "die Katze", "la nuit kentucky duck"] * 30
    tok = Tokenizer.train(texts, 300, picky_threshold=0.6, num_threads=1)
    assert Tokenizer.train(texts, 300, picky_threshold=0.6, num_threads=3) == tok
    counts = count_pretokens(texts, special_tokens=["<|endoftext|>"])
    assert Tokenizer.train_from_counts(counts, 300, picky_threshold=0.6) == tok
    turned = dict(reversed(dict(counts).items()))
    assert Tokenizer.train_from_counts(turned, 300, picky_threshold=0.6) == tok


def test_tokenizers_gives_the_same_ids(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    texts = [" ".join(f"{word} kentucky's {word[::-1]}" for word in WORDS)] * 9
    tok = Tokenizer.train(texts, 300, picky_threshold=0.6)
    tok.save(tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in [*texts, "kentuckyan kentuck ucky"]:
        assert theirs.encode(text).ids == tok.encode(text)
    assert Tokenizer.load(tmp_path / "tokenizer.json").encode(texts[0]) == tok.encode(texts[0])


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (0, ValueError, "picky_threshold must be more than 0 and at most 1, not 0"),
        (1.5, ValueError, "not 1.5"),
        (float("nan"), ValueError, "not nan"),
        ("0.9", TypeError, "picky_threshold is a number or None, not '0.9'"),
        (True, TypeError, "not True"),
    ],
)
def test_what_is_refused(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Tokenizer.train("ab ab", 258, picky_threshold=value)


def test_a_token_past_the_largest_count() -> None:
    counts = {b"ab": 2**62, b"ac": 2**62, b"zz": 2**62 + 1}
    with pytest.raises(OverflowError, match="a token occurs more than"):
        Tokenizer.train_from_counts(counts, 257, picky_threshold=0.9)


def test_it_does_not_go_with_superwords_or_files_of_counts(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="picky_threshold does not go with superwords_from"):
        Tokenizer.train(["ab ab"], 258, superwords_from=257, picky_threshold=0.9)
    with count_pretokens(["ab ab"] * 9, memory="64M") as counts, pytest.raises(ValueError, match=r"load\(\) the file"):
        Tokenizer.train_from_counts(counts, 258, picky_threshold=0.9)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers here")
def test_a_signal_within_a_long_pretoken_ends_the_counting_of_uses() -> None:
    vocab = Tokenizer.train("ab ab cd", 258, special_tokens=[]).to_vocab()
    data = random.Random(0).randbytes(24_000_000).translate(bytes(97 + byte % 4 for byte in range(256)))
    table = table_of({data[at : at + 400_000]: 1 for at in range(0, len(data), 400_000)})
    with alarm(SecondRing(), every=0.02), pytest.raises(Alarm) as caught:
        token_uses(table, vocab.token_table, vocab.merge_table)
    assert caught.value.__cause__ is None
