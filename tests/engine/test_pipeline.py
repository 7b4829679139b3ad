"""What happens around the compiled core where a vocabulary asks for it, through every method that encodes."""
import json
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import assume, given, settings
from hypothesis import seed as reproduce
from hypothesis import strategies as st

from bpetite import FormatError, Tokenizer, Vocab
from bpetite.bytelevel import ALPHABET
from bpetite.steps.normalizers import Prepend, Replace, normalizer
from bpetite.steps.splits import PrefixSpace, Printable, Split
from bpetite.steps.template import Template, TemplatePart

BYTES = {byte: bytes([byte]) for byte in range(256)}
WORDS = {256: b" a", 257: b"ab", 258: b" ab", 259: b"\xc3\xa9"}
MERGES = ((32, 97), (97, 98), (256, 98), (0xC3, 0xA9))
SPECIAL = {"<s>": 300, "<m>": 301, "foo": 302}


def make(**settings: Any) -> Tokenizer:
    tokens = BYTES | WORDS | {token_id: literal.encode() for literal, token_id in SPECIAL.items()}
    return Tokenizer.from_vocab(Vocab(tokens, MERGES, SPECIAL, **({"pattern": r" ?\w+|\s+|\W"} | settings)))


TOKENIZERS = {
    "prefix space": make(pattern=(PrefixSpace(), r" ?\w+|\s+")),
    "prefix space, twice cut": make(pattern=(r"\d", PrefixSpace(), r" ?\w+|\s+")),
    "removed": make(pattern=(Split(r"\s+", "removed"), PrefixSpace())),
    "merged": make(pattern=(Split(" ", "merged_with_next"), Split("b", "merged_with_previous"))),
    "printable": make(pattern=(r" ?\w+", Printable(), "Ã", Split("Ġ", "merged_with_next"))),
    "flags": make(token_flags={"<m>": ("lstrip", "rstrip"), "foo": ("single_word", "plain")}),
    "late": make(token_flags={"<m>": ("normalized",), "foo": ("normalized", "lstrip")}, normalization="NFC"),
    "rewritten": make(normalization=(Prepend("ab "), Replace("e\u0301|x+", "é"), "NFKC")),
    "all": make(
        pattern=(PrefixSpace(), r" ?\w+|\s+"),
        normalization=(Replace("  ", " "), "NFC"),
        token_flags={"<m>": ("lstrip",), "foo": ("single_word",), "<s>": ("normalized", "rstrip")},
    ),
}
#: Cut by the core alone, since plain patterns cut alike.
COMPILED = {"merged"}
bits = ["a", "b", " ", "  ", "é", "e\u0301", "<s>", "<m>", "<m", "foo", "x", "1", "中", "ﬁ", "\n"]
texts = st.lists(st.sampled_from(bits), max_size=12).map("".join)


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=30)
@given(text=texts)
def test_every_method_gives_the_same_ids(name: str, text: str) -> None:
    tok = TOKENIZERS[name]
    assert tok.scanner == ("vector" if name in COMPILED else "pipeline")
    ids = tok.encode(text)
    assert tok.encode(text.encode()) == ids
    assert tok.encode_to_numpy(text).tolist() == ids
    assert tok.count(text) == len(ids)
    assert tok.encode_batch([text, "ab", text]) == [ids, tok.encode("ab"), ids]
    flat, offsets = tok.encode_batch_to_numpy([text, text], num_threads=2)
    assert (flat.tolist(), offsets.tolist()) == (ids + ids, [0, len(ids), 2 * len(ids)])
    assert tok.encode(text, allowed_special=()) == tok.encode_ordinary(text)
    assert tok.encode(text, allowed_special={"<s>"}) == [*tok.encode_iterable([*text], allowed_special={"<s>"})]


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=30)
@given(text=texts)
def test_spans_are_in_order_and_stay_in_the_text(name: str, text: str) -> None:
    tok = TOKENIZERS[name]
    ids, spans = tok.encode_with_offsets(text)
    assert ids == tok.encode(text)
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert all(one[0] <= other[0] and one[1] <= other[1] for one, other in pairwise(spans))
    if name in ("prefix space", "merged", "printable"):
        covered = {place for start, end in spans for place in range(start, end)}
        assert covered == set(range(len(text)))


