"""Documents that are too long: where they are, what is kept, and that they are never held in memory."""
import gzip
import io
import json
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import byte_codec, gpt2_cuts, megabytes_of, run, texts_in
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiers import slow_but

from bpetite import Tokenizer
from bpetite.corpus import RecordError, find_sources, read_documents, training
from bpetite.corpus.read.pieces import Piece, Reading
from bpetite.corpus.read.readers import read_blocks
from bpetite.corpus.training import reading_for


@pytest.mark.parametrize("block", [1, 60, 1000])
@pytest.mark.parametrize(
    ("name", "place"), [("in.txt", ":2"), ("in.txt.gz", ":2"), ("in.jsonl", ":2"), ("in.parquet", ": row 2")]
)
def test_the_place_of_the_first_that_is_too_long(ram_path: Path, name: str, place: str, block: int) -> None:
    documents = ["x" * 50 + "\n", "é" * 27, "y" * 99]
    text = b"|".join(document.encode() for document in documents)
    lines = b"".join(json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n" for text in documents)
    data = lines if name == "in.jsonl" else gzip.compress(text) if name.endswith("gz") else text
    (ram_path / name).write_bytes(data)
    if name == "in.parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"text": documents}), ram_path / name)
    most = 64 if name == "in.jsonl" else 51  # of JSON, the record counts
    with pytest.raises(RecordError, match=rf"{name}{place}: a document longer than max_document_bytes: more than"):
        run(ram_path / name, ram_path / "o", block=block, separator="|", max_document_bytes=most)


@settings(max_examples=300, deadline=None)
@given(
    parts=st.lists(st.text("ab\n", max_size=60) | st.integers(0, 60).map("b".__mul__), max_size=8),
    separator=st.sampled_from(["|", "ab", "aab", "\n\n", "aba", "aabaa"]),
    block=st.integers(1, 30),
    most=st.integers(1, 50) | st.just(1000),
    closed=st.booleans(),
    packed=st.booleans(),
)
@example(parts=["", "", "a"], separator="\n\n", block=1, most=1, closed=True, packed=False)
@example(parts=[""] * 90 + ["a"], separator="\n\n", block=1, most=1, closed=False, packed=False)
@example(parts=["b" * 8, "a"], separator="ab", block=1, most=6, closed=False, packed=True)
def test_splitting_is_str_split_for_any_block_and_limit(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], separator: str, block: int, most: int, closed: bool,
    packed: bool,
) -> None:  # fmt: skip
    path = tmp_path_factory.mktemp("long") / f"in.txt{'.gz' * packed}"  # what is unpacked cannot be read twice
    text = separator.join(parts) + (separator if closed else "")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    expected = text.split(separator)
    if not expected[-1]:
        expected.pop()
    reading = Reading(separator.encode(), block=block, max_document=most)
    inputs = find_sources([path]).inputs
    for policy, kept in (("skip", [one for one in expected if len(one) <= most]),
                         ("replace", [one if len(one) <= most else "" for one in expected])):  # fmt: skip
        assert [d.decode() for d in read_documents(inputs, reading, on_error=policy)] == kept


