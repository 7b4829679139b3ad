"""The options of corpus functions: their names, values that cannot be, and options that mean nothing."""
from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from corpus_tools import byte_codec, run

from bpetite.corpus import Mixture, MixtureSource, Options, count_corpus, encode_corpus, make_task
from bpetite.corpus.run.options import CorpusOptions, ReadingOptions, TaskOptions
from bpetite.corpus.run.plan import Plan


def test_signatures_name_the_fields() -> None:
    assert get_type_hints(CorpusOptions) == get_type_hints(Options)
    assert {field.name for field in fields(Plan)} > set(TaskOptions.__annotations__)
    assert set(ReadingOptions.__annotations__) < set(CorpusOptions.__annotations__)


def test_unknown_options(ram_path: Path) -> None:
    missing: list[Any] = [ram_path / "missing", ram_path / "out", byte_codec()]
    with pytest.raises(TypeError, match=r"^encode_corpus\(\) got an unexpected keyword argument 'formt'$"):
        encode_corpus(*missing, formt="npy", overwrite=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^make_task\(\) .* 'eot'$"):
        make_task(*missing, options=Options(), eot="none")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^count_corpus\(\) .* 'overwrite'$"):
        count_corpus(missing[0], missing[2], overwrite=True)  # type: ignore[call-arg]
    assert not any(ram_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eot": "maybe"}, "eot 'maybe'"), ({"on_error": "x"}, "on_error 'x'"), ({"shard_tokens": 0}, "shard_tokens 0"),
        ({"val_fraction": 1.0}, "val_fraction 1.0"), ({"separator": ""}, "separator must not be empty"),
        ({"jobs": 0}, "jobs 0"), ({"codec": byte_codec(eot=False)}, "no end-of-text token"),
        ({"codec": byte_codec(eot=False), "eot": "none"}, "give separator= or whole_files=True"),
        ({"rank": 3, "world_size": 2}, "rank 3"),
    ],
)  # fmt: skip
def test_options_that_cannot_be(ram_path: Path, options: dict[str, Any], message: str) -> None:
    (ram_path / "in.txt").write_text("a")
    with pytest.raises(ValueError, match=message):
        run(ram_path / "in.txt", ram_path / "new" / "o", **options)
    assert not (ram_path / "new").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pack_last": "pad"}, "pack_last= means nothing without pack="),
        ({"long_documents": "split"}, "long_documents= means nothing without max_document_tokens="),
        ({"memory": 1 << 20}, "memory= means nothing without shuffle= or drop_duplicates=True"),
        ({"seed": 3}, "seed= means nothing without val_fraction= or a mixture"),
        ({"separator": "|", "whole_files": True}, "separator= means nothing with whole_files=True"),
        ({"input_kind": "jsonl", "whole_files": True}, "whole_files= means nothing with input_kind='jsonl'"),
        ({"max_errors": 3}, "max_errors= goes with on_error='skip' or 'replace'"),
        ({"staging": "here"}, "staging= is for an output at a URL"),
    ],
)
def test_options_that_mean_nothing_without_others(ram_path: Path, options: dict[str, Any], message: str) -> None:
    (ram_path / "in.txt").write_text("a")
    with pytest.raises(ValueError, match=message):
        run(ram_path / "in.txt", ram_path / "out" / "o", **options)
    assert not (ram_path / "out").exists()
    if options.keys() & {"input_kind", "max_errors", "long_documents"}:
        with pytest.raises(ValueError, match=message):
            count_corpus(ram_path / "in.txt", byte_codec(), **options)


def test_sources_of_a_mixture_may_have_the_other_option(ram_path: Path) -> None:
    (ram_path / "in.txt").write_text("abc<|endoftext|>d")
    own = {"max_document_tokens": 2}
    mixture = Mixture((MixtureSource("one", (str(ram_path / "in.txt"),), repeats=1.5, options=own),))
    summary = encode_corpus(mixture, ram_path / "o", byte_codec(), long_documents="split", seed=1)
    assert summary["filtered"]["split"] >= 1
