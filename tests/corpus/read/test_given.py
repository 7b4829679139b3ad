"""Documents that a program has: iterables, Hugging Face's datasets, Arrow, DuckDB; the same output as of files."""
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import byte_codec, outputs, plan_of, run_plan, some_documents, texts_in

from bpetite.corpus import RecordError, Sources, count_corpus, encode_corpus
from bpetite.corpus.read import given
from bpetite.corpus.read.given import given_documents

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when datasets is imported

TEXTS = some_documents(400, seed=3)


COLUMNS = {"text": TEXTS, "id": list(map(str, range(400)))}


def table() -> Any:
    return pytest.importorskip("pyarrow").table(COLUMNS)


def relation() -> Any:
    connection = pytest.importorskip("duckdb", reason="DuckDB is not installed").connect()
    connection.register("texts", table())
    return connection.sql("select id, text from texts")


def dataset() -> Any:
    return pytest.importorskip("datasets", reason="datasets is not installed").Dataset.from_dict(COLUMNS)


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


def encode(documents: Any, output: Path, *, progress: Any = None, log: Any = None, **options: Any) -> dict[str, Any]:
    plan = plan_of(Sources((given_documents(documents),)), output, 500, checkpoint_seconds=0, **options)
    return run_plan(plan, progress=progress, log=log)


@pytest.mark.parametrize("name", SOURCES)
def test_the_documents_in_their_order(ram_path: Path, name: str) -> None:
    summary = encode_corpus(documents=SOURCES[name](), output=ram_path / "o", tokenizer=byte_codec(), jobs=2)
    assert texts_in(ram_path / "o.npy") == TEXTS
    assert summary["documents"] == len(TEXTS)
    assert count_corpus(documents=SOURCES[name](), tokenizer=byte_codec())["documents"] == len(TEXTS)
    if name in ("Dataset", "selected rows", "transformed"):
        again = encode_corpus(documents=SOURCES[name](), output=ram_path / "o", tokenizer=byte_codec())
        assert again["tokens_before"] == 0  # finished already
        assert again["tokens"] == summary["tokens"]
        return
    documents = iter(SOURCES[name]()) if name == "generator of bytes" else SOURCES[name]()
    with pytest.raises(FileExistsError, match=r"<documents> can be read only once, .* overwrite=True"):
        encode_corpus(documents=documents, output=ram_path / "o", tokenizer=byte_codec())
    if name == "generator of bytes":
        assert next(documents) == TEXTS[0].encode()  # nothing was taken


class Stopped(BaseException):
    """A process is no more."""


def stop(documents: Any, output: Path, **options: Any) -> None:
    def step(raw: int, tokens: int, done: int) -> None:
        if done > 100:
            raise Stopped

    with pytest.raises(Stopped):
        encode(documents, output, progress=step, **options)


def test_others_begin_anew(ram_path: Path) -> None:
    options: dict[str, Any] = {"format": "dolma", "shard_tokens": 900}
    other = ["?", *TEXTS]
    encode(other, ram_path / "whole" / "o", **options)
    for name in ("list", "relation", "IterableDataset"):
        stop(SOURCES[name](), ram_path / name / "o", **options)
        log: list[str] = []
        assert encode(other, ram_path / name / "o", log=log.append, **options)["documents"] == len(other)
        assert log == ["begins anew: <documents> can be read only once"]
        assert outputs(ram_path / "whole") == outputs(ram_path / name)
    with pytest.raises(ValueError, match="cannot be shared between ranks"):
        encode_corpus(documents=TEXTS, output=ram_path / "r", tokenizer=byte_codec(), rank=0, world_size=2)


def test_a_dataset_is_known_by_its_fingerprint_and_not_read_again(
    ram_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = dataset(), dataset().map(lambda row: {"text": row["text"] + "."})
    stop(first, ram_path / "o")
    said = rf"begun with .*<datasets.Dataset .*>.*, now <datasets.Dataset {second._fingerprint}>"
    with pytest.raises(ValueError, match=said):
        encode(second, ram_path / "o")
    begun = []
    rows = given._rows
    monkeypatch.setattr(given, "_rows", lambda *arguments: begun.append(arguments[-1]) or rows(*arguments))
    encode(dataset(), ram_path / "o")
    assert begun[0] >= 80
    assert texts_in(ram_path / "o.npy") == TEXTS


def test_problems_have_rows(ram_path: Path) -> None:
    odd: list[Any] = ["a", None, b"\xff", {"text": "\ud800"}, {"no": "text"}, 7, "b"]
    summary = encode_corpus(
        documents=odd, output=ram_path / "o", tokenizer=byte_codec(), on_error="skip", rejected=True
    )
    assert summary["documents"] == 2
    assert {kind: problem["first"] for kind, problem in summary["problems"].items()} == {
        "no-text": "<documents>: row 2", "invalid-utf8": "<documents>: row 3", "lone-surrogate": "<documents>: row 4",
    }  # fmt: skip
    encode_corpus(documents=odd, output=ram_path / "p", tokenizer=byte_codec(), on_error="replace")
    assert texts_in(ram_path / "p.npy") == ["a", "", "\ufffd", "\ufffd", "", "", "b"]
    with pytest.raises(RecordError, match=r"<documents>: row 2: no text"):
        encode_corpus(documents=odd, output=ram_path / "q", tokenizer=byte_codec())
    encode_corpus(documents=[{"a": {"b": "x"}}], output=ram_path / "r", tokenizer=byte_codec(), text_key="a.b")
    assert texts_in(ram_path / "r.npy") == ["x"]


def test_what_is_not_many_documents(ram_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    codec: dict[str, Any] = {"output": ram_path / "o", "tokenizer": byte_codec()}
    for wrong, message in (
        ({"documents": "a text"}, "documents is one str"), ({"documents": {"text": "a"}}, "documents is one dict"),
        ({"documents": 7}, "a int cannot be iterated"),
        ({"sources": "x", "documents": ["a"]}, "sources or documents"),
        ({"documents": datasets.DatasetDict(train=dataset())}, "name one of its splits: train"),
        ({"documents": ["a"], "tokenizer": None}, "missing 1 required argument: 'tokenizer'"),
    ):
        with pytest.raises(TypeError, match=message):
            encode_corpus(**{name: value for name, value in {**codec, **wrong}.items() if value is not None})
    for documents in (table(), dataset()):
        with pytest.raises(ValueError, match=r"no column 'content' \(there are: text, id\)"):
            encode_corpus(documents=documents, text_key="content", **codec)
    assert encode_corpus(documents=[], **codec)["documents"] == 0


def test_an_error_of_the_iterable_is_that_of_the_call_and_the_run_begins_anew(ram_path: Path) -> None:
    def failing() -> Iterator[str]:
        yield from TEXTS[:300]
        raise OSError("the source is gone")

    with pytest.raises(OSError, match="the source is gone"):
        encode(failing(), ram_path / "o")
    encode(TEXTS, ram_path / "o")
    assert texts_in(ram_path / "o.npy") == TEXTS
