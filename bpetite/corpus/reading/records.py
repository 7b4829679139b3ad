"""Blocks to documents: splitting, parsing, and the treatment of records that have a problem.

Workers do this in parallel. A record that has no text, or text that is not UTF-8, is a `Problem`: the policy decides
whether the run ends there ("fail"), goes on without the record ("skip"), or takes the nearest text ("replace": U+FFFD
for bytes that are not text, an empty document where there is no text). Either way it is counted, and the rest of the
file is read.
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._json_lines import plain_texts
from .blocks import Block, Reading
from .cutting import Damage
from .problems import Problem

loads: Callable[[bytes], Any]


def json_loads(line: bytes) -> Any:
    """orjson.loads where orjson is not installed. Results are the same: lines that either refuses are parsed again by
    json.loads, see `_slow_line`."""
    return json.loads(str(line, "utf-8"))


try:
    from orjson import loads
except ImportError:
    loads = json_loads

__all__ = ["Documents", "Flaw", "Places", "documents_of", "loads", "text_of_item"]

#: What parsing a line, or taking the text of it, raises where something is wrong.
_REFUSED = (ValueError, TypeError, LookupError, AttributeError, RecursionError)

_SURROGATES = re.compile("[\ud800-\udfff]")

#: (what, detail) of a problem, if there is one.
Found = tuple[str, str] | None


@dataclass
class Documents:
    """The documents of a block, in order, as UTF-8.

    ``records`` counts records, whether or not they became documents; ``origins`` has, if asked for, (id of the record,
    its number in the block) of those that did. ``final_separator`` says, of text, whether a separator followed the last
    document.
    """

    texts: list[bytes] = field(default_factory=list)
    origins: list[tuple[str | None, int]] | None = None
    problems: list[Problem] = field(default_factory=list)
    records: int = 0
    final_separator: bool | None = None

    def keep(self, numbers: Sequence[int]) -> None:
        """Take out all but these documents, which have their origins."""
        if len(numbers) < len(self.texts):
            assert self.origins is not None
            self.texts = [self.texts[number] for number in numbers]
            self.origins = [self.origins[number] for number in numbers]

    def add(self, text: bytes, found_id: str | None, problem: Problem | None, policy: str) -> bool:
        """Add the next record's document, or treat its problem; returns whether to go on."""
        self.records += 1
        if problem is not None:
            self.problems.append(problem)
            if policy != "replace":
                return policy == "skip"
        self.texts.append(text)
        if self.origins is not None:
            self.origins.append((found_id, self.records - 1))
        return True


def documents_of(block: Block, reading: Reading, policy: str, *, with_origins: bool = False) -> Documents:
    """Parse a block.

    Args:
        block: From `readers.read_blocks`.
        reading: The one that the block was read with. Unless it is ``checked``, text that is not UTF-8 may be among
            the documents: an encoder that refuses it finds it at no cost.
        policy: "fail", "skip" or "replace". With "fail", parsing stops at the first problem.
        with_origins: Also collect the id of each record and its number in the block.
    """
    documents = Documents(origins=[] if with_origins else None)
    _PARSERS[block.form](block, reading, policy, documents)
    if (damage := block.damage) is not None:
        row = block.form in ("values", "rows")
        documents.problems.append(Problem(damage.what, damage.detail, block.piece, block.start, block.line, row))
        if block.form == "rows" and block.end.piece == block.piece:
            documents.records = block.end.offset - block.start  # rows that are lost keep their numbers
    return documents


class Places:
    """The places of a block's records."""

    def __init__(self, block: Block, reading: Reading) -> None:
        self._block = block
        self._places = [(0, 0)]
        if block.form in ("text", "jsonl"):
            self._places = []
            separator = b"\n" if block.form == "jsonl" else reading.separator
            offset = lines = 0
            for record in block.data.split(separator):
                if block.form == "text" or (record and not record.isspace()):
                    self._places.append((offset, lines))
                offset += len(record) + len(separator)
                lines += record.count(b"\n") + separator.count(b"\n")

    def problem(self, what: str, detail: str, record: int, before: bytes = b"") -> Problem:
        """A problem of a record.

        Args:
            what, detail: As of a `Problem`.
            record: Its number in the block.
            before: Its text before the problem, where that is found in the file as it is.
        """
        block = self._block
        if block.form not in ("text", "jsonl", "whole"):
            return Problem(what, detail, block.piece, block.start + record, row=True)
        offset, lines = self._places[record]
        if block.form == "jsonl":
            before = b""
        line = None if block.line is None else block.line + lines + before.count(b"\n")
        return Problem(what, detail, block.piece, block.start + offset + len(before), line)


