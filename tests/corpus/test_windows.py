"""Documents packed into windows, with their boundaries."""
import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus_tools import EOT, byte_codec, ids, outputs, run, some_documents, write_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.corpus import Options, make_task, merge_outputs, open_token_file
from bpetite.corpus.layouts import windows as module
from bpetite.corpus.layouts.layouts import Windows
from bpetite.corpus.output.durable import Journal
from bpetite.corpus.output.shards import ShardWriter, settle
from bpetite.errors import FormatError


def plain(documents: list[list[int]], size: int, pad: int | None) -> tuple[list[list[int]], list[list[int]]]:
    """(windows, boundaries of each) by the definition."""
    row = list(itertools.chain.from_iterable(documents))
    ends = set(itertools.accumulate(map(len, documents)))
    if pad is not None:
        row += [pad] * (-len(row) % size)
    starts = range(0, len(row) - size + 1, size)
    return [row[at : at + size] for at in starts], [
        [0, *sorted(end - at for end in ends if at < end < at + size), size] for at in starts
    ]


def packed(base: Path) -> tuple[list[list[int]], list[list[int]]]:
    """The same of files, by NumPy alone."""
    tokens = np.load(f"{base}.npy", mmap_mode="r")
    boundaries = np.load(f"{base}.cu_seqlens.npy", mmap_mode="r")
    starts = np.load(f"{base}.windows.npy", mmap_mode="r")
    assert boundaries.dtype == np.int32
    assert len(starts) == len(tokens) + 1
    assert starts[-1] == len(boundaries)
    return tokens.tolist(), [boundaries[a:b].tolist() for a, b in itertools.pairwise(starts.tolist())]


