"""as_tiktoken: the behaviour of tiktoken.Encoding, method by method, as docs/tiktoken.md describes it."""
import copy
import inspect
import pickle
import subprocess
import sys
import timeit
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer, Vocab
from bpetite.adapters.tiktoken_view import Encoding
from bpetite.formats.encodings import PUBLISHED
from bpetite.steps.splits import Split
from bpetite.vocabulary.alphabet import Alphabet

tiktoken = pytest.importorskip("tiktoken")

TABLE = Path(__file__).resolve().parents[2] / "docs" / "tiktoken.md"
CORPUS = ["the cat sat on the mat; it's 1234 and don't naïve 中文字 🙂🙂\n\n  the end"] * 3
SPECIAL = {"<|endoftext|>": 400, "<|fim|>": 401, "<|endofprompt|>": 410}
TEXTS = ["", "the cat", " it's the 12345 end", "naïve 中文 🙂", "a\n\n  b \x00", "mat" * 30, "<|endo", "x <|fim| y"]
SPECIAL_TEXTS = ["<|endoftext|>", "a<|fim|>b<|endoftext|><|endoftext|>", "the <|endofprompt|> cat"]

encoding_text = st.text(st.characters(exclude_categories=("Cs", "Cn")), max_size=30)


def small_ranks() -> dict[bytes, int]:
    tok = Tokenizer.train(CORPUS, 300, special_tokens=[], pattern=PUBLISHED["cl100k_base"].pattern)
    return {token: token_id for token_id, token in tok.vocab.items()}


THEIRS = tiktoken.Encoding(
    "small", pat_str=PUBLISHED["cl100k_base"].pattern, mergeable_ranks=small_ranks(), special_tokens=SPECIAL
)
TOK = Tokenizer.from_tiktoken(THEIRS)
OURS = TOK.as_tiktoken("small")


def outcome(call: Callable[[], Any]) -> Any:
    """The result of a call, or the type of its error."""
    try:
        found = call()
    except Exception as error:
        return KeyError if isinstance(error, KeyError) else type(error)  # ours say more
    return found.tolist() if isinstance(found, np.ndarray) else found


def agree(method: str, *arguments: Any, **keywords: Any) -> Any:
    ours = outcome(lambda: getattr(OURS, method)(*arguments, **keywords))
    theirs = outcome(lambda: getattr(THEIRS, method)(*arguments, **keywords))
    assert ours == theirs, (method, arguments, keywords)
    return ours


def check_encode(method: str = "encode") -> None:
    for text in [*TEXTS, *SPECIAL_TEXTS]:
        agree(method, text)
        for allowed in ("all", set(), {"<|fim|>"}, {"<|fim|>", "<|endoftext|>"}, {"no such"}):
            agree(method, text, allowed_special=allowed)
            for disallowed in ("all", (), {"<|endoftext|>"}, ["cat"], frozenset({"<|fim|>", "mat"})):
                agree(method, text, allowed_special=allowed, disallowed_special=disallowed)


def check_encode_to_numpy() -> None:
    check_encode("encode_to_numpy")
    assert OURS.encode_to_numpy("the cat").dtype == THEIRS.encode_to_numpy("the cat").dtype == np.uint32


def check_decode() -> None:
    for ids in ([], OURS.encode("naïve 中文"), [400, 401], [128], [97, 195], [10**6], (97, 98)):
        agree("decode", ids)
        for errors in ("strict", "ignore", "replace", "backslashreplace"):
            agree("decode", ids, errors=errors)
    assert OURS.decode(np.array([97, 98])) == "ab"