@pytest.mark.parametrize(
    ("name", "text", "ids", "spans"),
    [
        ("prefix space", "ab ab", [258, 258], [(0, 2), (2, 5)]),
        ("prefix space", " ab<s>b", [258, 300, 32, 98], [(0, 3), (3, 6), (6, 7), (6, 7)]),
        ("removed", "ab  ab", [258, 258], [(0, 2), (4, 6)]),
        ("flags", "ab <m>  ab", [257, 301, 257], [(0, 2), (2, 8), (8, 10)]),
        ("flags", "foo foob", [302, 32, 102, 111, 111, 98], [(0, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8)]),
        ("rewritten", "xxa", [257, 32, 259, 97], [(0, 1), (0, 1), (1, 2), (2, 3)]),
        ("late", "e\u0301<m>", [259, 301], [(0, 1), (2, 5)]),
    ],
)
def test_spans_point_into_the_text_as_given(name: str, text: str, ids: list[int], spans: list[tuple[int, int]]) -> None:
    assert TOKENIZERS[name].encode_with_offsets(text) == (ids, spans)


def test_errors_are_those_of_every_tokenizer() -> None:
    tok = TOKENIZERS["all"]
    with pytest.raises(UnicodeEncodeError):
        tok.encode("a\ud800")
    with pytest.raises(UnicodeDecodeError):
        tok.encode(b"a\xff")
    with pytest.raises(ValueError, match="'<m>' at offset 2"):
        tok.encode("a <m>", disallowed_special={"<m>"})
    with pytest.raises(ValueError, match="not a special token"):
        tok.encode("a", allowed_special={"<x>"})


def test_a_plain_vocabulary_has_none() -> None:
    flags = {"foo": ("plain",)}
    for plain in ({}, {"token_flags": flags}, {"normalization": "NFC"}, {"pattern": (r"\d", r" ?\w+|\s+")}):
        assert make(**plain).scanner != "pipeline"


def test_it_compares_pickles_and_saves_like_any_other(tmp_path: Any) -> None:
    import pickle

    for number, tok in enumerate(TOKENIZERS.values()):
        assert pickle.loads(pickle.dumps(tok)) == tok
        tok.save(tmp_path / f"{number}.json")
        assert Tokenizer.load(tmp_path / f"{number}.json").fingerprint() == tok.fingerprint()
    assert len({tok.fingerprint() for tok in TOKENIZERS.values()}) == len(TOKENIZERS)


# What a vocabulary refuses


def test_flags_and_templates_that_make_no_sense() -> None:
    for wrong in ({"<x>": ("lstrip",)}, {"<s>": ("sideways",)}, {"<s>": ()}):
        with pytest.raises(ValueError, match="token_flags"):
            make(token_flags=wrong)
    with pytest.raises(ValueError, match="id 999, which is no token"):
        make(template=Template((TemplatePart((999,)), TemplatePart(text="A")), ()))


def test_all_forms_take_the_same_keywords() -> None:
    tok = make(template=Template((TemplatePart((300,)), TemplatePart(text="A"), TemplatePart((301, 302))), ()))
    text = "ab <s>ab abab"
    for special in ({}, {"allowed_special": ()}, {"disallowed_special": ["<m>"]}):
        for random in ({}, {"dropout": 0.5, "seed": 3}):
            options: dict[str, Any] = {"num_threads": 1, "add_special_tokens": True, **special, **random}
            ids = tok.encode(text, **options)
            assert tok.encode_to_numpy(text, **options).tolist() == ids
            assert tok.encode_batch([text], **options) == [ids]
            assert tok.encode_batch_to_numpy([text], **options)[0].tolist() == ids
            assert tok.count_batch([text], **options).tolist() == [len(ids)]
            assert tok.encode_padded([text], **options).input_ids.tolist() == [ids]
            assert [*tok.encode_iterable(text, **options)] == ids
            found, spans = tok.encode_with_offsets(text, **options)
            assert found == ids
            assert (spans[0], spans[-2:]) == ((0, 0), [(0, 0), (0, 0)])
            assert [text[start:end] for start, end in spans] == ["", *map(tok.decode, zip(ids[1:-2])), "", ""]


