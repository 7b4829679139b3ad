"""bpetite's own format: every setting, step and template comes back, and what is none is refused by name."""
import json
import re
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer, formats
from bpetite.errors import FormatError
from bpetite.formats import native
from bpetite.formats._json_tokens import members
from bpetite.steps.charsmap import Precompiled
from bpetite.steps.normalizers import FORMS, MAPS, Mapped, Prepend, Replace
from bpetite.steps.splits import BEHAVIORS, PREFIXES, Metaspace, PrefixSpace, Printable, Split
from bpetite.steps.template import Template, TemplatePart
from bpetite.vocabulary.vocab import Vocab

TOKENS = {0: b"a", 1: b"<s>", 2: b"\xff", 3: b"\xfe", 4: "é".encode()}
#: The map of no strings.
EMPTY = "BAAAAAAAAAA="

regexes = st.sampled_from(["[ab]", r"\s+", " ", r"\ ", r"(?<=a)b|^\X$", "a*", "", "-", " ?[^ ]+"])
splits = st.builds(Split, regexes, st.sampled_from(BEHAVIORS), st.booleans())
spaces = st.builds(Metaspace, st.sampled_from("▁_"), st.sampled_from(PREFIXES), st.booleans())
patterns = st.lists(st.one_of(regexes, splits, spaces, st.just(PrefixSpace()))).map(tuple)
printable = st.lists(st.one_of(regexes, splits.filter(lambda split: split.behavior != "removed")), min_size=1)

short = st.text("ab \\1.", max_size=3)
normalizers = st.one_of(
    st.sampled_from(FORMS), st.builds(Prepend, short), st.builds(Replace, short.map(regex.escape), short),
    st.builds(Mapped, st.sampled_from(MAPS)),
    st.builds(Precompiled, st.just(EMPTY), st.booleans(), st.sampled_from(["", "a|b"])),
)  # fmt: skip

A = TemplatePart(text="A")
parts = st.lists(
    st.builds(TemplatePart, st.lists(st.sampled_from([*TOKENS]), max_size=2).map(tuple), type_id=st.integers(0, 2)),
    max_size=3,
).map(tuple)


def loads(data: bytes) -> Vocab:
    return native.read(data, "memory", members(data))


def same(vocab: Vocab) -> None:
    again = loads(native.dump(vocab))
    assert again == vocab
    assert again.fingerprint() == vocab.fingerprint()


@pytest.mark.parametrize(
    "settings",
    [
        {"pattern": 'quotes " and \\ and é\n'},
        {"ignore_merges": True},
        {"errors": "replace"},
        {"unreachable": {20, 21, 22, 23}},
    ],
)
def test_every_setting_comes_back(settings: dict[str, object]) -> None:
    hidden = {20: b"", 21: b"a", 22: b"ab", 23: b"ab"} if "unreachable" in settings else {}
    tokens = {7: b"a", 2**32 - 1: b"b", 0: b"ab"} | hidden
    vocab = Vocab.build(tokens, [(b"a", b"b")], {"ab": 0, "<x y>": 9, "<x>": 9, "<a>": 9}, **settings)
    assert vocab.aliases.keys() == {"<x>", "<a>"}
    same(vocab)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"\p{N]|[a}]|(", "not a regular expression: missing ) at position 12"),
        ([r"\d", "a{2,1}"], "not a regular expression: min repeat greater than max repeat at position 2"),
        ("(?:" * 3_000 + "a" + ")" * 3_000, "not a regular expression: groups too deep inside each other"),
        ("a\ud800", "a lone surrogate at position 1"),
    ],
)
def test_a_file_with_what_is_no_pattern(pattern: object, reason: str, tmp_path: Path) -> None:
    content = json.loads(native.dump(Vocab({0: b"a"}, (), {})))
    path = tmp_path / "tok.json"
    path.write_text(json.dumps({**content, "pattern": pattern}))
    with pytest.raises(FormatError, match=rf"tok\.json: .*{re.escape(reason)}"):
        Tokenizer.load(path)


def test_a_file_with_a_pattern_that_takes_too_long_to_compile_loads(tmp_path: Path) -> None:
    path = tmp_path / "tok.json"
    path.write_bytes(native.dump(Vocab({0: b"a"}, (), {}, pattern="(?:(?:a{64}){64}){64}b|.")))
    tok = Tokenizer.load(path)
    assert tok.scanner == "regex"
    assert tok.encode("aa") == [0, 0]


