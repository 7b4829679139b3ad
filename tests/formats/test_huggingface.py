"""tokenizer.json: the same ids and the same text as Hugging Face's own library, in every configuration."""
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bpetite
from bpetite import FormatError, Tokenizer
from bpetite.steps.template import BARE

tokenizers = pytest.importorskip("tokenizers")

from huggingface_zoo import CONFIGURATIONS, HARD, build  # noqa: E402

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
def test_the_same_ids_and_the_same_text(name: str, tmp_path: Path) -> None:
    theirs = build(name)
    theirs.save(str(tmp_path / "tokenizer.json"))
    ours = Tokenizer.from_huggingface(tmp_path / "tokenizer.json")
    for text in HARD:
        same(ours, theirs, text)


@pytest.mark.parametrize("name", CONFIGURATIONS)
@settings(max_examples=25)
@given(text=pieces)
def test_the_same_ids_on_any_text(name: str, text: str) -> None:
    theirs = build(name)
    assert _ours(name).encode(text) == theirs.encode(text, add_special_tokens=False).ids


OURS: dict[str, Tokenizer] = {}


def _ours(name: str) -> Tokenizer:
    if name not in OURS:
        OURS[name] = Tokenizer.from_huggingface(build(name))
    return OURS[name]


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
        assert theirs.encode(text, add_special_tokens=False).ids == ours.encode(text)
        for texts in ((text,), (text, "a b")):
            written, given = theirs.encode(*texts), build(name).encode(*texts)
            assert written.ids == given.ids
            assert (written.offsets, written.type_ids) == (given.offsets, given.type_ids)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_offsets_are_in_order_and_spell_the_tokens_where_nothing_is_rewritten(name: str) -> None:
    ours = _ours(name)
    for text in HARD:
        ids, spans = ours.encode_with_offsets(text)
        assert ids == ours.encode(text)
        assert len(ids) == len(spans)
        assert all(0 <= start <= end <= len(text) for start, end in spans)
        assert [start for start, _ in spans] == sorted(start for start, _ in spans)


# Named traps, and places where libraries disagree with each other


def tokenizer_json(**changes: Any) -> dict[str, Any]:
    """A small tokenizer.json with all bytes and a few merges."""
    alphabet = [bpetite.bytelevel.encode_token(bytes([byte])) for byte in range(256)]
    vocab = {token: token_id for token_id, token in enumerate([*alphabet, "ab", "bc", "abc", "Ġa"])}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "vocab": vocab, "merges": ["b c", "a b", "Ġ a"]}
    model |= changes.pop("model", {})
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": model,
    } | changes


def both(**changes: Any) -> tuple[Tokenizer, Any]:
    found = tokenizer_json(**changes)
    return Tokenizer.from_huggingface(found), tokenizers.Tokenizer.from_str(json.dumps(found))


def added(content: str, token_id: int, **flags: bool) -> dict[str, Any]:
    nothing = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": token_id, "content": content, **nothing, **flags}


def test_a_token_without_a_merge_path_is_found_whole_only_with_ignore_merges() -> None:
    for ignore_merges in (False, True):
        ours, theirs = both(model={"ignore_merges": ignore_merges})
        assert ours.encode("abc") == theirs.encode("abc").ids == ([258] if ignore_merges else [97, 257])
        assert ours.encode("abcd") == theirs.encode("abcd").ids == [97, 257, 100]


def test_the_merge_list_decides_and_not_the_ids() -> None:
    ours, theirs = both()
    assert ours.encode("abc") == theirs.encode("abc").ids == [97, 257]
    with pytest.raises(ValueError, match="not the ids of the merge list"):
        ours.to_ranks()


def test_add_prefix_space_is_applied_after_every_special_too() -> None:
    step = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    ours, theirs = both(pre_tokenizer=step, added_tokens=[added("<s>", 260, special=True)])
    assert ours.encode("a<s>a a<s> a") == theirs.encode("a<s>a a<s> a").ids == [259, 260, 259, 259, 260, 259]
    assert ours.encode("") == theirs.encode("").ids == []


def trimming(prefix_space: bool, trims: bool = True) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": prefix_space, "trim_offsets": trims, "use_regex": True}


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


@pytest.mark.parametrize("key", ["trim_offsets", "add_prefix_space"])
def test_settings_of_trimming_are_true_or_false(key: str) -> None:
    with pytest.raises(FormatError, match=f"post_processor.{key} must be a bool, not 'yes'"):
        Tokenizer.from_huggingface(tokenizer_json(post_processor=trimming(True) | {key: "yes"}))


