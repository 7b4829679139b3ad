"""train_from_files: the documents of files of every kind are what training on them as texts learns from."""
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bpetite import Tokenizer
from bpetite.corpus import RecordError

DOCUMENTS = ["the cat sat", "größer als das", "on the mat", "the dog"]
LEARNED = Tokenizer.train(DOCUMENTS, 270, special_tokens=[])


def records(key: str = "text") -> bytes:
    return "".join(json.dumps({key: text}) + "\n" for text in DOCUMENTS).encode()


def write(folder: Path, name: str) -> Path:
    path = folder / name
    content = records() if "jsonl" in name else "<|endoftext|>".join(DOCUMENTS).encode()
    if name.endswith(".parquet"):
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.table({"text": DOCUMENTS}), path)
        return path
    if name.endswith(".zst"):
        content = pytest.importorskip("zstandard").compress(content)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl", "a.jsonl.zst", "a.parquet"])
def test_every_kind_of_file(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name)
    for paths in (path, str(path), [path], tmp_path, str(tmp_path / "a.*")):
        assert Tokenizer.train_from_files(paths, 270, special_tokens=[]) == LEARNED


def test_options_are_those_of_train_and_of_reading(tmp_path: Path) -> None:
    (tmp_path / "a.data").write_text("|".join(DOCUMENTS), encoding="utf-8")
    (tmp_path / "b.jsonl").write_bytes(records("body"))
    options: dict[str, Any] = {
        "special_tokens": {"<eot>": 1000}, "pattern": "cl100k_base", "min_frequency": 2, "tie_break": "bytes",
        "max_token_bytes": 3, "normalization": "NFC",
    }  # fmt: skip
    learned = Tokenizer.train(DOCUMENTS, 270, **options)
    seen: list[str] = []
    options |= {"num_threads": 1, "progress": lambda stage, *_: seen.append(stage)}
    found = Tokenizer.train_from_files(tmp_path / "a.data", 270, separator="|", input_kind="text", **options)
    assert found == Tokenizer.train_from_files(tmp_path / "b.jsonl", 270, text_key="body", **options) == learned
    assert {"count", "merge"} <= set(seen)
    whole = Tokenizer.train_from_files(tmp_path / "a.data", 257, whole_files=True, input_kind="text")
    assert whole == Tokenizer.train("|".join(DOCUMENTS), 257)


def test_records_with_problems(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": 7}\n' + records())
    with pytest.raises(RecordError, match=r"a\.jsonl:1: no text"):
        Tokenizer.train_from_files(path, 270, special_tokens=[])
    messages: list[str] = []
    found = Tokenizer.train_from_files(path, 270, special_tokens=[], on_error="skip", log=messages.append)
    assert found == LEARNED
    assert len(messages) == 1
    with pytest.raises(RecordError, match=r"too long|longer"):
        Tokenizer.train_from_files(write(tmp_path, "a.txt"), 270, max_document_bytes=3)


def test_a_file_that_no_reader_knows(tmp_path: Path) -> None:
    write(tmp_path, "a.txt")
    (tmp_path / "b.md").write_text("# no text of a corpus")
    with pytest.raises(ValueError, match=r"b\.md: no reader for this suffix"):
        Tokenizer.train_from_files(tmp_path, 270, special_tokens=[])
    assert Tokenizer.train_from_files(tmp_path, 270, special_tokens=[], on_error="skip") == LEARNED


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"pattern": "("}, ValueError, "not a regular expression"),
        ({"min_frequency": 0}, ValueError, "min_frequency"),
        ({"separator": ""}, ValueError, "separator"),
        ({"on_error": "ignore"}, ValueError, "on_error"),
        ({"text_kye": "x"}, TypeError, "unexpected keyword argument 'text_kye'"),
    ],
)
def test_options_are_checked_before_a_byte_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    path = write(tmp_path, "a.txt")
    monkeypatch.setattr("bpetite.corpus.training.read_documents", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(error, match=message):
        Tokenizer.train_from_files(path, 270, **options)
