"""Blocks to documents: splitting, parsing, and the treatment of records that have a problem.

Workers do this in parallel. A record that has no text, or text that is not UTF-8, is a `Problem`: the policy ends the
run there ("fail"), goes on without the record ("skip"), or takes the nearest text ("replace": U+FFFD for bytes that are
not text, an empty document where there is no text).
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from operator import getitem, itemgetter
from typing import Any

from ._json_lines import plain_texts
from .pieces import Block, Reading
from .problems import Flaw, Problem
from .streams import BOM

loads: Callable[[bytes], Any]


def json_loads(line: bytes) -> Any:
    """orjson.loads where orjson is not installed. Lines that either refuses are parsed again, see `_slow_line`."""
    return json.loads(str(line, "utf-8"))


try:
    from orjson import loads
except ImportError:
    loads = json_loads

#: Errors of parsing a line or taking its text.
_REFUSED = (ValueError, TypeError, LookupError, AttributeError, RecursionError)

_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(eq=False)
class Documents:
    """The documents of a block, in order, as UTF-8."""

    block: Block
    reading: Reading
    policy: str
    origins: list[tuple[str | None, int]] | None  # (id, number in the block)
    texts: list[bytes] = field(default_factory=list)
    cut_documents: frozenset[int] = frozenset()  # numbers of the texts that are pieces of a document
    problems: list[Problem] = field(default_factory=list)
    records: int = 0  # also those that became no documents
    final_separator: bool | None = None  # after the last document of text
    _places: list[tuple[int, int]] | None = None

    def keep(self, numbers: Sequence[int]) -> None:
        """Take out all but these documents."""
        if len(numbers) < len(self.texts):
            assert self.origins is not None
            self.texts = [self.texts[number] for number in numbers]
            self.origins = [self.origins[number] for number in numbers]

    def take(self, texts: list[bytes]) -> None:
        """Add the documents of the next records, which have no problem and no ids."""
        if self.origins is not None:
            self.origins += [(None, self.records + number) for number in range(len(texts))]
        self.records += len(texts)
        self.texts += texts

    def add(self, text: bytes | Flaw, found_id: str | None = None) -> bool:
        """Add the next record's document, or treat its problem; returns whether to go on."""
        self.records += 1
        if isinstance(text, Flaw):
            self.problems.append(self.problem(text, self.records - 1))
            is_cut = self.records - 1 in self.cut_documents  # the rest of its document may be kept
            if self.policy == "fail" or (self.policy == "skip" and not is_cut):
                return self.policy == "skip"
            text = b"" if self.policy == "skip" else text.replacement
        self.texts.append(text)
        if self.origins is not None:
            self.origins.append((found_id, self.records - 1))
        return True

    def add_all(self, texts: Iterable[bytes | Flaw], ids: Sequence[object] | None = None) -> None:
        """Check and add texts, up to the first problem that ends reading."""
        for number, text in enumerate(texts):
            if not self.add(_checked(text, self.reading), None if ids is None else _id(ids[number])):
                return

    def problem(self, flaw: Flaw, record: int) -> Problem:
        block = self.block
        if block.form == "items":
            return Problem(flaw.what, flaw.detail, block.input, block.start + record, row=True)
        if self._places is None:
            self._places = list(_places(block, self.reading.separator))
        offset, lines = self._places[record]
        if block.form != "jsonl":
            lines += block.data.count(b"\n", offset, offset + flaw.at)
            offset += flaw.at
        line = None if block.line is None else block.line + lines
        return Problem(flaw.what, flaw.detail, block.input, block.start + offset, line)


