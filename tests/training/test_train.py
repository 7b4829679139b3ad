"""The fast trainer against the one that recounts, against other people's merges, and at its edges."""
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recounting import corpora

from bpetite import Tokenizer, patterns, reference
from bpetite.bytelevel import decode_token_bytes
from bpetite.training.counting.count_pretokens import count_pretokens
from bpetite.training.counting.counts import PretokenCounts

WORDS = r" ?\w+"

options = st.fixed_dictionaries(
    {
        "pattern": st.sampled_from([patterns.GPT2, WORDS, None, (r"a+", r"\w"), r"(?:(?<=b)a+)"]),
        "min_frequency": st.sampled_from([1, 1, 1, 2, 5]),
        "tie_break": st.sampled_from(["ids", "bytes", "tokenizers"]),
        "normalization": st.sampled_from([None, None, None, "NFC", "NFKD"]),
        "max_token_bytes": st.sampled_from([None, None, 2, 3, 7]),
        "special_tokens": st.sampled_from(
            [(), ("<|endoftext|>",), ("ab", "abab"), ("a", "😀", "的a"), ("<s><s>", "<s>")]
        ),
    }
)


train, train_from_counts = Tokenizer.train, Tokenizer.train_from_counts


def learned_tokens(tok):
    specials = set(tok.special_tokens.values())
    return [token for number, token in sorted(tok.vocab.items()) if number not in specials or len(token) == 1]


literals = st.sampled_from(["ab", "a", "b ", "的", "a的", "😀", "<s>", "<s", ">", "x\n", "<|endoftext|>", "<|end"])
literal_texts = st.lists(literals, max_size=30).map("".join)
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(deadline=None, max_examples=300)
@given(corpora, st.lists(literal_texts | any_text, max_size=4), st.integers(256, 330), options, st.integers(0, 4))
def test_equals_the_recounting_trainer(texts, more, size, chosen, cut):
    """With counts of parts that are added up, in any order and with any threads, too."""
    texts = texts + more
    tokens, merges = reference.train(texts, size, **chosen)
    tok = train(texts, size, **chosen, num_threads=1)
    assert tok.merges == merges
    assert learned_tokens(tok) == list(tokens.values())
    assert all(tok.encode(literal) == [tok.special_tokens[literal]] for literal in chosen["special_tokens"])
    assert tok == train(texts[::-1], size, **chosen, num_threads=2)
    counting_options = {name: chosen[name] for name in ("pattern", "special_tokens", "normalization")}
    one, other = (count_pretokens(part, **counting_options) for part in (texts[:cut], texts[cut:]))
    added = one + other
    for counts in (added, dict(reversed([*added.items()]))):
        again = train_from_counts(counts, size, **chosen)
        assert again == tok
        assert again.to_vocab().train_config == tok.to_vocab().train_config
    # ids before the bytes move ids and change no merge
    before = train(texts, size, **chosen, special_ids="before")
    assert before.merges == merges
    assert set(before.vocab.values()) == set(tok.vocab.values())
    own = [literal for literal in chosen["special_tokens"] if len(literal.encode()) > 1]
    assert [before.special_tokens[literal] for literal in own] == list(range(len(own)))
    assert [before.vocab[len(own) + byte] for byte in range(256)] == [bytes([byte]) for byte in range(256)]
    assert sorted(before.vocab) == list(range(len(before.vocab)))


def test_a_million_of_one_letter():
    tok = train("a" * 1_000_000, 300, pattern=None)
    assert [len(left) for left, _ in tok.merges[:19]] == [2**n for n in range(19)]
    assert max(map(len, tok.vocab.values())) == 1_000_000


def test_reference_merges_of_cs336(shared):
    lines = shared("cs336/train-bpe-reference-merges.txt").read_text(encoding="utf-8").splitlines()
    tok = train(shared("cs336/corpus.en").read_text(encoding="utf-8"), 499, tie_break="bytes")
    assert tok.merges == [tuple(map(decode_token_bytes, line.split(" "))) for line in lines]
    expected_tokens = json.loads(shared("cs336/train-bpe-reference-vocab.json").read_text(encoding="utf-8"))
    assert len(tok.vocab) == len(expected_tokens) == 500


@pytest.mark.parametrize("tie_break", ["ids", "bytes", "tokenizers"])
def test_counts_past_32_bits(tie_break):
    words = {b"abab": 2**31 - 1, b"cd": 2**32 + 1, b"ef": 2**32 + 2, b"gh": 2**62, b"ij": 2**62 - 1}
    assert train_from_counts(words, 261, tie_break=tie_break).merges == [
        (b"g", b"h"), (b"i", b"j"), (b"e", b"f"), (b"c", b"d"), (b"a", b"b"),
    ]
    scaled = {word: count * 2**55 for word, count in {b"aab": 3, b"ab": 4, b"bab": 5, b"ba": 2}.items()}
    small = {b"aab": 3, b"ab": 4, b"bab": 5, b"ba": 2}
    assert train_from_counts(scaled, 270, tie_break=tie_break) == train_from_counts(small, 270, tie_break=tie_break)


def test_a_sum_past_63_bits():
    assert train_from_counts({b"ab": 2**62, b"xab": 2**62 - 1}, 257).merges == [(b"a", b"b")]
    with pytest.raises(OverflowError, match=r"2\^63 - 1 times"):
        train_from_counts({b"ab": 2**62, b"xab": 2**62}, 257)
    with pytest.raises(OverflowError, match="past"):
        train_from_counts({b"ab": 2**63}, 257)


