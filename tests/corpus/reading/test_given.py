"""Documents that a program has: iterables, Hugging Face's datasets, Arrow, DuckDB; the same output as of files."""
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import Stopped, byte_codec, outputs, run_stopped, some_documents, texts_in

from bpetite.corpus import Options, RecordError, count_corpus, encode_corpus, make_part
from bpetite.corpus.api import Sources
from bpetite.corpus.reading import given
from bpetite.corpus.reading.given import given_documents

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when datasets is imported

TEXTS = some_documents(400, seed=3)


def relation() -> Any:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    pa = pytest.importorskip("pyarrow")
    connection = duckdb.connect()
    connection.register("texts", pa.table({"text": TEXTS, "id": list(map(str, range(400)))}))
    return connection.sql("select id, text from texts")


def table() -> Any:
    pa = pytest.importorskip("pyarrow")
    return pa.table({"text": TEXTS, "id": list(map(str, range(400)))})


def dataset() -> Any:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    return datasets.Dataset.from_dict({"text": TEXTS, "id": list(map(str, range(400)))})


SOURCES: dict[str, Callable[[], Any]] = {
    "list": lambda: list(TEXTS),
    "generator of bytes": lambda: (text.encode() for text in TEXTS),
    "records": lambda: [{"text": text, "id": str(number)} for number, text in enumerate(TEXTS)],
    "table": table,
    "reader": lambda: table().to_reader(max_chunksize=70),
    "relation": relation,
    "Dataset": dataset,
    "selected rows": lambda: dataset().select(range(400)),
    "transformed": lambda: dataset().with_transform(lambda batch: {name: list(batch[name]) for name in batch}),
    "IterableDataset": lambda: dataset().to_iterable_dataset(num_shards=3),
}


def task_of(documents: Any, sink: Path, block: int = 500, **options: Any) -> Any:
    task = make_part(Sources((given_documents(documents),)), sink, byte_codec(), options=Options(**options))
    return replace(task, block=block, checkpoint_seconds=0)


@pytest.mark.parametrize("name", SOURCES)
def test_the_documents_in_their_order(ram_path: Path, name: str) -> None:
    summary = encode_corpus(documents=SOURCES[name](), sink=ram_path / "o", tokenizer=byte_codec(), jobs=2)
    assert texts_in(ram_path / "o.npy") == TEXTS
    assert summary["documents"] == len(TEXTS)
    assert count_corpus(documents=SOURCES[name](), tokenizer=byte_codec())["documents"] == len(TEXTS)
    if name in ("Dataset", "selected rows", "transformed"):
        again = encode_corpus(documents=SOURCES[name](), sink=ram_path / "o", tokenizer=byte_codec())
        assert again["tokens_before"] == 0  # finished already
        assert again["tokens"] == summary["tokens"]
        return
    documents = iter(SOURCES[name]()) if name == "generator of bytes" else SOURCES[name]()
    with pytest.raises(FileExistsError, match=r"<documents> can be read only once, .* overwrite=True"):
        encode_corpus(documents=documents, sink=ram_path / "o", tokenizer=byte_codec())
    if name == "generator of bytes":
        assert next(documents) == TEXTS[0].encode()  # nothing was taken


def test_a_run_that_is_stopped_goes_on(ram_path: Path) -> None:
    options: dict[str, Any] = {"format": "dolma", "shard_tokens": 900, "val_fraction": 0.2}
    task_of(dataset(), ram_path / "whole" / "o", **options).run()
    task = task_of(dataset(), ram_path / "stopped" / "o", **options)
    assert run_stopped(task, 1)[1] > 3
    assert outputs(ram_path / "whole") == outputs(ram_path / "stopped")


def stopped(sink: Path, documents: Any, **options: Any) -> None:
    def step(raw: int, tokens: int, done: int) -> None:
        if done > 100:
            raise Stopped

    with pytest.raises(Stopped):
        task_of(documents, sink, **options).run(progress=step)


