"""tiktoken's file of ranks."""
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer, patterns
from bpetite.errors import FormatError
from bpetite.formats import tiktoken
from bpetite.formats.encodings import PUBLISHED
from bpetite.vocabulary.vocab import Vocab

SMALL = b"YQ== 0\nYg== 1\nYWI= 2\n/+8= 7\n"


def loads(data: bytes, **options: object) -> Vocab:
    return tiktoken.read(data, "small.tiktoken", {}, **({"pattern": None} | options))


def test_a_line_is_a_token_and_its_rank() -> None:
    vocab = loads(SMALL, special_tokens=["<s>"])
    assert vocab.tokens == {0: b"a", 1: b"b", 2: b"ab", 7: b"\xff\xef", 8: b"<s>"}
    assert vocab.kind == "ranks"
    assert vocab.special_tokens == {"<s>": 8}
    assert tiktoken.dump(vocab) == SMALL
    # what tiktoken reads, too
    assert loads(SMALL.replace(b"\n", b"\r\n")) == loads(SMALL.replace(b"\n", b"\n\n")) == loads(SMALL)
    assert loads(b"Yg== 1\nYQ== 0\n") == loads(b"YQ== 0\nYg== 1\n")


def test_a_token_without_bytes_is_kept() -> None:
    first = b"= 0\nYg== 1\nYWI= 2\n/+8= 7\nYQ== 8\n"
    for data in (SMALL + b"= 8\n", first):
        vocab = loads(data, special_tokens=["<s>"])
        assert tiktoken.recognizes(data, {})
        assert tiktoken.dump(vocab) == data
        assert vocab.tokens[min(vocab.unreachable)] == b""
        assert vocab.special_tokens == {"<s>": 9}
        tok = Tokenizer.from_vocab(vocab)
        assert tok.encode("ab<s>") == [2, 9]
        assert tok.decode([*vocab.unreachable, 2, *vocab.unreachable]) == "ab"


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_the_published_files_come_back_to_the_byte(shared: Callable[[str], Path], name: str) -> None:
    path = shared(f"openai/{name}.tiktoken")
    assert tiktoken.dump(tiktoken.load(path, pattern=None)) == path.read_bytes()