def test_lstrip_and_rstrip_take_the_space_with_them() -> None:
    ours, theirs = both(added_tokens=[added("<l>", 260, lstrip=True), added("<r>", 261, rstrip=True)])
    for text in ("a  <l> a", "a <r>  a", "<r> \n <l>", "<r> <r> <l> <l>", "\u3000<l>\x1f<r>\x85x"):
        assert ours.encode(text) == theirs.encode(text).ids
    assert ours.encode("a  <l>a<r> \n") == [97, 260, 97, 261]


def test_single_word_looks_at_the_characters_beside_it() -> None:
    ours, theirs = both(added_tokens=[added("foo", 260, single_word=True)])
    for text in ("foo", "afoo", "foo1", "_foo", "foo.", "éfoo", "foo\u0301", "foo\u200d", "foofoo", " foo "):
        assert ours.encode(text) == theirs.encode(text).ids, text


def test_normalized_added_tokens_are_found_in_normalized_text() -> None:
    ours, theirs = both(
        normalizer={"type": "NFC"},
        added_tokens=[added("cafe\u0301", 260, normalized=True), added("n\u0303", 261)],
    )
    for text in ("café cafe\u0301", "ñ n\u0303", "xn\u0303\u0301", "<cafe\u0301\u0301>"):
        assert ours.encode(text) == theirs.encode(text).ids, text


def test_the_longest_of_overlapping_added_tokens_is_taken() -> None:
    ours, theirs = both(added_tokens=[added("<s>", 260), added("<s><s>", 261), added("s><", 262)])
    assert ours.encode("<s><s><s>") == theirs.encode("<s><s><s>").ids == [261, 260]
    assert ours.encode("as><s>") == theirs.encode("as><s>").ids == [97, 262, 115, 62]


def test_partial_special_tokens_are_text() -> None:
    ours, theirs = both(added_tokens=[added("<|endoftext|>", 260, special=True)])
    for text in ("<|endoftext", "endoftext|>", "<|endo", "<|endoftext|><|endoftext|>", "<<|endoftext|>>"):
        assert ours.encode(text) == theirs.encode(text).ids


def test_white_space_is_unicodes() -> None:
    ours, theirs = both()
    for character in "\x1c\x1d\x1e\x1f\x85\xa0\u1680\u180e\u2000\u200b\u2028\u2029\u202f\u205f\u3000\ufeff":
        for text in (f"a{character}a", f"a {character} a", f"a{character}{character}a", character * 3):
            assert ours.encode(text) == theirs.encode(text).ids, repr(text)


def test_the_long_s_is_an_s_without_case() -> None:
    split = {"type": "Split", "pattern": {"Regex": "(?i:'s)|'"}, "behavior": "Isolated", "invert": False}
    byte = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    pre = {"type": "Sequence", "pretokenizers": [split, byte]}
    ours, theirs = both(pre_tokenizer=pre, model={"ignore_merges": True})
    for text in ("it's", "it'S", "it'ſ", "'ſs"):
        assert ours.encode(text) == theirs.encode(text).ids
    assert list(bpetite.pretokenize("it'ſ", ours.pattern)) == ["it", "'ſ"]  # type: ignore[arg-type]


def test_a_repeat_in_braces_with_a_plus_is_repeated_there_and_possessive_in_tiktoken() -> None:
    split = {"type": "Split", "pattern": {"Regex": r"\p{N}{1,3}+"}, "behavior": "Isolated", "invert": False}
    byte = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    ours, theirs = both(pre_tokenizer={"type": "Sequence", "pretokenizers": [split, byte]})
    assert [text for text, _ in theirs.pre_tokenizer.pre_tokenize_str("x12345y")] == ["x", "12345", "y"]
    assert list(bpetite.pretokenize("x12345y", ours.pattern)) == ["x", "12345", "y"]  # type: ignore[arg-type]


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


def test_a_byte_that_has_no_token_is_an_error_and_not_dropped() -> None:
    """``tokenizers`` drops the byte without a word when there is no unk_token."""
    found = tokenizer_json()
    del found["model"]["vocab"]["z"]
    found["model"]["vocab"]["<filler>"] = 122
    assert tokenizers.Tokenizer.from_str(json.dumps(found)).encode("z").ids == []
    with pytest.raises(ValueError, match="byte 0x7a"):
        Tokenizer.from_huggingface(found).encode("z")


def test_a_dropout_is_kept_and_off() -> None:
    ours = Tokenizer.from_huggingface(tokenizer_json(model={"dropout": 0.5}))
    assert {tuple(ours.encode("abc ab")) for _ in range(20)} == {(97, 257, 32, 256)}
    assert json.loads(bpetite.formats.huggingface.dump(ours._vocab))["model"]["dropout"] == 0.5


