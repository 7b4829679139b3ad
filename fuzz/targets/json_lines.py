"""Lines of JSON against the standard library's parser: the same texts, as far as the lines are plain."""
from __future__ import annotations

import json

from bpetite.corpus.read._json_lines import plain_texts

__all__ = ["WORDS", "one", "seeds"]

WORDS = (
    b'"text"', b'{"text": "', b'"}', b"}\n{", b"\\u", b"\\ud83d\\ude00", b"\\udc00", b'\\"', b"\\\\", b"[[", b"]]",
    b"1e5", b"-0.", b"null", b"true", b"\xed\xa0\x80", b"\xc3\xa9", b"x" * 17,
)  # fmt: skip


def one(data: bytes) -> None:
    """A byte for the size of the separator, then the lines."""
    separator, lines = b"\xff" * (data[:1] or b"\0")[0], data[1:]
    texts, number, at = plain_texts(lines, b"text", separator)
    read = [line for line in lines[:at].split(b"\n") if line.strip(b" \t\r")]
    if at < len(lines) and lines[:at][-1:] not in (b"", b"\n"):
        raise AssertionError(f"the next line starts at {at}")
    expected = b"".join(json.loads(line)["text"].encode() + separator for line in read)
    if (texts, number) != (expected, len(read)):
        raise AssertionError(f"{number} texts {texts!r}, expected {len(read)}, {expected!r}")


def seeds() -> list[bytes]:
    records = [
        {"text": "the cat"},
        {"id": 7, "text": 'a "b" \\ / \n\x00é漢🙂', "more": [1, -2.5e-7, None, {"text": [True, {}]}]},
        {"é": {}, "text": ""}, {"text": "x" * 99, "meta": {"a": [[], "]"], "b": "text"}}, {"texts": 1},
    ]  # fmt: skip
    made = []
    for ascii in (True, False):
        lines = [json.dumps(record, ensure_ascii=ascii).encode() for record in records]
        made += [b"\x01" + b"\n".join(lines), b"\x00\r\n \n" + b"\r\n".join(reversed(lines)) + b"\n"]
        made += [bytes([size]) + line for size, line in zip((0, 1, 15, 40, 255), lines)]
    return made
