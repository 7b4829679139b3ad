"""The options of corpus functions: their names, values that cannot be, and options that mean nothing."""
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from click import Context
from corpus_tools import byte_codec, run

from bpetite.cli.encode import command
from bpetite.corpus import Options, count_corpus, encode_corpus
from bpetite.corpus.options import choices_of


def test_unknown_options(ram_path: Path) -> None:
    missing: list[Any] = [ram_path / "missing", ram_path / "out", byte_codec()]
    with pytest.raises(TypeError, match="unexpected keyword argument 'formt'"):
        encode_corpus(*missing, formt="npy", overwrite=True)
    with pytest.raises(TypeError, match="'overwrit'"):
        count_corpus(missing[0], missing[2], overwrit=True)
    assert not any(ram_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eot": "maybe"}, "eot 'maybe'"), ({"on_error": "x"}, "on_error 'x'"), ({"shard_tokens": 0}, "shard_tokens 0"),
        ({"val_fraction": 1.0}, "val_fraction 1.0"), ({"separator": ""}, "separator must not be empty"),
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"codec": byte_codec(), "special": "error"}, "special='error' is not what the Codec does: 'text'"),
        ({"codec": byte_codec(eot=False)}, "no end-of-text token"),
        ({"codec": byte_codec(eot=False), "eot": "none"}, "give separator= or whole_files=True"),
        ({"rank": 3, "world_size": 2}, "rank 3"),
        ({"rejected": True}, "rejected= means nothing with on_error='fail', which ends at the first problem"),
        ({"seed": 3}, "seed= means nothing without val_fraction="),
        ({"separator": "|", "whole_files": True}, "separator= means nothing with whole_files=True"),
        ({"input_kind": "jsonl", "whole_files": True}, "whole_files= means nothing with input_kind='jsonl'"),
        ({"max_errors": 3}, "max_errors= means nothing with on_error='fail'"),
    ],
)  # fmt: skip
def test_options_that_cannot_be(ram_path: Path, options: dict[str, Any], message: str) -> None:
    (ram_path / "in.txt").write_text("a")
    with pytest.raises(ValueError, match=message):
        run(ram_path / "in.txt", ram_path / "new" / "o", **options)
    assert not (ram_path / "new").exists()
    if options.keys() & {"input_kind", "max_errors"}:
        with pytest.raises(ValueError, match=message):
            count_corpus(ram_path / "in.txt", byte_codec(), **options)


def test_the_command_line_has_the_options_as_they_are_declared() -> None:
    found = {parameter.name: parameter for parameter in command.params}
    for field in fields(Options):
        if field.name == "tokenizer_name":
            continue
        option = found[field.name]
        assert option.get_default(Context(command)) == field.default
        assert choices_of(field.name)[-3:] == tuple(getattr(option.type, "choices", ()))[-3:]
        assert option.help  # type: ignore[attr-defined]
