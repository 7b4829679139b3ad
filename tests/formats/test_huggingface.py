"""tokenizer.json: the same ids and the same text as Hugging Face's own library, in every configuration."""
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bpetite
from bpetite import FormatError, Tokenizer, patterns
from bpetite.steps.template import BARE

tokenizers = pytest.importorskip("tokenizers")

from huggingface_zoo import CONFIGURATIONS, HARD, added, build, tokenizer_json  # noqa: E402

# what was assigned in Unicode 15, so that no two libraries can differ on what it is
texts = st.text(
    st.one_of(
        st.characters(exclude_categories=("Cs", "Cn", "Co"), max_codepoint=0x2FFF),
        st.sampled_from(" \n\t\r'aeiosfoto019²½é中\u0301\u3000<>_.,"),
    ),
    max_size=40,
)
words = st.sampled_from(["<mask>", "<s>", "foo", " the", "  ", "é"])
pieces = st.lists(st.one_of(texts, words), max_size=5).map("".join)


def same(ours: Tokenizer, theirs: Any, text: str) -> None:
    expected = theirs.encode(text, add_special_tokens=False)
    assert ours.encode(text) == expected.ids, text
    assert ours.encode_batch([text, ""])[0] == expected.ids
    if set(ours._vocab.token_flags) & {"cafe\u0301", "foo"} and ours.normalization is not None:
        return  # see test_an_added_token_decodes_to_its_literal
    assert ours.decode(expected.ids, errors="replace") == theirs.decode(expected.ids, skip_special_tokens=False)


@pytest.mark.parametrize("name", CONFIGURATIONS)
@settings(max_examples=12)
@given(text=pieces)
def test_the_same_ids_on_any_text(name: str, text: str) -> None:
    theirs = build(name)
    assert _ours(name).encode(text) == theirs.encode(text, add_special_tokens=False).ids


@cache
def _ours(name: str) -> Tokenizer:
    return Tokenizer.from_huggingface(build(name))


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_what_is_written_gives_the_same_ids_there_and_comes_back(name: str, tmp_path: Path) -> None:
    ours = _ours(name)
    ours.save(tmp_path / "tokenizer.json")
    back = Tokenizer.load(tmp_path / "tokenizer.json")
    assert back == ours
    assert back.fingerprint() == ours.fingerprint()
    ours.save(tmp_path / "native.json")
    assert Tokenizer.load(tmp_path / "native.json").fingerprint() == ours.fingerprint()
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in HARD:
        same(ours, build(name), text)
        assert theirs.encode(text, add_special_tokens=False).ids == ours.encode(text)
        for texts in ((text,), (text, "a b")):
            written, given = theirs.encode(*texts), build(name).encode(*texts)
            assert written.ids == given.ids
            assert (written.offsets, written.type_ids) == (given.offsets, given.type_ids)


def test_the_form_that_other_programs_know(tmp_path: Path) -> None:
    """That of GPT-2's own file, also where the pattern is as OpenAI writes it now."""
    tok = Tokenizer.train("the cat the cat", 260, pattern=patterns.GPT2_POSSESSIVE)
    tok.save(tmp_path / "tokenizer.json")
    content = json.loads((tmp_path / "tokenizer.json").read_bytes())
    assert content["pre_tokenizer"].items() >= {"type": "ByteLevel", "use_regex": True}.items()
    assert content["model"]["merges"][0] == "Ġ c"
    assert Tokenizer.load(tmp_path / "tokenizer.json").encode("the  cat's\n 1") == tok.encode("the  cat's\n 1")


# Named traps, and places where libraries disagree with each other


def both(**changes: Any) -> tuple[Tokenizer, Any]:
    found = tokenizer_json(**changes)
    return Tokenizer.from_huggingface(found), tokenizers.Tokenizer.from_str(json.dumps(found))


def trimming(prefix_space: bool, trims: bool = True) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": prefix_space, "trim_offsets": trims, "use_regex": True}


def split(pattern: str) -> dict[str, Any]:
    step = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [step, trimming(False) | {"use_regex": False}]}


