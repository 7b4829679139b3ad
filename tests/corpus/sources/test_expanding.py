"""Damaged compressed files where a run goes on: nothing false is taken, whole members before the damage are."""
import bz2
import gzip
import json
import lzma
import os
import random
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from corpus_tools import byte_codec, run, texts_in
from tiers import slow_but

from bpetite.corpus import Options, Piece, RecordError, count_corpus, find_sources, make_part
from bpetite.corpus.reading import blocks
from bpetite.corpus.reading.blocks import Reading
from bpetite.corpus.reading.readers import read_blocks
from bpetite.corpus.reading.records import documents_of
from bpetite.corpus.sources import expanding
from bpetite.corpus.sources.expanding import Expander
from bpetite.corpus.sources.streams import Torn, find_damage

COMPRESSIONS = ["gz", "zst", "bz2", "xz"]


def member(data: bytes, compression: str) -> bytes:
    if compression == "zst":
        zstandard = pytest.importorskip("zstandard")
        return zstandard.ZstdCompressor(write_checksum=True).compress(data)
    return {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[compression](data)


def packed(documents: list[str], kind: str) -> bytes:
    if kind == "jsonl":
        return b"".join(json.dumps({"text": text}).encode() + b"\n" for text in documents)
    return b"".join(text.encode() + b"<|endoftext|>" for text in documents)


def some_texts(count: int) -> list[str]:
    chosen = random.Random(count)
    return [f"{n} " + "".join(chosen.choices("abcdefgh \n", k=400)) for n in range(count)]


@pytest.mark.parametrize("kind", ["txt", "jsonl"])
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_whole_members_before_a_damaged_one(ram_path: Path, kind: str, compression: str) -> None:
    texts = some_texts(60)
    members = [member(packed(texts[at : at + 10], kind), compression) for at in range(0, 60, 10)]
    chosen = random.Random(7)
    path, other = ram_path / f"in.{kind}.{compression}", ram_path / "z.txt"
    other.write_text("next")
    for attempt, hurt in enumerate((0, 1, 3, 5)):
        data = list(members)
        at = chosen.randrange(12, len(data[hurt]) - 1)
        data[hurt] = data[hurt][:at] + bytes([data[hurt][at] ^ 0x55]) + data[hurt][at + 1 :]
        path.write_bytes(b"".join(data))
        for policy in ("skip", "replace"):
            made = run([path, other], ram_path / f"o{attempt}{policy}", on_error=policy)
            assert texts_in(ram_path / f"o{attempt}{policy}.npy") == [*texts[: 10 * hurt], "next"]
            assert made["problems"]["damaged-file"]["count"] == 1
            assert set(made["problems"]) == {"damaged-file"}


@pytest.mark.parametrize("kind", slow_but(["txt", "jsonl", "json", "whole"], "jsonl", "whole"))
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_damaged_member_gives_nothing(ram_path: Path, kind: str, compression: str) -> None:
    texts = some_texts(200)
    content = json.dumps([{"text": text} for text in texts]).encode() if kind == "json" else packed(texts, kind)
    data = member(b"\xef\xbb\xbf" + content, compression)
    path = ram_path / f"in.{kind.replace('whole', 'txt')}.{compression}"
    other = ram_path / "other.txt"
    other.write_text("next")
    for number, hurt in enumerate((
        data[:-1], data[: len(data) // 2], data[: len(data) // 2] + b"\0" * 9 + data[len(data) // 2 + 9 :],
        data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
    )):  # fmt: skip
        path.write_bytes(hurt)
        made = run([path, other], ram_path / f"o{number}", on_error="skip", whole_files=kind == "whole")
        assert texts_in(ram_path / f"o{number}.npy") == ["next"]
        assert made["problems"]["damaged-file"]["count"] == 1
        assert path.name in made["problems"]["damaged-file"]["first"]
        with pytest.raises(RecordError, match=rf"{path.name}"):
            run(path, ram_path / f"fail{number}", whole_files=kind == "whole")


def test_no_garbage_for_a_damaged_middle(ram_path: Path) -> None:
    """Deflate decodes damaged data for a long time: without the check, hundreds of false documents."""
    texts = some_texts(4000)
    data = bytearray(gzip.compress(packed(texts, "jsonl"), 6))
    path = ram_path / "in.jsonl.gz"
    false = 0
    for seed in range(5):
        at = random.Random(seed).randrange(len(data) // 4, len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :])
        unchecked = Reading(stop=True)
        for block in read_blocks(find_sources([path]).pieces, unchecked):
            false += len({text.decode() for text in documents_of(block, unchecked, "skip").texts} - set(texts))
        assert run(path, ram_path / f"o{seed}", on_error="skip")["documents"] == 0
    assert false > 0


def test_damage_is_named_with_its_line(ram_path: Path) -> None:
    members = [member(packed([text], "jsonl"), "gz") for text in some_texts(5)]
    members[2] = members[2][:-8] + zlib.crc32(b"other").to_bytes(4, "little") + members[2][-4:]
    path = ram_path / "in.jsonl.gz"
    path.write_bytes(b"\0\0".join(members))
    whole = len(packed(some_texts(5)[:2], "jsonl"))
    damage = find_damage(find_sources([path]).pieces[0])
    assert damage is not None
    assert damage.offset == whole
    made = run(path, ram_path / "o", on_error="skip")["problems"]["damaged-file"]
    assert (made["count"], made["first"]) == (1, f"{path}:3")
    assert "damaged at or before byte " in made["detail"]


def test_junk_behind_the_last_member(ram_path: Path) -> None:
    path = ram_path / "in.txt.gz"
    path.write_bytes(gzip.compress(b"one") + b"\0\0junk")
    assert run(path, ram_path / "o", on_error="skip")["problems"]["damaged-file"]["count"] == 1
    path.write_bytes(gzip.compress(b"one") + b"\0\0")
    assert run(path, ram_path / "p")["documents"] == 1


def test_members_cut_anywhere(ram_path: Path) -> None:
    """As bgzip does: of a document that a damaged member had a part of, nothing is taken."""
    texts = some_texts(300)
    data = packed(texts, "txt")
    members = [member(data[at : at + 3000], "gz") for at in range(0, len(data), 3000)]
    members[20] = members[20][:50] + b"\xff" * 20 + members[20][70:]
    path = ram_path / "in.txt.gz"
    path.write_bytes(b"".join(members))
    whole = data[: 20 * 3000].decode().split("<|endoftext|>")[:-1]
    run(path, ram_path / "o", on_error="skip")
    assert texts_in(ram_path / "o.npy") == whole
    assert len(whole) > 100


@pytest.mark.parametrize("kind", ["txt", "jsonl", "json"])
def test_going_on_from_every_block(ram_path: Path, kind: str) -> None:
    texts = some_texts(90)
    members = [member(packed(texts[at : at + 10], kind), "gz") for at in range(0, 90, 10)]
    if kind == "json":
        members = [member(json.dumps([{"text": text} for text in texts]).encode(), "gz"), b"junk"]
    else:
        members[5] = members[5][:20] + b"\xff" * 9 + members[5][29:]
    path = ram_path / f"in.{kind}.gz"
    path.write_bytes(b"".join(members))
    reading = Reading(block=900, stop=False)
    pieces = find_sources([path]).pieces
    whole = [text for block in read_blocks(pieces, reading) for text in documents_of(block, reading, "skip").texts]
    assert len(whole) == (0 if kind == "json" else 50)
    before: list[bytes] = []
    problems = 0
    for block in read_blocks(pieces, reading):
        found = documents_of(block, reading, "skip")
        before += found.texts
        problems += len(found.problems)
        rest = [documents_of(later, reading, "skip") for later in read_blocks(pieces, reading, block.end)]
        assert before + [text for documents in rest for text in documents.texts] == whole
        assert problems + sum(len(documents.problems) for documents in rest) == 1


def test_a_failed_run_that_took_damaged_data_does_not_go_on(ram_path: Path) -> None:
    packing = gzip.compress(packed(some_texts(6000), "jsonl"))
    path = ram_path / "in.jsonl.gz"
    path.write_bytes(packing[:-8] + b"\0\0\0\0" + packing[-4:])
    task = replace(make_part([path], ram_path / "o", byte_codec(), options=Options()), block=5000, checkpoint_seconds=0)
    with pytest.raises(RecordError):
        task.run()
    with pytest.raises(ValueError, match="taken for documents already: start anew with overwrite=True"):
        replace(task, options=Options(on_error="skip")).run()
    replace(task, options=Options(on_error="skip"), overwrite=True).run()
    assert texts_in(ram_path / "o.npy") == []


def test_replace_keeps_whole_members_only(ram_path: Path) -> None:
    good, bad = member(packed(["a", "b"], "txt"), "gz"), member(packed(["c"] * 100, "txt"), "gz")
    path = ram_path / "in.txt.gz"
    path.write_bytes(good + bad[:-2])
    run(path, ram_path / "o", on_error="replace")
    assert texts_in(ram_path / "o.npy") == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names")
def test_a_compressed_pipe_cannot_be_checked(ram_path: Path) -> None:
    os.mkfifo(ram_path / "in.txt.gz")
    piece = find_sources([ram_path / "in.txt.gz"]).pieces[0]
    with pytest.raises(ValueError, match=r"in\.txt\.gz: a compressed pipe cannot be checked"):
        find_damage(piece)


def test_a_file_that_is_replaced_or_removed_between_its_check_and_its_reading(
    ram_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ram_path / "in.txt.gz"
    path.write_bytes(gzip.compress(b"old"))
    found = find_sources([path])

    def replacing(piece: Piece) -> Torn | None:
        damage = find_damage(piece)
        path.write_bytes(gzip.compress(b"new, and longer"))
        return damage

    with monkeypatch.context() as patch:
        patch.setattr(blocks, "find_damage", replacing)
        with pytest.raises(ValueError, match="has changed since the run began"):
            count_corpus(found, byte_codec(), on_error="skip")
    path.unlink()
    find_damage.cache_clear()
    with pytest.raises(FileNotFoundError):
        count_corpus(found, byte_codec(), on_error="skip")


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("hurt", [0, 1, 4])
def test_documents_before_damage_are_taken_back(
    ram_path: Path, monkeypatch: pytest.MonkeyPatch, hurt: int, jobs: int
) -> None:
    """Members are many blocks; checkpoints are made wherever they can be."""
    monkeypatch.setattr(expanding, "EXPANDED", 2000)
    monkeypatch.setattr(expanding, "GZIP_STEP", 500)
    texts = some_texts(600)
    members = [member(packed(texts[at : at + 120], "jsonl"), "gz") for at in range(0, 600, 120)]
    bad = members[hurt]
    members[hurt] = bad[:-8] + zlib.crc32(b"other").to_bytes(4, "little") + bad[-4:]
    (ram_path / "a.jsonl.gz").write_bytes(gzip.compress(packed(texts[:50], "jsonl")))
    (ram_path / "b.jsonl.gz").write_bytes(b"".join(members))
    (ram_path / "c.jsonl.gz").write_bytes(b"".join(members))
    (ram_path / "d.txt").write_text("next")
    task = make_part([ram_path], ram_path / "o", byte_codec(), options=Options(on_error="skip", shard_tokens=9000))
    made = replace(task, block=3000, checkpoint_seconds=0).run(jobs=jobs)
    whole = texts[: 120 * hurt]
    found = [text for shard in sorted(ram_path.glob("o_??????.npy")) for text in texts_in(shard)]
    assert found == [*texts[:50], *whole, *whole, "next"]
    assert made["problems"]["damaged-file"]["count"] == 2


def test_shuffled_documents_before_damage_are_taken_back(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of the shuffle ends inside a member, and a checkpoint could stand there."""
    monkeypatch.setattr(expanding, "EXPANDED", 2000)
    monkeypatch.setattr(expanding, "GZIP_STEP", 500)
    texts = some_texts(400)
    data = gzip.compress(packed(texts, "jsonl"))
    (ram_path / "a.jsonl.gz").write_bytes(gzip.compress(packed(texts[:50], "jsonl")))
    (ram_path / "b.jsonl.gz").write_bytes(data[:-8] + b"\0\0\0\0" + data[-4:])
    options = Options(on_error="skip", shuffle=1, memory=30_000)
    task = make_part([ram_path / "a.jsonl.gz", ram_path / "b.jsonl.gz"], ram_path / "o", byte_codec(), options=options)
    replace(task, block=3000, checkpoint_seconds=0).run()
    assert sorted(texts_in(ram_path / "o.npy")) == sorted(texts[:50])


def test_a_compressed_file_is_decompressed_once(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ram_path / "in.jsonl.gz"
    path.write_bytes(gzip.compress(packed(some_texts(3000), "jsonl")))
    given = []
    more = Expander.more
    monkeypatch.setattr(Expander, "more", lambda self: given.append(more(self)) or given[-1])
    assert run(path, ram_path / "o", on_error="skip")["documents"] == 3000
    assert sum(map(len, given)) == len(packed(some_texts(3000), "jsonl"))


def test_no_checkpoint_stands_inside_a_member(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expanding, "EXPANDED", 2000)
    monkeypatch.setattr(expanding, "GZIP_STEP", 500)
    texts = some_texts(300)
    path = ram_path / "in.jsonl.gz"
    path.write_bytes(b"".join(gzip.compress(packed(texts[at : at + 100], "jsonl")) for at in (0, 100, 200)))
    reading = Reading(block=4000, damage={})
    pieces = find_sources([path]).pieces
    ends = [block.end for block in read_blocks(pieces, reading)]
    assert not ends[0].certain
    assert ends[-1].certain
    for end in ends:
        if end.certain:  # as much as had been decompressed then was whole
            later = [documents_of(block, reading, "skip").texts for block in read_blocks(pieces, reading, end)]
            rest = [text.decode() for found in later for text in found]
            assert rest == texts[len(texts) - len(rest) :]
    assert all(block.end.certain for block in read_blocks(pieces, Reading(block=4000, stop=True)))