def test_a_template_goes_around_arrays_and_lists() -> None:
    tok = make(template=Template((TemplatePart((300,)), TemplatePart(text="A"), TemplatePart((301, 302))), ()))
    assert tok.encode("ab", add_special_tokens=True) == [300, 257, 301, 302]
    assert tok.encode("ab") == [257]
    batch = tok.encode_padded(["ab", "ab ab"], pad_token=0, add_special_tokens=True)
    assert batch.input_ids.tolist() == [[300, 257, 301, 302, 0], [300, 257, 258, 301, 302]]
    assert batch.attention_mask.dtype == np.int8


def test_without_a_template_no_special_tokens_are_put_around_a_text() -> None:
    """As in ``tokenizers``."""
    for tok in (make(), make(template=Template((TemplatePart(text="A"),), ()))):
        assert tok.encode("ab", add_special_tokens=True) == tok.encode("ab")
        assert tok.encode_to_numpy("ab", add_special_tokens=True).tolist() == tok.encode("ab")
        assert tok.encode_batch(["ab"], add_special_tokens=True) == [tok.encode("ab")]
        assert tok.encode_padded(["ab"], pad_token=0, add_special_tokens=True).input_ids.tolist() == [tok.encode("ab")]
        assert [*tok.encode_iterable(["ab"], add_special_tokens=True)] == tok.encode("ab")
        assert tok.encode_with_offsets("ab", add_special_tokens=True) == tok.encode_with_offsets("ab")
        assert tok.count_batch(["ab"], add_special_tokens=True).tolist() == [len(tok.encode("ab"))]
        for limit in (None, 9):
            assert tok.count("ab", limit=limit, add_special_tokens=True) == tok.count("ab")


# Files of all parts at random: added tokens with every combination of flags, sequences of splits, rewritings

ADDED = ("single_word", "lstrip", "rstrip", "normalized", "special")
BYTELEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
PRINTABLE = {character: token_id for token_id, character in enumerate(ALPHABET)}
letters = ["a", "b", "x", "_", " ", "\n", "\u212b", "<", "s", ">", "-", "中", "\u200d", "ﬁ"]
literals = st.text(st.sampled_from(letters), min_size=1, max_size=4)


def pair(model: dict[str, Any], **parts: Any) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    """The tokenizer of a file here and there."""
    content = {
        "version": "1.0", "truncation": None, "padding": None, "post_processor": None, "normalizer": None,
        "added_tokens": [], "decoder": None, "pre_tokenizer": BYTELEVEL, "model": model, **parts,
    }  # fmt: skip
    return Tokenizer.from_huggingface(content), tokenizers.Tokenizer.from_str(json.dumps(content))


EXPRESSIONS = [
    "[0-9][0-9][0-9]", r"\p{N}{1,3}", " ", r"\s+", "[aeiou]", "²", ".", "[^a1]+", r"\p{L}+|\s|\S",
    "a|ab|b", r"\s+(?!\S)|\s|\S+",
]  # fmt: skip
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
kept = st.sampled_from(BEHAVIORS[1:])


def split_steps(behaviors: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.fixed_dictionaries({
            "type": st.just("Split"), "pattern": st.sampled_from(EXPRESSIONS).map(lambda one: {"Regex": one}),
            "behavior": behaviors, "invert": st.booleans(),
        }),
        st.fixed_dictionaries({"type": st.just("Punctuation"), "behavior": kept}),
        st.fixed_dictionaries({"type": st.just("Digits"), "individual_digits": st.booleans()}),
    )  # fmt: skip


PARTS = [ALPHABET[byte] for byte in b"a 1\xc2\xb2"]
PAIRS = {
    "type": "BPE", "merges": [[left, right] for left in PARTS for right in PARTS],
    "vocab": PRINTABLE | {"".join(two): 256 + number for number, two in enumerate(product(PARTS, PARTS))},
}  # fmt: skip


