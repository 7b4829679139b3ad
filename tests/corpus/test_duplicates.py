"""Duplicates: the table against a set, documents against a plain form, interruptions, a table that is full."""
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus_tools import (
    Stopped,
    byte_codec,
    outputs_of_both,
    run,
    some_documents,
    texts_in,
    write_inputs,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.corpus import Mixture, MixtureSource, Options, count_corpus, make_task
from bpetite.corpus.duplicates import Seen, digests_of
from bpetite.errors import FormatError

HASHES = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0, 1, 64, 2**64 - 1])), max_size=60)


@settings(max_examples=50)
@given(st.lists(HASHES, max_size=4))
def test_a_small_table_is_a_set(batches: list[list[tuple[int, int]]]) -> None:
    seen, expected = Seen(1 << 14), set()
    for batch in batches:
        new = []
        for one in batch:
            one = one if any(one) else (1, 1)  # the place of a hash of nothing but zeros
            new.append(one not in expected)
            expected.add(one)
        assert seen.add(np.array(batch, np.uint64).reshape(-1, 2)).tolist() == new
    assert seen.count == len(expected)


def test_a_table_that_grows_keeps_all() -> None:
    seen = Seen(64 << 20)
    hashes = np.random.default_rng(0).integers(0, 2**64, (60_000, 2), np.uint64)
    assert seen.add(hashes).all()
    assert not seen.add(hashes[::-1]).any()
    assert seen.add(hashes + np.uint64(1)).all()
    assert seen.count == 120_000


def test_hashes() -> None:
    found = digests_of([b"a", b"b", b"a"], 0)
    assert found.shape == (3, 2)
    assert (found[0] == found[2]).all()
    assert (found[0] != found[1]).any()
    assert (digests_of([b"a"], 1) != found[:1]).any()
    assert digests_of([], 0).shape == (0, 2)


def repeated(count: int, seed: int = 0) -> list[str]:
    documents = some_documents(count, seed, longest=20)
    chosen = random.Random(seed)
    return [chosen.choice(documents) for _ in range(count)]


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("how", ["cut", "split", "skip"])
def test_the_first_of_equal_documents_is_kept(ram_path: Path, how: Any, jobs: int) -> None:
    documents = repeated(300)
    paths = write_inputs(ram_path / "in", documents)
    summary = run(paths, ram_path / "o", drop_duplicates=True, jobs=jobs)
    kept = list(dict.fromkeys(documents))
    assert texts_in(ram_path / "o.npy") == kept
    assert summary["filtered"] == {"duplicate": len(documents) - len(kept)}
    assert summary["bytes"] == sum(len(document.encode()) for document in kept)
    options: dict[str, Any] = {"max_document_tokens": 6, "long_documents": how, "min_document_bytes": 2}
    (ram_path / "kept.txt").write_text("|".join(kept))
    one = run(paths, ram_path / "p", drop_duplicates=True, val_fraction=0.3, **options)
    two = run(ram_path / "kept.txt", ram_path / "q", separator="|", val_fraction=0.3, **options)
    for side in ("train", "val"):
        assert (ram_path / f"p_{side}.npy").read_bytes() == (ram_path / f"q_{side}.npy").read_bytes()
    assert (one["documents"], one["bytes"]) == (two["documents"], two["bytes"])


def test_count_leaves_them_out_too(ram_path: Path) -> None:
    paths = write_inputs(ram_path / "in", repeated(300))
    for options in ({}, {"max_document_tokens": 6, "long_documents": "split", "min_document_bytes": 2}):
        made = run(paths, ram_path / f"o{len(options)}", drop_duplicates=True, eot="none", **options)
        found = count_corpus(paths, byte_codec(), drop_duplicates=True, jobs=2, **options)  # type: ignore[arg-type]
        for name in ("documents", "tokens", "bytes", "filtered"):
            assert found[name] == made[name]
    with pytest.raises(ValueError, match="the table of documents without duplicates is full"):
        count_corpus(paths, byte_codec(), drop_duplicates=True, memory=1000)


def test_a_share_of_errors_is_one_of_all_records(ram_path: Path) -> None:
    (ram_path / "in.jsonl").write_text('{"text": "same"}\n' * 300 + "{\n" * 2)
    made = run(ram_path / "in.jsonl", ram_path / "o", drop_duplicates=True, on_error="skip", max_errors="1%")
    assert (made["documents"], made["problems"]["malformed-json"]["count"]) == (1, 2)


@pytest.mark.parametrize("format", ["npy", "dolma"])
def test_interruptions_change_no_byte(ram_path: Path, format: Any) -> None:
    paths = write_inputs(ram_path / "in", repeated(400, 2))
    memory = iter([1 << 20, 1 << 21])  # whatever it is

    def make(folder: Path) -> Any:
        options = Options(format=format, drop_duplicates=True, val_fraction=0.2, memory=next(memory))
        return replace(make_task(paths, folder / "o", byte_codec(), options=options), block=150)

    outputs_of_both(make, ram_path, 7)


def test_a_full_table_ends_the_run_and_more_memory_goes_on(ram_path: Path) -> None:
    paths = write_inputs(ram_path / "in", [f"document {n}" for n in range(600)])

    def task(memory: int) -> Any:
        options = Options(drop_duplicates=True, memory=memory)
        return replace(
            make_task(paths, ram_path / "o", byte_codec(), options=options), block=300, checkpoint_seconds=0
        )

    with pytest.raises(ValueError, match=r"table of documents without duplicates is full: .* give more memory"):
        task(4000).run()
    assert (ram_path / "o.digests.partial").stat().st_size >= 16 * 100
    assert task(1 << 20).run()["tokens_before"] > 0
    assert len(texts_in(ram_path / "o.npy")) == 600
    assert sorted(path.name for path in ram_path.glob("o*")) == ["o.manifest.json", "o.npy", "o.offsets.npy"]


@pytest.mark.parametrize("change", ["cut", "changed", "missing"])
def test_a_changed_file_of_hashes_is_refused(ram_path: Path, change: str) -> None:
    paths = write_inputs(ram_path / "in", repeated(300))
    task = make_task(paths, ram_path / "o", byte_codec(), options=Options(drop_duplicates=True))
    task = replace(task, block=300, checkpoint_seconds=0)

    def step(raw: int, tokens: int, documents: int) -> None:
        if documents > 60:
            raise Stopped

    with pytest.raises(Stopped):
        task.run(progress=step)
    file = ram_path / "o.digests.partial"
    data = file.read_bytes()
    assert len(data) > 16 * 20
    if change == "missing":
        file.unlink()
    else:
        file.write_bytes(data[:-1] if change == "cut" else b"?" + data[1:])
    with pytest.raises(FormatError, match=r"digests\.partial"):
        task.run()
    replace(task, overwrite=True).run()


def test_repeats_of_a_mixture_are_no_duplicates(ram_path: Path) -> None:
    (ram_path / "a.txt").write_text("x|y|x|z")
    (ram_path / "b.txt").write_text("z|w")
    sources = [
        MixtureSource("a", (str(ram_path / "a.txt"),), 2, options={"separator": "|"}),
        MixtureSource("b", (str(ram_path / "b.txt"),), 1, options={"separator": "|"}),
    ]
    task = make_task(
        Mixture(tuple(sources)), ram_path / "o", byte_codec(), options=Options(drop_duplicates=True)
    )
    assert task.run()["filtered"] == {"duplicate": 3}
    assert sorted(texts_in(ram_path / "o.npy")) == ["w", "x", "x", "y", "y", "z", "z"]
