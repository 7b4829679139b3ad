"""Special tokens: leftmost, then longest; which are recognised, which refused; many of them."""
import itertools
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bpetite
from bpetite import FormatError, Tokenizer, Vocab, analysis, reference
from bpetite.core._special import Specials

BYTES = {byte: bytes([byte]) for byte in range(256)}


def tokenizer(*literals: str) -> Tokenizer:
    return Tokenizer(BYTES, [], list(literals))


def cut(literals: list[str], text: str) -> list[tuple[str, bool]]:
    """reference.cut_specials by way of the compiled search."""
    data, pieces, at = text.encode(), [], 0
    for start, end, number in Specials({literal: i for i, literal in enumerate(literals)}).cut(data):
        pieces += [(data[at:start].decode(), False), (data[start:end].decode(), True)]
        assert pieces[-1][0] == literals[number]
        at = end
    return [piece for piece in [*pieces, (data[at:].decode(), False)] if piece[0]]


small = st.text("ab<é", min_size=1, max_size=4)


@settings(max_examples=400, deadline=None)
@given(st.lists(small | st.text(min_size=1, max_size=3), unique=True, min_size=1, max_size=40), st.data())
def test_search_against_the_definition(literals: list[str], data: st.DataObject) -> None:
    pieces = st.one_of(st.sampled_from(literals), small, st.text(max_size=20))
    text = "".join(data.draw(st.lists(pieces, max_size=20)))
    assert cut(literals, text) == reference.cut_specials(text, literals)


@pytest.mark.parametrize("literals", [["<s>"], ["<s>", "[x]"], ["<s>", "[x]", "{y}", "(z)", "#w"], ["<", "<s>", "s>"]])
def test_at_every_place(literals: list[str]) -> None:
    """64 places are looked at in one step."""
    for literal in literals:
        for at in range(200):
            text = ".<[{(" * (at // 5) + "." * (at % 5) + literal + "." * (197 - at) + literals[0]
            for one in (text, text[: at + len(literal)], "." * at + literal):
                assert cut(literals, one) == reference.cut_specials(one, literals)


def test_which_are_recognised() -> None:
    tok = tokenizer("<s>", "</s>")
    text = "é<s>x</s>"
    assert tok.encode(text) == [*"é".encode(), 256, ord("x"), 257]
    assert tok.encode(text, allowed_special={"<s>"}) == [*"é".encode(), 256, *b"x</s>"]
    assert tok.encode(text, allowed_special=["</s>"]) == [*"é<s>x".encode(), 257]
    assert tok.encode(text, allowed_special=()) == tok.encode_ordinary(text) == list(text.encode())
    assert tok.count(text, allowed_special=()) == len(text.encode())
    assert tok.encode_to_numpy(text, allowed_special={"<s>"}).tolist() == tok.encode(text, allowed_special={"<s>"})
    assert tok.encode_batch([text], allowed_special={"<s>"}) == [tok.encode(text, allowed_special={"<s>"})]


def test_a_shorter_one_that_is_allowed_is_found_inside_one_that_is_not() -> None:
    tok = tokenizer("<s>", "<s><s>")
    assert tok.encode("<s><s>", allowed_special={"<s>"}) == [256, 256]


def test_which_are_refused() -> None:
    tok = tokenizer("<s>", "</s>")
    for text, place in (("é<s>x", 1), ("é<s>x".encode(), 2)):
        with pytest.raises(ValueError, match=rf"disallowed special token '<s>' at offset {place}; allow it"):
            tok.encode(text, allowed_special={"</s>"}, disallowed_special="all")
        with pytest.raises(ValueError, match="'<s>'"):
            tok.encode_to_numpy(text, disallowed_special=["<s>"])
    assert tok.encode("é</s>", allowed_special={"</s>"}, disallowed_special="all") == [*"é".encode(), 257]
    assert tok.encode("<s>", disallowed_special="all") == [256]  # all but the allowed ones


def test_a_collection_without_end_is_read_up_to_the_first_unknown_name() -> None:
    tok = tokenizer("<s>")
    for names in (range(2**62), itertools.chain(["<s>"], itertools.count())):
        with pytest.raises(ValueError, match="allowed_special: 0 is not a special token of this tokenizer, which has"):
            tok.encode("x", allowed_special=names)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"disallowed_special: '<a>' is not"):
        tok.encode("x", disallowed_special={"<b>", "<a>", "<s>", "<c>"})
    with pytest.raises(ValueError, match="allowed_special: '<t>' is not"):
        tok.encode_batch([], allowed_special=["<t>"])