def test_ends_early():
    tok = train(["abc", "abd"], 1000, special_tokens=[])
    assert len(tok.vocab) == 256 + len(tok.merges) == 259
    assert len(train("ab", 2**40).merges) == 1


def test_special_tokens_are_one_byte_or_given_twice():
    assert train("a b", 300, special_tokens=["a", "<s>", "a"]).special_tokens == {"a": 97, "<s>": 257}
    with pytest.raises(ValueError, match="hold the special token 'ab' as text"):
        train_from_counts({b"ab": 3}, 300, special_tokens=["ab"])


def test_documents_are_apart():
    assert train(["ab", "ab"], 300, pattern=None) != train("abab", 300, pattern=None)
    assert train(iter(["ab", b"ab"]), 300) == train(["ab", "ab"], 300)
    tok = train(b"ab ab", 300)
    assert tok == train("ab ab", 300)
    assert (tok.extend(b"abc abc", 1), tok.prune(b"ab")) == (tok.extend("abc abc", 1), tok.prune("ab"))


def test_hash_seeds_change_nothing():
    code = (
        "from bpetite import Tokenizer\n"
        "tok = Tokenizer.train(['the cat', 'a hat', '<b>'] * 9, 300, special_tokens=['<b>', '<a>', '<ab>'])\n"
        "print(tok.fingerprint())"
    )
    prints = {
        subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True,
                       text=True, check=True).stdout
        for seed in ("0", "1", "2")
    }
    assert len(prints) == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"vocab_size": 255}, ValueError, "at least 256"),
        ({"vocab_size": "300"}, TypeError, "vocab_size is an int"),
        ({"vocab_size": 300.0}, TypeError, "vocab_size is an int"),
        ({"min_frequency": 0}, ValueError, "min_frequency"),
        ({"max_token_bytes": 0}, ValueError, "max_token_bytes"),
        ({"tie_break": "first"}, ValueError, "'ids', 'bytes' or 'tokenizers', not 'first'"),
        ({"special_ids": "middle"}, ValueError, "'after' or 'before'"),
        ({"special_tokens": "<s>"}, TypeError, "list of str"),
        ({"special_tokens": [b"<s>"]}, TypeError, "is a str"),
        ({"special_tokens": [""]}, ValueError, "empty"),
        ({"special_tokens": ["\ud800"]}, ValueError, "lone surrogate"),
        ({"normalization": "nfc"}, ValueError, "normalization"),
        ({"num_threads": 0}, ValueError, "num_threads"),
        ({"pattern": 7}, TypeError, "pattern"),
        ({"corpus": 7}, TypeError, "iterable"),
        ({"corpus": ["a", 7]}, TypeError, "text 1 is int"),
        ({"corpus": ["a", "b\ud800"]}, UnicodeEncodeError, r"position 1: .*text 1"),
        ({"corpus": ["a", "b\xe9\ud800"], "normalization": "NFC"}, UnicodeEncodeError, "position 2"),
        ({"corpus": [b"a", b"bc\xff"]}, UnicodeDecodeError, r"position 2: invalid start byte \(text 1\)"),
        ({"corpus": "b\ud800", "pattern": r"(?<=a)b"}, UnicodeEncodeError, "position 1"),
    ],
)
def test_bad_arguments(arguments, error, message):
    arguments = {"corpus": "ab ab", "vocab_size": 300, **arguments}
    with pytest.raises(error, match=message):
        train(arguments.pop("corpus"), arguments.pop("vocab_size"), **arguments)


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        ([("a", 1)], TypeError, "map bytes to int"),
        ({"ab": 1}, TypeError, "is bytes"),
        ({b"ab": 1.0}, TypeError, "must be an int"),
        ({b"ab": -1}, ValueError, "negative"),
        ({b"": 1}, ValueError, "empty"),
    ],
)
def test_bad_counts(counts, error, message):
    with pytest.raises(error, match=message):
        train_from_counts(counts, 300)


def test_counts_of_zero_are_left_out():
    assert train_from_counts(PretokenCounts({b"ab": 0, b"cd": 1}), 300).merges == [(b"c", b"d")]


def test_progress():
    calls = []
    train("ab ab ab cd", 300, progress=lambda *call: calls.append(call))
    assert calls == [("count", 11, 11), ("merge", 4, 44)]
    calls.clear()
    train(iter(["ab"]), 300, progress=lambda *call: calls.append(call))
    assert calls[0] == ("count", 2, None)
    calls.clear()
    train(["ﬁ" * 10, "<|endoftext|>"], 300, normalization="NFKD", progress=lambda *call: calls.append(call))
    assert calls[0] == ("count", 23, 23)


MEMORY = """
import sys
from bpetite import Tokenizer, count_pretokens
def kilobytes(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field))
text = "".join(open(path, encoding="utf-8").read() for path in sys.argv[1:])
text *= max(1, 100_000_000 // len(text.encode()))
Tokenizer.train("warm", 300)
before = kilobytes("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
Tokenizer.train(text, 32_000, num_threads=2)
used = kilobytes("VmHWM") - before
print(used // 1000, count_pretokens(text).size // 1_000_000)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("names", [["multilingual"], ["english", "code", "multilingual"]])
def test_memory(shared, names):
    """In megabytes: four times the different pre-tokens and 110 beyond the input, and never 250 for 100 of text."""
    paths = [str(shared(f"text/{name}.txt", 12_000_000)) for name in names]
    done = subprocess.run([sys.executable, "-c", MEMORY, *paths], capture_output=True, text=True, check=True)
    used, different = map(int, done.stdout.split())
    assert used <= min(250, 4 * different + 110)
