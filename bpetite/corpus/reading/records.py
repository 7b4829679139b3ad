"""Blocks to documents: splitting, parsing, and the treatment of records that have a problem.

This is the first half of what workers do in parallel. A record that has no text, or text that is not UTF-8, is a
`Problem`: the policy decides whether the run ends there ("fail"), goes on without the record ("skip"), or takes the
nearest text ("replace": U+FFFD for bytes that are not text, an empty document where there is no text). Either way it is
counted, and the rest of the file is read.
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..segments import Segmented
from ._json_lines import plain_texts
from .blocks import Block, Reading
from .cutting import LONG, Damage, Segment
from .long_lines import parse_long_line

_fast_loads: Callable[[bytes | memoryview], Any]


def json_loads(line: bytes | memoryview) -> Any:
    """orjson.loads where orjson is not installed. Results are the same: lines that either refuses are parsed again by
    json.loads, see `_slow_line`."""
    return json.loads(str(line, "utf-8"))


try:
    from orjson import loads as _fast_loads
except ImportError:
    _fast_loads = json_loads

__all__ = ["POLICIES", "Documents", "Flaw", "Problem", "documents_of", "text_of_item"]

POLICIES = ("fail", "skip", "replace")

#: What parsing a line, or taking the text of it, raises where something is wrong.
_REFUSED = (ValueError, TypeError, LookupError, AttributeError, RecursionError)

_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Problem:
    """What is wrong with a record.

    Attributes:
        what: "invalid-utf8", "lone-surrogate", "malformed-json", "no-text", "damaged-file", "too-long",
            "special-token" or "unencodable".
        detail: What was found, for people.
        piece: Number of the piece.
        offset: In bytes of the (decompressed) file; for Parquet, the number of the row.
        line: The line, if it is known already.
    """

    what: str
    detail: str
    piece: int
    offset: int
    line: int | None = None


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


def documents_of(block: Block, reading: Reading, policy: str, *, with_origins: bool = False) -> Documents:
    """Parse a block.

    Args:
        block: From `readers.read_blocks`.
        reading: The one that the block was read with.
        policy: "fail", "skip" or "replace". With "fail", parsing stops at the first problem.
        with_origins: Also collect the id of each record and its number in the block.
    """
    documents = Documents(origins=[] if with_origins else None)
    if isinstance(block.data, Segment) and block.data.dropped:
        _dropped(block, reading, policy, documents)
    else:
        _PARSERS[block.form](block, reading, policy, documents)
    if block.damage is not None and not (policy == "fail" and documents.problems):
        held = block.data.join() if isinstance(block.data, Segment) else b""
        line = None if block.lines is None else block.lines + held.count(b"\n")
        documents.problems.append(
            Problem(block.damage.what, block.damage.detail, block.piece, block.start + len(held), line)
        )
    return documents


def _dropped(block: Block, reading: Reading, policy: str, out: Documents) -> None:
    """A record that was too long to be kept in memory, or of which the beginning may be missing."""
    if block.data.torn:
        return
    out.records = 1
    if block.form == "text":
        out.final_separator = block.data.closed
    out.problems.append(Problem(*_too_long(reading), block.piece, block.start, block.lines))
    if policy == "replace":
        out.texts = [b""]
        if out.origins is not None:
            out.origins = [(None, 0)]


def _too_long(reading: Reading) -> tuple[str, str]:
    return "too-long", f"more than {reading.max_document} bytes"


def _text(block: Block, reading: Reading, policy: str, out: Documents) -> None:
    texts = block.data.split(reading.separator)
    terminated = not texts[-1]
    if terminated:
        texts.pop()
    elif block.damage is not None and policy != "replace":
        texts.pop()  # the document that the damage cut short
    out.records = len(texts)
    if len(block.data):
        out.final_separator = terminated
    kept: Sequence[int] = range(len(texts))
    if len(block.data) > reading.max_document and max(map(len, texts), default=0) > reading.max_document:
        kept, texts = _short_enough(block, reading, policy, out, texts)
    out.texts = texts
    if out.origins is not None:
        out.origins = [(None, number) for number in kept]


def _short_enough(
    block: Block, reading: Reading, policy: str, out: Documents, texts: list[bytes]
) -> tuple[Sequence[int], list[bytes]]:
    """The documents of text that are not too long, or stand for those that are, and their numbers."""
    kept = []
    offset = block.start
    for number, text in enumerate(texts):
        if len(text) > reading.max_document:
            before = b"" if block.lines is None else block.data.join()[: offset - block.start]
            line = None if block.lines is None else block.lines + before.count(b"\n")
            out.problems.append(Problem(*_too_long(reading), block.piece, offset, line))
            if policy == "fail":
                break
        if policy == "replace" or len(text) <= reading.max_document:
            kept.append(number)
        offset += len(text) + len(reading.separator)
    return kept, [texts[number] if len(texts[number]) <= reading.max_document else b"" for number in kept]


def _whole(block: Block, reading: Reading, policy: str, out: Documents) -> None:
    out.records = 1
    out.final_separator = False
    text = block.data
    if len(text) > reading.max_document:
        text = b""
        out.problems.append(Problem(*_too_long(reading), block.piece, 0, block.lines))
    if not (block.damage or out.problems) or policy == "replace":
        out.texts = [text]
        if out.origins is not None:
            out.origins = [(None, 0)]


def _jsonl(block: Block, reading: Reading, policy: str, out: Documents) -> None:
    origins = out.origins
    most = reading.max_document
    done = 0
    simple = block.damage is None and not reading.segments and "." not in reading.text_key
    if simple and (origins is None or not reading.id_key) and len(block.data) <= min(most, LONG):
        done, ended = _plain_texts(block.data, reading.text_key.encode("utf-8", "surrogatepass"), out.texts)
        out.records = len(out.texts)
        if origins is not None:
            origins += [(None, number) for number in range(out.records)]
        if ended:
            return
    lines = block.data.lines()
    if block.damage is not None:
        lines.pop()  # the line that the damage cut short; it is no JSON
    get = _getter(reading.text_key)
    append = out.texts.append
    get_id = _getter(reading.id_key or None)
    at = offset = 0  # a line, and its place in the block: that of the last problem
    take = _from_segments if reading.segments else str.encode
    for number, line in enumerate(lines[done:], done):
        try:
            if len(line) > most:
                raise ValueError
            if len(line) >= LONG and not reading.segments:
                record, text = _long_line(bytes(line), get, get_id)
                append(text)
            else:
                record = _fast_loads(line)
                append(take(get(record)))
        except _REFUSED:
            line = bytes(line)
            if not line or line.isspace():
                continue
            out.records += 1
            problem: tuple[str, str] | None = _too_long(reading)
            text, record = b"", None
            if len(line) <= most:
                text, record, problem = _slow_line(line, get, reading)
            if problem is not None:
                what, detail = problem
                at, offset = number, offset + sum(map(len, lines[at:number])) + number - at
                known = None if block.lines is None else block.lines + number
                out.problems.append(Problem(what, detail, block.piece, block.start + offset, known))
                if policy == "fail":
                    return
                if policy == "skip":
                    continue
            append(text)
        else:
            out.records += 1
        if origins is not None:
            origins.append((_id_of(record, get_id), out.records - 1))


def _plain_texts(data: Segment, key: bytes, texts: list[bytes]) -> tuple[int, bool]:
    """Append the texts of lines up to the first that is not plain; returns their number, blank ones included, and
    whether these are all."""
    start = before = 0
    if data.head:
        start = data.chunk.find(b"\n", 0, data.end) + 1 or data.end
        first = b"".join([*data.head, memoryview(data.chunk)[:start]])
        before, read = plain_texts(first, 0, len(first), key, texts)
        if read < len(first):
            return before, False
    lines, read = plain_texts(data.chunk, start, data.end, key, texts)
    return before + lines, read == data.end


def _long_line(line: bytes, get: Callable[[Any], Any], get_id: Callable[[Any], Any]) -> tuple[Any, bytes]:
    """(record, its text) of a line that the fast parser would need a lot of memory for."""
    record, strings = parse_long_line(line, _fast_loads)
    text = strings.get(get(record))
    if text is None or _id_of(record, get_id) in strings:
        record = _fast_loads(line)
        text = get(record).encode()
    return record, text


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
    text, found = _text_of(record, get, reading.text_key, reading.segments)
    return text, record, problem if problem and not (found and found[0] == "no-text") else found


def _text_of(
    record: object, get: Callable[[Any], Any], key: str, segments: bool
) -> tuple[bytes, tuple[str, str] | None]:
    """(the text of a parsed record or its replacement, (what, detail) of a problem)."""
    try:
        value = get(record)
    except (LookupError, TypeError):
        what = f"no {key!r} in the record" if isinstance(record, dict) else f"not an object: {_short(record)}"
        return b"", ("no-text", what)
    if segments:
        return _segments_of(value, key)
    if not isinstance(value, str):
        return b"", ("no-text", f"{key!r} is {_short(value)}, not a string")
    return _utf8(value)


def _from_segments(value: object) -> bytes:
    """The text of a document in segments; raises ValueError where something is wrong with it."""
    text, problem = _segments_of(value, "")
    if problem is not None:
        raise ValueError(problem)
    return text


def _segments_of(value: object, key: str) -> tuple[bytes, tuple[str, str] | None]:
    """(the text of a str or of a list of segments, or its replacement; (what, detail) of a problem)."""
    if isinstance(value, str):
        return _utf8(value)
    if not isinstance(value, list | tuple):
        return b"", ("no-text", f"{key!r} is {_short(value)}, neither a string nor a list of segments")
    parts, problem = [], None
    for number, segment in enumerate(value):
        text, label = (segment.get("text"), segment.get("label")) if isinstance(segment, Mapping) else (None, None)
        if not isinstance(text, str) or type(label) is not bool:
            return b"", ("no-text", f"segment {number} of {key!r} is {_short(segment)}, without a text or a label")
        data, found = _utf8(text)
        problem = problem or found
        parts.append((data, label))
    return Segmented.of(parts), problem


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
    for value, line in zip(block.data, block.lines, strict=True):
        out.records += 1
        text, problem = b"", None
        if isinstance(value, Damage):
            problem = value.what, value.detail
        else:
            text, problem = _text_of(value, get, reading.text_key, reading.segments)
            if problem and problem[0] == "lone-surrogate" and not reading.segments:
                text, problem = _mend(get(value))
            if len(text) > reading.max_document:
                text, problem = b"", _too_long(reading)
        if problem is not None:
            out.problems.append(Problem(*problem, block.piece, block.start + out.records - 1, line))
            if policy == "fail":
                return
            if policy == "skip" or problem[0] == "damaged-file":
                continue
        out.texts.append(text)
        if out.origins is not None:
            out.origins.append((_id_of(value, get_id), out.records - 1))


def _mend(value: str) -> tuple[bytes, tuple[str, str] | None]:
    """The text of a .json file with bytes that are not UTF-8, which were read as U+DC80..U+DCFF, or with escapes of
    lone surrogates."""
    try:
        data = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _utf8(value)
    return data.decode("utf-8", "replace").encode(), ("invalid-utf8", "bytes that are not UTF-8 in a string")


def _rows(block: Block, reading: Reading, policy: str, out: Documents) -> None:
    for number, text in enumerate(block.data.to_pylist()):
        out.records += 1
        if text is None or len(text) > reading.max_document:
            problem = ("no-text", f"{reading.text_key!r} is null") if text is None else _too_long(reading)
            out.problems.append(Problem(*problem, block.piece, block.start + number))
            if policy == "fail":
                return
            if policy == "skip":
                continue
            text = b""
        out.texts.append(text)
        if out.origins is not None:
            out.origins.append((None if block.ids is None else _id(block.ids[number]), number))
    if block.damage is not None and block.end.piece == block.piece:
        out.records = block.end.offset - block.start  # rows that are lost keep their numbers


@dataclass(frozen=True)
class Flaw:
    """Takes the place of the text of a document that has none, or none that is UTF-8."""

    what: str
    detail: str
    replacement: bytes


def text_of_item(
    key: str, id_key: str | None, *, segments: bool = False
) -> Callable[[object], tuple[bytes | Flaw, object]]:
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
        if segments and isinstance(item, list | tuple):
            text, problem = _segments_of(item, key)
            return (text if problem is None else Flaw(*problem, text)), found
        if not isinstance(item, str):
            return Flaw("no-text", f"{_short(item)}, not a string", b""), found
        text, problem = _utf8(item)
        return (text if problem is None else Flaw(*problem, text)), found

    return take


def _items(block: Block, reading: Reading, policy: str, out: Documents) -> None:
    for number, text in enumerate(block.data.texts):
        out.records += 1
        problem = None
        if isinstance(text, Flaw):
            problem, text = (text.what, text.detail), text.replacement
        if len(text) > reading.max_document:
            problem, text = _too_long(reading), b""
        if problem is not None:
            out.problems.append(Problem(*problem, block.piece, block.start + number))
            if policy == "fail":
                return
            if policy == "skip":
                continue
        out.texts.append(text)
        if out.origins is not None:
            out.origins.append((None if block.ids is None else _id(block.ids[number]), number))


_PARSERS: dict[str, Callable[[Block, Reading, str, Documents], None]] = {
    "text": _text,
    "whole": _whole,
    "jsonl": _jsonl,
    "values": _values,
    "rows": _rows,
    "items": _items,
}