@given(st.dictionaries(st.integers(0, 2**32 - 1), st.binary(), min_size=1))
def test_any_ranks_come_back(tokens: dict[int, bytes]) -> None:
    tokens = {rank: token for token, rank in {token: rank for rank, token in tokens.items()}.items()}
    vocab = Vocab(tokens, None, {}, pattern=None)
    assert loads(tiktoken.dump(vocab)) == vocab


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (SMALL[:-1], "does not end in a newline"),
        (b"\n\n", "no line with a token"),
        (SMALL + b"YWJj\n", "line 5 b'YWJj' is not a base64 token, a space and a rank"),
        (b"YQ==\n0 Yg==\n1\n", "line 1 .* is not a base64 token"),
        (SMALL + b"= 8\n= 9\n", "line 6 .*: line 5 has the token b'' already"),
        (SMALL + b" 8\n", "line 5 b' 8' is not a base64 token, a space and a rank"),
        (SMALL + b"YWJ*j 8\n", r"line 5 .*: b'YWJ\*j' is not base64"),
        (SMALL + b"Yz== x8\n", "line 5 .* is not base64"),
        (SMALL + b"Yw== x8\n", "line 5 .*: b'x8' is not a rank"),
        (SMALL + b"Yw== 1_0\n", "line 5 .*: b'1_0' is not a rank"),
        (SMALL + b"Yw== 4294967296\n", "line 5 .*: the rank is outside"),
        (SMALL + b"Yw== " + b"9" * 6000 + b"\n", "line 5 .*: the rank is outside"),
        (SMALL + b"Yw== 2\n", "line 5 .*: line 3 has the rank 2 already"),
        (SMALL + b"YWI= 8\n", "line 5 .*: line 3 has the token b'ab' already"),
        (b"<html>\n", "line 1"),
        (b"\xff\xfe\x00 1\n", "line 1"),
    ],
)
def test_damage_is_named_with_its_line(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        loads(data)
    assert str(caught.value).startswith("small.tiktoken: ")


@pytest.mark.parametrize(
    ("vocab", "message"),
    [
        (Vocab({0: b"a"}, (), {}), "merge list"),
        (Vocab({0: b"a"}, None, {}, normalization="NFC"), "normalization 'NFC'"),
        (Vocab({0: b"a"}, None, {}, kept={"dropout": 0.5}), "kept {'dropout': 0.5}"),
        (Vocab({0: b"a", 1: b"b"}, None, {}, unreachable=frozenset({1})), "token 1 b'b' as one that no text reaches"),
        (Vocab({0: b"a", 1: b"", 2: b""}, None, {}), "token 2 b'' as one that no text reaches"),
    ],
)
def test_what_the_file_cannot_hold_is_named(vocab: Vocab, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        tiktoken.dump(vocab)


# Against tiktoken itself

openai = pytest.importorskip("tiktoken_ext.openai_public")
library = pytest.importorskip("tiktoken")


@pytest.mark.parametrize("name", openai.ENCODING_CONSTRUCTORS)
def test_the_published_patterns_and_special_tokens(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for loader in ("load_tiktoken_bpe", "data_gym_to_mergeable_bpe_ranks"):
        monkeypatch.setattr(openai, loader, lambda *args, **keywords: {})
    theirs = openai.ENCODING_CONSTRUCTORS[name]()
    assert PUBLISHED[name].pattern == theirs["pat_str"]
    assert PUBLISHED[name].special_tokens == theirs["special_tokens"]


def test_the_name_of_the_file_says_which_encoding_it_is(tmp_path: Path) -> None:
    (tmp_path / "cl100k_base.tiktoken").write_bytes(SMALL)
    tok = Tokenizer.from_tiktoken(tmp_path / "cl100k_base.tiktoken")
    assert tok == Tokenizer.load(tmp_path / "cl100k_base.tiktoken")
    assert tok.pattern == PUBLISHED["cl100k_base"].pattern
    assert tok.special_tokens["<|endofprompt|>"] == 100276
    bare = Tokenizer.from_tiktoken(tmp_path / "cl100k_base.tiktoken", pattern=None)
    assert (bare.pattern, bare.special_tokens, bare.as_tiktoken().name) == (None, {}, "bpetite")
    (tmp_path / "mine.tiktoken").write_bytes(SMALL)
    assert Tokenizer.from_tiktoken(tmp_path / "mine.tiktoken", name="p50k_edit").eot_token == 50256
    with pytest.raises(FormatError, match=r"mine\.tiktoken: .*pattern=.*p50k_base"):
        Tokenizer.from_tiktoken(tmp_path / "mine.tiktoken")
    with pytest.raises(FormatError, match="no published encoding is called 'p60k'"):
        Tokenizer.from_tiktoken(tmp_path / "mine.tiktoken", name="p60k")
    with pytest.raises(TypeError, match=r"tiktoken\.Encoding"):
        Tokenizer.from_tiktoken(7)
    with pytest.raises(FileNotFoundError, match=r"Tokenizer\.load\('cl100k_base'\) finds published ranks"):
        Tokenizer.from_tiktoken("cl100k_base")
    assert Tokenizer.from_tiktoken(tmp_path / "mine.tiktoken", name="p50k_edit").as_tiktoken().name == "p50k_edit"
    named = Tokenizer.from_tiktoken(tmp_path / "mine.tiktoken", pattern="cl100k_base")
    assert (named.pattern, named.as_tiktoken().name) == (patterns.CL100K, "bpetite")


BYTES = {bytes([byte]): byte for byte in range(256)}


@pytest.mark.parametrize(
    ("ranks", "special", "texts", "ids"),
    [
        # gaps, as p50k has them
        ({b"ab": 300, b" a": 50257, b"abc": 50280}, {"<|endoftext|>": 50256},
         ["a<|endoftext|>abc", "abc ab  abc abd", "cabab"], [97, 50256, 50280]),
        # ranks decide, and whole tokens come first: the two traps in which ranks are unlike a merge list
        ({b"ab": 256, b"bc": 257, b"bcd": 300, b"xyz": 301}, {}, ["abc", "abcd", "xyzx", "bcd bcde"], [256, 99]),
        ({b"xyz": 301}, {}, ["xyz", "xyzx"], [301]),
    ],
)
def test_ranks_are_used_as_tiktoken_does(
    ranks: dict[bytes, int], special: dict[str, int], texts: list[str], ids: list[int]
) -> None:
    theirs = library.Encoding("r", pat_str=r" ?\w+|\s+|\W", mergeable_ranks=BYTES | ranks, special_tokens=special)
    ours = Tokenizer.from_tiktoken(theirs)
    assert ours.encode(texts[0]) == ids
    for text in texts:
        assert ours.encode(text) == theirs.encode(text, allowed_special="all")
    assert ours.vocab_size == theirs.n_vocab


def test_literals_that_share_an_id_decode_as_there() -> None:
    """Where the order of a hash table decides between two."""
    special = {f"<{letter}{number}>": 300 + number for letter in "ab" for number in range(20)}
    theirs = library.Encoding("r", pat_str=r"\w|\W", mergeable_ranks=BYTES, special_tokens=special)
    assert Tokenizer.from_tiktoken(theirs).decode(range(300, 320)) == theirs.decode([*range(300, 320)])


@pytest.mark.parametrize(
    "pattern",
    [
        r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}&&[^\p{Han}]]*[\p{Ll}&&[^\p{Han}]]+|\p{N}{1,3}|\s+|.",
        r"\w+$|\w+|[^\w]",
        r"^\s+|\s+|\S{1,4}+",
        r"[a-c[x-z]]+|\x20\u0061|\x{4E2d}|\s|.",
        r"(?i:THE|'s)+|\p{Greek}+|\p{Lu}|\P{Lu}",
    ],
)
@given(text=st.text(st.sampled_from("aAbxyz中文1234 \n\t'sſtheΩωé_."), max_size=25))
def test_patterns_of_tiktoken_mean_the_same_here(pattern: str, text: str) -> None:
    theirs = library.Encoding("p", pat_str=pattern, mergeable_ranks=RANKS, special_tokens={})
    assert Tokenizer.from_tiktoken(theirs).encode(text) == theirs.encode(text)


@given(text=st.text(st.sampled_from("aAbxǅǆ中文々ー1234 \n\t'sſ/._é\u0301"), max_size=25))
def test_the_pattern_of_kimi_is_its_own(text: str) -> None:
    """``pat_str`` of moonshotai/Kimi-K2-Instruct, tokenization_kimi.py."""
    rest = [
        r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    ]
    words = "|".join(rf"[^\r\n\p{{L}}\p{{N}}]?{one}" for one in rest)
    pattern = rf"[\p{{Han}}]+|{words}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    theirs = library.Encoding("p", pat_str=pattern, mergeable_ranks=RANKS, special_tokens={})
    named = Tokenizer.from_vocab(replace(Tokenizer.from_tiktoken(theirs).to_vocab(), pattern=patterns.KIMI_K2))
    assert named.encode(text) == theirs.encode(text)


#: So many tokens that a different split shows.
RANKS = BYTES | {
    token: 256 + n
    for n, token in enumerate(
        {(one + other).encode() for one in "aAbxyz中文1234 \n'sthe" for other in "aAbxyz中文1234 \n'sthe"}
    )
}
