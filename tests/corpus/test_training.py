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


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("<|endoftext|>".join(DOCUMENTS), encoding="utf-8")
    return tmp_path / "a.txt"


def test_files_and_folders(text: Path) -> None:
    (text.parent / "b.jsonl.gz").write_bytes(gzip.compress(records()))
    for paths in (text, str(text), [text], str(text.parent / "a.*"), text.with_name("b.jsonl.gz")):
        assert Tokenizer.train_from_files(paths, 270, special_tokens=[]) == LEARNED
    twice = Tokenizer.train(DOCUMENTS * 2, 270, special_tokens=[])
    assert Tokenizer.train_from_files(text.parent, 270, special_tokens=[]) == twice


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


def test_records_with_problems(text: Path) -> None:
    path = text.with_name("a.jsonl")
    path.write_bytes(b'{"text": 7}\n' + records())
    with pytest.raises(RecordError, match=r"a\.jsonl:1: no text"):
        Tokenizer.train_from_files(path, 270, special_tokens=[])
    messages: list[str] = []
    found = Tokenizer.train_from_files(path, 270, special_tokens=[], on_error="skip", log=messages.append)
    assert found == LEARNED
    assert len(messages) == 1
    with pytest.raises(RecordError, match=r"too long|longer"):
        Tokenizer.train_from_files(text, 270, max_document_bytes=3)


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
    text: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    monkeypatch.setattr("bpetite.corpus.training.read_documents", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(error, match=message):
        Tokenizer.train_from_files(text, 270, **options)