def test_added_tokens_of_the_same_bytes_as_a_token() -> None:
    """Phi and CodeGen have runs of spaces as tokens and again as added tokens."""
    found = tokenizer_json(added_tokens=[added(" a", 260, normalized=True)])
    ours, theirs = Tokenizer.from_huggingface(found), tokenizers.Tokenizer.from_str(json.dumps(found))
    assert ours.encode("b a") == theirs.encode("b a").ids == [98, 260]
    assert ours.encode_ordinary("b a") == [98, 259]
    assert ours.decode([259, 260]) == " a a"


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


def stretch(path: Path, start: int, length: int) -> str:
    return path.read_bytes()[start : start + length].decode("utf-8", "ignore")


@pytest.mark.parametrize("text", SHARED)
def test_gpt2_on_the_shared_texts(shared: Callable[[str], Path], text: str) -> None:
    theirs = tokenizers.Tokenizer.from_file(str(shared("gpt2/tokenizer.json")))
    ours = Tokenizer.load(shared("gpt2/tokenizer.json"))
    read = stretch(shared(text), 3_000_000 if "text/" in text else 0, 60_000)
    same(ours, theirs, read)
    assert ours.decode(ours.encode(read)) == read


@pytest.mark.slow
@pytest.mark.parametrize("text", SHARED)
def test_gpt2_all_over_the_shared_texts(shared: Callable[[str], Path], text: str) -> None:
    theirs = tokenizers.Tokenizer.from_file(str(shared("gpt2/tokenizer.json")))
    ours = Tokenizer.load(shared("gpt2/tokenizer.json"))
    for start in range(0, shared(text).stat().st_size, 4_000_000):  # that library reads a megabyte a second
        read = stretch(shared(text), start, 400_000)
        assert ours.encode(read) == theirs.encode(read).ids


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.parametrize("text", SHARED)
def test_every_configuration_on_the_shared_texts(shared: Callable[[str], Path], name: str, text: str) -> None:
    read = stretch(shared(text), 7_000_000 if "text/" in text else 0, 100_000)
    assert _ours(name).encode(read) == build(name).encode(read, add_special_tokens=False).ids


def test_the_file_of_gpt2_is_gpt2(shared: Callable[[str], Path]) -> None:
    ours = Tokenizer.from_huggingface(shared("gpt2/tokenizer.json"))
    assert ours == Tokenizer.from_files(shared("gpt2/vocab.json"), shared("gpt2/merges.txt"))
    assert ours.fingerprint() == Tokenizer.load(shared("gpt2")).fingerprint()
    assert ours.scanner in ("vector", "tables")


@pytest.mark.parametrize("name", ["roberta", "bert ends", "template", "template in a sequence", "gpt2"])
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


# Refused by name


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": [*steps, tokenizer_json()["pre_tokenizer"]]}


def split(pattern: Any, behavior: str = "Isolated") -> dict[str, Any]:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": False}


SPECIAL_X = {"SpecialToken": {"id": "x", "type_id": 0}}
TEXT_A = {"Sequence": {"id": "A", "type_id": 0}}


