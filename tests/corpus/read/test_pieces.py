"""Inputs cut into pieces, and pieces shared between ranks, by their text."""
import bz2
import gzip
import itertools
import lzma
from pathlib import Path

import pytest
from corpus_tools import run, some_documents, texts_in
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.corpus import Input, Share, find_sources, shares
from bpetite.corpus.read import pieces
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


def test_ranks_share_by_the_text_of_compressed_files(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that packs 3 times, and text that packs 500 times: equal text is an equal share."""
    zstandard = pytest.importorskip("zstandard")
    varied = "<|endoftext|>".join(some_documents(10_000)).encode()[:300_000]
    for compress, suffix in (
        (gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz"), (zstandard.compress, "zst"),
    ):  # fmt: skip
        for name, text in (("a", varied), ("b", b"a b " * 75_000)):
            (ram_path / f"{name}.txt.{suffix}").write_bytes(compress(text))
        inputs = find_sources([ram_path / f"{name}.txt.{suffix}" for name in "ab"]).inputs
        assert inputs[0].size > 20 * inputs[1].size
        # a large file says how large its text is: the first bytes alone would say 500 times as much
        for sample in (pieces.SAMPLE, *([1] if suffix in ("gz", "zst") else [])):
            with monkeypatch.context() as patch:
                patch.setattr(pieces, "SAMPLE", sample)
                cut = shares(inputs, 2)
                assert cut[0].stop == Position(1)
                assert text_in_shares(inputs, cut) == [300_000, 300_000]
    damaged = ram_path / "c.txt.gz"
    damaged.write_bytes(b"none")
    assert text_in_shares(find_sources([damaged]).inputs, [Share(Position(), Position(1))]) == [12]


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