literals = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("unreachable", {"a": 9}, "unreachable must be an array, not {'a': 9}"),
        ("unreachable", [["a"]], "unreachable: .* is not an array of a token and its id"),
        ("unreachable", [["a", True]], "unreachable: .* is not an array of a token and its id"),
        ("unreachable", [["a", 9], ["", 9]], "unreachable: the id 9 occurs twice"),
        ("unreachable", [["a b", 9]], r"unreachable: 'a b': ' ' \(U\+0020\) at 1"),
        ("unreachable", [["a", 0]], "unreachable: the id 0 of b'a' belongs to b'a'"),
        ("unreachable", [["a", 1]], "unreachable: the id 1 of b'a' belongs to b'<s>'"),
        ("unreachable", [["a", -1]], "id -1 is outside"),
        ("aliases", [], r"aliases must be an object of ids, not \[\]"),
        ("aliases", {"<t>": "1"}, "aliases must be an object of ids"),
        ("aliases", {"<t>": 0}, "'<t>' with the id 0 is no other name of a special token"),
        ("aliases", {"<s>": 1}, "'<s>' with the id 1 is no other name of a special token"),
        ("aliases", {"": 1}, "a special token must not be empty"),
        ("pattern", 7, "pattern must be a string, an array of strings, an object or null, not 7"),
        ("pattern", ["a", {"type": "Split"}], "pattern must be a string, an array of strings"),
        ("pattern", {"type": "Suffix"}, "pattern: bpetite does not have the pre-tokenizer Suffix"),
        ("pattern", {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"}, "not a regular expression"),
        ("pattern", {"type": "Split", "pattern": {"Regex": "a"}, "behavior": "sideways"}, "behavior 'sideways' is not"),
        ("normalization", {"type": "Uppercase"}, "normalization: bpetite does not have the normalizer Uppercase"),
        ("normalization", {"type": "Precompiled", "precompiled_charsmap": EMPTY, "kept": 1}, "kept must be a"),
        ("template", [], r"template must be an object with a type, not \[\]"),
        ("template", {"type": "TemplateProcessing"}, "template.special_tokens must be an object, not None"),
    ],
)
def test_what_is_wrong_with_a_member_is_named(key: str, value: object, message: str) -> None:
    content = json.loads(native.dump(Vocab({0: b"a", 1: b"<s>"}, (), {"<s>": 1})))
    data = json.dumps(content | {key: value}).encode()
    with pytest.raises(FormatError, match=f"memory: .*{message}"):
        loads(data)


@given(st.sets(st.binary(max_size=5)), st.sets(literals))
def test_any_bytes_and_any_special_tokens_come_back(tokens: set[bytes], specials: set[str]) -> None:
    same(Vocab.build(dict(enumerate(tokens)), None, sorted(specials)))


@given(st.one_of(st.none(), regexes, splits, patterns), st.one_of(st.none(), printable))
def test_patterns_come_back(pattern: Any, after: list[Any] | None) -> None:
    if after is not None:
        pattern = (*(pattern if isinstance(pattern, tuple) else (pattern,) if pattern else ()), Printable(), *after)
    same(Vocab(TOKENS, (), {}, pattern=pattern))


@given(st.one_of(st.none(), normalizers, st.lists(normalizers).map(tuple)))
def test_normalizations_come_back(normalization: Any) -> None:
    same(Vocab(TOKENS, (), {}, normalization=normalization))


@given(parts, parts, parts, st.booleans(), st.lists(st.booleans(), max_size=2).map(tuple))
def test_templates_come_back(one: Any, other: Any, third: Any, single: bool, trims: tuple[bool, ...]) -> None:
    pair = (*one, TemplatePart(text="B", type_id=1), *third, A, *other)
    same(Vocab(TOKENS, (), {}, template=Template((*one, A, *other) if single else (), pair, trims)))


def test_the_spelling_is_that_of_tokenizer_json() -> None:
    vocab = Vocab(TOKENS, (), {}, pattern=(Split(" ", "removed"), Printable()), normalization=(Prepend("x"), "NFC"),
                  template=Template((TemplatePart((1,)), A), ()))  # fmt: skip
    content = json.loads(native.dump(vocab))
    assert content["pattern"] == {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False}, {"type": "Printable"}
    ]}  # fmt: skip
    assert content["normalization"] == {
        "type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "x"}, {"type": "NFC"}]
    }  # fmt: skip
    assert content["template"]["single"][0] == {"SpecialToken": {"id": "<s>", "type_id": 0}}


def test_the_file_is_for_reading() -> None:
    vocab = Vocab.build({0: b"a", 1: b" ", 2: b" a"}, [(b" ", b"a")], ["<s>"], pattern=None)
    lines = native.dump(vocab).decode().splitlines()
    assert {'  "Ġ": 1,', '  "Ġ a"', ' "special_tokens": {"<s>": 3},'} <= {*lines}
    content = json.loads(native.dump(vocab))
    assert content["made_with"]["regex"] == regex.__version__
    assert content["unicode"] == "16.0"


def test_the_packaged_file_is_what_this_release_writes() -> None:
    path = formats.packaged("bpetite-32k")
    assert path is not None
    files = Path(path).read_bytes(), native.dump(formats.load(path))
    shipped, written = (re.sub(rb'"made_with".*', b"", data) for data in files)
    assert shipped == written


def test_the_version_of_unicode_is_checked() -> None:
    vocab = Vocab({0: b"a"}, (), {})
    data = native.dump(vocab)
    assert b' "unicode": "16.0",\n' in data
    for known in (b"", b' "unicode": null,\n'):
        assert loads(data.replace(b' "unicode": "16.0",\n', known)) == vocab
    for bad in (b'"99.0"', b"16.0", b"[]"):
        with pytest.raises(FormatError, match=r"memory: unicode .*: this release of bpetite has the characters of"):
            loads(data.replace(b'"16.0"', bad))


def test_it_is_the_same_for_every_order() -> None:
    one = Vocab({0: b"a", 1: b"b", 2: b"<s>", 3: b"<t>"}, (), {"<s>": 2, "<t>": 3})
    other = Vocab({3: b"<t>", 1: b"b", 0: b"a", 2: b"<s>"}, (), {"<t>": 3, "<s>": 2})
    assert one == other
    assert native.dump(one) == native.dump(other)