def template(single: list[Any], special: dict[str, Any]) -> dict[str, Any]:
    made = {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": special}
    return {"post_processor": made}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "WordPiece": ({"model": {"type": "WordPiece"}}, "the model is 'WordPiece', not byte-level BPE"),
    "Unigram": ({"model": {"type": "Unigram"}}, "'Unigram'"),
    "byte fallback": ({"model": {"byte_fallback": True}}, "model.byte_fallback True"),
    "prefix": ({"model": {"continuing_subword_prefix": "##"}}, "model.continuing_subword_prefix '##'"),
    "suffix": ({"model": {"end_of_word_suffix": "</w>"}}, "model.end_of_word_suffix '</w>'"),
    "unk for bytes": (
        {"model": {"unk_token": "<u>", "vocab": {"<u>": 0, "a": 1}, "merges": []}},
        "model.unk_token '<u>' stands for 255 bytes",
    ),
    "no pre-tokenizer": ({"pre_tokenizer": None}, "no ByteLevel"),
    "Metaspace": ({"pre_tokenizer": {"type": "Metaspace", "replacement": "_"}}, "pre-tokenizer Metaspace"),
    "Whitespace": ({"pre_tokenizer": sequence({"type": "Whitespace"})}, r"pre_tokenizer\[0\]: the pre-tok.* Whitesp"),
    "two ByteLevels": ({"pre_tokenizer": sequence(tokenizer_json()["pre_tokenizer"])}, "a second ByteLevel"),
    "Lowercase": ({"normalizer": {"type": "Lowercase"}}, "the normalizer Lowercase"),
    "decoder": ({"decoder": {"type": "Metaspace"}}, "the decoder Metaspace"),
    "post-processor": ({"post_processor": {"type": "Else"}}, "the post-processor Else"),
    "named group": ({"pre_tokenizer": sequence(split({"Regex": "(?<a>b)"}))}, r"'\(\?<a' at 0"),
    "reference": ({"pre_tokenizer": sequence(split({"Regex": r"(a)\1"}))}, r"'\\\\1' at 3"),
    "horizontal": ({"pre_tokenizer": sequence(split({"Regex": r"\h+"}))}, "h' at 0 means something else"),
    "broken pattern": ({"pre_tokenizer": sequence(split({"Regex": "(a"}))}, "'\\(' at 0 is not closed"),
    "behavior": ({"pre_tokenizer": sequence(split({"String": " "}, "Sideways"))}, "behavior 'Sideways'"),
    "removed bytes": (
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            tokenizer_json()["pre_tokenizer"], split({"String": "Ã"}, "Removed")]}},
        "could drop a part of a character",
    ),
    "added id": ({"added_tokens": [added("<s>", 300)]}, "'<s>' has the id 300, and tokenizers gives it 260"),
    "added twice": ({"added_tokens": [added("<s>", 260), added("<s>", 261)]}, "'<s>' is listed already"),
    "added huge id": ({"added_tokens": [added("<s>", 10**30)]}, "outside"),
    "added empty": ({"added_tokens": [added("", 260)]}, r"added_tokens\[0\]: a special token must not be empty"),
    "added flag": ({"added_tokens": [added("<s>", 260) | {"lstrip": 1}]}, r"added_tokens\[0\].lstrip"),
    "added is a byte": ({"added_tokens": [added("é", 233)]}, "also how the model spells the byte"),
    "unknown merge": ({"model": {"merges": ["a b", "x yz"]}}, r"model.merges\[1\] 'x yz': 'yz' is not in the voc"),
    "unknown pair": ({"model": {"merges": [["a", "b"], ["x", "yz"]]}}, r"model.merges\[1\] .*'yz' is not in the voc"),
    "merge of three": ({"model": {"merges": [["a", "b", "c"]]}}, r"model.merges\[0\] must be a pair"),
    "merge to nothing": ({"model": {"merges": ["x y"]}}, "gives b'xy', which is no token"),
    "merge of mixed kinds": ({"model": {"merges": [["a", "b"], "b c"]}}, r"model.merges\[1\] must be a pair"),
    "merges missing": ({"model": {"merges": None}}, "merges must be a JSON array"),
    "id repeated": ({"model": {"vocab": {"a": 1, "b": 1}}}, "'a' and 'b' have the same id 1"),
    "huge id": ({"model": {"vocab": {"a": 2**32}, "merges": []}}, "4294967296 is outside"),
    "negative id": ({"model": {"vocab": {"a": -1}, "merges": []}}, "-1 is outside"),
    "vocab a list": ({"model": {"vocab": [["a", 1]]}}, "must be a JSON object"),
    "template id": (template([SPECIAL_X, TEXT_A], {"x": {"id": "x", "ids": [999], "tokens": ["x"]}}), "puts in id 999"),
    "template name": (template([SPECIAL_X], {}), r"post_processor.single\[0\] is no part of a template"),
    "template without text": (template([], {}) | template([SPECIAL_X], {"x": {"ids": [1]}}), "must have A once each"),
    "template with two texts": (template([TEXT_A, TEXT_A], {}), "must have A once each, not"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_honoured_is_refused_by_name(what: str, tmp_path: Path) -> None:
    changes, message = REFUSED[what]
    place = tmp_path / "tokenizer.json"
    place.write_text(json.dumps(tokenizer_json(**changes)), encoding="utf-8")
    with pytest.raises(FormatError, match=message) as caught:
        Tokenizer.load(place)
    assert str(place) in str(caught.value)


def test_other_sources_are_refused() -> None:
    with pytest.raises(TypeError, match="int"):
        Tokenizer.from_huggingface(7)
    with pytest.raises(FileNotFoundError):
        Tokenizer.from_huggingface("no-such-file.json")


def test_a_version_of_unicode_cannot_be_written(tmp_path: Path) -> None:
    tok = Tokenizer.train("ab ab", 257, unicode="13.0")
    with pytest.raises(FormatError, match=r"cannot hold unicode='13.0': .*replace\(vocab, unicode=None\)"):
        tok.save(tmp_path / "tokenizer.json")
    assert list(tmp_path.iterdir()) == []