def documents_of(block: Block, reading: Reading, policy: str, *, with_origins: bool = False) -> Documents:
    """Parse a block; under the policy "fail", up to its first problem. Without ``reading.checked``, documents may hold
    text that is not UTF-8: the encoder refuses it, so a check here would be a second one."""
    documents = Documents(block, reading, policy, [] if with_origins else None)
    if block.form == "items":
        documents.add_all(block.data, block.ids)
    else:
        (_jsonl if block.form == "jsonl" else _text)(block, reading, documents)
    if (damage := block.damage) is not None:
        row = block.form == "items"
        documents.problems.append(Problem(damage.what, damage.detail, block.input, block.start, block.line, row))
        if row and block.end.input == block.input:
            documents.records = block.end.offset - block.start  # lost rows count, too
    return documents


def _places(block: Block, separator: bytes) -> Iterable[tuple[int, int]]:
    """(offset in the block, line feeds before it) of each record of a block of bytes."""
    separator = b"\n" if block.form == "jsonl" else separator
    offset = lines = 0
    for record in block.data.split(separator) if block.form in ("text", "jsonl") else [b""]:
        if block.form != "jsonl" or record.removeprefix(BOM).strip():
            yield offset, lines
        offset += len(record) + len(separator)
        lines += record.count(b"\n") + separator.count(b"\n")


def _checked(text: bytes | Flaw, reading: Reading) -> bytes | Flaw:
    if len(text) > reading.max_document:
        return _too_long(reading)
    if reading.checked and isinstance(text, bytes) and not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError as bad:
            detail = f"byte {text[bad.start]:#04x} is not UTF-8 ({bad.reason})"
            return Flaw("invalid-utf8", detail, text.decode("utf-8", "replace").encode(), bad.start)
    return text


def _too_long(reading: Reading) -> Flaw:
    return Flaw("too-long", f"more than {reading.max_document} bytes")


def _text(block: Block, reading: Reading, out: Documents) -> None:
    if block.form == "too-long":
        out.cut_documents = frozenset([0] if block.continues else [])
        out.add(_too_long(reading))
        return
    texts = block.data.split(reading.separator) if block.form == "text" else [block.data]
    if not block.goes_on:
        out.final_separator = block.form == "text" and not texts[-1] and bool(block.data)
        ends = block.form == "text" or block.damage is not None
        if ends and not texts[-1] and (block.data or not block.continues):
            texts.pop()
    out.cut_documents = frozenset(([0] if block.continues else []) + ([len(texts) - 1] if block.goes_on else []))
    if reading.checked or len(block.data) > reading.max_document:
        out.add_all(texts)
    else:
        out.take(texts)
    out.records -= block.goes_on


def joined_documents(block: Block, reading: Reading) -> tuple[bytes, int | None] | None:
    """The documents of a block as one text, with a separator after each, the last one perhaps without; and their
    number, or None for a block of text. None instead of both if a document has a problem. Ids are not read."""
    if block.damage is not None or not block.data or not isinstance(block.data, bytes):
        return None
    if block.form == "text" and len(block.data) <= reading.max_document:
        return block.data, None
    key = _plain_key(block.data, reading)
    if block.form != "jsonl" or key is None:
        return None
    texts, number, read = plain_texts(block.data, key, reading.separator)
    return (texts, number) if texts and read == len(block.data) else None


def _plain_key(data: bytes, reading: Reading) -> bytes | None:
    plain = "." not in reading.text_key and len(data) <= reading.max_document
    return reading.text_key.encode("utf-8", "surrogatepass") if plain else None


def _jsonl(block: Block, reading: Reading, out: Documents) -> None:
    data, read = block.data, 0
    key = None if out.origins is not None and reading.id_key else _plain_key(data, reading)
    if key is not None:
        texts, _, read = plain_texts(data, key, b"\xff")
        out.take(texts.split(b"\xff")[:-1])  # a byte that UTF-8 has not
        if read == len(data):
            return
    get, get_id = _getter(reading.text_key), _getter(reading.id_key or None)
    most, append = reading.max_document, out.texts.append
    for line in data[read:].split(b"\n"):
        try:
            if len(line) > most:
                raise ValueError
            record = loads(line)
            append(str.encode(get(record)))
        except _REFUSED:
            if line.removeprefix(BOM).strip():
                text, record = _slow_line(line, get, reading)
                if not out.add(text, _id_of(record, get_id)):
                    return
        else:
            out.records += 1
            if out.origins is not None:
                out.origins.append((_id_of(record, get_id), out.records - 1))


