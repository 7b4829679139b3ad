"""Reading: documents of every kind of file, in blocks of any size, in bounded memory."""
import bz2
import gzip
import io
import json
import lzma
import os
import random
import sys
import threading
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import byte_codec, read, run, some_documents, texts_in

from bpetite.corpus import RecordError, find_sources
from bpetite.corpus.read.pieces import Piece, Reading
from bpetite.corpus.read.readers import read_blocks, read_labelled
from bpetite.corpus.read.streams import Expander
from bpetite.errors import MissingExtraError

DOCUMENTS = ["one", "", "zwei\nü", "三", "x" * 300, "<|endoftext", "\0", "last"]


MAKERS = {
    "txt": lambda documents: "".join(f"{text}<|endoftext|>" for text in documents).encode(),
    "jsonl": lambda documents: "".join(json.dumps({"text": text}) + "\n" for text in documents).encode(),
    "json": lambda documents: json.dumps([{"text": text} for text in documents], indent=2, ensure_ascii=False).encode(),
}


def pack(data: bytes, compression: str) -> bytes:
    """In two members, and an empty one between them."""
    if not compression:
        return data
    compress: Any = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}.get(compression)
    compress = compress or pytest.importorskip("zstandard").compress
    return b"".join(map(compress, (data[: len(data) // 2], b"", data[len(data) // 2 :])))


@pytest.mark.parametrize("compression", ["", "gz", "zst", "bz2", "xz"])
@pytest.mark.parametrize("suffix", MAKERS)
def test_every_kind(ram_path: Path, suffix: str, compression: str) -> None:
    path = ram_path / f"in.{suffix}.{compression}".rstrip(".")
    for mark in (b"", b"\xef\xbb\xbf"):
        path.write_bytes(pack(mark + MAKERS[suffix](DOCUMENTS), compression))
        for block in (1, 2, 3, 5, 16, 100, 1 << 20):
            assert read(path, block=block) == DOCUMENTS


def test_zstandard_blocks_of_every_kind(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Raw, run-length and compressed blocks, frames without data, with and without checksum, read in any pieces."""
    zstandard = pytest.importorskip("zstandard")
    texts = [random.Random(1).randbytes(200_000).hex(), "a" * 600_000, "b c " * 100_000, ""]
    data = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    for number, text in enumerate(texts):
        frame = zstandard.ZstdCompressor(write_checksum=number % 2 == 1, write_content_size=number < 2)
        data += frame.compress(f"{text}|".encode()) + b"\x5f\x2a\x4d\x18\0\0\0\0"
    path = ram_path / "in.txt.zst"
    path.write_bytes(data)
    assert read(path, separator=b"|") == texts
    monkeypatch.setattr("bpetite.corpus.read.streams.COMPRESSED_READ", 3)
    assert read(path, separator=b"|") == texts


def test_a_zstandard_bomb_is_expanded_in_parts(ram_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = ram_path / "in.txt.zst"
    path.write_bytes(zstandard.compress(b"a" * (300 << 20)))
    with path.open("rb") as file:
        expander = Expander(file, "zst")
        sizes = []
        while not expander.ended:
            sizes.append(len(expander.more()))
    assert sum(sizes) == 300 << 20
    assert max(sizes) <= 65 << 20


@pytest.mark.parametrize("log", [27, 31, 32, 41])
def test_long_windows_of_zstandard(ram_path: Path, log: int) -> None:
    """As ``zstd --long=31`` writes them, and longer ones."""
    pytest.importorskip("zstandard")
    block = b"hello|there"
    frame = b"\x28\xb5\x2f\xfd\0" + bytes([log - 10 << 3]) + (len(block) << 3 | 1).to_bytes(3, "little") + block
    path = ram_path / "in.txt.zst"
    path.write_bytes(frame)
    if log > 31:
        with pytest.raises(RecordError, match=r"in\.txt\.zst:1: damaged .* requires too much memory"):
            run(path, ram_path / "o")
    else:
        assert read(path, separator=b"|") == ["hello", "there"]


def test_a_mark_inside_is_text(ram_path: Path) -> None:
    path = ram_path / "in.txt"
    path.write_bytes("\ufeff\ufeffa<|endoftext|>\ufeffb".encode())
    assert read(path) == ["\ufeffa", "\ufeffb"]  # text is what it was, but for the start of the file
    path = ram_path / "joined.jsonl"
    path.write_bytes(('\ufeff{"text": "a"}\n{"text": "b"}\n' * 2 + '\ufeff{"text": "\ufeffc"}').encode())
    assert read(path) == ["a", "b", "a", "b", "\ufeffc"]
    path.write_bytes('{"text": "a"}\n\ufeff\n\ufeff \r\n{"text": "b"}\n\ufeff'.encode())
    assert read(path) == ["a", "b"]  # a line that holds a mark alone is blank


def test_json_of_all_shapes(ram_path: Path) -> None:
    path = ram_path / "in.json"
    for data in (
        '{"text": "a"}', '{\n "text": "a"\n}\n', '[{"text": "a"}]', ' [ {"text": "a"} ] ', '{"text": "a"}\n',
        '[\n{"text":\n"a"}\n]',
    ):  # fmt: skip
        path.write_text(data)
        for block in (1, 4, 1000):
            assert read(path, block=block) == ["a"], data
    path.write_text('{"text": "a"}\n{"text": "b"}')
    for block in (1, 4, 1000):
        assert read(path, block=block) == ["a", "b"]
    path.write_text('{"text": "a"} {"text": "b"}')
    with pytest.raises(RecordError, match=r"in\.json: row 1: malformed JSON: Extra data"):
        run(path, ram_path / "o")
    for data in ("", "[]", " \n", "[\n]\n"):
        path.write_text(data)
        assert read(path) == []


def test_nested_keys(ram_path: Path) -> None:
    path = ram_path / "in.jsonl"
    path.write_text('{"a": {"b": "nested"}}\n{"a.b": "literal", "a": {"b": "x"}}\n{"a": 1}\n')
    assert read(path, text_key="a.b") == ["nested", "literal"]


@pytest.mark.parametrize("name", ["in.txt", "in.jsonl", "in.txt.gz", "in.parquet", "whole.txt"])
@pytest.mark.parametrize("change", ["appended", "cut short", "overwritten", "replaced"])
def test_a_file_that_changes_while_it_is_read(ram_path: Path, name: str, change: str) -> None:
    path, new, whole = ram_path / name, ram_path / "new", name == "whole.txt"
    documents = [f"document {n} " * 50 for n in range(2000)]
    if name == "in.parquet":
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.table({"text": documents}), path, row_group_size=100)
    else:
        path.write_bytes(pack(MAKERS[name.split(".")[1]](documents), "gz" if name.endswith("gz") else ""))
    blocks = read_blocks(find_sources([path], whole_files=whole).inputs, [Piece(0)], Reading(block=10_000))
    if not whole:
        next(blocks)
    data, status = path.read_bytes(), path.stat()
    if change == "replaced":
        new.write_bytes(data)
        if whole:
            os.utime(new, ns=(status.st_mtime_ns, status.st_mtime_ns - 1))
        os.replace(new, path)
    else:
        with path.open("r+b") as file:
            file.write(data + b"x" if change == "appended" else data)
            file.truncate(len(data) // 2 if change == "cut short" else None)
        if change == "overwritten":
            os.utime(path, ns=(1, 1))
    with pytest.raises(ValueError, match=rf"{name}: "):
        deque(blocks, 0)


@pytest.mark.parametrize(("kind", "suffix"), [("text", "txt"), ("jsonl", "jsonl"), ("json", "json")])
def test_standard_input(ram_path: Path, kind: str, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def give(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    give(b"\xef\xbb\xbf" + MAKERS[suffix](DOCUMENTS))
    run("-", ram_path / "o", input_kind=kind)
    assert texts_in(ram_path / "o.npy") == DOCUMENTS
    if kind == "jsonl":
        give(b'{"text": "a"}\n' * 50 + b"\n{}\n")
        with pytest.raises(ValueError, match=r"^<stdin>:52: no text"):
            run("-", ram_path / "p", block=40, input_kind=kind)


def test_several_jobs_encode_standard_input(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = some_documents(200)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("<|endoftext|>".join(documents).encode())))
    two, both, codec = threading.Barrier(2), threading.Event(), byte_codec()

    def encode(texts: Any) -> Any:
        if not both.is_set():
            two.wait(30)
            both.set()
        return codec.encode(texts)

    run("-", ram_path / "o", block=100, jobs=2, codec=replace(codec, encode=encode))
    assert texts_in(ram_path / "o.npy") == documents


def test_many_small_files_are_worked_on_together(ram_path: Path) -> None:
    folder = ram_path / "in"
    folder.mkdir()
    for n, text in enumerate(some_documents(1500)):
        (folder / f"{n:05d}.txt").write_text(text, encoding="utf-8")
    calls = []
    codec = byte_codec()

    def counting(texts: Any) -> Any:
        calls.append(len(texts))
        return codec.encode(texts)

    run(folder, ram_path / "o", whole_files=True, codec=replace(codec, encode=counting))
    assert texts_in(ram_path / "o.npy") == some_documents(1500)
    assert len(calls) <= 3


@pytest.mark.parametrize(("module", "name"), [("zstandard", "in.txt.zst"), ("pyarrow", "in.parquet")])
def test_a_missing_extra_is_named(
    ram_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    (ram_path / name).write_bytes(b"x")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"{module}: pip install .*\[corpus\]'"):
        run(ram_path / name, ram_path / "o")


# Documents with what they belong to: a key of records, the name of a file or a folder

RECORDS = [
    {"text": "one", "lang": "en", "meta": {"source": "a"}},
    {"text": "zwei", "lang": "de", "meta": {"source": "b"}},
    {"text": "three", "meta": {}},
    {"text": "vier", "lang": ["de", 4], "meta": {"source": 1}},
]


def labelled(path: Path, by: str, **options: str) -> list[tuple[str | None, str]]:
    inputs = find_sources([path]).inputs
    return [(label, text.decode()) for label, text in read_labelled(inputs, Reading(), by, **options)]


@pytest.mark.parametrize("ending", ["jsonl", "json", "jsonl.gz"])
def test_by_a_key_of_records(ram_path: Path, ending: str) -> None:
    lines = "\n".join(map(json.dumps, RECORDS)) if "jsonl" in ending else json.dumps(RECORDS)
    path = ram_path / f"x.{ending}"
    path.write_bytes(gzip.compress(lines.encode()) if ending.endswith("gz") else lines.encode())
    expected = [("en", "one"), ("de", "zwei"), (None, "three"), ('["de", 4]', "vier")]
    assert labelled(path, "lang") == expected
    assert labelled(path, "meta.source") == [("a", "one"), ("b", "zwei"), (None, "three"), ("1", "vier")]
    assert labelled(path, "absent") == [(None, record["text"]) for record in RECORDS]


def test_labels_stay_with_their_documents(ram_path: Path) -> None:
    """Where records are skipped, one of them since its text is not UTF-8."""
    path = ram_path / "x.jsonl"
    path.write_bytes(b'{"text": "a", "lang": "A"}\n{"text": 5, "lang": "B"}\n\n{"text": "\xff", "lang": "C"}\n'
                     b'{"text": "d", "lang": "D"}\n')  # fmt: skip
    assert labelled(path, "lang", on_error="skip") == [("A", "a"), ("D", "d")]
    assert labelled(path, "lang", on_error="replace") == [("A", "a"), ("B", ""), ("C", "\ufffd"), ("D", "d")]
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"text": ["a", "d", None], "lang": ["A", None, "C"]}), ram_path / "x.parquet")
    assert labelled(ram_path / "x.parquet", "lang", on_error="skip") == [("A", "a"), (None, "d")]


def test_by_files_and_folders(ram_path: Path) -> None:
    for folder, name, text in (("de", "a.v2.txt", "eins<|endoftext|>zwei"), ("en", "b.txt", "one")):
        (ram_path / folder).mkdir()
        (ram_path / folder / name).write_text(text)
    (ram_path / "en" / "c.jsonl.gz").write_bytes(gzip.compress(b'{"text": "two", "file": "x"}'))
    assert labelled(ram_path, "folder") == [("de", "eins"), ("de", "zwei"), ("en", "one"), ("en", "two")]
    assert labelled(ram_path, "file") == [("a.v2", "eins"), ("a.v2", "zwei"), ("b", "one"), ("c", "two")]
    with pytest.raises(ValueError, match=r"a\.v2\.txt: text has no records with a key 'lang': label it by 'file'"):
        labelled(ram_path, "lang")
