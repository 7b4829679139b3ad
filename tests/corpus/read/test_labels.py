"""Documents with what they belong to: a key of records, the name of a file or a folder."""
import gzip
import json
from pathlib import Path

import pytest

from bpetite.corpus import find_sources
from bpetite.corpus.read.blocks import Reading
from bpetite.corpus.read.readers import read_labelled

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
def test_by_a_key_of_records(tmp_path: Path, ending: str) -> None:
    lines = "\n".join(map(json.dumps, RECORDS)) if "jsonl" in ending else json.dumps(RECORDS)
    path = tmp_path / f"x.{ending}"
    path.write_bytes(gzip.compress(lines.encode()) if ending.endswith("gz") else lines.encode())
    expected = [("en", "one"), ("de", "zwei"), (None, "three"), ('["de", 4]', "vier")]
    assert labelled(path, "lang") == expected
    assert labelled(path, "meta.source") == [("a", "one"), ("b", "zwei"), (None, "three"), ("1", "vier")]
    assert labelled(path, "absent") == [(None, record["text"]) for record in RECORDS]


def test_of_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"text": ["one", "zwei", None], "lang": ["en", None, "de"]})
    parquet.write_table(table, tmp_path / "x.parquet")
    assert labelled(tmp_path / "x.parquet", "lang", on_error="skip") == [("en", "one"), (None, "zwei")]


def test_labels_stay_with_their_documents(tmp_path: Path) -> None:
    """Where records are skipped, one of them since its text is not UTF-8."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"text": "a", "lang": "A"}\n{"text": 5, "lang": "B"}\n\n{"text": "\xff", "lang": "C"}\n'
                     b'{"text": "d", "lang": "D"}\n')  # fmt: skip
    assert labelled(path, "lang", on_error="skip") == [("A", "a"), ("D", "d")]
    assert labelled(path, "lang", on_error="replace") == [("A", "a"), ("B", ""), ("C", "\ufffd"), ("D", "d")]


def test_by_files_and_folders(tmp_path: Path) -> None:
    for folder, name, text in (("de", "a.v2.txt", "eins<|endoftext|>zwei"), ("en", "b.txt", "one")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    (tmp_path / "en" / "c.jsonl.gz").write_bytes(gzip.compress(b'{"text": "two", "file": "x"}'))
    assert labelled(tmp_path, "folder") == [("de", "eins"), ("de", "zwei"), ("en", "one"), ("en", "two")]
    assert labelled(tmp_path, "file") == [("a.v2", "eins"), ("a.v2", "zwei"), ("b", "one"), ("c", "two")]
    with pytest.raises(ValueError, match=r"a\.v2\.txt: text has no records with a key 'lang': label it by 'file'"):
        labelled(tmp_path, "lang")
