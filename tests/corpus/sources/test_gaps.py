"""Damaged compressed files where a run goes on: nothing false is taken, whole members give all that they hold."""
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

from bpetite.corpus import Options, Piece, RecordError, count_corpus, find_sources, make_part
from bpetite.corpus.reading.readers import Reading, read_blocks
from bpetite.corpus.reading.records import documents_of
from bpetite.corpus.sources import streams
from bpetite.corpus.sources.expanding import Expander
from bpetite.corpus.sources.gaps import Gap, find_gaps

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
def test_whole_members_around_a_damaged_one(ram_path: Path, kind: str, compression: str) -> None:
    texts = some_texts(60)
    members = [member(packed(texts[at : at + 10], kind), compression) for at in range(0, 60, 10)]
    chosen = random.Random(7)
    path = ram_path / f"in.{kind}.{compression}"
    for attempt in range(12):
        hurt = sorted(chosen.sample(range(6), 1 + attempt % 2))
        data = list(members)
        for number in hurt:
            at = chosen.randrange(12, len(data[number]) - 1)
            data[number] = data[number][:at] + bytes([data[number][at] ^ 0x55]) + data[number][at + 1 :]
        path.write_bytes(b"".join(data))
        made = run(path, ram_path / f"o{attempt}", on_error="skip")
        # the first document behind damage may be the end of a torn one
        expected = [
            text for n, text in enumerate(texts) if n // 10 not in hurt and not (n % 10 == 0 and n // 10 - 1 in hurt)
        ]
        assert texts_in(ram_path / f"o{attempt}.npy") == expected
        stretches = sum(number - 1 not in hurt for number in hurt)
        assert made["problems"]["damaged-file"]["count"] == stretches
        assert set(made["problems"]) == {"damaged-file"}


@pytest.mark.parametrize("kind", ["txt", "jsonl", "json", "whole"])
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_damaged_member_gives_nothing(ram_path: Path, kind: str, compression: str) -> None:
    texts = some_texts(200)
    if kind == "json":
        data = member(json.dumps([{"text": text} for text in texts]).encode(), compression)
    else:
        data = member(packed(texts, kind), compression)
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


def test_gaps_name_their_bytes(ram_path: Path) -> None:
    members = [member(packed([text], "jsonl"), "gz") for text in some_texts(5)]
    members[2] = members[2][:-8] + zlib.crc32(b"other").to_bytes(4, "little") + members[2][-4:]
    path = ram_path / "in.jsonl.gz"
    path.write_bytes(b"\0\0".join(members) + b"junk")
    gaps = find_gaps(find_sources([path]).pieces[0])
    start = sum(map(len, members[:2])) + 4
    assert [(gap.start, gap.stop) for gap in gaps] == [
        (start, start + len(members[2]) + 2), (path.stat().st_size - 4, path.stat().st_size),
    ]  # fmt: skip
    made = run(path, ram_path / "o", on_error="skip")
    assert made["problems"]["damaged-file"]["count"] == 2
    assert f"bytes {start} to " in made["problems"]["damaged-file"]["detail"]
    # in the text that is whole
    assert made["problems"]["damaged-file"]["first"] == f"{path}:3"


def test_members_cut_anywhere(ram_path: Path) -> None:
    """As bgzip does: of a document that a damaged member had a part of, nothing is taken."""
    texts = some_texts(300)
    data = packed(texts, "txt")
    members = [member(data[at : at + 3000], "gz") for at in range(0, len(data), 3000)]
    hurt = [4, 5, 20]
    for number in hurt:
        members[number] = members[number][:50] + b"\xff" * 20 + members[number][70:]
    path = ram_path / "in.txt.gz"
    path.write_bytes(b"".join(members))
    expected, at = [], 0
    for text in texts:
        stop = at + len(text) + len("<|endoftext|>")
        if not any(number * 3000 < stop and at < (number + 1) * 3000 for number in hurt):
            expected.append(text)
        at = stop
    run(path, ram_path / "o", on_error="skip")
    assert texts_in(ram_path / "o.npy") == expected


@pytest.mark.parametrize("kind", ["txt", "jsonl", "json"])
def test_going_on_behind_damage(ram_path: Path, kind: str) -> None:
    texts = some_texts(90)
    members = [member(packed(texts[at : at + 10], kind), "gz") for at in range(0, 90, 10)]
    if kind == "json":
        members = [member(json.dumps([{"text": text} for text in texts[:60]]).encode(), "gz"), b"junk"]
    else:
        members[0] = members[0][:20] + b"\xff" * 9 + members[0][29:]
        members[5] = members[5][:20] + b"\xff" * 9 + members[5][29:]
    path = ram_path / f"in.{kind}.gz"
    path.write_bytes(b"".join(members))
    reading = Reading(block=900, stop=False)
    pieces = find_sources([path]).pieces
    whole = [text for block in read_blocks(pieces, reading) for text in documents_of(block, reading, "skip").texts]
    assert len(whole) in (60, 68)
    before: list[bytes] = []
    problems = 0
    for block in read_blocks(pieces, reading):
        found = documents_of(block, reading, "skip")
        before += found.texts
        problems += len(found.problems)
        rest = [documents_of(later, reading, "skip") for later in read_blocks(pieces, reading, block.end)]
        assert before + [text for documents in rest for text in documents.texts] == whole
        assert problems + sum(len(documents.problems) for documents in rest) == (1 if kind == "json" else 2)


@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_a_failed_run_that_took_damaged_data_does_not_go_on(ram_path: Path, kind: str) -> None:
    texts = some_texts(2000)
    data = packed(texts, "jsonl")
    if kind == "json":
        data = json.dumps([{"text": text} for text in texts]).encode()
    packing = gzip.compress(data)
    path = ram_path / f"in.{kind}.gz"
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
        find_gaps(piece)


def test_a_file_of_many_false_starts_is_not_searched_for_ever(
    ram_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stored blocks full of headers, each of which is decompressed for 64 KB before it turns out to be none."""
    starts = []
    seek = Expander.seek
    monkeypatch.setattr(Expander, "seek", lambda self, offset: (starts.append(offset), seek(self, offset))[1])
    nested = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\0" + b"\xff\xff\0\0"
    path = ram_path / "in.txt.gz"
    path.write_bytes(b"\x1f\x8b\x08\0junk" + nested * 20_000)
    assert count_corpus([path], byte_codec(), on_error="skip")["problems"]["damaged-file"]["count"] == 1
    assert 2 < len(starts) < 20


def test_a_file_that_is_replaced_or_removed_between_its_check_and_its_reading(
    ram_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ram_path / "in.txt.gz"
    path.write_bytes(gzip.compress(b"old"))
    task = make_part([path], ram_path / "o", byte_codec(), options=Options(on_error="skip"))

    def replacing(piece: Piece) -> tuple[Gap, ...]:
        gaps = find_gaps(piece)
        path.write_bytes(gzip.compress(b"new, and longer"))
        return gaps

    with monkeypatch.context() as patch:
        patch.setattr(streams, "find_gaps", replacing)
        with pytest.raises(ValueError, match="has changed since the run began"):
            task.run()
    path.unlink()
    find_gaps.cache_clear()
    with pytest.raises(FileNotFoundError):
        task.run()
