"""Encoding against the definition: both kinds of vocabulary, every cut-off of the fast path, every form of input."""
import ctypes
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, patterns, reference

BYTES = {byte: bytes([byte]) for byte in range(256)}
CORPUS = (
    "the cat sat on the mat, the rat ate the cat's hat; don't we'll I've\n\n  it's 2024, naïve café 中文字 中文 🙂🙂 "
    "uncharacteristically internationalization   ----------------    ================ \t\t\tx\n"
)
TOKENS, MERGES = reference.train([CORPUS] * 2, 400, pattern=patterns.GPT2)
RANKED = {**TOKENS, 500: b" the cat", 501: "中文字".encode(), 7000: b"uncharacteristically", 7001: b" =-=-=-=-=-=-=-=-"}

text = st.one_of(
    st.text(max_size=60),
    st.text("thecats '\n日本中文é🙂1-=", max_size=200),
    st.lists(st.sampled_from(CORPUS.split(" ")), max_size=40).map(" ".join),
)


@pytest.fixture(scope="module")
def merges() -> Tokenizer:
    return Tokenizer(TOKENS, MERGES, {"<|endoftext|>": 1000, "<|endoftext|><|endoftext|>": 1001, "猫<s>": 1002})


@pytest.fixture(scope="module")
def ranks() -> Tokenizer:
    return Tokenizer(RANKED, None)


def every_form(tok: Tokenizer, text: str) -> list[list[int]]:
    """The ids of a text by every method that encodes it with special tokens."""
    ids, offsets = tok.encode_batch_to_numpy([text, text.encode(), "x"], num_threads=1)
    assert offsets[1] * 2 == offsets[2]
    return [
        tok.encode(text),
        tok.encode(text.encode()),
        tok.encode(text, num_threads=3),
        tok.encode_to_numpy(text).tolist(),
        tok.encode_batch([text])[0],
        ids[: offsets[1]].tolist(),
        ids[offsets[1] : offsets[2]].tolist(),
        tok.encode_with_offsets(text)[0],
    ]


@settings(max_examples=300, deadline=None)
@given(text)
def test_merges_kind(merges: Tokenizer, text: str) -> None:
    expected = reference.encode(text, TOKENS, MERGES, special_tokens=merges.special_tokens, pattern=patterns.GPT2)
    for ids in every_form(merges, text):
        assert ids == expected
    assert merges.count(text) == len(expected)
    assert merges.decode(expected) == text
    assert merges.decode_bytes(expected) == text.encode()


@settings(max_examples=200, deadline=None)
@given(text)
def test_ranks_kind(ranks: Tokenizer, text: str) -> None:
    assert ranks.encode(text) == reference.encode(text, RANKED, None, pattern=patterns.GPT2)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text("abc", min_size=2, max_size=5).map(str.encode), unique=True, max_size=12),
    st.text("abc ", max_size=120),
    st.randoms(),
    st.booleans(),
)
def test_odd_merge_lists(pieces: list[bytes], text: str, random, ignore_merges: bool) -> None:
    """Merges whose parts only later merges make, several that give one token, tokens that none reaches."""
    tokens = {**BYTES, **{300 + 7 * number: piece for number, piece in enumerate(pieces)}}
    known = set(tokens.values())
    merges = [
        (token[:cut], token[cut:])
        for token in pieces
        for cut in range(1, len(token))
        if token[:cut] in known and token[cut:] in known
    ]
    random.shuffle(merges)
    tok = Tokenizer(tokens, merges)
    assert tok.encode(text) == reference.encode(text, tokens, merges, pattern=patterns.GPT2)
    whole = Tokenizer(tokens, None)
    assert whole.encode(text) == reference.encode(text, tokens, None, pattern=patterns.GPT2)


@pytest.mark.parametrize("cache_bytes", [0, 100_000, 1 << 20, 1 << 24])
def test_the_cache_grows_between_calls(merges: Tokenizer, cache_bytes: int) -> None:
    """To a load of a quarter, from what a call leaves at up to a half; and over its bound it forgets."""
    text = "".join(f" {number:x}" for number in range(6000))
    expected, tok = merges.with_cache(0).encode(text), merges.with_cache(cache_bytes)
    for _ in range(3):
        assert tok.encode(text) == expected
        ids, offsets = tok.encode_batch_to_numpy([text, text[:9000], ""], num_threads=1)
        assert ids[: offsets[1]].tolist() == expected
        assert tok.encode_batch([text], num_threads=2) == [expected]