def test_others_begin_anew(ram_path: Path) -> None:
    options: dict[str, Any] = {"format": "dolma", "shard_tokens": 900}
    for name in ("list", "relation", "IterableDataset"):
        stopped(ram_path / name / "o", SOURCES[name](), **options)
        log: list[str] = []
        other = ["?", *TEXTS]
        assert task_of(other, ram_path / name / "o", **options).run(log=log.append)["documents"] == len(other)
        assert log == ["begins anew: the input can be read only once"]
        task_of(other, ram_path / "whole" / name / "o", **options).run()
        assert outputs(ram_path / "whole" / name) == outputs(ram_path / name)
    with pytest.raises(ValueError, match="cannot be shared between ranks"):
        encode_corpus(documents=TEXTS, sink=ram_path / "r", tokenizer=byte_codec(), rank=0, world_size=2)


def test_a_dataset_is_known_by_its_fingerprint_and_not_read_again(
    ram_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = dataset(), dataset().map(lambda row: {"text": row["text"] + "."})
    stopped(ram_path / "o", first)
    said = rf"begun with <datasets.Dataset .*>, now <datasets.Dataset {second._fingerprint}>"
    with pytest.raises(ValueError, match=said):
        task_of(second, ram_path / "o").run()
    begun = []
    rows = given._rows
    monkeypatch.setattr(given, "_rows", lambda *arguments: begun.append(arguments[-1]) or rows(*arguments))
    task_of(dataset(), ram_path / "o").run()
    assert begun[0] >= 80
    assert texts_in(ram_path / "o.npy") == TEXTS


def test_a_dataset_replaces_an_output(ram_path: Path) -> None:
    task_of(dataset(), ram_path / "o").run()
    replace(task_of(dataset().select(range(20)), ram_path / "o"), overwrite=True).run()
    assert texts_in(ram_path / "o.npy") == TEXTS[:20]


def test_problems_have_rows(ram_path: Path) -> None:
    odd: list[Any] = ["a", None, b"\xff", {"text": "\ud800"}, {"no": "text"}, 7, "b"]
    summary = encode_corpus(
        documents=odd, sink=ram_path / "o", tokenizer=byte_codec(), on_error="skip", rejected=True
    )
    assert summary["documents"] == 2
    assert {kind: problem["first"] for kind, problem in summary["problems"].items()} == {
        "no-text": "<documents>: row 2", "invalid-utf8": "<documents>: row 3", "lone-surrogate": "<documents>: row 4",
    }  # fmt: skip
    encode_corpus(documents=odd, sink=ram_path / "p", tokenizer=byte_codec(), on_error="replace")
    assert texts_in(ram_path / "p.npy") == ["a", "", "\ufffd", "\ufffd", "", "", "b"]
    with pytest.raises(RecordError, match=r"<documents>: row 2: no text"):
        encode_corpus(documents=odd, sink=ram_path / "q", tokenizer=byte_codec())
    encode_corpus(documents=[{"a": {"b": "x"}}], sink=ram_path / "r", tokenizer=byte_codec(), text_key="a.b")
    assert texts_in(ram_path / "r.npy") == ["x"]


def test_columns_that_there_are_not(ram_path: Path) -> None:
    for documents in (table(), dataset()):
        with pytest.raises(ValueError, match=r"no column 'content' \(there are: text, id\)"):
            encode_corpus(documents=documents, sink=ram_path / "o", tokenizer=byte_codec(), text_key="content")


def test_what_is_not_many_documents(ram_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    for wrong, message in (
        ("a text", "documents is one str"), ({"text": "a"}, "documents is one dict"), (7, "a int cannot be iterated"),
        (datasets.DatasetDict(train=dataset()), "name one of its splits: train"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=message):
            encode_corpus(documents=wrong, sink=ram_path / "o", tokenizer=byte_codec())
    with pytest.raises(TypeError, match="sources or documents, one of them"):
        encode_corpus("x", ram_path / "o", byte_codec(), documents=["a"])
    with pytest.raises(TypeError, match="missing 1 required argument: 'tokenizer'"):
        encode_corpus(documents=["a"], sink=ram_path / "o")


def test_no_documents(ram_path: Path) -> None:
    assert encode_corpus(documents=[], sink=ram_path / "o", tokenizer=byte_codec())["documents"] == 0


def test_an_error_of_the_iterable_is_that_of_the_call_and_the_run_begins_anew(ram_path: Path) -> None:
    def failing() -> Iterator[str]:
        yield from TEXTS[:300]
        raise OSError("the source is gone")

    with pytest.raises(OSError, match="the source is gone"):
        task_of(failing(), ram_path / "o").run()
    task_of(TEXTS, ram_path / "o").run()
    assert texts_in(ram_path / "o.npy") == TEXTS
