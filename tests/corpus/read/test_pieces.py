"""Inputs cut into pieces, and pieces shared between ranks, by their text."""
import itertools
from pathlib import Path

import pytest
from corpus_tools import run, some_documents, texts_in
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.corpus import Input, find_sources, shares
from bpetite.corpus.read.pieces import PIECE, Position, cut_pieces, group_pieces, text_in_shares


@settings(max_examples=200, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 5 * PIECE), min_size=1, max_size=8),
    plain=st.lists(st.booleans(), min_size=8, max_size=8), world=st.integers(1, 9), whole=st.booleans(),
)  # fmt: skip
def test_the_pieces_of_all_ranks_are_the_inputs(sizes: list[int], plain: list[bool], world: int, whole: bool) -> None:
    inputs = [
        Input(f"s3://b/f{n}", "text", None if cut else "gz", size)  # whose text is not looked at
        for n, (size, cut) in enumerate(zip(sizes, plain, strict=False))
    ]
    found = [piece for one in shares(inputs, world, whole=whole) for piece in cut_pieces(inputs, one)]
    assert found == sorted(found, key=lambda piece: piece[:2])
    for number, source in enumerate(inputs):
        ranges = [(piece.start, piece.stop) for piece in found if piece.input == number]
        assert ranges[0][0] == 0
        assert ranges[-1][1] is None
        assert all(before[1] == after[0] for before, after in itertools.pairwise(ranges))
        assert len(ranges) == (max(1, -(-source.size // PIECE)) if source.compression is None else 1)
    assert [piece for together in group_pieces(iter(found), inputs) for piece in together] == found


def test_ranks_share_by_the_text_of_compressed_files(ram_path: Path) -> None:
    """A compressed file has three or four times the text of a plain one of its size."""
    (ram_path / "a.txt").write_bytes(bytes(1200))
    for name, ratio in (("b.txt.gz", 3), ("c.txt.zst", 3), ("d.txt.bz2", 4), ("e.txt.xz", 4)):
        (ram_path / name).write_bytes(bytes(1200 // ratio))
        inputs = find_sources([ram_path / "a.txt", ram_path / name]).inputs
        cut = shares(inputs, 2)
        assert cut[0].stop == Position(1)
        assert text_in_shares(inputs, cut) == [1200, 1200]


def test_ranks_refuse(ram_path: Path) -> None:
    with pytest.raises(ValueError, match=r"standard input \(-\) can be read only once"):
        shares([Input("-", "text", read_once=True)], 2)


@pytest.mark.parametrize("separator", ["<|endoftext|>", "\n\n", "aa", "x"])
def test_ranks_read_every_document_once(ram_path: Path, separator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a separator overlaps itself, and stands at the start of a piece."""
    monkeypatch.setattr("bpetite.corpus.read.pieces.PIECE", 32)
    monkeypatch.setattr("bpetite.corpus.read.pieces._ranges.__defaults__", None)
    monkeypatch.setattr("bpetite.corpus.read.pieces.cut_pieces.__defaults__", (None, 32))
    (ram_path / "in.txt").write_text(separator.join(some_documents(40, 3)), encoding="utf-8")
    run(ram_path / "in.txt", ram_path / "whole", separator=separator)
    for world in (2, 7, 23):
        for rank in range(world):
            run(ram_path / "in.txt", ram_path / f"w{world}", block=16, separator=separator, rank=rank, world_size=world)
        parts = sorted(ram_path.glob(f"w{world}.rank*of{world:05d}.npy"))  # of ranks that have a document
        assert [text for part in parts for text in texts_in(part)] == texts_in(ram_path / "whole.npy")