def _id_of(record: object, get_id: Callable[[Any], Any]) -> str | None:
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
    """A function from a record to the value at "a.b": the literal key wins, else it is b inside a."""
    if key is None:
        return lambda record: None
    if "." not in key:
        return itemgetter(key)

    def dig(record: Any) -> Any:
        if key in record:
            return record[key]
        return reduce(getitem, key.split("."), record)

    return dig


def _slow_line(line: bytes, get: Callable[[Any], Any], reading: Reading) -> tuple[bytes | Flaw, object]:
    """(text, record) of a line that the fast parser refuses."""
    if len(line) > reading.max_document:
        return _too_long(reading), None
    wrong = None
    try:
        decoded = line.decode("utf-8")
    except UnicodeDecodeError as bad:
        wrong = f"byte {line[bad.start]:#04x} at {bad.start} of the line"
        decoded = line.decode("utf-8", "replace")
    try:
        record = json.loads(decoded.removeprefix("\ufeff"))  # of a file that was joined to others
    except (ValueError, RecursionError) as bad:
        return Flaw("malformed-json", str(bad)), None
    text = _text_of(record, get, reading.text_key)
    if wrong is not None and not (isinstance(text, Flaw) and text.what == "no-text"):
        text = Flaw("invalid-utf8", wrong, text.replacement if isinstance(text, Flaw) else text)
    return text, record


def _text_of(record: object, get: Callable[[Any], Any], key: str) -> bytes | Flaw:
    """The text of a record: parsed JSON, or one that a program has."""
    try:
        value = get(record)
    except (LookupError, TypeError):
        if not isinstance(record, Mapping):
            return Flaw("no-text", f"not an object: {_short(record)}")
        return Flaw("no-text", f"no {key!r} in the record, which has {_short([*record])}")
    return _encoded(value, f"{key!r} is ")


def _encoded(value: object, name: str = "") -> bytes | Flaw:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        return Flaw("no-text", f"{name}{_short(value)}, not a string")
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError as wrong:
        detail = f"\\u{ord(value[wrong.start]):04x} at character {wrong.start}"
        return Flaw("lone-surrogate", detail, _SURROGATES.sub("\ufffd", value).encode("utf-8"))


def _short(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else text[:37] + "..."


def texts_of_values(values: Sequence[object], reading: Reading) -> tuple[list[bytes | Flaw], list[str | None] | None]:
    """The texts of records of a .json file and, if they are asked for, their ids. Bytes of the file that are not UTF-8
    are U+DC80 to U+DCFF in the records."""
    get, get_id = _getter(reading.text_key), _getter(reading.id_key or None)

    def text(value: object) -> bytes | Flaw:
        document = value if isinstance(value, Flaw) else _text_of(value, get, reading.text_key)
        if isinstance(document, Flaw) and document.what == "lone-surrogate":
            with suppress(UnicodeEncodeError):
                data = get(value).encode("utf-8", "surrogateescape").decode(errors="replace").encode()
                return Flaw("invalid-utf8", "bytes that are not UTF-8 in a string", data)
        return document

    ids = [_id_of(value, get_id) for value in values] if reading.id_key else None
    return list(map(text, values)), ids


def text_of_item(key: str, id_key: str | None) -> Callable[[object], tuple[bytes | Flaw, object]]:
    """A function from a document of a program (a str, bytes, or a record with the text at a key) to (text, id)."""
    get, get_id = _getter(key), _getter(id_key or None)

    def take(item: object) -> tuple[bytes | Flaw, object]:
        if isinstance(item, Mapping):
            return _text_of(item, get, key), _id_of(item, get_id)
        return _encoded(item), None

    return take
