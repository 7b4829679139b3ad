"""encode_iterable: the ids of the whole text, wherever it is cut, with no more held than must be."""
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import combinations_with_replacement

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_cases import CORPUS, END, tokenizer
from limit_cases import TOKENIZERS as CASES
from splits import texts

from bpetite import Tokenizer
from tests.support.running import own_memory

FORMS = ["NFC", "NFD", "NFKC", "NFKD"]
TOKENIZERS = {
    **{name: CASES[name] for name in ("gpt2", "cl100k", "o200k", "deepseek-v3", "starcoder", "letters only", "regex",
                                      "none", "pipeline", "flags", "llama", "shared id")},
    "nested": Tokenizer.train(CORPUS, 300, special_tokens=["a" * n + "b" for n in range(1, 9)] + [END + "a"]),
    **{form: tokenizer(normalization=form) for form in FORMS},
}  # fmt: skip

SHORT = [
    "",
    f"a{END}{END}b",
    f"{END}{END}{END}",
    "<|endoftext|<|endoftext|><|endo",
    "x<|endof <|end",
    "the the cat the ca",
    "I'll've 'll 'LL",
    "   x  \n   \n y",
    "\n     ",
    "12345 7  8",
    "naïve 的字 😀😀",
    "e\u0301\u0323 \u1100\u1161\u11a8 ﬁ \u0344",
    f"e{END}\u0301a\u0301{END}",
    f"aaaaaaaaaaab aab aaa{END}aab",
]


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("text", SHORT)
def test_every_pair_of_cuts(name: str, text: str) -> None:
    tok = TOKENIZERS[name]
    ids = tok.encode(text)
    for first, second in combinations_with_replacement(range(len(text) + 1), 2):
        assert list(tok.encode_iterable([text[:first], text[first:second], text[second:]])) == ids, (first, second)
    data = text.encode()
    for cut in range(len(data) + 1):
        assert list(tok.encode_iterable([data[:cut], data[cut:]])) == ids, cut
    assert list(tok.encode_iterable(text)) == ids  # character by character
    assert list(tok.encode_iterable(data[at : at + 1] for at in range(len(data)))) == ids


pieces = st.one_of(
    st.sampled_from([END, "<|endo", "<|", ">", "the ", "cat", "<", "a" * 5, "ab", "b", "\u0301", "e"]), texts(6)
)


@given(st.lists(pieces, max_size=8).map("".join), st.data())
@settings(max_examples=100)
def test_any_cuts(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    chunks = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)])]
    raw = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    raw_chunks = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)])]
    for name, tok in TOKENIZERS.items():
        ids = tok.encode(text)
        assert list(tok.encode_iterable(chunks)) == ids, name
        assert list(tok.encode_iterable(raw_chunks)) == ids, name
        dropped = tok.encode(text, dropout=0.4, seed=7)
        assert list(tok.encode_iterable(chunks, dropout=0.4, seed=7)) == dropped, name


marks = st.characters(categories=["Mn", "Lm", "Lo", "Sk", "Mc"])
hangul = st.characters(min_codepoint=0x1100, max_codepoint=0x11FF)


letters = st.sampled_from("aeiouAE \u0301\u0323\u0345\ud55c\uac00")


@given(st.lists(st.one_of(letters, marks, hangul, st.characters()), max_size=12))
@settings(max_examples=150)
def test_normalization_one_character_at_a_time(chars: list[str]) -> None:
    text = "".join(chars).encode("utf-8", "ignore").decode()
    for form in FORMS:
        tok = TOKENIZERS[form]
        assert list(tok.encode_iterable(text)) == tok.encode(text), form


def asked_for(chunks: list[str], tok: Tokenizer) -> list[tuple[int, int]]:
    """Encode chunks; for every id, how many chunks had been asked for when it came."""
    asked = 0

    def give() -> Iterator[str]:
        nonlocal asked
        for chunk in chunks:
            asked += 1
            yield chunk

    return [(token_id, asked) for token_id in tok.encode_iterable(give())]


def test_ids_come_as_soon_as_they_are_certain() -> None:
    tok = Tokenizer.train("", 256, special_tokens=[END])
    assert asked_for(["a", " ", "b", END, "c"], tok) == [(97, 2), (32, 4), (98, 4), (256, 4), (99, 5)]
    assert asked_for(["<|endof", "text|", ">", "<|e", "x"], tok)[0] == (256, 3)
    for form in ("NFC", "NFKD"):
        assert asked_for([*"a b e\u0301 " * 100], tokenizer(normalization=form))[0][1] < 10
    stream = tok.encode_iterable("ab " for _ in iter(int, 1))  # without end
    assert len([next(stream) for _ in range(1000)]) == 1000