#: Method -> the arguments and the keywords of calls that give the same in both.
CALLS: dict[str, list[tuple[list[Any], dict[str, Any]]]] = {
    "encode_ordinary": [([text], {}) for text in [*TEXTS, *SPECIAL_TEXTS]],
    "encode_batch": [
        ([TEXTS], {}), ([SPECIAL_TEXTS], {}), ([SPECIAL_TEXTS], {"allowed_special": "all"}), ([["a\ud800"]], {}),
        ([SPECIAL_TEXTS], {"disallowed_special": (), "num_threads": 2}), ([[]], {}),
    ],
    "encode_ordinary_batch": [([TEXTS + SPECIAL_TEXTS], {}), ([TEXTS], {"num_threads": 1}), ([["\udc00a", "b"]], {})],
    "encode_single_token": [
        ([token], {}) for token in ("the", b"the", " ", b"\xff", "<|fim|>", b"<|endoftext|>", "no token", b"", "中")
    ],
    "decode_bytes": [([ids], {}) for ids in ([], [97, 195], [400], [405], [2**32 - 1])],
    "decode_single_token_bytes": [([token], {}) for token in (97, 255, 299, 400, 405, 10**6)],
    "decode_tokens_bytes": [([ids], {}) for ids in ([], [97, 300, 400], [97, 405])],
    "decode_with_offsets": [
        ([ids], {}) for ids in (*map(OURS.encode_ordinary, TEXTS), [*"naïve 中".encode(), 400], [195])
    ],
    "decode_batch": [
        ([[[97], [], [195], [400, 98]]], {}), ([[[97], [195]]], {"errors": "strict"}),
        ([[[97], [195]]], {"errors": "ignore", "num_threads": 2}),
    ],
    "decode_bytes_batch": [([[[97], [], [195]]], {"num_threads": 2})],
    "token_byte_values": [([], {})],
    "is_special_token": [([token], {}) for token in (400, 401, 97, 405, -1)],
    "encode_bytes": [
        ([data], {})
        for data in (b"", b"the cat", b"the c\xc3", b"the \xe4\xb8\xad\xe4\xb8", b"\xff", b"mat \n \xff", b"a\n \x80 t")
    ],
}  # fmt: skip


def check_attributes() -> None:
    for name in ("name", "eot_token", "special_tokens_set", "n_vocab", "max_token_value"):
        assert getattr(OURS, name) == getattr(THEIRS, name)
    assert repr(OURS) == repr(THEIRS)
    without = tiktoken.Encoding("w", pat_str=r"\w+|\W+", mergeable_ranks=small_ranks(), special_tokens={})
    assert outcome(lambda: without.eot_token) is KeyError
    assert outcome(lambda: Tokenizer.from_tiktoken(without).as_tiktoken().eot_token) is KeyError


def check_building_blocks() -> None:
    for name in ("_pat_str", "_mergeable_ranks", "_special_tokens"):
        assert getattr(OURS, name) == getattr(THEIRS, name)
    again = tiktoken.Encoding(
        "again",
        pat_str=OURS._pat_str,
        mergeable_ranks=OURS._mergeable_ranks,
        special_tokens=OURS._special_tokens | {"<|im_start|>": 500},
    )
    expected = again.encode("the<|im_start|>", allowed_special="all")
    assert Tokenizer.from_tiktoken(again).encode("the<|im_start|>") == expected


def check_surrogates() -> None:
    for text in ("a\ud800b", "\ud83d\ude42", "\udc00<|fim|>"):
        agree("encode_ordinary", text)
        agree("encode", text, disallowed_special=())
        agree("encode", text, allowed_special="all")
        agree("encode", text)
    refused = {"\U0001f600"}  # looked for before pairs are joined
    agree("encode", "\ud83d\ude00", disallowed_special=refused)
    agree("encode_batch", ["\ud83d\ude00", "a"], disallowed_special=refused)
    special = {"\U0001f600": 400}
    theirs = tiktoken.Encoding("o", pat_str=r"\w+|\W+", mergeable_ranks=small_ranks(), special_tokens=special)
    ours = Tokenizer.from_tiktoken(theirs).as_tiktoken()
    assert ours.encode("\ud83d\ude00") == theirs.encode("\ud83d\ude00")


def check_pieces() -> None:
    for piece in ("the cat", " the", "naïve", "<|fim|>", "", b"\xff\xe4\xb8", b"the", "1234"):
        if piece:  # tiktoken 0.14 panics
            agree("_encode_single_piece", piece)
    assert OURS._encode_single_piece("") == []


# The differences that the table lists


def check_surrogates_to_numpy() -> None:
    with pytest.raises(UnicodeEncodeError):
        OURS.encode_to_numpy("a\ud800")


def check_absent() -> None:
    for name, why in {
        "encode_with_unstable": r"bpetite\.serving\.heal", "_encode_only_native_bpe": "encode_ordinary",
        "_core_bpe": "compiled part of tiktoken.*_encode_single_piece", "other": "'Encoding' has no attribute 'other'$",
    }.items():  # fmt: skip
        assert not hasattr(OURS, name)
        with pytest.raises(AttributeError, match=why):
            getattr(OURS, name)


def check_isinstance() -> None:
    assert isinstance(OURS, tiktoken.Encoding)
    assert isinstance(OURS, Encoding)
    assert not isinstance(THEIRS, Encoding)
    assert OURS != THEIRS
    assert THEIRS != OURS
    assert copy.deepcopy(OURS) == copy.copy(OURS) == OURS
    assert type(OURS) is Encoding