hostile_bits = [*"a  1923²½ò中é\n\t.,-'e\u0301\u3000\U0001f642", "aa", "111", "  ", "'s", "Ⅷ", "\x85"]

rewriting = st.one_of(
    st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]).map(lambda form: {"type": form}),
    st.sampled_from(["a", "_", " ", "\u0301"]).map(lambda text: {"type": "Prepend", "prepend": text}),
    st.builds(
        lambda pattern, content: {"type": "Replace", "pattern": pattern, "content": content},
        st.sampled_from([{"String": " "}, {"String": "ab"}, {"Regex": r"\s+"}, {"Regex": "[b-x]"}, {"Regex": "^a|1$"}]),
        st.sampled_from(["", "_", "a", " 1", "²"]),
    ),
    st.builds(lambda left, right: {"type": "Strip", "strip_left": left, "strip_right": right}, *[st.booleans()] * 2),
)
PLAIN: dict[str, Any] = {
    "rewritings": [], "before": [], "bytelevel": BYTELEVEL, "after": [], "found": {}, "options": {}, "around": None,
}  # fmt: skip
flags = st.tuples(*[st.booleans()] * 5)
FILES: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "added tokens": st.fixed_dictionaries({
        "rewritings": st.lists(rewriting, max_size=1),
        "found": st.dictionaries(literals, flags, min_size=1, max_size=5),
    }),
    "splits": st.fixed_dictionaries({
        "before": st.lists(split_steps(st.sampled_from(BEHAVIORS)), max_size=2),
        "bytelevel": st.booleans().map(lambda use_regex: {"use_regex": use_regex}),
        "after": st.lists(split_steps(kept), max_size=2),
    }),
    "everything": st.fixed_dictionaries({
        "rewritings": st.lists(rewriting, max_size=3),
        "before": st.lists(split_steps(st.sampled_from(BEHAVIORS)), max_size=2),
        "bytelevel": st.fixed_dictionaries({"add_prefix_space": st.booleans(), "use_regex": st.booleans()}),
        "after": st.lists(split_steps(kept), max_size=1),
        "found": st.dictionaries(literals, flags, max_size=4),
        "options": st.fixed_dictionaries({"ignore_merges": st.booleans()}),
        "around": st.none() | st.tuples(st.lists(st.sampled_from([97, 256]), max_size=2), st.just([49])),
    }),
}  # fmt: skip


def random_file(
    rewritings: Any, before: Any, bytelevel: Any, after: Any, found: Any, options: Any, around: Any
) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    model = PAIRS | options
    vocab = model["vocab"]
    order = sorted(found, key=lambda one: not found[one][4])  # special tokens come first, as in files
    new = [literal for literal in order if literal not in vocab]
    ids = {one: vocab[one] if one in vocab else len(vocab) + new.index(one) for one in order}
    added = [{"id": ids[one], "content": one, **dict(zip(ADDED, found[one], strict=True))} for one in ids]
    numbers = {str(token_id): {"id": str(token_id), "ids": [token_id], "tokens": ["x"]} for token_id in (97, 256, 49)}
    parts: dict[str, Any] = {}
    if around is not None:
        special = [[{"SpecialToken": {"id": str(one), "type_id": 0}} for one in side] for side in around]
        single = [*special[0], {"Sequence": {"id": "A", "type_id": 0}}, *special[1]]
        parts["post_processor"] = {
            "type": "TemplateProcessing", "single": single, "special_tokens": numbers,
            "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}],
        }  # fmt: skip
    steps = [*before, BYTELEVEL | bytelevel, *after]
    return pair(
        model, normalizer={"type": "Sequence", "normalizers": rewritings} if rewritings else None, decoder=BYTELEVEL,
        pre_tokenizer={"type": "Sequence", "pretokenizers": steps}, added_tokens=added, **parts,
    )  # fmt: skip


text_of_bits = st.lists(st.sampled_from([*hostile_bits, *letters]), max_size=20).map("".join)
written = st.lists(text_of_bits, min_size=1, max_size=5)