def test_chunks_that_depend_on_the_ids_so_far() -> None:
    tok, ids = TOKENIZERS["gpt2"], list[int]()

    def counting() -> Iterator[str]:
        for _ in range(50):
            yield f" {len(ids)}\n" * 40

    chunks = []
    ids.extend(token_id for token_id in tok.encode_iterable(chunks.append(one) or one for one in counting()))
    assert len({*chunks}) > 40
    assert ids == tok.encode("".join(chunks))


def test_threads_that_read_one_stream_get_its_ids_or_an_error() -> None:
    tok, chunk = TOKENIZERS["gpt2"], "the cat sat " * 20_000
    stream = tok.encode_iterable([chunk] * 20)

    def read(_: int) -> int:
        with suppress(ValueError):  # another thread is reading
            return sum(1 for _ in stream)
        return 0

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(read, range(4))) <= tok.count(chunk * 20)


def test_an_error_ends_the_stream() -> None:
    for name in ("gpt2", "pipeline", "NFC"):
        for wrong, error in ((1, TypeError), ("\ud800", UnicodeEncodeError), (b"\xff", UnicodeDecodeError)):
            stream = TOKENIZERS[name].encode_iterable(["the cat ", wrong, "sat"])  # type: ignore[list-item]
            with pytest.raises(error):
                list(stream)
            assert list(stream) == []


@pytest.mark.parametrize("name", ["cl100k", "NFC"])
def test_long_pre_tokens_one_character_at_a_time(name: str) -> None:
    tok = TOKENIZERS[name]
    for text in (" " * 50_000 + "x", "\n" + " " * 50_000 + "x", "a" * 50_000):
        assert list(tok.encode_iterable(text)) == tok.encode(text)


def test_no_more_is_held_than_twice_what_is_open() -> None:
    tok = TOKENIZERS["gpt2"]
    for size in (100, 1000, 10_000):
        chunks = [*"x" * size, *(" y" * size)]
        first = asked_for(chunks, tok)[0][1]
        assert size < first <= 2 * size + 2


def test_which_special_tokens_are_recognised() -> None:
    tok = TOKENIZERS["gpt2"]
    text = f"the cat {END} <|endo"
    for allowed in ("all", [], [END], ["<"], [END, "the cat"]):
        ids = tok.encode(text, allowed_special=allowed)
        assert list(tok.encode_iterable(text, allowed_special=allowed)) == ids
    with pytest.raises(ValueError, match=r"disallowed special token '<\|endoftext\|>' at byte 8"):
        list(tok.encode_iterable(text, allowed_special=[], disallowed_special=[END]))
    with pytest.raises(ValueError, match="'<x>' is not a special token"):
        tok.encode_iterable(text, allowed_special=["<x>"])


def test_bad_input() -> None:
    for tok in (TOKENIZERS["gpt2"], TOKENIZERS["NFC"]):
        with pytest.raises(UnicodeDecodeError, match="byte 5 of the text"):
            list(tok.encode_iterable([b"abc", b"\xc3", b"\xa9\xff", b"x"]))
        with pytest.raises(UnicodeDecodeError, match=r"unexpected end of data \(byte 1 of the text\)"):
            list(tok.encode_iterable([b"a\xc3"]))
        with pytest.raises(UnicodeDecodeError, match="byte 1 of the text"):
            list(tok.encode_iterable([b"a\xc3", "b"]))
        with pytest.raises(UnicodeEncodeError):
            list(tok.encode_iterable(["a", "\ud800"]))


def test_a_byte_without_a_token() -> None:
    tok = Tokenizer({0: b"a", 1: b" "}, [])
    stream = tok.encode_iterable(["a a ", "b"])
    assert [next(stream) for _ in range(3)] == [0, 1, 0]
    with pytest.raises(ValueError, match="byte 0x62, at offset 4 of the text"):
        list(stream)


MEASURE = """
import resource, sys
from bpetite import Tokenizer
tok = Tokenizer.train("the cat sat on the mat, said the cat. " * 9, 300)
list(tok.encode_iterable(["warm up"]))
lines = 0
with open(sys.argv[1], encoding="utf-8") as file:
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 20), resource.RLIM_INFINITY))
    count = sum(1 for _ in tok.encode_iterable(file))
print(count)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc and limits the address space")
@own_memory
@pytest.mark.slow
def test_fifty_megabytes_in_one_more(tmp_path: pytest.TempPathFactory) -> None:
    path = tmp_path / "lines.txt"  # type: ignore[operator]
    line = "the cat sat on the mat, said the cat. " * 3 + "\n"
    path.write_text(line * (50_000_000 // len(line)), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1_000_000


def test_chunks_that_advance_their_own_result_are_an_error() -> None:
    """`itertools.chain` of CPython 3.11 frees an iterator that is in use there, which ends the process."""

    class Chunks:
        def __iter__(self) -> Iterator[str]:
            return self

        def __next__(self) -> str:
            next(ids)
            raise StopIteration

    for tok in TOKENIZERS.values():
        ids = tok.encode_iterable(Chunks())
        with pytest.raises(ValueError, match=r"already executing|its own chunks"):
            next(ids)
