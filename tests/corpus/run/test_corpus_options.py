"""The options of corpus functions: their names, values that cannot be, and options that mean nothing."""
from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from corpus_tools import byte_codec, run

from bpetite.corpus import Options, count_corpus, encode_corpus, make_part
from bpetite.corpus.run.corpus_options import CorpusOptions, ReadingOptions, TaskOptions, choices_of
from bpetite.corpus.run.plan import Plan


def test_signatures_name_the_fields() -> None:
    assert get_type_hints(CorpusOptions) == get_type_hints(Options)
    assert {field.name for field in fields(Plan)} > set(TaskOptions.__annotations__)
    assert set(ReadingOptions.__annotations__) < set(CorpusOptions.__annotations__)


def test_unknown_options(ram_path: Path) -> None:
    missing: list[Any] = [ram_path / "missing", ram_path / "out", byte_codec()]
    with pytest.raises(TypeError, match=r"^encode_corpus\(\) got an unexpected keyword argument 'formt'$"):
        encode_corpus(*missing, formt="npy", overwrite=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^make_part\(\) .* 'eot'$"):
        make_part(*missing, options=Options(), eot="none")  # type: ignore[call-arg]
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
        ({"memory": 1 << 20}, "memory= means nothing without shuffle="),
        ({"seed": 3}, "seed= means nothing without val_fraction="),
        ({"separator": "|", "whole_files": True}, "separator= means nothing with whole_files=True"),
        ({"input_kind": "jsonl", "whole_files": True}, "whole_files= means nothing with input_kind='jsonl'"),
        ({"max_errors": 3}, "max_errors= goes with on_error='skip' or 'replace'"),
    ],
)
def test_options_that_mean_nothing_without_others(ram_path: Path, options: dict[str, Any], message: str) -> None:
    (ram_path / "in.txt").write_text("a")
    with pytest.raises(ValueError, match=message):
        run(ram_path / "in.txt", ram_path / "out" / "o", **options)
    assert not (ram_path / "out").exists()
    if options.keys() & {"input_kind", "max_errors"}:
        with pytest.raises(ValueError, match=message):
            count_corpus(ram_path / "in.txt", byte_codec(), **options)


def test_the_command_line_has_the_options_as_they_are_declared() -> None:
    from bpetite.cli.encode import command
    from bpetite.cli.shared_options import SIZE

    found = {parameter.name: parameter for parameter in command.params}
    for field in fields(Options):
        option = found[field.name]
        declared = (field.default, str(field.default), None if field.default is False else field.default)
        if field.name in ("memory", "max_document_bytes"):
            assert SIZE(option.default) == field.default
        else:
            assert option.default in declared
        assert choices_of(field.name)[-3:] == tuple(getattr(option.type, "choices", ()))[-3:]
        assert option.help  # type: ignore[attr-defined]