@pytest.mark.parametrize("cache_bytes", [0, 1, 200, 1000, 5000, 20_000, 1 << 20])
def test_the_cache_changes_no_id(merges: Tokenizer, cache_bytes: int) -> None:
    """No cache, caches that are always full, one that never is; words below and above every length that matters."""
    tok = merges.with_cache(cache_bytes)
    lengths = (1, 2, 6, 7, 8, 9, 14, 15, 16, 17, 31, 32, 33, 255, 256, 257)
    words = [letter * length for length in lengths for letter in "at中"]
    words += [f"w{number}th" for number in range(2000)]
    words += [f"longer{number}than{number * 7}fifteen" for number in range(300)]
    text = " ".join(words)
    expected = reference.encode(text, TOKENS, MERGES, pattern=patterns.GPT2)
    for _ in range(3):
        assert tok.encode(text) == expected
    assert tok == merges
    with pytest.raises(ValueError, match=r"must be 0 to .*, not -1"):
        merges.with_cache(-1)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 15, 16, 17, 63, 64, 65, 127, 128, 129, 239, 240, 241, 4095, 4096, 4097])
@pytest.mark.parametrize("unit", ["a b", "é ", "中 x", "🙂 y"])
def test_text_lengths(merges: Tokenizer, length: int, unit: str) -> None:
    text = (unit * length)[:length]
    expected = reference.encode(text, TOKENS, MERGES, pattern=patterns.GPT2)
    assert merges.encode(text) == merges.encode(text.encode()) == expected


@pytest.mark.parametrize("unit", ["the cat's ", "é1 ", "\n  x", "<|endoftext|> the", "猫<s>", "a"])
def test_every_length_of_a_short_text(merges: Tokenizer, unit: str) -> None:
    """One pass below 64 bytes, a scan above; special tokens where the text is barely long enough for one."""
    whole = Tokenizer(RANKED, None, {"<|endoftext|>": 1000, "猫<s>": 1002}, pattern=patterns.CL100K)
    for length in range(80):
        text = (unit * length)[:length]
        special = merges.special_tokens
        expected = reference.encode(text, TOKENS, MERGES, special_tokens=special, pattern=patterns.GPT2)
        assert merges.encode(text) == merges.encode(text.encode()) == expected
        special = whole.special_tokens
        expected = reference.encode(text, RANKED, None, special_tokens=special, pattern=patterns.CL100K)
        assert whole.encode(text) == whole.encode_to_numpy(text).tolist() == expected


@pytest.mark.parametrize("filler", ["ab ", "é ", "中 x", "🙂 "])
@pytest.mark.parametrize("tail", ["x", " y", "<|endoftext|>", "<|endoftext|><|endoftext|>", "猫<s>", "'ll", "\n \n"])
def test_what_lies_over_the_edge_of_a_piece(merges: Tokenizer, filler: str, tail: str) -> None:
    """Text that has to be rewritten goes by pieces of 2^15 characters; nothing may change at their edges."""
    piece = 1 << 15
    for shift in (0, 1, 2, 5, 12, 13, 14, 25, 26, 27, 30):
        text = (filler * piece)[: piece - shift] + tail + "é."
        assert merges.encode(text) == merges.encode(text.encode())


def test_a_long_pretoken_over_many_pieces(merges: Tokenizer) -> None:
    text = "é" + "中" * 300_000 + " x"
    assert merges.encode(text) == merges.encode(text.encode())
    assert merges.decode(merges.encode(text)) == text


