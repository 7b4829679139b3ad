"""The texts of plain JSON lines: those of the standard library's parser, or left to it."""
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bpetite.corpus.read._json_lines import plain_texts

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=80) | st.text('ab"\\/\n\x00é漢🙂', max_size=80)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8,
)  # fmt: skip


def read(data: bytes, key: bytes = b"text") -> tuple[list[bytes], int]:
    """The texts, and where the next line starts."""
    texts, number, at = plain_texts(data, key, b"\xff")
    assert texts.count(b"\xff") == number
    return texts.split(b"\xff")[:-1], at


@settings(max_examples=200, deadline=None)
@given(
    records=st.lists(st.tuples(st.dictionaries(TEXTS, VALUES, max_size=3), TEXTS), max_size=5),
    ascii=st.booleans(), spaces=st.sampled_from(["", " ", "\t \r"]), last=st.booleans(),
)  # fmt: skip
def test_records_of_any_writer(records: list[tuple[dict[str, Any], str]], ascii: bool, spaces: str, last: bool) -> None:
    plain = [
        {**others, "text": text} for others, text in records
        if all("\\" not in key and json.dumps(key, ensure_ascii=ascii) == f'"{key}"' for key in others)
    ]  # fmt: skip
    separators = (f"{spaces},{spaces}", f"{spaces}:{spaces}")
    lines = [
        spaces + json.dumps(record, ensure_ascii=ascii, separators=separators) + spaces for record in plain
    ]
    lines[len(lines) // 2 : len(lines) // 2] = ["", spaces]
    data = "\n".join(lines).encode() + b"\n" * last
    assert read(data) == ([record["text"].encode() for record in plain], len(data))


#: Everything that a line may have in a place where it may not.
BROKEN = st.lists(
    st.sampled_from([
        b'{', b'}', b'[', b']', b'"', b":", b",", b"\\", b"u", b"0", b"1", b"-", b".", b"e", b"+", b"t", b"true",
        b"null", b"false", b'"text"', b'"text":', b'"a":', b'{"text": "', b'"}', b"\\ud83d", b"\\ude00", b"\\u00e9",
        b"\\n", b"\\x", b" ", b"\t", b"\r", b"\x0b", b"\x01", b"\xff", b"\xc3\xa9", b"\xc3", b"\xed\xa0\x80", b"x" * 15,
        b"y" * 33,
    ]), max_size=12,
)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(parts=BROKEN, cut=st.integers(0, 60), text=TEXTS, ascii=st.booleans())
@example([b'"'], 0, "", False)
@example([], 17, 'é"', True)
def test_what_is_read_is_what_a_parser_reads(parts: list[bytes], cut: int, text: str, ascii: bool) -> None:
    line = json.dumps({"id": 7, "text": text, "more": [1, {"text": None}]}, ensure_ascii=ascii).encode()
    for data in (b"".join(parts), b'{"text": "' + b"".join(parts) + b'"}', line[:cut] + b"".join(parts) + line[cut:]):
        texts, at = read(data)
        assert at in (0, len(data))
        assert texts == ([json.loads(data)["text"].encode()] if at and data.strip() else [])


@pytest.mark.parametrize(
    "line",
    [
        b"[]", b'{"text": 1}', b'{"text": "a", "text": "b"}', b'{"text": "\xff"}', b'{"b": "\xed\xa0\x80", "text": ""}',
        b'{"text": "\\ud800"}', b'{"a": NaN, "text": ""}', b'{"a": ' + b"[" * 65 + b"]" * 65 + b', "text": ""}',
        b'{"a": ' + b"9" * 300 + b', "text": ""}', b'\xef\xbb\xbf{"text": "a"}',
    ],
)  # fmt: skip
def test_what_is_left_to_a_parser(line: bytes) -> None:
    assert read(line) == ([], 0)
    assert read(b'{"text": "b"}\n' + line + b'\n{"text": "c"}') == ([b"b"], 14)


def test_other_keys_and_places() -> None:
    data = '{"é": "a", "text": {"é": "no"}}\n'.encode()
    assert read(data, "é".encode()) == ([b"a"], len(data))
    assert read(data) == ([], 0)
    assert read(b"") == ([], 0)
    deep = b'{"a": ' + b"[" * 64 + b"]" * 64 + b', "text": "' + b"\\u00e9" * 100 + b'"}'
    assert read(deep) == (["é".encode() * 100], len(deep))
    assert read(b'{"te\\u0078t": "a"}') == ([b"a"], 18)
    assert read(b'{"te\\u0078t": "a", "text": "b"}') == ([], 0)
    assert read(b'{"a": "text", "text": "b", "texts": "\\ud83d\\ude00"}')[0] == [b"b"]