@settings(max_examples=50, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 30), max_size=20), size=st.integers(2, 9), pad=st.sampled_from([None, 7]),
    limit=st.sampled_from([None, 9, 20, 31]), group=st.sampled_from([1, 20, 1 << 20]),
    parts=st.lists(st.integers(0, 20), max_size=4),
)  # fmt: skip
def test_windows_are_those_of_the_definition(
    tmp_path_factory: Any, lengths: list[int], size: int, pad: int | None, limit: int | None, group: int,
    parts: list[int],
) -> None:  # fmt: skip
    """However the documents come in, and wherever shards end."""
    documents = [[n] * length for n, length in enumerate(lengths)]
    folder = tmp_path_factory.mktemp("windows")
    writer = ShardWriter(lambda number: folder / f"o_{number}", Windows(size), "uint16", limit, pad=pad, durable=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "GROUP", group)
        cuts = sorted({0, *(min(part, len(documents)) for part in parts), len(documents)})
        for start, stop in itertools.pairwise(cuts):
            some = documents[start:stop]
            row = list(itertools.chain.from_iterable(some))
            writer.add(np.array(row, np.uint16), np.array([len(one) for one in some], np.int64))
        writer.finish()
        shards = writer.take_finished()
        writer.close()
    settle(folder, shards)
    found = [packed(folder / f"o_{number}") for number in range(len(shards))]
    rows, boundaries = (list(itertools.chain.from_iterable(both)) for both in zip(*found, strict=True))
    assert (rows, boundaries) == plain(documents, size, pad)
    if limit is not None:
        assert all(len(one[0]) == limit // size for one in found[:-1])


@pytest.fixture
def source(ram_path: Path) -> Path:
    path = ram_path / "in.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in ("abc", "", "d" * 14, "ef")))
    return path


DOCUMENTS = [[*ids(text), EOT] for text in ("abc", "", "d" * 14, "ef")]


def test_a_corpus(source: Path, ram_path: Path) -> None:
    summary = run(source, ram_path / "o", pack=8)
    assert packed(ram_path / "o") == plain(DOCUMENTS, 8, None)
    assert packed(ram_path / "o")[1] == [[0, 4, 5, 8], [0, 8]]
    assert summary["packed"] == {"window": 8, "windows": 2, "dropped": 7, "padded": 0}
    assert (summary["documents"], summary["tokens"]) == (4, 16)
    file = open_token_file(ram_path / "o.npy")
    assert (file.tokens, file.documents, file.read(8, 2).tolist()) == (16, None, [*ids("dd")])


def test_padding_is_a_part_of_its_own(source: Path, ram_path: Path) -> None:
    summary = run(source, ram_path / "o", pack=8, pack_last="pad")
    rows, boundaries = packed(ram_path / "o")
    assert rows[-1] == [*ids("ddd"), EOT, *ids("ef"), EOT, EOT]
    assert boundaries == [[0, 4, 5, 8], [0, 8], [0, 4, 7, 8]]
    assert summary["packed"] == {"window": 8, "windows": 3, "dropped": 0, "padded": 1}


def test_resumed_and_in_parallel(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(120))
    options = {"pack": 32, "shard_tokens": 1000, "val_fraction": 0.3}
    for name in ("whole", "out"):
        (ram_path / name).mkdir()
    run(inputs, ram_path / "whole" / "o", **options)
    task = replace(
        make_task(inputs, ram_path / "out" / "o", byte_codec(), options=Options(**options)), block=200,
        checkpoint_seconds=0,
    )  # fmt: skip
    append, left = Journal.append, 3

    def killed(self: Journal, record: Any) -> None:
        nonlocal left
        append(self, record)
        left -= 1
        if not left:
            raise KeyboardInterrupt

    for number in (3, 5, 9, 12):
        left = number
        with monkeypatch.context() as patch:
            patch.setattr(Journal, "append", killed)
            with pytest.raises(KeyboardInterrupt):
                task.run(jobs=1 + number % 2)
    task.run(jobs=2)
    assert outputs(ram_path / "out") == outputs(ram_path / "whole")


def test_ranks_end_in_windows_of_their_own(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(120))
    options = Options(pack=32, shard_tokens=1000)
    rows, boundaries, dropped = [], [], 0
    for rank in range(2):
        made = make_task(inputs, ram_path / "o", byte_codec(), rank=rank, world_size=2, options=options).run()
        dropped += made["packed"]["dropped"]
        for name in made["files"][::3]:
            some = packed(ram_path / name.removesuffix(".npy"))
            rows, boundaries = rows + some[0], boundaries + some[1]
    merged = merge_outputs(ram_path / "o")
    assert merged["packed"] == {"window": 32, "windows": len(rows), "dropped": dropped, "padded": 0}
    assert merged["tokens"] == 32 * len(rows)
    found = [packed(path.with_name(path.name.removesuffix(".npy"))) for path in sorted(ram_path.glob("o_??????.npy"))]
    assert [row for one in found for row in one[0]] == rows
    assert [row for one in found for row in one[1]] == boundaries
    assert {len(one[0]) for one in found[:-1]} == {1000 // 32}


def test_boundaries_of_a_rank_that_do_not_fit(ram_path: Path) -> None:
    from bpetite.corpus.windows import window_spans

    (ram_path / "in.txt").write_text("ab<|endoftext|>c" * 20)
    run(ram_path / "in.txt", ram_path / "o", pack=8)
    beside = [ram_path / "o.cu_seqlens.npy", ram_path / "o.windows.npy"]
    spans = list(window_spans(open_token_file(ram_path / "o.npy"), 8, *beside))
    assert sum(len(span.tokens) for span in spans) == sum(int(span.lengths.sum()) for span in spans)  # type: ignore[union-attr]
    for path in beside:
        data = path.read_bytes()
        path.write_bytes(data[:-4])
        with pytest.raises(FormatError, match="the boundaries of windows 0 to"):
            list(window_spans(open_token_file(ram_path / "o.npy"), 8, *beside))
        path.write_bytes(data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pack": 8, "format": "megatron"}, "windows for format='npy' alone"),
        ({"pack": 1}, "pack 1 is not in 2"),
        ({"pack": 8, "shard_tokens": 7}, "less than one window"),
        ({"pack": 8, "pack_last": "keep"}, "pack_last 'keep' is not one of drop, pad"),
        ({"pack": 8, "pack_last": "pad", "eot": "none", "codec": byte_codec(eot=False)}, "no end-of-text token to pad"),
    ],
)
def test_what_has_no_meaning(source: Path, ram_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(source, ram_path / "o", **options)