def test_lines_of_standard_input_behind_a_dropped_record(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"one|" + b"\n" * 3000 + b"|two\n|three|\xff|" + b"four|" * 100
    options: dict[str, Any] = {"separator": "|", "on_error": "skip", "input_kind": "text", "max_document_bytes": 500}
    for block in (50, 1000, 1 << 20):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        made = run("-", ram_path / f"o{block}", block=block, **options)
        assert texts_in(ram_path / f"o{block}.npy") == ["one", "two\n", "three", *["four"] * 100]
        assert made["problems"]["too-long"] == {"count": 1, "first": "<stdin>:1", "detail": "more than 500 bytes"}
        assert made["problems"]["invalid-utf8"]["first"] == "<stdin>:3002"


BOMB = """
options = dict(max_document_bytes=1 << 20, **(dict(whole_files=True) if sys.argv[2:] else dict(separator="|")))
try:
    count_corpus(sys.argv[1], byte_codec(), **options)
except RecordError as error:
    print(error)
print(count_corpus(sys.argv[1], byte_codec(), on_error="skip", **options)["documents"])
"""


@pytest.mark.parametrize(
    "name",
    slow_but(["in.txt.gz", "in.jsonl.gz", "in.txt.zst", "whole.txt.gz", "in.json.gz"], "in.jsonl.gz"),
)
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss in KiB")
def test_a_bomb_is_not_expanded(ram_path: Path, name: str) -> None:
    """300 MB in a megabyte or two."""
    path = ram_path / name
    start, stop = {
        "jsonl": (b'{"text": "', b'"}\n{"text": "b"}\n'),
        "json": (b'[{"text": "', b'"}, {"text": "b"}]'),
    }.get(name.split(".")[1], (b"", b"|b|"))
    packer = zlib.compressobj(1, wbits=31) if name.endswith("gz") else \
        pytest.importorskip("zstandard").ZstdCompressor().compressobj()
    with path.open("wb") as file:
        for part in (start, *[b"a" * (1 << 20)] * 300, stop):
            file.write(packer.compress(part))
        file.write(packer.flush())
    (message, count), megabytes = megabytes_of(BOMB, path, *["whole"] * name.startswith("whole"))
    assert megabytes < 200
    assert "a document longer than max_document_bytes" in message
    # a JSON array is read whole
    assert int(count) == (0 if name.startswith("whole") or "json." in name else 1)


# Without a separator: documents in parts


def look_near(patch: pytest.MonkeyPatch) -> None:
    """A separator is looked for in a few bytes, and then a certain cut."""
    for name, size in (("REACH", 8), ("FIRST_LOOK", 8), ("LOOK", 64)):
        patch.setattr(f"bpetite.corpus.read.text.{name}", size)


def test_blocks_of_a_document_without_separators_are_small(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    look_near(monkeypatch)
    (ram_path / "in.txt").write_bytes(b"some words and more of them\n" * 5000)
    reading = Reading(block=1000, cuts=gpt2_cuts())
    blocks = [*read_blocks(find_sources([ram_path / "in.txt"]).inputs, [Piece(0)], reading)]
    assert max(len(block.data) for block in blocks) < 1100
    assert [block.continues for block in blocks] == [False, *[True] * (len(blocks) - 1)]
    assert [block.goes_on for block in blocks] == [*[True] * (len(blocks) - 1), False]


def test_bad_bytes_in_a_part_leave_the_other_parts(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    look_near(monkeypatch)
    (ram_path / "in.txt").write_bytes(b"some words here " * 40 + b"\xff" + b" and words there" * 40)
    with pytest.raises(RecordError, match=r"in\.txt:1: .*not UTF-8"):
        run(ram_path / "in.txt", ram_path / "o", block=100)
    made = run(ram_path / "in.txt", ram_path / "o", block=100, on_error="skip")
    text, = texts_in(ram_path / "o.npy")
    assert (made["documents"], made["problems"]["invalid-utf8"]["count"]) == (1, 1)
    assert 1000 < len(text) < 1281
    run(ram_path / "in.txt", ram_path / "p", block=100, on_error="replace")
    assert texts_in(ram_path / "p.npy") == ["some words here " * 40 + "\ufffd" + " and words there" * 40]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"val_fraction": 0.1}, "val_fraction= looks at whole documents"),
        ({"format": "parquet"}, "format='parquet' has a row for each document"),
        ({"max_document_bytes": 999}, "max_document_bytes= is given"),
        ({"codec": replace(byte_codec(), cuts=None)}, "the tokenizer's pattern or normalizer shows no place where"),
        ({}, None),
    ],
)
def test_what_holds_documents_whole_is_said_before_the_run(
    ram_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], why: str | None
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("bpetite.corpus.plan.MAX_DOCUMENT", 1000)
    (ram_path / "in.txt").write_bytes(b"some words " * 80)
    log: list[str] = []
    run(ram_path / "in.txt", ram_path / "o", log=log.append, **{"block": 100, **options})
    assert (why is None) == (not log)
    assert why is None or (f"is held whole, up to 999 bytes, because {why}" if "max_document_bytes" in options else
                           f"is held whole, up to 1,000 bytes, because {why}") in log[0]
    assert why is None or log[0].endswith("separator= names what stands between documents")


def test_training_in_parts(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "the cat sat on the mat's 12 hats, and 345 more\n\n" * 3000
    (ram_path / "in.txt").write_text(text)
    (ram_path / "empty.txt").write_text("")
    look_near(monkeypatch)
    monkeypatch.setattr(training, "reading_for", lambda *options: replace(reading_for(*options), block=1000))
    assert Tokenizer.train_from_files(ram_path / "in.txt", 300) == Tokenizer.train(text, 300)
    with pytest.raises(ValueError, match=r"empty\.txt: no text in the inputs"):
        Tokenizer.train_from_files([ram_path / "empty.txt"] * 2, 300)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["encode", "count", "train"])
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss in KiB")
def test_memory_of_one_document_of_300_mb(ram_path: Path, shared: Callable[[str], Path], command: str) -> None:
    text = shared("text/english.txt", 5_000_000).read_bytes()[:5_000_000].replace(b"<|endoftext|>", b"")
    with (ram_path / "in.txt").open("wb") as file:
        for _ in range(300_000_000 // len(text)):
            file.write(text)
    options = {
        "encode": ["-t", "bpetite-32k", "-o", "o"], "count": ["-t", "bpetite-32k"],
        "train": ["-n", "1k", "-o", "t.json"],
    }  # fmt: skip
    arguments = [command, "in.txt", *options[command], "-j", "2"]
    code = "try: main(sys.argv[1:])\nexcept SystemExit as left: assert not left.code, left"
    assert megabytes_of(code, *arguments, cwd=ram_path)[1] < 260
