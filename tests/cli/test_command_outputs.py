"""Where commands write: standard output, pipes, folders that are not there yet, and what is in the way."""
import os
import subprocess
from pathlib import Path

import pytest
from commands import bpe as run
from commands import process

from bpetite import Tokenizer
from bpetite.cli.output_files import create_output, is_stream

TEXT = "the cat sat on the mat, the cat ate"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text(TEXT)
    Tokenizer.train(TEXT, 270).save("tok.json")


def test_a_folder_needs_a_format_by_name() -> None:
    for command in (("convert", "gpt2", "new/"), ("train", "corpus.txt", "-n", 270, "-o", "new/")):
        done = run(*command)
        assert (done.code, done.err) == (1, "Error: new/: a folder; its format is huggingface or gpt2, and has to be "
                                         "named\n")
        assert run(*command, "--to", "huggingface").code == 0
        assert Path("new/tokenizer.json").exists()
        Path("new/tokenizer.json").unlink()
        Path("new/tokenizer_config.json").unlink()


def test_one_stream_goes_to_standard_output() -> None:
    native = Path("tok.json").read_text()
    done = run("train", "corpus.txt", "-n", 270, "-o", "-")
    assert done.out == native
    assert done.err.splitlines()[-1].startswith("standard output: 271 tokens")
    assert run("convert", "tok.json", "-").out == native
    assert run("convert", "tok.json", "-", "--to", "tiktoken").out.startswith("AA== 0\n")
    assert run("tokens", "the cat", "-t", "tok.json", "--html", "-").out.startswith("<!doctype html>")
    assert run("audit", "-t", "tok.json", "--html", "-", "-q").out.startswith("<!doctype html>")
    assert run("encode", "corpus.txt", "-t", "tok.json", "-o", "out").code == 0
    assert run("decode", "out", "-o", "-").out == TEXT == run("decode", "out").out
    for several in (("encode", "corpus.txt", "-t", "bpetite-32k", "-o"), ("convert", "tok.json", "--to", "gpt2")):
        done = run(*several, "-")
        assert (done.code, done.out) == (2, "")
        assert "several files" in done.err


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no /dev/stdout")
def test_dev_stdout_is_standard_output_where_that_is_a_file() -> None:
    with open("shell.json", "wb") as file:
        assert process("convert", "tok.json", "/dev/stdout", stdout=file).code == 0
    assert Path("shell.json").read_bytes() == Path("tok.json").read_bytes()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_named_pipe_stays_one() -> None:
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE) as reader:
        assert run("convert", "tok.json", "pipe").code == 0
        assert reader.communicate()[0] == Path("tok.json").read_bytes()
    assert is_stream("pipe")


def test_one_level_of_folders_is_made() -> None:
    for arguments in (
        ("train", "corpus.txt", "-n", 270, "-o", "b/tok.json"),
        ("train", "corpus.txt", "-n", 270, "-o", "d", "--to", "huggingface"),
        ("convert", "tok.json", "f/tok.tiktoken"),
        ("convert", "tok.json", "h", "--to", "gpt2"),
        ("encode", "corpus.txt", "-t", "tok.json", "-o", "i/j/out"),
        ("decode", "i/j/out", "-o", "l/text.txt"),
        ("tokens", "the cat", "-t", "tok.json", "--html", "n/page.html"),
        ("audit", "-t", "tok.json", "--html", "p/page.html"),
    ):
        done = run(*arguments)
        assert done.code == 0, done.err
    made = {str(path) for path in Path().rglob("*/*") if path.is_file()}
    assert made >= {"b/tok.json", "d/tokenizer.json", "f/tok.tiktoken", "h/merges.txt", "l/text.txt"}
    assert "no such folder; one level is made, not more" in run("convert", "tok.json", "q/r/tok.json").err
    assert not Path("q").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "corpus.txt", "-n", 270, "-o"),
        ("convert", "tok.json"),
        ("decode", "out", "-o"),
        ("tokens", "the cat", "-t", "tok.json", "--html"),
        ("audit", "-t", "tok.json", "--html"),
        ("compare", "tok.json", "tok.json", "--html"),
    ],
)
def test_what_is_in_the_way_stays(arguments: tuple[object, ...]) -> None:
    assert run("encode", "corpus.txt", "-t", "tok.json", "-o", "out").code == 0
    Path("there").write_text("mine")
    wrong = 2 if arguments[0] in ("audit", "compare") else 1
    done = run(*arguments, "there")
    assert (done.code, done.err.splitlines()[-1]) == (wrong, "Error: there: the file exists; --overwrite replaces it")
    assert run(*arguments, "there/x.json").err.splitlines()[-1].endswith("there: not a folder")
    assert Path("there").read_text() == "mine"
    Path("folder").mkdir()
    assert "a folder has this name" in run(*arguments, "folder").err
    assert run(*arguments, "there", "--overwrite").code == 0
    assert Path("there").read_bytes() != b"mine"


def test_a_failed_output_is_not_there(tmp_path: Path) -> None:
    def fail() -> None:
        with create_output(tmp_path / "new" / "x", overwrite=False) as file:
            file.write(b"part")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert list((tmp_path / "new").iterdir()) == []


def test_ids_that_no_token_has() -> None:
    said = "no token has the id 999 (ids[1]): the vocabulary has 271 tokens, with ids from 0 to 270"
    done = run("decode", "97", "999", "-t", "tok.json")
    assert (done.code, done.out, done.err) == (1, "", f"Error: {said}\n")