@pytest.mark.parametrize("unit", ["a", " ", "^", "\n", "的", "abcdefghij", "ab", "é", "🙂", "\t "])
def test_long_runs_end(merges: Tokenizer, ranks: Tokenizer, unit: str) -> None:
    text = unit * (200_000 // len(unit))
    for tok in (merges, ranks):
        ids = tok.encode(text)
        assert tok.decode(ids) == text
        half = tok.encode_to_numpy(text, num_threads=4)
        assert half.tolist() == ids


def test_a_token_that_no_merge_reaches() -> None:
    tokens = {**BYTES, 300: b"abc"}
    assert Tokenizer(tokens, []).encode_ordinary("abc") == [97, 98, 99]
    assert Tokenizer(tokens, None).encode_ordinary("abc") == [300]
    assert Tokenizer(tokens, None).encode_ordinary("abcd") == [97, 98, 99, 100]


def test_special_tokens_are_never_found_in_ordinary_text() -> None:
    tok = Tokenizer({**BYTES, 256: b"<s"}, None, {"<s>": 300}, pattern=None)
    assert tok.encode("<s>") == [300]
    assert tok.encode_ordinary("<s>") == [256, ord(">")]


def test_a_byte_without_token() -> None:
    tok = Tokenizer({97: b"a", 98: b"b", 300: b"ab"}, [(b"a", b"b")])
    assert tok.encode_ordinary("aab") == [97, 300]
    for wrong, where in (("aac", 2), ("é", 0), ("ab " * 3, 2), ("ab" * 40_000 + "中", 80_000)):
        with pytest.raises(ValueError, match=rf"byte 0x.., at offset {where} of the text in UTF-8, has no token"):
            tok.encode(wrong)
        with pytest.raises(ValueError, match=f"at offset {where} "):
            tok.encode_to_numpy(wrong.encode(), num_threads=2)
    assert tok.encode("ab") == [300]


@pytest.mark.parametrize("prefix", ["", "a", "é", "中" * 40_000, "🙂" * 40_000, "a" * 100_000])
def test_lone_surrogates(merges: Tokenizer, prefix: str) -> None:
    for method in (merges.encode, merges.encode_ordinary, merges.encode_to_numpy, merges.count):
        with pytest.raises(UnicodeEncodeError) as caught:
            method(prefix + "\udc80x")
        assert caught.value.start == len(prefix)
    with pytest.raises(UnicodeEncodeError):
        merges.encode_batch(["fine", prefix + "\ud800"])
    with pytest.raises(UnicodeEncodeError):
        merges.encode(prefix + "\ud800" + "b" * 300_000, num_threads=2)


@pytest.mark.parametrize(
    "bad",
    [b"\xff", b"\x80", b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x80\x80\x80",
     b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xc3", b"\xe4\xb8", b"\xf0\x9f\x99", b"\xe4\xb8a", b"\xf0\x9fa\x80",
     b"\xfe"],
)  # fmt: skip
@pytest.mark.parametrize("prefix", ["", "abc", "x" * 31, "x" * 32, "x" * 33, "é中🙂", "y" * 5000])
def test_bytes_that_are_not_utf8(merges: Tokenizer, bad: bytes, prefix: str) -> None:
    data = prefix.encode() + bad
    for wrong in (data, data + b"tail"):
        with pytest.raises(UnicodeDecodeError) as own:
            merges.encode(wrong)
        with pytest.raises(UnicodeDecodeError) as python:
            wrong.decode()
        assert own.value.start == python.value.start == len(prefix.encode())
        assert own.value.object == wrong
        assert own.value.reason


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=80))
def test_bytes_are_accepted_where_python_decodes_them(merges: Tokenizer, data: bytes) -> None:
    try:
        expected = merges.encode(data.decode())
    except UnicodeDecodeError as error:
        with pytest.raises(UnicodeDecodeError, match=f"position {error.start}"):
            merges.encode(data)
    else:
        assert merges.encode(data) == expected


@pytest.mark.parametrize("wrong", [None, 5, ["a"], bytearray(b"a"), memoryview(b"a")])
def test_what_is_no_text(merges: Tokenizer, wrong: object) -> None:
    for method in (merges.encode, merges.encode_ordinary, merges.encode_to_numpy, merges.count):
        with pytest.raises(TypeError, match="text is str or UTF-8 bytes"):
            method(wrong)  # type: ignore[operator]


