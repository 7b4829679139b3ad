"""EncodeBatch in real Dataset.map calls of datasets."""
from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster_tools import text_of
from paths import PYTHONPATH

from bpetite import Tokenizer
from bpetite.cluster import EncodeBatch

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when datasets is imported
datasets = pytest.importorskip("datasets", reason="datasets is not installed")
pa = pytest.importorskip("pyarrow")

pytestmark = [
    pytest.mark.cluster,
    # num_proc forks, and by then other tests of the run have started threads
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning"),
]

TOKENIZER = Tokenizer.train([text_of(seed, 200) for seed in range(20)], 300)
TEXTS = [None if seed % 50 == 7 else text_of(seed, seed % 40) for seed in range(2000)]
IDS = [None if text is None else TOKENIZER.encode_ordinary(text) for text in TEXTS]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


@pytest.fixture
def stored(tmp_path: Path) -> Any:
    """A dataset that lies in files, as one that was loaded does: only such have a cache."""
    datasets.Dataset.from_dict({"id": range(len(TEXTS)), "text": TEXTS}).save_to_disk(tmp_path / "data")
    return datasets.load_from_disk(tmp_path / "data")


@pytest.mark.parametrize("num_proc", [None, 2])
def test_map(stored: Any, num_proc: int | None) -> None:
    encoded = stored.with_format("arrow").map(
        EncodeBatch(TOKENIZER), batched=True, batch_size=300, num_proc=num_proc
    ).with_format(None)
    assert encoded["input_ids"][:] == IDS
    assert encoded["text"][:] == TEXTS
    assert encoded.features["input_ids"] == datasets.List(datasets.Value("uint32"))


def test_columns_go_where_they_are_told(stored: Any) -> None:
    kept = stored.with_format("arrow").map(EncodeBatch(TOKENIZER, keep=["id"]), batched=True)
    assert kept.column_names == ["id", "input_ids"]


def test_streaming(stored: Any) -> None:
    encode = EncodeBatch(TOKENIZER, eot="append")
    stream = stored.to_iterable_dataset().with_format("arrow").map(encode, batched=True, batch_size=64)
    rows = list(stream.with_format(None).take(9))
    assert [list(row["input_ids"]) if row["input_ids"] is not None else None for row in rows] == [
        None if ids is None else [*ids, 300] for ids in IDS[:9]
    ]


def test_no_python_int_is_made_of_a_token(stored: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the function gives are arrays, and what arrives in the file is Arrow of the same type."""
    made: list[Any] = []

    class Watched(EncodeBatch):
        def __call__(self, batch: Any) -> Any:
            made.append(super().__call__(batch))
            return made[-1]

    stored.with_format("arrow").map(Watched(TOKENIZER), batched=True, load_from_cache_file=False)
    assert {type(batch) for batch in made} == {pa.Table}


RUN = """
import sys, datasets
from bpetite import Tokenizer
from bpetite.cluster import EncodeBatch
datasets.disable_progress_bars()
encode = EncodeBatch(Tokenizer.load(sys.argv[2]), eot=sys.argv[3])
made = datasets.load_from_disk(sys.argv[1]).with_format("arrow").map(encode, batched=True)
print(made._fingerprint, *(file["filename"] for file in made.cache_files))
"""


def test_a_second_run_hits_the_cache(stored: Any, tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path / "tok.json")

    def run(seed: str, eot: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", RUN, str(tmp_path / "data"), str(tmp_path / "tok.json"), eot],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": PYTHONPATH, "HF_HOME": str(tmp_path / "hf")},
            check=True, capture_output=True, text=True,
        )
        return done.stdout.split()

    fingerprint, cache = run("1", "none")
    written = os.stat(cache).st_mtime_ns
    assert run("2", "none") == [fingerprint, cache]
    assert os.stat(cache).st_mtime_ns == written
    assert run("2", "append")[0] != fingerprint
    # here, too, whatever has been done with the tokenizer meanwhile
    encode = EncodeBatch(TOKENIZER)
    TOKENIZER.fingerprint()
    encode(pa.table({"text": ["a"]}))
    assert stored.with_format("arrow").map(encode, batched=True)._fingerprint == fingerprint


def test_mistakes(stored: Any) -> None:
    with pytest.raises(ValueError, match="no column 'txt'"):
        stored.with_format("arrow").map(EncodeBatch(TOKENIZER, column="txt"), batched=True)
    with pytest.raises(TypeError, match=r"with_format\('arrow'\)"):
        stored.map(EncodeBatch(TOKENIZER), batched=True)
