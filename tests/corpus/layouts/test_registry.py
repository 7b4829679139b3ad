"""Token files read back, damaged ones refused."""
import struct
from pathlib import Path

import numpy as np
import pytest
from corpus_tools import EOT, ids, run

from bpetite.corpus import open_token_file
from bpetite.corpus.layouts import token_file as spans
from bpetite.corpus.merge import find_manifest
from bpetite.corpus.write.manifest import shards_in
from bpetite.errors import FormatError

FORMATS = ["npy", "nanogpt", "llmc"]


def shards_of(path: Path) -> list[str]:
    """The names of the files of tokens that a manifest lists, if there is one."""
    found = find_manifest(path)
    assert found is not None
    return [shard[0]["name"] for shard in shards_in(found[1])]


@pytest.fixture
def made(ram_path: Path) -> Path:
    (ram_path / "in.txt").write_text("ab<|endoftext|><|endoftext|>cde<|endoftext|>f")
    for format in FORMATS:
        run(ram_path / "in.txt", ram_path / format, format=format, eot="append", shard_tokens=6)
    return ram_path


def test_kinds_are_found_by_content(made: Path) -> None:
    for format, documents, tokens in (("npy", 2, 4), ("nanogpt", None, 6), ("llmc", None, 6)):
        first, _ = (made / name for name in shards_of(made / format))
        if format == "nanogpt":
            with pytest.raises(FormatError, match="give format="):
                open_token_file(first)
            file = open_token_file(first, format=format, dtype="uint16")
        else:
            file = open_token_file(first)
        assert (file.format, file.documents, file.tokens) == (format, documents, tokens)


def test_reading_by_small_spans(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "CHUNK", 2)
    monkeypatch.setattr(spans, "LENGTHS", 1)
    run(made / "in.txt", made / "two")
    file = open_token_file(made / "two.npy")
    assert [tokens.tolist() for tokens, _ in file.spans()] == [
        [*ids("ab"), EOT], [EOT], [*ids("cde"), EOT], [*ids("f"), EOT],
    ]  # fmt: skip
    assert file.read(2, 3).tolist() == [EOT, EOT, *ids("c")]
    assert file.read(file.tokens - 1, 5).tolist() == [EOT]
    assert file.read(file.tokens, 5).tolist() == []


def test_manifests_are_found_from_any_name(made: Path) -> None:
    for name in ("npy", "npy.npy", "npy.manifest.json", "npy_000001.npy", "npy_000001.offsets.npy"):
        found = find_manifest(made / name)
        assert found is not None, name
        assert found[0] == made / "npy.manifest.json"
    assert shards_of(made / "npy") == ["npy_000000.npy", "npy_000001.npy"]
    assert find_manifest(made / "nothing") is None
    assert find_manifest(made) is None
    run(made / "in.txt", f"{made}/folder/", val_fraction=0.5)
    for name in ("folder", "folder/val.npy", "folder/manifest.json"):
        assert shards_of(made / name) == ["train.npy", "val.npy"]


def test_damaged_files(made: Path) -> None:
    """By their messages; write/test_damage.py damages any byte."""
    for name, left, format, message in (
        ("npy_000000.npy", -1, None, "not a whole number of uint16"),
        ("npy_000000.npy", -2, None, "header says 4 elements, the size 3"),
        ("npy_000000.npy", 20, None, "not a NumPy file"),
        ("llmc_000000.bin", -2, None, "header says 6 tokens, the size 5"),
        ("llmc_000000.bin", 5, "llmc", "begins with 0, 0; an llm.c file begins with"),
        ("nanogpt_000000.bin", -1, "nanogpt", "not a whole number of uint16"),
        ("nanogpt_000000.bin", 0, None, "not a token file with a header"),
    ):
        data = (made / name).read_bytes()
        (made / name).write_bytes(data[:left])
        with pytest.raises(FormatError, match=message):
            open_token_file(made / name, format=format)
        (made / name).write_bytes(data)
    with (made / "npy_000000.offsets.npy").open("r+b") as file:
        file.seek(136)
        file.write(struct.pack("<2q", 4, 3))
    with pytest.raises(FormatError, match="ends at token 3, before the one before it"):
        list(open_token_file(made / "npy_000000.npy").spans())
    for array in (np.zeros((2, 2, 2), np.uint16), np.asfortranarray(np.arange(6, dtype=np.uint16).reshape(2, 3))):
        np.save(made / "two.npy", array)
        with pytest.raises(FormatError, match="not rows of integers"):
            open_token_file(made / "two.npy")
    np.save(made / "two.npy", np.arange(6, dtype=np.uint16).reshape(2, 3))
    assert open_token_file(made / "two.npy").read(0, 6).tolist() == [*range(6)]
    for text in ("", "{}", "[1]", '{"manifest": 99}'):
        (made / "bad.manifest.json").write_text(text)
        with pytest.raises(FormatError, match=r"bad\.manifest\.json"):
            find_manifest(made / "bad.manifest.json")


@pytest.mark.parametrize("format", ["npy", "dolma"])
@pytest.mark.parametrize("name", ["x.offsets", "x.npy.offsets", "x_text_document"])
def test_a_name_that_ends_like_an_index(ram_path: Path, format: str, name: str) -> None:
    """Which files hold tokens follows from their places in the manifest, not from how their names end."""
    (ram_path / "in.txt").write_text("ab<|endoftext|>c")
    run(ram_path / "in.txt", ram_path / name, format=format)
    assert shards_of(ram_path / f"{name}.manifest.json") == [f"{name}.npy"]