def test_the_finder_of_a_set_is_made_once() -> None:
    tok = tokenizer("<s>", "</s>", "<t>")
    assert tok._specials({"<s>", "<t>"}, "all")[0] is tok._specials(["<t>", "<s>"])[0]
    assert tok._specials("all")[0] is tok._specials({"<s>", "</s>", "<t>"})[0]
    assert tok._specials({"<s>"}, "all")[1].literals == ("</s>", "<t>")  # type: ignore[union-attr]


def test_a_hundred_thousand() -> None:
    literals = [f"<|extra_{number}|>" for number in range(100_000)]
    tok = Tokenizer(BYTES, [], literals)
    text = "".join(f"{literal} and " for literal in literals[::997])
    ids = tok.encode(text)
    assert [token for token in ids if token > 255] == list(range(256, 100_256, 997))
    assert tok.decode(ids) == text


# A special token of one byte, which may or may not be that byte's token in ordinary text

AB = {0: b"a", 1: b"b", 2: b"ab"}
LACKING = {
    "merges": Tokenizer(AB, [(b"a", b"b")], ["c"]),
    "ids": Tokenizer(AB, [(b"a", b"b")], {"c": 7}),
    "ranks": Tokenizer(AB, None, ["c"]),
    "no pattern": Tokenizer(AB, None, ["c"], pattern=None),
    "by regex": Tokenizer(AB, [(b"a", b"b")], ["c"], pattern=r"(?<=a)b|[a-z]"),
    "normalizing": Tokenizer(AB, [(b"a", b"b")], ["c"], normalization="NFC"),
    "pipeline": Tokenizer.from_vocab(
        Vocab({**AB, 3: b"c"}, ((0, 1),), {"c": 3}, token_flags={"c": ("lstrip", "added")})
    ),
    "ignoring merges": Tokenizer.from_vocab(
        Vocab({**AB, 3: b"c"}, ((0, 1),), {"c": 3}, ignore_merges=True, token_flags={"c": ("added",)})
    ),
}


@pytest.mark.parametrize("name", LACKING)
def test_the_byte_of_a_special_token_is_no_ordinary_text(name: str, tmp_path: Path) -> None:
    tok = LACKING[name]
    for file in ("tok.json", *["tokenizer.json"] * (tok.kind == "merges" and name != "ids")):
        tok.save(tmp_path / file)
        again = Tokenizer.load(tmp_path / file)
        assert again.encode("c") == tok.encode("c")
        if file != "tok.json":  # such a file cannot say that the byte is refused
            assert again.encode_ordinary("c") == []
            again = Tokenizer.from_huggingface(tmp_path / file, missing="refuse")
            assert again.encode("c") == tok.encode("c")
        with pytest.raises(ValueError, match="byte 0x63"):
            again.encode_ordinary("c")
    assert again == tok or file != "tok.json"
    special = tok.special_tokens["c"]
    assert tok.encode("c") == [special] == [tok.token_id("c")]
    assert tok.decode([special]) == "c"
    plain: dict = {"allowed_special": ()}
    long = "ab" * 400_000 + "c"
    for text in ("c", "acb", "abc"):
        calls = [
            (tok.encode_ordinary, text), (tok.encode, text), (tok.encode, text.encode()), (tok.encode_to_numpy, text),
            (tok.count, text), (tok.encode_batch, [text]),
            (tok.encode_batch_to_numpy, [text]), (tok.encode_iterable, [*text]), (tok.encode_with_offsets, text),
            (partial(tok.encode_padded, pad_token=0), [text]),
        ]  # fmt: skip
        for method, argument in calls:
            with pytest.raises(ValueError, match=r"byte 0x63, at offset .* no token"):
                list(method(argument, **({} if "ordinary" in str(method) else plain)))  # type: ignore[operator]
    if tok.scanner == "vector":
        with pytest.raises(ValueError, match=f"byte 0x63, at offset {len(long) - 1} of the text"):
            tok.encode(long, num_threads=2, **plain)


