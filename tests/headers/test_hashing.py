"""Tables under keys that were chosen against their hashes: work stays linear, and no result depends on the secret.

Each set was made against a hash without a secret, or so that it would collide under every secret of a simpler one.
"""
import itertools
import string
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from bpetite.training.counting.count_pretokens import count_pretokens
from bpetite.vocabulary._merge_builder import build_merge_table
from bpetite.vocabulary._tokens import TokenTable

MASK = 2**64 - 1
LOW, HIGH, LAST = 0x9E3779B97F4A7C15, 0x9FB21C651E98DF25, 0xD6E8FEB86659FD93
SMALL = 20_000


def assert_linear(work: Callable[[int], object]) -> None:
    """Four times the size takes about four times as long, where passing all earlier keys would take sixteen."""

    def seconds(size: int) -> float:
        times = []
        for _ in range(3):
            begin = time.process_time()
            work(size)
            times.append(time.process_time() - begin)
        return min(times)

    assert seconds(4 * SMALL) < 9 * max(seconds(SMALL), 0.005)


def words_of_seven_letters() -> list[str]:
    """Words w, as a little-endian number, for which LOW * w has the same topmost 15 bits."""

    def numbers(letters: int) -> np.ndarray:
        every = itertools.product(string.ascii_lowercase.encode(), repeat=letters)
        return np.array([int.from_bytes(bytes(one), "little") for one in every], "u8")

    fours, threes = numbers(4), numbers(3)
    products = fours * np.uint64(LOW)
    fours, products = fours[np.argsort(products)], np.sort(products)
    found: list[int] = []
    for three in threes.tolist():
        begin = -(three << 32) * LOW & MASK
        first, last = np.searchsorted(products, np.array([begin, min(begin + 2**49, MASK)], "u8"))
        found += (fours[first:last] | np.uint64(three << 32)).tolist()
    return [word.to_bytes(8, "little")[:7].decode() for word in found]


def words_of_high_bits() -> list[str]:
    """Words of 15 bytes that differ in bytes 6, 7, 13 and 14 only: any products of the two words with odd numbers
    differ in their topmost 24 bits only, where their sums have few values."""
    ends = string.ascii_letters[:18]
    return [f"xxxxxx{a}{b}yyyyy{c}{d}" for a, b, c, d in itertools.product(ends, repeat=4)]


def tokens_of_one_hash() -> list[bytes]:
    """Tokens of 15 bytes, two words l and h, for which LOW * l ^ HIGH * h is one number."""
    # One in 256 of the words h that fit a word l ends with the length, 15.
    low = np.arange(1200 * SMALL, dtype="u8")
    high = (low * np.uint64(LOW) ^ np.uint64(12345)) * np.uint64(pow(HIGH, -1, 2**64))
    fits = high >> np.uint64(56) == 15
    words = np.stack([low[fits], high[fits]], 1)
    return [bytes(key)[:15] for key in words.view("V16")[:, 0].tolist()]


def pairs_of_one_hash() -> list[tuple[int, int]]:
    """Pairs of ids, left << 32 | right, that the steps *= LOW, ^= itself >> 32, *= LAST give one number below 2^44."""
    found = np.arange(4 * SMALL, dtype="u8") << np.uint64(44)
    found *= np.uint64(pow(LAST, -1, 2**64))
    found ^= found >> np.uint64(32)
    found *= np.uint64(pow(LOW, -1, 2**64))
    return [(pair >> 32, pair & 0xFFFFFFFF) for pair in found.tolist()]


@pytest.mark.parametrize("make", [words_of_seven_letters, words_of_high_bits])
def test_counting_words_of_one_slot(make: Callable[[], Sequence[str]]) -> None:
    words = make()[: 4 * SMALL]
    assert len(set(words)) == 4 * SMALL
    assert_linear(lambda size: count_pretokens(" ".join(words[:size]), pattern=r"\w+|\W+", num_threads=1))


def test_tokens_of_one_hash() -> None:
    tokens = dict(enumerate(dict.fromkeys(tokens_of_one_hash()[: 4 * SMALL])))
    assert len(tokens) == 4 * SMALL
    assert_linear(lambda size: TokenTable(dict(itertools.islice(tokens.items(), size))))


def test_merges_of_one_hash() -> None:
    pairs = pairs_of_one_hash()
    ids = {number for pair in pairs for number in pair}
    parts = {number: number.to_bytes(5, "big") for number in ids}
    free = itertools.count(1)
    joined = {next(one for one in free if one not in ids): parts[left] + parts[right] for left, right in pairs}
    table = TokenTable(parts | joined)
    assert_linear(lambda size: build_merge_table(table, pairs[:size]))
    assert build_merge_table(table, pairs).size == len(pairs)


def test_splits_of_the_strings_of_thue_and_morse() -> None:
    """Long tokens that a polynomial modulo 2^64 gives one value at every odd base, as prefixes and as suffixes."""
    morse = b"a"
    for _ in range(11):
        morse += morse.translate(bytes.maketrans(b"ab", b"ba"))
    other = morse.translate(bytes.maketrans(b"ab", b"ba"))
    tokens = [b"a", b"b", morse, other, *itertools.starmap(bytes.__add__, itertools.product([morse, other], repeat=2))]
    table = build_merge_table(TokenTable(dict(enumerate(tokens))), None)
    joined = [table.get(left, right) for left, right in itertools.product([2, 3], repeat=2)]
    assert joined == [(4, 4), (5, 5), (6, 6), (7, 7)]


def test_results_do_not_depend_on_the_secret() -> None:
    script = (
        "from bpetite import Tokenizer\n"
        "text = ''.join(f'{n * n} {n:x} word{n % 97} ' for n in range(3000))\n"
        "tok = Tokenizer.train(text, 600)\n"
        "print(list(tok.to_vocab().merges), tok.encode(text + text[::-1]))\n"
    )
    runs = {subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout for _ in range(3)}
    assert len(runs) == 1
    assert len(runs.pop()) > 10_000
