"""Shuffling: against a plain form, for any memory, jobs, format; after interruptions; refused where there are parts."""
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus_tools import (
    byte_codec,
    documents_in,
    outputs_of_both,
    run,
    some_documents,
    texts_in,
    write_inputs,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import slow_but

from bpetite.corpus import Options, make_part
from bpetite.corpus.encoding.rows import Rows
from bpetite.corpus.run.sink import OVERHEAD, Shuffle, permutation

WORD = 2**64


def keys(seed: int, block: int, count: int) -> list[int]:
    """The first numbers of PCG64, one at a time."""
    generator = np.random.PCG64([seed % WORD, block])
    return [int(generator.random_raw()) for _ in range(count)]


def shuffled(documents: list[Any], costs: list[int], seed: int, memory: int) -> list[Any]:
    """The plain form."""
    blocks: list[list[Any]] = [[]]
    held = 0
    for document, cost in zip(documents, costs, strict=True):
        if blocks[-1] and held + cost > memory:
            blocks.append([])
            held = 0
        blocks[-1].append(document)
        held += cost
    return [
        block[number]
        for index, block in enumerate(blocks)
        for number in sorted(range(len(block)), key=keys(seed, index, len(block)).__getitem__)
    ]


@settings(max_examples=50)
@given(st.lists(st.integers(0, 900), max_size=40), st.integers(-3, 3), st.integers(1, 9000), st.integers(1, 12))
def test_blocks_are_those_of_the_plain_form(lengths: list[int], seed: int, memory: int, at_once: int) -> None:
    documents = [[number] * length for number, length in enumerate(lengths)]
    shuffle = Shuffle(seed, memory)
    found: list[Any] = []

    def empty() -> None:
        for rows in shuffle.empty():
            ends = np.cumsum(rows.lengths)
            found.extend(part.tolist() for part in np.split(rows.tokens, ends[:-1]))

    for start in range(0, len(documents), at_once):
        some = documents[start : start + at_once]
        tokens = np.array([token for document in some for token in document], np.uint16)
        rows = Rows(tokens, np.array([len(document) for document in some], np.int64))
        at = 0
        while at < len(rows):
            at = shuffle.fill(rows, at)
            if at < len(rows):
                empty()
    empty()
    assert found == shuffled(documents, [2 * length + OVERHEAD for length in lengths], seed, memory)


def test_every_document_is_as_likely_anywhere() -> None:
    places = np.array([permutation(seed, 0, 50) for seed in range(400)])
    assert (np.sort(places, axis=1) == np.arange(50)).all()
    assert abs(places.mean(axis=0) - 24.5).max() < 4
    assert len({tuple(row) for row in places.tolist()}) == 400


@pytest.mark.parametrize("memory", [1, 4000, 1 << 30])
@pytest.mark.parametrize("jobs", [1, 2])
def test_the_output_is_that_of_the_plain_form(ram_path: Path, memory: int, jobs: int) -> None:
    documents = some_documents(200)
    paths = write_inputs(ram_path / "in", documents)
    run(paths, ram_path / "o", shuffle=7, memory=memory, jobs=jobs)
    costs = [2 * (len(document.encode()) + 1) + OVERHEAD for document in documents]
    assert texts_in(ram_path / "o.npy") == shuffled(documents, costs, 7, memory)
    if memory > 1:
        assert texts_in(ram_path / "o.npy") != documents


@pytest.mark.parametrize("format", ["npy", "nanogpt", "llmc", "dolma", "parquet"])
@pytest.mark.parametrize("memory", slow_but([3000, 20_000], 3000))
def test_interruptions_and_jobs_change_no_byte(ram_path: Path, format: Any, memory: int) -> None:
    paths = write_inputs(ram_path / "in", [*some_documents(200), "no \x07 token", *some_documents(100)])
    options = Options(
        format=format, shuffle=1, memory=memory, shard_tokens=900, val_fraction=0.2, on_error="skip", rejected=True,
    )  # fmt: skip
    blocks = iter([200, 333])  # however the input is read

    def make(folder: Path) -> Any:
        return replace(make_part(paths, folder / "o", byte_codec(), options=options), block=next(blocks))

    outputs_of_both(make, ram_path, memory)


def test_the_sides_of_a_document_are_those_without_shuffling(ram_path: Path) -> None:
    paths = write_inputs(ram_path / "in", some_documents(200))
    for name, options in (("a", {}), ("b", {"shuffle": 5, "memory": 5000})):
        run(paths, ram_path / name, val_fraction=0.3, **options)
    for side in ("train", "val"):
        a, b = (documents_in(ram_path / f"{name}_{side}.npy") for name in "ab")
        assert a != b
        assert sorted(a) == sorted(b)


def test_ranks_are_refused(ram_path: Path) -> None:
    paths = write_inputs(ram_path / "in", some_documents(20))
    with pytest.raises(ValueError, match="each of several parts sees some: run one process"):
        run(paths, ram_path / "o", rank=0, world_size=2, shuffle=1)
    with pytest.raises(ValueError, match="memory 0 is not at least 1"):
        run(paths, ram_path / "o", shuffle=1, memory=0)