def check_open_end_refusal() -> None:
    for changes in ({"pattern": (Split("a", "removed"), "b")}, {"normalization": "NFC"}):
        view = Tokenizer.from_vocab(replace(TOK.to_vocab(), **changes)).as_tiktoken()
        with pytest.raises(ValueError, match="only in a tokenizer that cuts by a pattern"):
            view._encode_bytes(b"the ca\xff")


def check_overlapping_special_tokens() -> None:
    special = {"<|a|>": 400, "<|a|><|a|>": 401, "a|><": 402}
    tok = Tokenizer.from_tiktoken(
        tiktoken.Encoding("o", pat_str=r"\w+|\W+", mergeable_ranks=small_ranks(), special_tokens=special)
    )
    assert tok.as_tiktoken().encode("<|a|><|a|><|a|>", allowed_special="all") == [401, 400]


def check_long_runs() -> None:
    run = " " * 1_000_000
    assert TOK.decode(OURS.encode(run)) == run


def check_is_special_token_type() -> None:
    with pytest.raises(TypeError, match="'97'"):
        OURS.is_special_token("97")  # type: ignore[arg-type]
    with pytest.raises(AssertionError):
        THEIRS.is_special_token("97")


CHECKS = {name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")}


def rows() -> list[tuple[str, str, str]]:
    """(method or behaviour, keywords, what the view does) for each row of the table in the documentation."""
    table = TABLE.read_text(encoding="utf-8").partition("## Method by method\n")[2]
    lines = [line for line in table.splitlines() if line.startswith("| `")]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | "))[:3] for line in lines]  # type: ignore[misc]


@pytest.mark.parametrize("name", [*CHECKS, *CALLS])
def test_the_view_does_what_the_table_says(name: str) -> None:
    for arguments, keywords in CALLS.get(name, ()):
        agree(name if hasattr(OURS, name) else f"_{name}", *arguments, **keywords)
    CHECKS.get(name, int)()


def test_the_table_names_every_method_and_keyword_of_tiktoken_and_every_check() -> None:
    named = {row[0].strip("`"): row[1] for row in rows()}
    for name, method in inspect.getmembers(tiktoken.Encoding):
        if name.startswith("_"):
            continue
        assert name in named, f"{TABLE.name} lacks {name}"
        if inspect.isfunction(method):
            keywords = [key for key in inspect.signature(method).parameters if key != "self"]
            if hasattr(OURS, name):
                ours = inspect.signature(getattr(Encoding, name)).parameters
                assert [key for key in ours if key != "self"] == keywords
                for key in keywords:
                    theirs_default = inspect.signature(method).parameters[key].default
                    assert ours[key].default == theirs_default or not (ours[key].default or theirs_default), (name, key)
            assert named[name] == ", ".join(f"`{key}`" for key in keywords), name
    checked = {row[2].partition("(")[2].rstrip(")").strip("`") for row in rows() if "(`" in row[2]}
    assert checked == CHECKS.keys() | CALLS.keys()


@given(encoding_text, st.lists(st.integers(0, 299), max_size=12))
def test_the_same_ids_of_any_text_and_text_of_any_ids(text: str, some: list[int]) -> None:
    ids = THEIRS.encode_ordinary(text)
    assert OURS.encode_ordinary(text) == ids
    assert OURS.decode(ids) == text
    assert OURS.decode_with_offsets(ids) == THEIRS.decode_with_offsets(ids)
    assert OURS.decode(some) == THEIRS.decode(some)
    assert OURS.decode_bytes(some) == THEIRS.decode_bytes(some)


def test_offsets_of_a_tokenizer_that_adds_a_space() -> None:
    """As SentencePiece does for Llama 2: the space before the text has a token, and decoding leaves it out."""
    tokens = {0: b" ", 1: b"a", 2: b"b", 3: b" a", 4: b" b"}
    vocab = Vocab(tokens, ((0, 1), (0, 2)), {}, pattern=None, alphabet=Alphabet(space="\u2581", strip="one"))
    view = Encoding(Tokenizer.from_vocab(vocab), "small")
    assert view.decode_with_offsets([3, 2, 4]) == ("ab b", [0, 1, 2])
    assert view.decode_with_offsets([0, 1, 4]) == ("a b", [0, 0, 1])
    marked = Vocab({0: b"a", 1: b"a</w>"}, (), {}, pattern=None, alphabet=Alphabet(suffix="</w>", decoding="marks"))
    with pytest.raises(ValueError, match="no offsets"):
        Encoding(Tokenizer.from_vocab(marked), "small").decode_with_offsets([1, 1])


parts = ["the", " ", "\n", "\t", "ca", "é", "中", "'", "1", "\u3000", "\x1c", "\x85", "<|fim|>"]
open_ends = st.lists(st.sampled_from(parts))


@given(open_ends.map("".join), st.binary(max_size=3), st.integers(0, 20))
def test_the_same_ids_of_any_bytes(text: str, more: bytes, cut: int) -> None:
    data = (text.encode() + more + text.encode())[cut:]
    agree("_encode_bytes", data)
    assert OURS.decode_bytes(OURS._encode_bytes(data)) == data


def test_the_name_and_the_ranks_are_those_of_the_encoding_it_came_from() -> None:
    view = TOK.as_tiktoken()
    assert (view.name, view._mergeable_ranks) == (THEIRS.name, THEIRS._mergeable_ranks)
    assert view._mergeable_ranks is view._mergeable_ranks  # made once: callers look into it again and again
    assert TOK.to_merges().as_tiktoken().name == "small"


@pytest.mark.parametrize("keyword", ["allowed_special", "disallowed_special"])
def test_a_text_is_no_collection_of_literals(keyword: str) -> None:
    with pytest.raises(TypeError, match=f"{keyword} is \"all\" or a collection of literals, not '<.fim.>'"):
        OURS.encode("a", **{keyword: "<|fim|>"})  # type: ignore[arg-type]


def test_of_two_ids_with_the_same_bytes_the_ranks_have_the_one_that_text_gives() -> None:
    tokens = {number: token for token, number in small_ranks().items()} | {301: b"", 302: b"a"}
    for hidden, rank in (({302}, 97), ({97}, 302)):
        view = Tokenizer.from_vocab(Vocab(tokens, None, {}, unreachable=frozenset(hidden))).as_tiktoken()
        assert (view._mergeable_ranks[b"a"], view._mergeable_ranks[b""]) == (rank, 301)
        assert view.encode("a") == [rank]
    theirs = tiktoken.Encoding("w", pat_str=r"\w+", mergeable_ranks=small_ranks() | {b"": 301}, special_tokens={})
    assert Tokenizer.from_tiktoken(theirs).as_tiktoken()._mergeable_ranks == theirs._mergeable_ranks


def test_it_pickles_and_compares() -> None:
    assert pickle.loads(pickle.dumps(OURS)) == OURS
    assert hash(OURS) == hash(TOK.as_tiktoken("small"))
    assert TOK.as_tiktoken("other") != OURS


def test_a_view_is_its_own_type_where_tiktoken_is_not_imported() -> None:
    code = """
import sys
from bpetite import Tokenizer
view = Tokenizer.train("ab ab ab", 258).as_tiktoken()
assert view.__class__ is type(view), view.__class__
assert "tiktoken" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_tokens_that_are_given_may_be_changed() -> None:
    OURS.token_byte_values().clear()
    agree("token_byte_values")


def test_a_literal_with_the_bytes_of_an_ordinary_token_is_that_token() -> None:
    theirs = tiktoken.Encoding("w", pat_str=r"\w+", mergeable_ranks=small_ranks(), special_tokens={"th": 500})
    ours = Tokenizer.from_tiktoken(theirs).as_tiktoken()
    assert ours.encode_single_token("th") == theirs.encode_single_token("th")


@pytest.mark.parametrize("look", ["n_vocab", "max_token_value", "encode_single_token", "token_byte_values"])
def test_looking_into_it_takes_about_as_long_as_in_tiktoken(look: str) -> None:
    def seconds(view: Any) -> float:
        method = getattr(view, look)
        arguments = ["the"] if look == "encode_single_token" else []
        call = (lambda: method(*arguments)) if callable(method) else (lambda: getattr(view, look))
        return min(timeit.repeat(call, number=200, repeat=20))

    assert seconds(OURS) < 2 * seconds(THEIRS)


def test_a_merge_list_has_ranks_only_where_they_give_the_same_ids() -> None:
    trained = Tokenizer.train(CORPUS, 290)
    assert trained.as_tiktoken()._mergeable_ranks[trained.token_bytes(256)] == 256
    tok = Tokenizer({0: b"a", 1: b"b", 2: b"c", 3: b"ab", 4: b"bc"}, [(b"b", b"c"), (b"a", b"b")], pattern=("a", "b"))
    with pytest.raises(ValueError, match="not the ids of the merge list"):
        _ = tok.as_tiktoken()._mergeable_ranks
    with pytest.raises(ValueError, match="not one regular expression"):
        _ = tok.as_tiktoken()._pat_str