def _treated(text: bytes, reading: Reading) -> tuple[bytes, Found, int]:
    """(a text or its replacement, its problem, the problem's offset in it)."""
    if len(text) > reading.max_document:
        return b"", _too_long(reading), 0
    if reading.checked and not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError as bad:
            found = "invalid-utf8", f"byte {text[bad.start]:#04x} is not UTF-8 ({bad.reason})"
            return text.decode("utf-8", "replace").encode(), found, bad.start
    return text, None, 0


def _too_long(reading: Reading) -> tuple[str, str]:
    return "too-long", f"more than {reading.max_document} bytes"


def _dropped(block: Block, reading: Reading, policy: str, out: Documents) -> None:
    """A record that was too long to be kept in memory."""
    out.final_separator = block.data
    out.add(b"", None, Problem(*_too_long(reading), block.piece, block.start, block.line), policy)


def _text(block: Block, reading: Reading, policy: str, out: Documents) -> None:
    texts = block.data.split(reading.separator)
    terminated = not texts[-1]
    if terminated:
        texts.pop()
    if block.data:
        out.final_separator = terminated
    if reading.checked or (
        len(block.data) > reading.max_document and max(map(len, texts), default=0) > reading.max_document
    ):
        _each(texts, block, reading, policy, out)
        return
    out.texts, out.records = texts, len(texts)
    if out.origins is not None:
        out.origins = [(None, number) for number in range(len(texts))]


def _each(texts: Sequence[bytes], block: Block, reading: Reading, policy: str, out: Documents) -> None:
    """Documents, some with a problem."""
    places = None
    for number, text in enumerate(texts):
        mended, found, at = _treated(text, reading)
        problem = None
        if found is not None:
            places = places or Places(block, reading)
            problem = places.problem(*found, number, text[:at])
        if not out.add(mended, None, problem, policy):
            return


def _whole(block: Block, reading: Reading, policy: str, out: Documents) -> None:
    out.final_separator = False
    if block.damage is None:
        _each([block.data], block, reading, policy, out)
    else:
        out.records = 1


def _jsonl(block: Block, reading: Reading, policy: str, out: Documents) -> None:
    data, most = block.data, reading.max_document
    origins = out.origins
    done = read = 0
    plain = "." not in reading.text_key and not (origins is not None and reading.id_key)
    if plain and len(data) <= most:
        done, read = plain_texts(data, 0, len(data), reading.text_key.encode("utf-8", "surrogatepass"), out.texts)
        out.records = len(out.texts)
        if origins is not None:
            origins += [(None, number) for number in range(out.records)]
        if read == len(data):
            return
    get, get_id = _getter(reading.text_key), _getter(reading.id_key or None)
    append = out.texts.append
    lines = data[read:].split(b"\n")
    at, offset = 0, read  # a line, and its place in the block: that of the last problem
    for number, line in enumerate(lines):
        try:
            if len(line) > most:
                raise ValueError
            record = loads(line)
            append(str.encode(get(record)))
        except _REFUSED:
            if not line or line.isspace():
                continue
            found: Found = _too_long(reading)
            text, record = b"", None
            if len(line) <= most:
                text, record, found = _slow_line(line, get, reading)
            problem = None
            if found is not None:
                at, offset = number, offset + sum(map(len, lines[at:number])) + number - at
                known = None if block.line is None else block.line + done + number
                problem = Problem(*found, block.piece, block.start + offset, known)
            if not out.add(text, _id_of(record, get_id), problem, policy):
                return
        else:
            out.records += 1
            if origins is not None:
                origins.append((_id_of(record, get_id), out.records - 1))


def _id_of(record: object, get_id: Callable[[Any], Any]) -> str | None:
    """The id of a record, if it has one."""
    try:
        return _id(get_id(record))
    except (LookupError, TypeError):
        return None


def _id(value: object) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return _SURROGATES.sub("\ufffd", text)


def _getter(key: str | None) -> Callable[[Any], Any]:
    """A function from a record to the value at "a.b": that of the literal key if there is one, else of b inside a."""
    if key is None:
        return lambda record: None
    path = key.split(".")
    if len(path) == 1:
        return lambda record: record[key]

    def dig(record: Any) -> Any:
        if key in record:
            return record[key]
        for name in path:
            record = record[name]
        return record

    return dig


