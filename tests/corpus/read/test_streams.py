"""Damaged compressed files where a run goes on: nothing false is taken, whole members before the damage are."""
import bz2
import gzip
import json
import lzma
import random
import zlib
from pathlib import Path

import pytest
from corpus_tools import byte_codec, pipe, run, texts_in

from bpetite.corpus import Input, RecordError, count_corpus, find_sources
from bpetite.corpus.read import pieces
from bpetite.corpus.read.streams import Damage, find_damage

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
    for hurt, policy in ((0, "skip"), (1, "replace"), (3, "skip"), (5, "replace")):
        data = list(members)
        at = chosen.randrange(12, len(data[hurt]) - 1)
        data[hurt] = data[hurt][:at] + bytes([data[hurt][at] ^ 0x55]) + data[hurt][at + 1 :]
        path.write_bytes(b"".join(data))
        made = run([path, other], ram_path / f"o{hurt}", on_error=policy)
        assert texts_in(ram_path / f"o{hurt}.npy") == [*texts[: 10 * hurt], "next"]
        assert {kind: found["count"] for kind, found in made["problems"].items()} == {"damaged-file": 1}


@pytest.mark.parametrize("kind", ["json", "whole"])
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


def test_damage_is_named_with_its_line(ram_path: Path) -> None:
    members = [member(packed([text], "jsonl"), "gz") for text in some_texts(5)]
    members[2] = members[2][:-8] + zlib.crc32(b"other").to_bytes(4, "little") + members[2][-4:]
    path = ram_path / "in.jsonl.gz"
    path.write_bytes(b"\0\0".join(members))
    whole = len(packed(some_texts(5)[:2], "jsonl"))
    damage = find_damage(find_sources([path]).inputs[0])
    assert damage is not None
    assert damage.offset == whole
    made = run(path, ram_path / "o", on_error="skip")["problems"]["damaged-file"]
    assert (made["count"], made["first"]) == (1, f"{path}:3")
    assert "damaged at or before byte " in made["detail"]
    for end, problems in ((b"\0\0junk", 1), (b"\0\0", 0)):
        path.write_bytes(gzip.compress(b'{"text": "one"}') + end)
        assert len(run(path, ram_path / f"junk{problems}", on_error="skip")["problems"]) == problems


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


def test_a_file_that_is_replaced_or_removed_between_its_check_and_its_reading(
    ram_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ram_path / "in.txt.gz"
    path.write_bytes(gzip.compress(b"old"))
    found = find_sources([path])

    def replacing(source: Input) -> Damage | None:
        damage = find_damage(source)
        path.write_bytes(gzip.compress(b"new, and longer"))
        return damage

    with monkeypatch.context() as patch:
        patch.setattr(pieces, "find_damage", replacing)
        with pytest.raises(ValueError, match="has changed since the run began"):
            count_corpus(found, byte_codec(), on_error="skip")
    path.unlink()
    find_damage.cache_clear()
    with pytest.raises(FileNotFoundError):
        count_corpus(found, byte_codec(), on_error="skip")


def test_sixteen_damaged_files_are_said_once(ram_path: Path) -> None:
    """The message comes once, and the bar does not go beyond the end."""
    texts = some_texts(2000)
    whole, good = member(packed(texts, "jsonl"), "gz"), member(packed(["good"], "jsonl"), "gz")
    (ram_path / "in").mkdir()
    for number in range(16):
        (ram_path / "in" / f"{number:02}.jsonl.gz").write_bytes(good + whole[: len(whole) * 3 // 4])
    read: list[int] = []
    log: list[str] = []
    made = run(
        ram_path / "in", ram_path / "o", on_error="skip", jobs=2, log=log.append,
        progress=lambda raw, tokens, documents: read.append(raw),
    )  # fmt: skip
    assert (made["documents"], made["problems"]["damaged-file"]["count"]) == (16, 16)
    assert len([line for line in log if "damaged" in line]) == 1
    assert sum(read) <= sum(path.stat().st_size for path in (ram_path / "in").iterdir())


def test_damage_of_a_pipe_ends_there(ram_path: Path) -> None:
    """It cannot be tested first: the documents before the damage are those of members that were read."""
    with pipe(ram_path / "in.jsonl.gz", member(packed(["a", "b"], "jsonl"), "gz") + b"junk") as path:
        made = run(path, ram_path / "o", on_error="skip")
    assert texts_in(ram_path / "o.npy") == ["a", "b"]
    assert made["problems"]["damaged-file"]["first"] == f"{path}:3"