def test_encoding_leaves_no_copy_on_the_str(merges: Tokenizer) -> None:
    text = "中文é" * 50_000
    before = sys.getsizeof(text)
    merges.encode(text)
    merges.encode_batch_to_numpy([text, text])
    assert sys.getsizeof(text) == before


def test_utf8_that_is_on_the_str_already_is_used_alike(merges: Tokenizer) -> None:
    text = "中文é 🙂 cat" * 20_000
    fresh = merges.encode(text)
    as_utf8 = ctypes.pythonapi.PyUnicode_AsUTF8
    as_utf8.argtypes, as_utf8.restype = [ctypes.py_object], ctypes.c_void_p
    assert as_utf8(text)
    assert merges.encode(text) == fresh


def test_results_own_their_memory(merges: Tokenizer) -> None:
    small, large = merges.encode_to_numpy("the cat"), merges.encode_to_numpy("the cat " * 50_000)
    kept = small.copy(), large.copy()
    for _ in range(3):
        merges.encode_to_numpy("another hat " * 60_000)
    assert (small == kept[0]).all()
    assert (large == kept[1]).all()
    assert small.dtype == large.dtype == "uint32"
    small[0] = 5  # writable, and nobody else's
    assert merges.encode_to_numpy("the cat")[0] == kept[0][0]


def test_sparse_and_large_ids() -> None:
    tokens = {2**32 - 1 - byte: bytes([byte]) for byte in range(256)} | {7: b"ab", 10**9: b" ab"}
    for merges in ([(b"a", b"b"), (b" ", b"ab")], None):
        tok = Tokenizer(tokens, merges)
        assert tok.encode("ab ab") == [7, 10**9]
        assert tok.encode_to_numpy("b").tolist() == [2**32 - 1 - 98]
        assert tok.decode([7, 10**9]) == "ab ab"


@pytest.mark.parametrize("pattern", [None, r"\w+", (r"\d", r"[a-c]+"), r"(?<=x)y|z+"])
def test_other_patterns(pattern: str | tuple[str, ...] | None) -> None:
    tok = Tokenizer(TOKENS, MERGES, pattern=pattern)
    for text in (CORPUS, "xyzzy 12 abc" * 300, ""):
        expected: Sequence[int] = reference.encode(text, TOKENS, MERGES, pattern=pattern)
        assert tok.encode(text) == expected
        assert tok.encode(text.encode(), num_threads=2) == expected
        assert tok.encode_batch([text, text]) == [expected, expected]


@pytest.mark.parametrize("name", ["text/english.txt", "text/code.txt", "text/multilingual.txt"])
def test_gpt2_and_cl100k_as_tiktoken(shared, name: str) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    with open(shared(name), "rb") as file:
        text = file.read(400_000).decode("utf-8", "ignore")
    tok = Tokenizer.from_tiktoken(shared("openai/cl100k_base.tiktoken"), pattern=patterns.CL100K)
    peer = tiktoken.Encoding(
        "cl100k", pat_str=patterns.CL100K, mergeable_ranks={v: k for k, v in tok.vocab.items()}, special_tokens={}
    )
    assert tok.encode_ordinary(text) == peer.encode_ordinary(text)
    assert tok.with_cache(0).encode_to_numpy(text, num_threads=2).tolist() == peer.encode_ordinary(text)


@pytest.mark.parametrize("pattern", [r"a+(?=b)|\w|\W", r"\w|\W"])
def test_the_offset_of_a_byte_without_a_token_is_that_in_the_whole_text(pattern: str) -> None:
    tok = Tokenizer({0: b"a", 1: b"b"}, [], ["<s>"], pattern=pattern)
    with pytest.raises(ValueError, match=r"byte 0x63, at offset 7 of the text"):
        tok.encode("ab<s>abc")


def test_a_tokenizer_that_is_not_set_up_raises() -> None:
    tok = Tokenizer.__new__(Tokenizer)
    for call in (lambda: tok.encode("a"), lambda: tok.decode([0]), lambda: tok.encode_batch(["a"]), lambda: repr(tok)):
        with pytest.raises(TypeError, match="has not been set up"):
            call()