#: What a file has -> texts, and the ids of the first of them.
TRAPS: dict[str, tuple[dict[str, Any], list[str], list[int]]] = {
    # the merge list decides, and not the ids
    "no merge path": ({}, ["abc", "abcd"], [97, 257]),
    "no merge path, ignore_merges": ({"model": {"ignore_merges": True}}, ["abc", "abcd"], [258]),
    "a space before each text": (
        {"pre_tokenizer": trimming(True), "added_tokens": [added("<s>", 260, special=True)]},
        ["a<s>a a<s> a", ""], [259, 260, 259, 259, 260, 259],
    ),
    "white space beside": (
        {"added_tokens": [added("<l>", 260, lstrip=True), added("<r>", 261, rstrip=True)]},
        ["a  <l>a<r> \n", "a  <l> a", "a <r>  a", "<r> <r> <l> <l>", "\u3000<l>\x1f<r>\x85x"], [97, 260, 97, 261],
    ),
    "a single word": (
        {"added_tokens": [added("foo", 260, single_word=True)]},
        ["foo", "afoo", "foo1", "_foo", "foo.", "éfoo", "foo\u0301", "foo\u200d", "foofoo", " foo "], [260],
    ),
    "in normalized text": (
        {"normalizer": {"type": "NFC"},
         "added_tokens": [added("cafe\u0301", 260, normalized=True), added("n\u0303", 261)]},
        ["café cafe\u0301", "ñ n\u0303", "xn\u0303\u0301", "<cafe\u0301\u0301>"], [260, 32, 260],
    ),
    "the longest": (
        {"added_tokens": [added("<s>", 260), added("<s><s>", 261), added("s><", 262)]},
        ["<s><s><s>", "as><s>"], [261, 260],
    ),
    # Phi and CodeGen have runs of spaces as tokens and again as added tokens
    "bytes of a token": ({"added_tokens": [added(" a", 260, normalized=True)]}, ["b a"], [98, 260]),
    "white space of Unicode": (
        {}, [text for one in "\x1c\x1d\x1e\x1f\x85\xa0\u1680\u180e\u2000\u200b\u2028\u2029\u202f\u205f\u3000\ufeff"
             for text in (f"a{one}a", f"a {one} a", f"a{one}{one}a", one * 3)], [97, 28, 97],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRAPS)
def test_places_where_libraries_disagree(name: str) -> None:
    changes, given, ids = TRAPS[name]
    ours, theirs = both(**changes)
    assert ours.encode(given[0]) == ids
    for text in given:
        assert ours.encode(text) == theirs.encode(text).ids, text


def test_patterns_cut_as_they_do_there() -> None:
    """A repeat with a plus is possessive in tiktoken, and repeated there; (?i:s) takes the long s."""
    for pattern, text in ((r"\p{N}{1,3}+", "x12345y"), ("(?i:'s)|'", "it'ſ 'ſs it'S")):
        ours, theirs = both(pre_tokenizer=split(pattern))
        spans = [span for _, span in theirs.pre_tokenizer.pre_tokenize_str(text)]
        assert list(bpetite.pretokenize(text, ours.pattern)) == [text[start:end] for start, end in spans]  # type: ignore[arg-type]


@pytest.mark.parametrize("prefix_space", [False, True])
def test_trimmed_offsets_are_kept_and_change_no_ids(prefix_space: bool, tmp_path: Path) -> None:
    plain = Tokenizer.from_huggingface(tokenizer_json(post_processor=trimming(prefix_space, False)))
    assert plain.template is None
    assert plain.fingerprint() == Tokenizer.from_huggingface(tokenizer_json(post_processor=None)).fingerprint()
    ours, _ = both(post_processor=trimming(prefix_space))
    assert ours.template == replace(BARE, trim_offsets=(prefix_space,))
    assert ours.encode(" a", add_special_tokens=True) == plain.encode(" a")
    assert ours != plain
    ours.save(tmp_path / "tokenizer.json")
    written = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    assert written["post_processor"] == trimming(prefix_space)
    ours.save(tmp_path / "native.json")
    for name in ("tokenizer.json", "native.json"):
        assert Tokenizer.load(tmp_path / name) == ours


def test_a_roberta_post_processor_without_its_settings_is_taken_for_berts() -> None:
    ends = {"sep": ["b", 98], "cls": ["a", 97]}
    specials = [added("<s>", 260, special=True)]
    whole = {"trim_offsets": True, "add_prefix_space": False}
    for found, trims in (({}, ()), ({"trim_offsets": True}, ()), (whole, (False,))):
        ours, theirs = both(post_processor={"type": "RobertaProcessing"} | ends | found, added_tokens=specials)
        assert ours.template is not None
        assert ours.template.trim_offsets == trims
        types = [part.type_id for part in ours.template.pair for _ in part.ids or "x"]
        assert types == theirs.encode("c", "c").type_ids


def test_an_added_token_decodes_to_its_literal() -> None:
    """``tokenizers`` takes an added token whose characters all stand for bytes for those bytes, and gives one that is
    found in normalized text back as normalized. Here decoding gives the literal, so that no text is lost."""
    ours, theirs = both(added_tokens=[added("éé", 260)])
    assert ours.encode("éé") == theirs.encode("éé").ids == [260]
    assert (ours.decode([260]), theirs.decode([260])) == ("éé", "\ufffd\ufffd")


def test_of_added_tokens_that_normalize_to_the_same_text_the_first_counts() -> None:
    """``tokenizers`` takes one by hash order, another one in every process."""
    ours, _ = both(
        normalizer={"type": "Replace", "pattern": {"String": "o"}, "content": "0"},
        added_tokens=[added("foo", 260, normalized=True), added("f00", 261, normalized=True)],
    )
    assert ours.encode("foo f00") == [260, 32, 260]


@pytest.mark.parametrize("model", [{}, {"unk_token": "<unk>"}, {"byte_fallback": True, "unk_token": "<unk>"}])
def test_a_byte_that_has_no_token_is_dropped_or_the_unknown_token(model: dict[str, Any]) -> None:
    found = tokenizer_json(model=model)
    del found["model"]["vocab"]["z"]
    found["model"]["vocab"]["<unk>"] = 122
    ours, theirs = Tokenizer.from_huggingface(found), tokenizers.Tokenizer.from_str(json.dumps(found))
    assert ours.encode("az") == theirs.encode("az").ids == [97, 122][: 1 + bool(model)]
    strict = Tokenizer.from_huggingface(found, missing="refuse")
    if not model:
        with pytest.raises(ValueError, match="byte 0x7a"):
            strict.encode("az")
    assert strict.encode("aa") == [97, 97]
    with pytest.raises(ValueError, match="missing is"):
        Tokenizer.from_huggingface(found, missing="other")  # type: ignore[arg-type]
    assert ours.encode("abc b") == theirs.encode("abc b").ids
    written = json.loads(bpetite.formats.huggingface.dump(ours._vocab))["model"]
    assert {key: written[key] for key in model} == model


@pytest.mark.parametrize(
    "entries",
    [
        [("<b>", 261), ("<a>", 260)],
        [("<a>", 261), ("<b>", 260)],
        [("<a>", 260), ("<b>", 300)],
        [("<a>", 300)],
        [("abc", 5)],
        [("<a>", 260), ("abc", 7), ("<b>", 258)],
        [("<a>", 260), ("<b>", 260)],
    ],
)
def test_added_tokens_that_contradict_the_file_are_read_through_the_library(
    entries: list[tuple[str, int]], tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(tokenizer_json(added_tokens=[added(*entry, special=True) for entry in entries])))
    with pytest.raises(FormatError, match=r"contradicts itself.*Tokenizer\.from_huggingface\(tokenizers\.Tok"):
        Tokenizer.from_huggingface(path)
    theirs = tokenizers.Tokenizer.from_file(str(path))
    ours = Tokenizer.from_huggingface(theirs)
    assert ours.special_tokens == {literal: theirs.token_to_id(literal) for literal, _ in entries}
    for text in ("<a>abc <b>a<b><a>", "abcabc", " a<a"):
        assert ours.encode(text) == theirs.encode(text).ids
    ours.save(path, overwrite=True)
    assert Tokenizer.load(path) == ours


def test_byte_fallback_where_every_byte_has_a_token() -> None:
    """nanochat writes such files; tokens like <0xC3> are then never looked for."""
    found = tokenizer_json(model={"byte_fallback": True})
    found["model"]["vocab"] |= {"<0xC3>": 260, "<0xA9>": 261, "<0x62>": 262}
    ours, theirs = Tokenizer.from_huggingface(found), tokenizers.Tokenizer.from_str(json.dumps(found))
    for text in HARD:
        assert ours.encode(text) == theirs.encode(text).ids
    assert json.loads(bpetite.formats.huggingface.dump(ours._vocab))["model"]["byte_fallback"] is True


def test_a_dropout_is_kept_and_off() -> None:
    ours = Tokenizer.from_huggingface(tokenizer_json(model={"dropout": 0.5}))
    assert {tuple(ours.encode("abc ab")) for _ in range(20)} == {(97, 257, 32, 256)}
    assert json.loads(bpetite.formats.huggingface.dump(ours._vocab))["model"]["dropout"] == 0.5


def test_early_and_late_files_of_the_library() -> None:
    """Merges as strings and as pairs, a model without a type, keys that came later left out."""
    new = tokenizer_json()
    new["model"] |= {"merges": [["b", "c"], ["a", "b"], ["Ġ", "a"]], "byte_fallback": False, "ignore_merges": False}
    old = tokenizer_json()
    del old["model"]["type"], old["truncation"], old["padding"], old["added_tokens"], old["normalizer"]
    old["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    assert Tokenizer.from_huggingface(new) == Tokenizer.from_huggingface(old)
    assert Tokenizer.from_huggingface(json.dumps(new)) == Tokenizer.from_huggingface(json.dumps(new).encode())


SHARED = ["text/english.txt", "text/code.txt", "text/multilingual.txt", "cs336/german.txt", "cs336/address.txt"]


@pytest.mark.parametrize("text", SHARED)
def test_gpt2_on_the_shared_texts(shared: Callable[[str], Path], text: str) -> None:
    theirs = tokenizers.Tokenizer.from_file(str(shared("gpt2/tokenizer.json")))
    ours = Tokenizer.load(shared("gpt2/tokenizer.json"))
    start = 300_000 if "text/" in text else 0
    read = shared(text).read_bytes()[start : start + 60_000].decode("utf-8", "ignore")
    same(ours, theirs, read)
    assert ours.decode(ours.encode(read)) == read


def test_the_file_of_gpt2_is_gpt2(shared: Callable[[str], Path]) -> None:
    ours = Tokenizer.from_huggingface(shared("gpt2/tokenizer.json"))
    assert ours == Tokenizer.from_files(shared("gpt2/vocab.json"), shared("gpt2/merges.txt"))
    assert ours.fingerprint() == Tokenizer.load(shared("gpt2")).fingerprint()
    assert ours.scanner == "vector"


@pytest.mark.parametrize("name", ["roberta", "bert ends", "template", "template in a sequence"])
def test_special_tokens_around_a_text(name: str) -> None:
    ours, theirs = _ours(name), build(name)
    for text in HARD:
        assert ours.encode(text, add_special_tokens=True) == theirs.encode(text).ids
    expected = [encoding.ids for encoding in theirs.encode_batch(HARD)]
    assert ours.encode_batch(HARD, add_special_tokens=True) == expected
    assert ours.encode_batch(iter(HARD)) == [ours.encode(text) for text in HARD]


@pytest.mark.parametrize("stride", [None, 0, 2])
@pytest.mark.parametrize("side", ["right", "left"])
def test_rows_with_special_tokens_are_cut_and_padded_as_there(stride: int | None, side: str) -> None:
    ours, theirs = _ours("template"), tokenizers.Tokenizer.from_str(build("template").to_str())
    theirs.enable_truncation(8, stride=stride or 0)
    theirs.enable_padding(direction=side, pad_id=420, pad_token="<s>")
    rows = [
        (number, row.ids, row.attention_mask)
        for number, encoding in enumerate(theirs.encode_batch(HARD))
        for row in [encoding, *(encoding.overflowing if stride is not None else [])]
    ]
    batch = ours.encode_padded(
        HARD, max_length=8, pad_token="<s>", padding_side=side, stride=stride, add_special_tokens=True  # type: ignore[arg-type]
    )
    assert batch.rows.tolist() == [number for number, _, _ in rows]
    assert batch.input_ids.tolist() == [ids for _, ids, _ in rows]
    assert batch.attention_mask.tolist() == [mask for _, _, mask in rows]
    with pytest.raises(ValueError, match="leaves no room"):
        ours.encode_padded(HARD, max_length=2, pad_token="<s>", add_special_tokens=True)


def test_other_sources_are_refused() -> None:
    with pytest.raises(TypeError, match="int"):
        Tokenizer.from_huggingface(7)
    with pytest.raises(FileNotFoundError):
        Tokenizer.from_huggingface("no-such-file.json")


LITERALS = st.lists(st.text("ab|", min_size=1, max_size=4), min_size=1, max_size=5, unique=True)


@given(LITERALS, st.lists(st.booleans(), min_size=5, max_size=5), st.lists(st.text("ab|x", max_size=30), max_size=8))
@settings(max_examples=600)
def test_tokens_that_are_searched_for_after_others(literals: list[str], late: list[bool], found: list[str]) -> None:
    """Without a normalizer, ``normalized`` only says when a token is searched for; an empty sequence is none."""
    # a token of one character that the model has keeps its id, which is not what is tested here
    literals = [literal for literal in literals if len(literal) > 1 and literal not in ("ab",)]
    entries = [added(literal, 260 + at, normalized=late[at]) for at, literal in enumerate(literals)]
    content = tokenizer_json(added_tokens=entries, normalizer={"type": "Sequence", "normalizers": []})
    ours, theirs = Tokenizer.from_huggingface(content), tokenizers.Tokenizer.from_str(json.dumps(content))
    for text in found:
        assert ours.encode(text) == theirs.encode(text).ids


@pytest.mark.parametrize(
    ("early", "late", "scanner"),
    [
        ("<｜/table>｜", "｜DSML｜", "vector"),  # DeepSeek-V3's: the early one begins first
        ("｜DSML｜", "<｜/table>｜", "pipeline"),
        ("<a>", "<a>b", "pipeline"),
        ("<a>b", "<a>", "vector"),
        ("<a>", "<b>", "vector"),
    ],
)
def test_an_order_of_search_that_changes_nothing_costs_nothing(early: str, late: str, scanner: str) -> None:
    entries = [added(early, 260), added(late, 261, normalized=True)]
    assert Tokenizer.from_huggingface(tokenizer_json(added_tokens=entries)).scanner == scanner