def test_a_file_that_cannot_say_so() -> None:
    with pytest.raises(FormatError, match="'c': with its id it would be a token of ordinary text"):
        bpetite.formats.huggingface.dump(LACKING["ids"].to_vocab())


@pytest.mark.parametrize("merges", [[(b"a", b"b")], None])
def test_a_byte_that_is_a_special_token_too(merges: list | None, tmp_path: Path) -> None:
    """The literal of a token keeps its id, and is that token in ordinary text."""
    tok = Tokenizer({0: b"a", 1: b"b", 2: b"ab", 3: b"c", 4: b"ac"}, merges, ["c"])
    assert tok.encode("acb") == [0, 3, 1]
    assert tok.encode_ordinary("ab" + "c") == [2, 3]
    assert tok.encode_ordinary("ac") == ([4] if merges is None else [0, 3])
    assert tok.to_vocab().token_flags == {}
    tok.save(tmp_path / "tok.json")
    assert Tokenizer.load(tmp_path / "tok.json") == tok
    if merges is None:
        tok.save(tmp_path / "a.tiktoken")
        again = Tokenizer.from_tiktoken(tmp_path / "a.tiktoken", pattern=tok.pattern, special_tokens=["c"])
        assert again.to_merges().encode_ordinary("abacbc") == tok.encode_ordinary("abacbc")
    else:
        tok.save(tmp_path / "tokenizer.json")
        again = Tokenizer.from_huggingface(tmp_path / "tokenizer.json", missing="refuse")
    assert again == tok


def test_the_byte_of_a_special_token_is_no_part_of_a_merge() -> None:
    with pytest.raises(ValueError, match=r"merge 0 .*b'c' is not in the vocabulary"):
        Tokenizer({0: b"a", 1: b"b", 2: b"ac"}, [(b"a", b"c")], ["c"])
    ranks = Tokenizer({0: b"a", 1: b"b", 2: b"ac"}, None, ["c"])
    assert ranks.encode_ordinary("ac") == [2]  # a whole pre-token
    with pytest.raises(ValueError, match="byte 0x63"):
        ranks.encode_ordinary("aac")
    merges = ranks.to_merges()
    assert (merges.merges, merges.encode_ordinary("ac")) == ([], [2])
    with pytest.raises(ValueError, match="byte 0x63"):
        merges.encode_ordinary("aac")


def test_a_special_token_that_a_merge_gives_too() -> None:
    tok = Tokenizer(AB, [(b"a", b"b")], ["ab"])
    assert (tok.encode("ab"), tok.encode_ordinary("ab")) == ([2], [0, 1])
    assert tok.encode("bab", allowed_special=()) == [1, 0, 1]


def test_training_goes_on_from_complete_vocabularies_only() -> None:
    lacking = {byte: bytes([byte]) for byte in range(256) if byte != ord("c")}
    tok = Tokenizer(lacking, [], ["c"])
    with pytest.raises(ValueError, match="no token for the byte 0x63"):
        tok.extend("abab", 44)
    assert "missing-bytes" in {finding.code for finding in analysis.audit(tok).findings}


def test_the_flag_is_for_one_byte() -> None:
    for literal in ("cc", "é"):
        with pytest.raises(ValueError, match='"added" is for special tokens of one byte'):
            Vocab({0: b"a", 1: literal.encode()}, (), {literal: 1}, token_flags={literal: ("added",)})
