"""Reading: documents of every kind of file, in blocks of any size, in bounded memory."""
import bz2
import gzip
import io
import json
import lzma
import os
import random
import subprocess
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import byte_codec, read, run, some_documents, texts_in
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import PYTHONPATH
from tiers import slow_but

from bpetite.corpus import Options, RecordError, find_sources, make_part
from bpetite.corpus.reading.blocks import Reading
from bpetite.corpus.reading.readers import read_blocks
from bpetite.corpus.reading.records import documents_of
from bpetite.corpus.sources.expanding import ZSTANDARD_STEP, Expander, _Stepwise
from bpetite.errors import MissingExtraError

DOCUMENTS = ["one", "", "zwei\nü", "三", "x" * 300, "<|endoftext", "\0", "last"]


def json_lines(documents: list[str]) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in documents).encode()


def json_array(documents: list[str]) -> bytes:
    return json.dumps([{"text": text} for text in documents], indent=2, ensure_ascii=False).encode()


MAKERS = {
    ".txt": lambda documents: "<|endoftext|>".join(documents).encode() + b"<|endoftext|>",
    ".jsonl": json_lines,
    ".json": json_array,
}


def pack(data: bytes, compression: str) -> bytes:
    if compression == ".gz":
        return gzip.compress(data[: len(data) // 2]) + gzip.compress(b"") + gzip.compress(data[len(data) // 2 :])
    if compression in (".bz2", ".xz"):
        compress = bz2.compress if compression == ".bz2" else lzma.compress
        return compress(data[: len(data) // 2]) + compress(b"") + compress(data[len(data) // 2 :])
    if compression == ".zst":
        zstandard = pytest.importorskip("zstandard")
        return zstandard.compress(data[: len(data) // 2]) + zstandard.compress(data[len(data) // 2 :])
    return data


@pytest.mark.parametrize("compression", ["", ".gz", ".zst", ".bz2", ".xz"])
@pytest.mark.parametrize("suffix", MAKERS)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_every_kind(ram_path: Path, suffix: str, compression: str, mark: bytes) -> None:
    path = ram_path / f"in{suffix}{compression}"
    path.write_bytes(pack(mark + MAKERS[suffix](DOCUMENTS), compression))
    for block in (1, 2, 3, 5, 16, 100, 1 << 20):
        assert read(path, block=block) == DOCUMENTS


def test_zstandard_blocks_of_every_kind(ram_path: Path) -> None:
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
    for size in (1, 2, 3, 1000):
        reading = _Stepwise(zstandard.ZstdDecompressor().decompressobj(), ZSTANDARD_STEP)
        frame = zstandard.ZstdCompressor(write_checksum=True).compress(texts[2].encode())
        out = b"".join(reading.decompress(frame[at : at + size], 1 << 20) for at in range(0, len(frame), size))
        while not reading.eof:
            out += reading.decompress(b"", 1 << 20)
        assert out == texts[2].encode()


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


@pytest.mark.parametrize(("log", "read_it"), [(27, True), (28, True), (31, True), (32, False), (41, False)])
def test_long_windows_of_zstandard(ram_path: Path, log: int, read_it: bool) -> None:
    """As ``zstd --long=31`` writes them."""
    pytest.importorskip("zstandard")
    block = b"hello|there"
    frame = b"\x28\xb5\x2f\xfd\0" + bytes([log - 10 << 3]) + (len(block) << 3 | 1).to_bytes(3, "little") + block
    path = ram_path / "in.txt.zst"
    path.write_bytes(frame)
    if read_it:
        assert read(path, separator=b"|") == ["hello", "there"]
    else:
        with pytest.raises(RecordError, match=r"in\.txt\.zst:1: damaged .* requires too much memory"):
            run(path, ram_path / "o")


def test_a_mark_inside_is_text(ram_path: Path) -> None:
    path = ram_path / "in.txt"
    path.write_bytes("\ufeff\ufeffa<|endoftext|>\ufeffb".encode())
    assert read(path) == ["\ufeffa", "\ufeffb"]  # text is what it was, but for the start of the file
    path = ram_path / "joined.jsonl"
    path.write_bytes(('\ufeff{"text": "a"}\n{"text": "b"}\n' * 2 + '\ufeff{"text": "\ufeffc"}').encode())
    assert read(path) == ["a", "b", "a", "b", "\ufeffc"]
    path.write_bytes('{"text": "a"}\n\ufeff\n\ufeff \r\n{"text": "b"}\n\ufeff'.encode())
    assert read(path) == ["a", "b"]  # a line that holds a mark alone is blank


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ("", []), ("a", ["a"]), ("a|", ["a"]), ("a||", ["a", ""]), ("|", [""]), ("|a", ["", "a"]), ("a|b|", ["a", "b"]),
    ],
)  # fmt: skip
def test_a_final_separator_ends_the_last_document(ram_path: Path, text: str, documents: list[str]) -> None:
    path = ram_path / "in.txt"
    path.write_text(text)
    assert read(path, separator=b"|") == documents


@settings(max_examples=300, deadline=None)
@given(
    text=st.text("ab-", max_size=60),
    separator=st.sampled_from(["a", "ab", "aa", "aba", "--", "abab", "aabaa"]),
    block=st.integers(1, 12),
)
def test_splitting_is_str_split_for_any_block(
    tmp_path_factory: pytest.TempPathFactory, text: str, separator: str, block: int
) -> None:
    path = tmp_path_factory.mktemp("split") / "in.txt"
    path.write_text(text)
    expected = text.split(separator)
    if not expected[-1]:
        expected.pop()
    assert read(path, block=block, separator=separator.encode()) == expected


@pytest.mark.parametrize("others", [0, 1, 31, 32, 33, 96])
@pytest.mark.parametrize("filler", ["<", "<|end", "a<"])
def test_the_last_separator_behind_which_its_first_byte_is_frequent(ram_path: Path, others: int, filler: str) -> None:
    path = ram_path / "in.txt"
    for documents in (["a", "b" + filler * others], [filler * others, filler * others], [filler * others]):
        path.write_text("<|endoftext|>".join(documents))
        for block in (7, 100, 1 << 20):
            expected = documents if documents[-1] else documents[:-1]
            assert read(path, block=block, separator=b"<|endoftext|>") == expected


@pytest.mark.parametrize("suffix", MAKERS)
@pytest.mark.parametrize("compression", ["", ".gz"])
def test_going_on_from_every_block(ram_path: Path, suffix: str, compression: str) -> None:
    path = ram_path / f"in{suffix}{compression}"
    path.write_bytes(pack(b"\xef\xbb\xbf" + MAKERS[suffix](DOCUMENTS * 3), compression))
    other = ram_path / "z.txt"
    other.write_text("z")
    reading = Reading(block=20)
    pieces = find_sources([path, other]).pieces
    before: list[str] = []
    for block in read_blocks(pieces, reading):
        before += [text.decode() for text in documents_of(block, reading, "skip").texts]
        assert before + read(path, other, block=20, position=block.end) == [*DOCUMENTS * 3, "z"]


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


def test_blank_lines_are_no_records(ram_path: Path) -> None:
    path = ram_path / "in.jsonl"
    path.write_bytes(b'\n{"text": "a"}\r\n   \n\t\n{"text": "b"}\n\n')
    made = run(path, ram_path / "o")
    assert made["documents"] == 2
    assert made["problems"] == {}


def test_a_file_that_changes_is_not_read(ram_path: Path) -> None:
    path = ram_path / "in.txt"
    path.write_text("a")
    task = make_part([path], ram_path / "o", byte_codec(), options=Options())
    path.write_text("ab")
    with pytest.raises(ValueError, match="has changed since the run began"):
        task.run()


@pytest.mark.parametrize("name", ["in.txt", "in.jsonl", "in.txt.gz", "in.parquet", "whole.txt"])
@pytest.mark.parametrize("change", ["appended", "cut short", "overwritten", "replaced"])
def test_a_file_that_changes_while_it_is_read(ram_path: Path, name: str, change: str) -> None:
    path = ram_path / name
    documents = [f"document {n} " * 50 for n in range(2000)]
    if name == "in.parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"text": documents}), path, row_group_size=100)
    else:
        path.write_bytes(pack(MAKERS["." + name.split(".")[1]](documents), ".gz" if name.endswith("gz") else ""))
    pieces = find_sources([path], whole_files=name == "whole.txt").pieces
    blocks = read_blocks(pieces, Reading(block=10_000))
    if name != "whole.txt":
        next(blocks)
    else:
        status = path.stat()
    if change == "appended":
        with path.open("ab") as file:
            file.write(b"x")
    elif change == "cut short":
        os.truncate(path, path.stat().st_size // 2)
    elif change == "overwritten":
        with path.open("r+b") as file:
            file.write(path.read_bytes())
        os.utime(path, ns=(1, 1))
    else:
        (ram_path / "new").write_bytes(path.read_bytes())
        if name == "whole.txt":
            os.utime(ram_path / "new", ns=(status.st_mtime_ns, status.st_mtime_ns - 1))
        os.replace(ram_path / "new", path)
    with pytest.raises(ValueError, match=rf"{name}: "):
        deque(blocks, 0)


@pytest.mark.parametrize("kind", ["text", "jsonl", "json"])
def test_standard_input(ram_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"text": MAKERS[".txt"], "jsonl": json_lines, "json": json_array}[kind](DOCUMENTS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + data)))
    run("-", ram_path / "o", input_kind=kind)
    assert texts_in(ram_path / "o.npy") == DOCUMENTS


def test_standard_input_names_lines(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b'{"text": "a"}\n' * 50 + b"\n{}\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    task = make_part(["-"], ram_path / "o", byte_codec(), options=Options(input_kind="jsonl"))
    with pytest.raises(ValueError, match=r"^<stdin>:52: no text"):
        replace(task, block=40).run()


def test_100_000_tiny_documents(ram_path: Path) -> None:
    documents = [f"d{n}" for n in range(100_000)]
    for suffix in (".txt", ".jsonl"):
        path = ram_path / f"in{suffix}"
        path.write_bytes(MAKERS[suffix](documents))
        assert run(path, ram_path / suffix[1:])["documents"] == 100_000
        assert texts_in(ram_path / f"{suffix[1:]}.npy") == documents


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
    with pytest.raises(MissingExtraError, match=rf"{module}: pip install 'bpetite\[corpus\]'"):
        run(ram_path / name, ram_path / "o")


LIMIT = """
import resource, sys
sys.path[:0] = {path!r}
from corpus_tools import byte_codec
from bpetite.corpus.reading import readers
from bpetite.corpus.reading.blocks import Reading
from bpetite.corpus.reading.readers import read_blocks
from bpetite.corpus.sources.find import find_sources
reading = Reading(block=1 << 16)
pieces = find_sources([{file!r}]).pieces
import numpy
next(iter(read_blocks(pieces, reading)))
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (12 << 20),) * 2)
print(sum(1 for block in read_blocks(pieces, reading)))
"""


@pytest.mark.parametrize(
    "name", slow_but(["in.txt", "in.jsonl", "in.txt.gz", "in.jsonl.zst"], "in.txt", "in.jsonl.zst")
)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_file(ram_path: Path, name: str) -> None:
    # 38 MB, read under a limit of 12 MB on added memory
    documents = [random.Random(n).randbytes(1_800).hex() + " " * 1_200 for n in range(8_000)]
    suffix, *compression = name.removeprefix("in").removeprefix(".").split(".")
    data = MAKERS[f".{suffix}"](documents)
    path = ram_path / name
    path.write_bytes(pack(data, f".{compression[0]}" if compression else ""))
    code = LIMIT.format(path=PYTHONPATH.split(os.pathsep), file=str(path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 200
