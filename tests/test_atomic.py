"""Files that are written whole or not at all."""
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from bpetite import Tokenizer
from bpetite.atomic import create_file, create_files, sync_folder, write_file, write_files
from bpetite.errors import file_exists


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("suffix", [None, ".partial"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_block_that_raises_leaves_nothing(tmp_path: Path, suffix: str | None, overwrite: bool) -> None:
    def write() -> None:
        with create_files([tmp_path / "f", tmp_path / "g"], overwrite=overwrite, suffix=suffix) as (file, _):
            file.write(b"abc")
            raise KeyError

    with pytest.raises(KeyError):
        write()
    assert content(tmp_path) == {}


def test_several_files_are_there_or_none(tmp_path: Path) -> None:
    (tmp_path / "g.partial").write_bytes(b"half of a longer file, of a killed process")
    with create_file(tmp_path / "g", suffix=".partial") as file:
        file.write(b"old")
        assert not (tmp_path / "g").exists()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_files({str(tmp_path / "f"): b"1", str(tmp_path / "g"): b"2"})
    assert content(tmp_path) == {"g": b"old"}
    write_files({str(tmp_path / "f"): b"1", str(tmp_path / "g"): b"2"}, overwrite=True)
    assert content(tmp_path) == {"f": b"1", "g": b"2"}


def test_a_failure_between_two_renames_leaves_no_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace(source: Path, target: Path, real: Any = os.replace) -> None:
        if target.name == "g":
            raise OSError(errno.EIO, "the disk is gone")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="the disk is gone"):
        write_files({str(tmp_path / "f"): b"1", str(tmp_path / "g"): b"2"}, overwrite=True)
    assert content(tmp_path) == {}
    tok = Tokenizer.train("ab ab", 258)
    monkeypatch.setattr(os, "replace", lambda source, target: replace(source, target.with_name("g")))
    with pytest.raises(OSError, match="the disk is gone"):
        tok.save(tmp_path / "new", format="gpt2", overwrite=True)
    assert content(tmp_path) == {}


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def no_link(*_: object) -> None:
        raise OSError(errno.EPERM, "no hard links")

    def write() -> None:
        with create_files([tmp_path / "f", tmp_path / "g"]):
            (tmp_path / "g").write_bytes(b"theirs")

    if not links:
        monkeypatch.setattr(os, "link", no_link)
    with pytest.raises(FileExistsError) as caught:
        write()
    assert caught.value.filename == str(tmp_path / "g")
    assert content(tmp_path) == {"g": b"theirs"}
    write_file(tmp_path / "h", b"1")
    assert content(tmp_path) == {"g": b"theirs", "h": b"1"}


def test_what_cannot_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such folder"):
        write_file(tmp_path / "absent" / "f", b"")
    with pytest.raises(IsADirectoryError):
        write_file(tmp_path, b"", overwrite=True)
    error = file_exists(Path("a/b"), "exists already")
    assert (error.errno, error.strerror, error.filename) == (errno.EEXIST, "exists already", os.path.join("a", "b"))


@pytest.mark.skipif(os.name == "nt", reason="folders are not synced there")
@pytest.mark.parametrize(("answer", "raises"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_folder_that_cannot_be_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: int, raises: bool
) -> None:
    def refuse(_: int) -> None:
        raise OSError(answer, os.strerror(answer))

    monkeypatch.setattr(os, "fsync", refuse)
    if raises:
        with pytest.raises(OSError, match="Input/output"):
            sync_folder(tmp_path)
    else:
        sync_folder(tmp_path)
