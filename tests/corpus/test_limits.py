"""Limits of documents: against a plain form, of any format, after interruptions and of ranks."""
import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus_tools import (
    EOT,
    byte_codec,
    documents_in,
    outputs,
    outputs_of_both,
    run,
    some_documents,
    write_inputs,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.corpus import Options, count_corpus, make_task, merge_outputs
from bpetite.corpus.limits import Limits


def limited(texts: list[bytes], least: int, most: int | None, how: str) -> tuple[list[list[int]], dict[str, int]]:
    """The plain form: (documents without end-of-text tokens, what was done)."""
    made, filtered = [], {}
    for text in texts:
        if len(text) < least:
            filtered["short"] = filtered.get("short", 0) + 1
        elif most is None or len(text) <= most:
            made.append(list(text))
        else:
            filtered[how] = filtered.get(how, 0) + 1
            if how == "cut":
                made.append(list(text[:most]))
            elif how == "split":
                made += [list(text[at : at + most]) for at in range(0, len(text), most)]
    return made, filtered


@settings(max_examples=50)
@given(st.lists(st.integers(0, 9)), st.integers(1, 12), st.sampled_from(["cut", "split", "skip"]))
def test_any_lengths(lengths: list[int], most: int, how: str) -> None:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = np.arange(int(offsets[-1]), dtype=np.uint32)
    rows = [ids[start:stop].tolist() for start, stop in itertools.pairwise(offsets)]
    expected = []
    for number, row in enumerate(rows):
        if how == "split":
            expected += [(number, row[at : at + most]) for at in range(0, max(1, len(row)), most)]
        elif how == "cut" or len(row) <= most:
            expected.append((number, row[:most]))
    found = Limits(0, most, how).shorten(ids, offsets)
    if found is None:
        assert max(lengths, default=0) <= most
        return
    kept, ends, numbers, long = found
    assert kept.dtype == np.uint32
    assert long == sum(length > most for length in lengths)
    assert [
        (int(number), kept[start:stop].tolist())
        for number, start, stop in zip(numbers, ends[:-1], ends[1:], strict=True)
    ] == expected
    assert ends[-1] == len(kept)


@pytest.mark.parametrize("how", ["cut", "split", "skip"])
@pytest.mark.parametrize(("least", "most"), [(0, 7), (9, None), (5, 20)])
def test_documents_are_those_of_the_plain_form(ram_path: Path, how: Any, least: int, most: int | None) -> None:
    documents = some_documents(120)
    paths = write_inputs(ram_path / "in", documents)
    options: dict[str, Any] = {"min_document_bytes": least}
    if most is not None:
        options |= {"max_document_tokens": most, "long_documents": how}
    summary = run(paths, ram_path / "o", **options)
    expected, filtered = limited([document.encode() for document in documents], least, most, how)
    assert documents_in(ram_path / "o.npy") == [[*document, EOT] for document in expected]
    assert summary["filtered"] == filtered
    assert summary["documents"] == len(expected)
    manifest = json.loads((ram_path / "o.manifest.json").read_text())
    assert (manifest["filtered"], manifest["bytes"]) == (filtered, summary["bytes"])
    found = count_corpus(paths, byte_codec(), **options)
    assert (found["filtered"], found["documents"]) == (filtered, len(expected))
    assert found["tokens"] == sum(map(len, expected))


def test_parts_are_on_one_side_and_have_the_id_of_their_record(ram_path: Path) -> None:
    texts = [f"{n:04d}" * (n % 40) for n in range(200)]
    lines = [json.dumps({"id": f"r{n}", "text": text}) for n, text in enumerate(texts)]
    (ram_path / "in.jsonl").write_text("\n".join(lines))
    options: dict[str, Any] = {"val_fraction": 0.3, "max_document_tokens": 16, "long_documents": "split"}
    run(ram_path / "in.jsonl", ram_path / "o", **options)
    sides = [
        {bytes(row[:4]) for row in documents_in(ram_path / f"o_{name}.npy") if row[1:]} for name in ("train", "val")
    ]
    assert all(sides)
    assert not sides[0] & sides[1]
    run(ram_path / "in.jsonl", ram_path / "d", format="parquet", **options)
    pq = pytest.importorskip("pyarrow.parquet")
    rows = [row for side in ("train", "val") for row in pq.read_table(ram_path / f"d_{side}.parquet").to_pylist()]
    joined: dict[str, bytes] = {}
    for row in rows:
        joined[row["id"]] = joined.get(row["id"], b"") + bytes(row["input_ids"])
    assert joined == {f"r{n}": text.encode() for n, text in enumerate(texts)}


@pytest.mark.parametrize("how", ["cut", "split", "skip"])
def test_interruptions_and_ranks_change_no_byte(ram_path: Path, how: Any) -> None:
    paths = write_inputs(ram_path / "in", some_documents(150))
    options = Options(
        min_document_bytes=4, max_document_tokens=21, long_documents=how, format="dolma", shard_tokens=400
    )

    def make(folder: Path) -> Any:
        return replace(make_task(paths, folder / "o", byte_codec(), options=options), block=200)

    whole = outputs_of_both(make, ram_path, 5)
    for rank in range(3):
        make_task(paths, ram_path / "ranks" / "o", byte_codec(), rank=rank, world_size=3, options=options).run()
    merge_outputs(ram_path / "ranks" / "o")
    assert outputs(ram_path / "ranks") == whole


def test_offsets_of_problems_behind_short_documents(ram_path: Path) -> None:
    (ram_path / "in.txt").write_bytes(b"ab<|endoftext|>long enough<|endoftext|>\n\nlong \x07 enough")
    summary = run(ram_path / "in.txt", ram_path / "o", on_error="skip", rejected=True, min_document_bytes=5)
    assert summary["problems"]["unencodable"]["first"].endswith("in.txt:1")
    assert (summary["documents"], summary["filtered"]) == (1, {"short": 1})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_document_bytes": -1}, "min_document_bytes -1 is negative"),
        ({"min_document_bytes": 9, "max_document_bytes": 8}, "no document would be kept"),
        ({"max_document_tokens": 0}, "max_document_tokens 0 is not at least 1"),
        ({"long_documents": "drop"}, "long_documents 'drop' is not one of cut, split, skip"),
    ],
)
def test_limits_that_cannot_be(ram_path: Path, options: dict[str, Any], message: str) -> None:
    (ram_path / "in.txt").write_text("a")
    with pytest.raises(ValueError, match=message):
        run(ram_path / "in.txt", ram_path / "o", **options)
    assert not (ram_path / "o.manifest.json").exists()