def check_file(parts: dict[str, Any], given_texts: list[str]) -> None:
    parts = PLAIN | parts
    found = parts["found"]
    assume(not found.get("aa", (False,))[-1])  # merges give no special token here, and do there
    try:
        ours, theirs = random_file(**parts)
    except FormatError as error:  # of such tokens, some are refused
        assume("is normalized to nothing" not in str(error))
        raise
    normalize = normalizer(ours.normalization)
    if normalize is not None:  # which of two that normalize alike is meant depends on more than the file
        made = {normalize(literal) for literal in found}
        assume(len(made) == len(found))
        assume("" not in made)  # there it cuts the text between all characters
    for text in [*given_texts, "".join(found), " ".join(found)]:
        try:
            expected = theirs.encode(text)
        except BaseException as panic:  # a stripped token that ends before it begins
            if type(panic).__name__ != "PanicException":
                raise
            continue
        added = ours.template is not None
        assert ours.encode(text, add_special_tokens=added) == expected.ids, text
        plain = theirs.encode(text, add_special_tokens=False).ids
        assert ours.count(text) == len(plain)
        assert list(ours.encode_iterable([*text])) == plain
        assert ours.encode_with_offsets(text)[0] == plain
        assert ours.encode_batch([text.encode()] * 2) == [plain] * 2  # from the word cache, too
        if normalize is None or not found:  # there they decode to what they are normalized to
            assert ours.decode(plain, errors="replace") == theirs.decode(plain, skip_special_tokens=False)


@pytest.mark.parametrize("what", FILES)
@settings(max_examples=600)
@given(data=st.data())
def test_any_file_gives_the_ids_of_tokenizers(what: str, data: st.DataObject) -> None:
    check_file(data.draw(FILES[what]), data.draw(written))


@pytest.mark.slow
@pytest.mark.parametrize("what", FILES)
def test_many_files_give_the_ids_of_tokenizers(what: str) -> None:
    reproduce(0)(settings(max_examples=400, database=None)(given(FILES[what], written)(check_file)))()


SPECIAL_ONE = (False, False, False, False, True)
FOUND = [
    ({"<s>x": SPECIAL_ONE, "ab": (True, False, False, True, False)}, ["<s>xab abx ab", "<s>xab", "<s>xabx"]),
    ({"x": (False, False, True, False, True), " ": (False, True, True, False, True), "\ny": SPECIAL_ONE},
     ["x  ", "x \ny", "x \n y", " x ", "  x"]),
]  # fmt: skip


@given(st.sampled_from(FOUND))
def test_files_that_were_found_at_random(case: tuple[Any, list[str]]) -> None:
    check_file({"found": case[0]}, case[1])


def test_falcons_splits_see_the_printable_form(tmp_path: Any) -> None:
    digits = {"type": "Split", "pattern": {"Regex": "[0-9][0-9][0-9]"}, "behavior": "Isolated", "invert": False}
    before = [{"type": "Punctuation", "behavior": "Contiguous"}]
    after = [{"type": "Digits", "individual_digits": False}, digits]
    ours, theirs = random_file(**PLAIN | {"before": before, "after": after})
    assert ours.scanner == "pipeline"
    text = "It's 12345 ... ²²1234 òòò 中文字 \x00\x7f (1,000,000.00)--\n" * 700 + "1" * 5000 + "²" * 5000
    expected = theirs.encode(text).ids
    assert ours.encode(text) == ours.encode(text, num_threads=4) == expected
    ours.save(tmp_path / "tokenizer.json")
    written = json.loads((tmp_path / "tokenizer.json").read_text())["pre_tokenizer"]["pretokenizers"]
    assert [step["type"] for step in written] == ["Punctuation", "ByteLevel", "Split", "Split"]
    assert written[0]["behavior"] == "Contiguous"


def test_a_byte_that_has_no_token_is_named_where_a_pre_token_is_cut_again() -> None:
    tokens = {byte: bytes([byte]) for byte in range(256) if byte != 0xB2}
    tok = Tokenizer.from_vocab(Vocab(tokens, (), {}, pattern=(r"\w+|\W+", Printable(), r"\p{N}")))
    assert tok.encode("a1") == [97, 49]
    with pytest.raises(ValueError, match="byte 0xb2, at offset 3 of the rewritten text"):
        tok.encode("a1²")
