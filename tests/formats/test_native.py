"""bpetite's own format."""
import json
import re
from pathlib import Path

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer
from bpetite.errors import FormatError
from bpetite.formats import native
from bpetite.formats._json_tokens import members
from bpetite.vocabulary.vocab import Vocab


def loads(data: bytes) -> Vocab:
    return native.read(data, "memory", members(data))


@pytest.mark.parametrize(
    "settings",
    [
        {"pattern": None},
        {"pattern": (r"\d{1,3}", r"\s+|\S+")},
        {"pattern": 'quotes " and \\ and é\n'},
        {"normalization": "NFC"},
        {"ignore_merges": True},
        {"errors": "replace"},
        {"unreachable": {20, 21, 22, 23}},
        {"normalization": "NFKC"},
    ],
)
def test_every_setting_comes_back(settings: dict[str, object]) -> None:
    hidden = {20: b"", 21: b"a", 22: b"ab", 23: b"ab"} if "unreachable" in settings else {}
    tokens = {7: b"a", 2**32 - 1: b"b", 0: b"ab"} | hidden
    vocab = Vocab.build(tokens, [(b"a", b"b")], {"ab": 0, "<x y>": 9, "<x>": 9, "<a>": 9}, **settings)
    assert vocab.aliases.keys() == {"<x>", "<a>"}
    assert loads(native.dump(vocab)) == vocab


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
    ],
)
def test_what_is_wrong_with_unreachable_tokens_and_aliases(key: str, value: object, message: str) -> None:
    content = json.loads(native.dump(Vocab({0: b"a", 1: b"<s>"}, (), {"<s>": 1})))
    data = json.dumps(content | {key: value}).encode()
    with pytest.raises(FormatError, match=message):
        loads(data)


@given(st.sets(st.binary(max_size=5)), st.sets(literals))
def test_any_bytes_and_any_special_tokens_come_back(tokens: set[bytes], specials: set[str]) -> None:
    vocab = Vocab.build(dict(enumerate(tokens)), None, sorted(specials))
    assert loads(native.dump(vocab)) == vocab


def test_the_file_is_for_reading() -> None:
    vocab = Vocab.build({0: b"a", 1: b" ", 2: b" a"}, [(b" ", b"a")], ["<s>"], pattern=None)
    lines = native.dump(vocab).decode().splitlines()
    assert {'  "Ġ": 1,', '  "Ġ a"', ' "special_tokens": {"<s>": 3},'} <= {*lines}
    content = json.loads(native.dump(vocab))
    assert content["made_with"]["regex"] == regex.__version__
    assert content["unicode"] == "16.0"


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
