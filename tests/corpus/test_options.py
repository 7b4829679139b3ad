"""The options of corpus functions: their names, and what happens to names that there are not."""
from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from corpus_tools import byte_codec

from bpetite.corpus import Options, count_corpus, encode_corpus, make_task
from bpetite.corpus.options import CorpusOptions, ReadingOptions, TaskOptions
from bpetite.corpus.plan import Plan


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