def _slow_line(
    line: bytes, get: Callable[[Any], Any], reading: Reading
) -> tuple[bytes, object, tuple[str, str] | None]:
    """(text or its replacement, record, (what, detail) of a problem) of a line that the fast parser refused."""
    problem = None
    try:
        decoded = line.decode("utf-8")
    except UnicodeDecodeError as wrong:
        problem = "invalid-utf8", f"byte {line[wrong.start]:#04x} at {wrong.start} of the line"
        decoded = line.decode("utf-8", "replace")
    try:
        record = json.loads(decoded)
    except (ValueError, RecursionError) as wrong:
        return b"", None, ("malformed-json", str(wrong))
    text, found = _text_of(record, get, reading.text_key)
    return text, record, problem if problem and not (found and found[0] == "no-text") else found


def _text_of(record: object, get: Callable[[Any], Any], key: str) -> tuple[bytes, tuple[str, str] | None]:
    """(the text of a parsed record or its replacement, (what, detail) of a problem)."""
    try:
        value = get(record)
    except (LookupError, TypeError):
        what = f"no {key!r} in the record" if isinstance(record, dict) else f"not an object: {_short(record)}"
        return b"", ("no-text", what)
    if not isinstance(value, str):
        return b"", ("no-text", f"{key!r} is {_short(value)}, not a string")
    return _utf8(value)


def _utf8(value: str) -> tuple[bytes, tuple[str, str] | None]:
    try:
        return value.encode("utf-8"), None
    except UnicodeEncodeError as wrong:
        found = f"\\u{ord(value[wrong.start]):04x} at character {wrong.start}"
        return _SURROGATES.sub("\ufffd", value).encode("utf-8"), ("lone-surrogate", found)


def _short(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else text[:37] + "..."


def _values(block: Block, reading: Reading, policy: str, out: Documents) -> None:
    get, get_id = _getter(reading.text_key), _getter(reading.id_key or None)
    for value in block.data:
        found: Found
        if isinstance(value, Damage):
            text, found = b"", (value.what, value.detail)
        else:
            text, found = _text_of(value, get, reading.text_key)
            if found and found[0] == "lone-surrogate":
                text, found = _mend(get(value))
            if len(text) > reading.max_document:
                text, found = b"", _too_long(reading)
        problem = found and Problem(*found, block.piece, block.start + out.records, row=True)
        if not out.add(text, _id_of(value, get_id), problem, policy):
            return


def _mend(value: str) -> tuple[bytes, tuple[str, str] | None]:
    """The text of a .json file with bytes that are not UTF-8, which were read as U+DC80..U+DCFF, or with escapes of
    lone surrogates."""
    try:
        data = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _utf8(value)
    return data.decode("utf-8", "replace").encode(), ("invalid-utf8", "bytes that are not UTF-8 in a string")


def _rows(block: Block, reading: Reading, policy: str, out: Documents) -> None:
    texts = block.data.to_pylist()
    null = Flaw("no-text", f"{reading.text_key!r} is null", b"")
    _numbered([null if text is None else text for text in texts], block, reading, policy, out)


def _items(block: Block, reading: Reading, policy: str, out: Documents) -> None:
    _numbered(block.data.texts, block, reading, policy, out)


def _numbered(
    texts: Sequence[bytes | Flaw], block: Block, reading: Reading, policy: str, out: Documents
) -> None:
    """Records that have numbers, and ids."""
    for number, text in enumerate(texts):
        found: Found
        if isinstance(text, Flaw):
            mended, found = text.replacement, (text.what, text.detail)
        else:
            mended, found, _ = _treated(text, reading)
        problem = found and Problem(*found, block.piece, block.start + number, row=True)
        if not out.add(mended, None if block.ids is None else _id(block.ids[number]), problem, policy):
            return


@dataclass(frozen=True)
class Flaw:
    """Takes the place of the text of a document that has none, or none that is UTF-8."""

    what: str
    detail: str
    replacement: bytes


def text_of_item(key: str, id_key: str | None) -> Callable[[object], tuple[bytes | Flaw, object]]:
    """A function from a document of a program (a str, bytes, None, or a record with the text at a key) to (its text,
    the id of the record)."""
    get, get_id = _getter(key), _getter(id_key or None)

    def take(item: object) -> tuple[bytes | Flaw, object]:
        found = None
        if isinstance(item, Mapping):
            found = _id_of(item, get_id)
            try:
                item = get(item)
            except (LookupError, TypeError):
                return Flaw("no-text", f"no {key!r} in the record", b""), found
        if isinstance(item, bytes):
            return item, found
        if not isinstance(item, str):
            return Flaw("no-text", f"{_short(item)}, not a string", b""), found
        text, problem = _utf8(item)
        return (text if problem is None else Flaw(*problem, text)), found

    return take


_PARSERS: dict[str, Callable[[Block, Reading, str, Documents], None]] = {
    "text": _text,
    "whole": _whole,
    "jsonl": _jsonl,
    "values": _values,
    "rows": _rows,
    "items": _items,
    "too-long": _dropped,
}
