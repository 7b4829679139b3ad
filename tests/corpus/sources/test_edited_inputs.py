"""An input that was edited under the same size and time of modification between a kill and the same command."""
import os
from dataclasses import replace
from pathlib import Path

import pytest
from corpus_tools import byte_codec, texts_in

from bpetite.corpus import Options, Part, make_part

DOCUMENTS = [f"{number:06}" for number in range(400)]


class Killed(BaseException):
    pass


def killed(part: Part, tokens: int) -> None:
    """Run, and stop behind some tokens, with a checkpoint behind each block."""

    def progress(raw: int, done: int, documents: int) -> None:
        if done > tokens:
            raise Killed

    with pytest.raises(Killed):
        part.run(progress=progress)


def made(folder: Path) -> Part:
    task = make_part([folder / "a.txt", folder / "b.txt"], folder / "o", byte_codec(), options=Options())
    return replace(task, block=200, checkpoint_seconds=0)


def edit(path: Path, old: bytes, new: bytes) -> None:
    """Change some bytes, and give the file its old time of modification."""
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(old, new))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)


@pytest.fixture
def folder(ram_path: Path) -> Path:
    (ram_path / "a.txt").write_text("<|endoftext|>".join(DOCUMENTS[:200]))
    (ram_path / "b.txt").write_text("<|endoftext|>".join(DOCUMENTS[200:]))
    return ram_path


def test_what_was_read_is_read_again(folder: Path) -> None:
    killed(made(folder), 700)
    edit(folder / "a.txt", b"000007", b"edited")
    said: list[str] = []
    made(folder).run(log=said.append)
    assert texts_in(folder / "o.npy") == ["edited" if text == "000007" else text for text in DOCUMENTS]
    why = f"begins anew: {folder / 'a.txt'} may have been edited since it was read (time of change or inode differs)"
    assert why in said


def test_another_file_of_the_same_name_and_time(folder: Path) -> None:
    killed(made(folder), 700)
    status = (folder / "a.txt").stat()
    (folder / "new").write_bytes((folder / "a.txt").read_bytes().replace(b"000007", b"edited"))
    os.utime(folder / "new", ns=(status.st_atime_ns, status.st_mtime_ns))
    (folder / "new").replace(folder / "a.txt")
    made(folder).run()
    assert texts_in(folder / "o.npy")[7] == "edited"


def test_an_input_that_was_not_reached_does_not_matter(folder: Path) -> None:
    killed(made(folder), 700)
    edit(folder / "b.txt", b"000300", b"edited")
    said: list[str] = []
    made(folder).run(log=said.append)
    assert any(line.startswith("going on from") for line in said)
    assert texts_in(folder / "o.npy")[300] == "edited"


def test_an_input_that_is_untouched_is_gone_on_with(folder: Path) -> None:
    killed(made(folder), 700)
    said: list[str] = []
    made(folder).run(log=said.append)
    assert any(line.startswith("going on from") for line in said)
    assert texts_in(folder / "o.npy") == DOCUMENTS
