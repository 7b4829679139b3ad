"""Documents that are too long: where they are, what is kept, and that they are never held in memory."""
import gzip
import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import byte_codec, texts_in
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import PYTHONPATH
from tiers import slow_but

from bpetite.corpus import Options, RecordError, find_sources, make_part, read_documents
from bpetite.corpus.reading.blocks import Reading

DOCUMENTS = ["short", "x" * 50, "", "y" * 51, "é" * 26, "end"]


def write(path: Path, documents: list[str]) -> Path:
    rows = [{"text": text} for text in documents]
    if path.name.endswith(".txt"):
        path.write_text("|".join(documents) + "|")
    elif path.name.endswith(".txt.gz"):
        path.write_bytes(gzip.compress(("|".join(documents) + "|").encode()))
    elif path.name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    else:
        pa = pytest.importorskip("pyarrow")
        pa.parquet.write_table(pa.table({"text": documents}), path)
    return path


@pytest.mark.parametrize("name", ["in.txt", "in.txt.gz", "in.jsonl", "in.parquet"])
@pytest.mark.parametrize("block", [1, 7, 60, 1000])
def test_the_limit(ram_path: Path, name: str, block: int) -> None:
    pytest.importorskip("pyarrow.parquet")
    path = write(ram_path / name, DOCUMENTS)
    most = 62 if "json" in name else 50  # of JSON, the record counts: {"text": ""} are 12 bytes more

    def encode(policy: Any, sink: str) -> dict[str, Any]:
        options = Options(separator="|", on_error=policy, max_document_bytes=most)
        task = make_part([path], ram_path / sink, byte_codec(), options=options)
        return replace(task, block=block, checkpoint_seconds=0).run()

    where = {"in.txt": ":1", "in.txt.gz": ":1", "in.jsonl": ":4", "in.parquet": ": row 4"}[name]
    with pytest.raises(RecordError, match=rf"{name}{where}: a document longer than max_document_bytes: more than"):
        encode("fail", "f")
    made = encode("skip", "s")
    encode("replace", "r")
    assert texts_in(ram_path / "s.npy") == [text for text in DOCUMENTS if len(text.encode()) <= 50]
    assert made["problems"]["too-long"]["count"] == 2
    assert texts_in(ram_path / "r.npy") == [text if len(text.encode()) <= 50 else "" for text in DOCUMENTS]


@settings(max_examples=300, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 60), max_size=8),
    separator=st.sampled_from(["|", "ab", "aab", "\n\n", "aba"]),
    block=st.integers(1, 30),
    most=st.integers(1, 50),
    closed=st.booleans(),
)
def test_dropped_records_leave_the_others(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], separator: str, block: int, most: int, closed: bool
) -> None:
    # whatever is long, wherever the blocks end
    path = tmp_path_factory.mktemp("long") / "in.txt"
    text = separator.join("ba"[n % 2] * size for n, size in enumerate(sizes)) + (separator if closed else "")
    path.write_text(text)
    expected = text.split(separator)
    if not expected[-1]:
        expected.pop()
    reading = Reading(separator.encode(), block=block, max_document=most)
    pieces = find_sources([path]).pieces
    assert [d.decode() for d in read_documents(pieces, reading, on_error="skip")] == [
        document for document in expected if len(document) <= most
    ]
    assert [d.decode() for d in read_documents(pieces, reading, on_error="replace")] == [
        document if len(document) <= most else "" for document in expected
    ]


def test_lines_of_standard_input_behind_a_dropped_record(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"one|" + b"\n" * 3000 + b"|two\n|three|\xff|" + b"four|" * 100
    options = Options(separator="|", on_error="skip", input_kind="text", max_document_bytes=500)
    for block in (50, 1000, 1 << 20):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        made = replace(make_part(["-"], ram_path / f"o{block}", byte_codec(), options=options), block=block).run()
        assert texts_in(ram_path / f"o{block}.npy") == ["one", "two\n", "three", *["four"] * 100]
        assert made["problems"]["too-long"] == {"count": 1, "first": "<stdin>:1", "detail": "more than 500 bytes"}
        assert made["problems"]["invalid-utf8"]["first"] == "<stdin>:3002"


BOMB = """
import resource, sys
sys.path[:0] = {path!r}
from corpus_tools import byte_codec
from bpetite.corpus import RecordError, count_corpus
import numpy, zlib
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (300 << 20),) * 2)
options = dict(max_document_bytes=1 << 20, **(dict(whole_files=True) if {whole} else dict(separator="|")))
try:
    count_corpus([{file!r}], byte_codec(), **options)
except RecordError as error:
    print(error)
print(count_corpus([{file!r}], byte_codec(), on_error="skip", **options)["documents"])
"""


@pytest.mark.parametrize(
    "name",
    slow_but(["in.txt.gz", "in.jsonl.gz", "in.txt.zst", "whole.txt.gz", "in.json.gz"], "in.jsonl.gz"),
)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_bomb_is_not_expanded(ram_path: Path, name: str) -> None:
    # 400 MB in less than a megabyte, with an address space of 300 MB more
    path = ram_path / name
    start, stop = {
        "jsonl": (b'{"text": "', b'"}\n{"text": "b"}\n'),
        "json": (b'[{"text": "', b'"}, {"text": "b"}]'),
    }.get(name.split(".")[1], (b"", b"|b|"))
    if name.endswith("gz"):
        with gzip.open(path, "wb", 9) as file:
            file.write(start)
            for _ in range(400):
                file.write(b"a" * (1 << 20))
            file.write(stop)
    else:
        packer = pytest.importorskip("zstandard").ZstdCompressor().compressobj()
        with path.open("wb") as file:
            for _ in range(400):
                file.write(packer.compress(b"a" * (1 << 20)))
            file.write(packer.compress(stop) + packer.flush())
    code = BOMB.format(path=PYTHONPATH.split(os.pathsep), file=str(path), whole=name.startswith("whole"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    message, count = done.stdout.splitlines()
    assert "a document longer than max_document_bytes" in message
    # a JSON array is read whole
    assert int(count) == (0 if name.startswith("whole") or "json." in name else 1)


PEAK = """
import resource, sys
sys.path[:0] = {path!r}
from bpetite import Tokenizer
from bpetite.corpus import encode_corpus
tokenizer = Tokenizer.load("bpetite-32k")
encode_corpus([{small!r}], {sink!r} + "-small", tokenizer, separator="|")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
encode_corpus([{file!r}], {sink!r}, tokenizer, separator="|")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.parametrize("name", slow_but(["in.txt", "in.jsonl", "in.txt.gz", "in.parquet"], "in.jsonl"))
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss in KiB")
def test_memory_of_one_document(ram_path: Path, tmp_path: Path, name: str) -> None:
    pytest.importorskip("pyarrow.parquet")
    size = 64 << 20
    text = ("It was the best of times, it was the worst of times. \u201cé\u201d " * (size // 60))[:size]
    size = len(text.encode())
    small, path = write(tmp_path / name.replace("in", "small"), [text[:1000]]), write(tmp_path / name, [text])
    code = PEAK.format(path=PYTHONPATH.split(os.pathsep), small=str(small), file=str(path), sink=str(tmp_path / "o"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # 4 bytes a byte, and the buffers that any large input fills
    assert int(done.stdout) < 4 * size + (64 << 20)
