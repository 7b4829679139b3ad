"""encode, decode, count, inspect and merge as commands."""
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click import Context, Option
from corpus_tools import FORMATS
from paths import PACKAGES

from bpetite import Tokenizer
from bpetite.cli import cli, main
from bpetite.cli.shared_options import unescape
from bpetite.corpus import encode_corpus

TEXT = "Once upon a time\n<|endoftext|>漢字 and 🙂\0<|endoftext|><|endoftext|>the end"


@pytest.fixture
def tok(ram_path: Path) -> str:
    path = ram_path / "tok.json"
    Tokenizer.train(TEXT, 280).save(path)
    return str(path)


@pytest.fixture
def bpe(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., tuple[int, bytes, str]]:
    """Run a command; returns (exit code, standard output, standard error)."""

    def call(*arguments: object) -> tuple[int, bytes, str]:
        with pytest.raises(SystemExit) as leave:
            main(list(map(str, arguments)))
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        assert isinstance(leave.value.code, int)
        return leave.value.code, out, err.decode()

    return call


Bpe = Callable[..., tuple[int, bytes, str]]


@pytest.mark.parametrize("format", ["npy", "nanogpt", "llmc"])
@pytest.mark.parametrize(
    "text", [TEXT, TEXT + "<|endoftext|>", "", "<|endoftext|>", "x", "a<|endoftext|><|endoftext|>"]
)
def test_text_comes_back_byte_for_byte(ram_path: Path, tok: str, bpe: Bpe, format: str, text: str) -> None:
    source = ram_path / "in ü.txt"
    source.write_bytes(text.encode())
    for n, extra in enumerate(([], ["--eot", "prepend"], ["--eot", "append", "--shard-tokens", "7"])):
        out = ram_path / f"o{n}"
        code, summary, _ = bpe("encode", source, "-t", tok, "-o", out, "-f", format, *extra)
        assert code == 0
        documents = len(text.split("<|endoftext|>")) - text.endswith("|>") - (not text)
        assert json.loads(summary)["documents"] == documents
        assert bpe("decode", out)[:2] == (0, text.encode())


def test_shared_text_comes_back(ram_path: Path, bpe: Bpe, shared: Callable[[str], Path]) -> None:
    source = shared("text/english.txt")
    assert bpe("encode", source, "-t", "bpetite-32k", "-o", ram_path / "o.npy", "--jobs", 2)[0] == 0
    assert bpe("decode", ram_path / "o.npy", "-o", ram_path / "back.txt")[0] == 0
    assert (ram_path / "back.txt").read_bytes() == source.read_bytes()


def test_streams(ram_path: Path, tok: str) -> None:
    """A real process: the summary alone on standard output, people's lines on standard error, no bar in a pipe."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "bpetite", "encode", "-", "--input-format", "text", "-t", tok, "-o", "o"],
        input=TEXT.encode(), capture_output=True, cwd=ram_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGES)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["documents"] == 4
    assert summary["files"] == ["o.npy", "o.offsets.npy"]
    assert done.stderr.decode().splitlines()[-1].startswith("4 documents, ")
    assert b"it/s" not in done.stderr


@pytest.mark.slow
def test_plain_installations_read_text_and_json(tmp_path_factory: pytest.TempPathFactory, tok: str) -> None:
    """Without any extra: text, JSON lines, JSON, gzip; every format but Parquet."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "a.txt").write_text(TEXT)
    (folder / "b.jsonl").write_text(json.dumps({"text": "b"}) + "\n")
    (folder / "c.json.gz").write_bytes(gzip.compress(json.dumps([{"text": "c"}]).encode()))
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['orjson', 'pyarrow', 'zstandard', 'isal']));"
        "from bpetite.cli import main; main()"
    )

    def call(*arguments: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", code, *map(str, arguments)], capture_output=True, cwd=folder,
            env={**os.environ, "PYTHONPATH": str(PACKAGES)},
        )  # fmt: skip

    for format in FORMATS[:-1]:
        done = call("encode", "a.txt", "b.jsonl", "c.json.gz", "-t", tok, "-f", format, "-o", f"o_{format}")
        assert done.returncode == 0, done.stderr
    assert call("decode", "o_npy").stdout.decode() == TEXT + "<|endoftext|>b<|endoftext|>c"
    done = call("encode", "a.txt", "-t", tok, "-f", "parquet", "-o", "o_parquet")
    assert done.returncode == 1
    assert "writing .parquet needs pyarrow: pip install 'bpetite[corpus]'" in done.stderr.decode()


@pytest.mark.skipif(sys.platform != "linux", reason="file names of any bytes")
@pytest.mark.parametrize("format", FORMATS)
def test_file_names_of_any_bytes(ram_path: Path, tok: str, bpe: Bpe, format: str) -> None:
    line_break = b"" if format == "dolma" else b"\n"  # its readers take the table line by line
    source = os.fsdecode(os.fsencode(ram_path) + b"/\xff " + line_break + b",\".txt")
    Path(source).write_text(TEXT)
    for rank in (0, 1):
        code, _, err = bpe(
            "encode", source, "-t", tok, "-o", ram_path / "o", "-f", format, "--rank", rank, "--world-size", 2
        )
        assert code == 0, err
    assert bpe("merge", "-o", ram_path / "o")[0] == 0
    assert bpe("inspect", ram_path / "o", "--verify")[0] == 0
    if format in ("megatron", "datatrove", "dolma", "parquet"):
        code, _, err = bpe("decode", ram_path / "o")
        assert code == 3
        assert f"{format} files are read by " in err
    else:
        assert bpe("decode", ram_path / "o")[:2] == (0, TEXT.encode())


def test_separators(ram_path: Path, tok: str, bpe: Bpe) -> None:
    for typed, text in ((None, None), ("a", "a"), (r"\n\n", "\n\n"), (r"\\n", r"\n"), (r"\t\0\r", "\t\0\r")):
        assert unescape(None, None, typed) == text
    source = ram_path / "in.txt"
    source.write_bytes(b"one\n\ntwo\n\n\nthree\n\n")
    code, out, _ = bpe("encode", source, "-t", tok, "-o", ram_path / "o", "--separator", r"\n\n")
    assert json.loads(out)["documents"] == 3
    assert bpe("decode", ram_path / "o")[:2] == (0, source.read_bytes())
    assert bpe("decode", ram_path / "o", "--separator", "|")[:2] == (0, b"one|two|\nthree|")
    code, _, err = bpe("encode", source, "-t", tok, "-o", ram_path / "p", "--separator", r"\x")
    assert code == 2
    assert "\\x is not one of" in err
    code, _, err = bpe("encode", source, "-t", tok, "-o", ram_path / "p", "--separator", "\udcff")
    assert code == 2
    assert r"--separator '\udcff' is not UTF-8" in err


def test_json_lines_come_back(ram_path: Path, tok: str, bpe: Bpe) -> None:
    source = ram_path / "in.jsonl"
    documents = ["a\nb", "", "漢<|endoftext|>", "z"]
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    bpe("encode", source, "-t", tok, "-o", ram_path / "o")
    _code, out, _ = bpe("decode", ram_path / "o", "--jsonl")
    assert [json.loads(line)["text"] for line in out.splitlines()] == documents


def test_splits(ram_path: Path, tok: str, bpe: Bpe) -> None:
    source = ram_path / "in.txt"
    source.write_text("".join(f"document {n}<|endoftext|>" for n in range(50)))
    bpe("encode", source, "-t", tok, "-o", ram_path / "o", "--val-fraction", "0.3", "-f", "nanogpt")
    train, val = (bpe("decode", ram_path / "o", "--split", split)[1].decode() for split in ("train", "val"))
    assert bpe("decode", ram_path / "o_val.bin")[1].decode() == val
    assert sorted((train + val).split("<|endoftext|>")[:-1]) == sorted(f"document {n}" for n in range(50))
    assert val.endswith("<|endoftext|>")


def test_decode_without_manifest(ram_path: Path, tok: str, bpe: Bpe) -> None:
    ids = Tokenizer.load(tok).encode("ab<|endoftext|>c<|endoftext|>")
    np.array(ids, np.uint16).tofile(ram_path / "x.bin")
    assert bpe("decode", ram_path / "x.bin", "-t", tok, "-f", "nanogpt")[:2] == (0, b"ab<|endoftext|>c<|endoftext|>")
    np.array([*ids, 65_535], np.uint16).tofile(ram_path / "y.bin")
    for more in ((), ("--jsonl",), ("-o", ram_path / "text")):
        code, _, err = bpe("decode", ram_path / "y.bin", "-t", tok, "-f", "nanogpt", *more)
        assert code == 3
        assert "y.bin: token 65535 is not in the tokenizer" in err
    code, out, err = bpe("decode", ram_path / "x.bin", "-t", tok)
    assert (code, out) == (3, b"")
    assert "not a token file with a header; give --format" in err


def test_decode_mistakes(ram_path: Path, tok: str, bpe: Bpe) -> None:
    source = ram_path / "in.txt"
    source.write_text("text")
    bpe("encode", source, "-t", tok, "-o", ram_path / "o")
    other = ram_path / "other.json"
    Tokenizer.train("xyz xyz", 257).save(other)
    for arguments, message in (
        ((ram_path / "nothing",), "no token file"),
        ((ram_path / "o", "-t", other), "not with this one"),
        ((ram_path / "o", "--split", "val"), "no files of split val"),
        ((ram_path / "o", "-o", source), "--overwrite"),
        ((ram_path,), "without a manifest.json"),
    ):
        code, out, err = bpe("decode", *arguments)
        assert (code, out) == (1 if message in ("no token file", "--overwrite") else 3, b"")
        assert message in err
        assert len(err.splitlines()) == 1
    os.remove(tok)
    code, _, err = bpe("decode", ram_path / "o")
    assert code == 3
    assert "give --tokenizer" in err


def test_count(ram_path: Path, tok: str, bpe: Bpe) -> None:
    (ram_path / "in").mkdir()
    (ram_path / "in" / "a.txt").write_text(TEXT)
    (ram_path / "in" / "b.md").write_text("not read")
    code, out, err = bpe("count", ram_path / "in", "-t", tok)
    assert (code, out) == (1, b"")
    assert "b.md: no reader for this suffix; a pattern such as *.jsonl leaves them out, --input-format" in err
    code, out, err = bpe("count", ram_path / "in", "-t", tok, "--on-error", "skip")
    expected = sum(len(Tokenizer.load(tok).encode_ordinary(text)) for text in TEXT.split("<|endoftext|>"))
    assert (code, int(out)) == (0, expected)
    assert "not read, for another suffix: 1 file, the first: " in err
    code, out, _ = bpe("count", ram_path / "in" / "a.txt", "-t", tok, "--json", "-j", 2)
    assert json.loads(out)["documents"] == 4
    assert [path.name for path in ram_path.iterdir()] != []
    assert not list(ram_path.glob("count*"))


def test_inspect(ram_path: Path, tok: str, bpe: Bpe) -> None:
    (ram_path / "in.txt").write_text(TEXT)
    bpe("encode", ram_path / "in.txt", "-t", tok, "-o", ram_path / "o.npy")
    code, out, _ = bpe("inspect", ram_path / "o.npy", "--verify", "--tokens", 4)
    lines = dict(line.split(": ", 1) for line in out.decode().splitlines())
    tokens = Tokenizer.load(tok).encode(TEXT)
    assert code == 0
    assert lines["format"] == "npy"
    assert lines["dtype"] == "uint16"
    assert lines["documents"] == "4"
    assert lines["tokens"] == str(len(tokens) + 1)
    assert lines["first"] == " ".join(map(str, tokens[:4]))
    assert json.loads(lines["text"]) == Tokenizer.load(tok).decode(tokens[:4])
    assert lines["verified"] == "sha256 of each range as in the manifest"
    code, out, _ = bpe("inspect", ram_path / "o.npy", "--json")
    assert json.loads(out)["first"] == [*tokens, tokens[tokens.index(Tokenizer.load(tok).eot_token)]][:32]  # type: ignore[arg-type]
    data = bytearray((ram_path / "o.npy").read_bytes())
    data[-1] ^= 1
    (ram_path / "o.npy").write_bytes(data)
    code, _, err = bpe("inspect", ram_path / "o.npy", "--verify")
    assert code == 3
    assert "o.npy: bytes 0 to " in err
    assert "differ from the checksum" in err


def test_inspect_a_foreign_file(ram_path: Path, tok: str, bpe: Bpe) -> None:
    np.save(ram_path / "x.npy", np.array([97, 98], np.uint16))
    code, out, _ = bpe("inspect", ram_path / "x.npy")
    assert code == 0
    assert "documents: not in this format" in out.decode()
    code, out, _ = bpe("inspect", ram_path / "x.npy", "-t", tok)
    assert 'text: "ab"' in out.decode()
    np.save(ram_path / "x.npy", np.array([9999], np.uint16))
    code, _, err = bpe("inspect", ram_path / "x.npy", "-t", tok)
    assert code == 3
    assert "9999 is not in the tokenizer" in err
    (ram_path / "page.html").write_text("<!doctype html>")
    assert "page.html: not a token file with a header; give --format" in bpe("inspect", ram_path / "page.html")[2]
    assert bpe("inspect", ram_path / "x.npy", "--verify")[0] == 3


def test_inspect_and_decode_int32(ram_path: Path, tok: str, bpe: Bpe) -> None:
    np.array([97, 98], np.int32).tofile(ram_path / "x.bin")
    code, out, err = bpe("inspect", ram_path / "x.bin", "-f", "nanogpt", "--dtype", "int32", "--json")
    assert code == 0, err
    assert json.loads(out)["first"] == [97, 98]
    code, out, err = bpe("decode", ram_path / "x.bin", "-f", "nanogpt", "--dtype", "int32", "-t", tok)
    assert (code, out) == (0, b"ab\n") or out == b"ab<|endoftext|>", err


def test_merge(ram_path: Path, tok: str, bpe: Bpe) -> None:
    (ram_path / "in.txt").write_text(TEXT * 30)
    for rank in (1, 0):
        code, _, _ = bpe(
            "encode", ram_path / "in.txt", "-t", tok, "-o", ram_path / "o", "-f", "megatron", "--rank", rank,
            "--world-size", 2,
        )  # fmt: skip
        assert code == 0
    for rank in range(2):
        shown = json.loads(bpe("inspect", ram_path / f"o.rank0000{rank}of00002", "--verify", "--json")[1])
        assert shown["documents"] in (45, 46)
    code, out, err = bpe("merge", "-o", ram_path / "o_text_document.bin", "--rank", 0, "--world-size", 1, "-j", 2)
    assert code == 0, err
    assert json.loads(out)["documents"] == 91
    assert bpe("inspect", ram_path / "o", "--verify")[0] == 0
    code, _, err = bpe("decode", ram_path / "o")
    assert code == 3
    assert "megatron files are read by megatron.core" in err


@pytest.mark.parametrize("command", ["encode", "count", "train"])
def test_documents_that_are_too_long(ram_path: Path, tok: str, bpe: Bpe, command: str) -> None:
    (ram_path / "in.jsonl").write_text('{"text": "ab ab"}\n' + json.dumps({"text": "x" * 3000}) + "\n")
    options = {
        "encode": ("-t", tok, "-o", ram_path / "o"),
        "count": ("-t", tok),
        "train": ("-n", "257", "-o", ram_path / "t"),
    }
    command_line = (command, ram_path / "in.jsonl", *options[command], "--max-document-bytes", "2K")
    code, _, err = bpe(*command_line)
    assert code == 3
    assert "in.jsonl:2: a document longer than --max-document-bytes: more than 2048 bytes" in err
    assert bpe(*command_line, "--on-error", "skip")[0] == 0


def test_a_file_with_several_names_is_counted_once(ram_path: Path, tok: str, bpe: Bpe) -> None:
    (ram_path / "in").mkdir()
    (ram_path / "in" / "a.txt").write_text("a")
    (ram_path / "in" / "up").symlink_to(".")
    code, out, err = bpe("count", ram_path / "in", ram_path / "in" / "**", "-t", tok)
    assert (code, out) == (0, b"1\n")
    assert f"not read again under another name: 1 name, the first: {ram_path}" in err


def test_problems_are_reported(ram_path: Path, tok: str, bpe: Bpe) -> None:
    source = ram_path / "in.jsonl"
    source.write_text('{"text": "a"}\n{}\nx\n{}\n')
    code, out, err = bpe("encode", source, "-t", tok, "-o", ram_path / "o")
    assert (code, out) == (3, b"")
    assert err.startswith("Error: ")
    assert f"{source}:2: no text" in err
    code, out, err = bpe("encode", source, "-t", tok, "-o", ram_path / "o", "--on-error", "skip")
    assert code == 0
    assert json.loads(out)["problems"]["no-text"]["count"] == 2
    assert f"2 x no-text left out, the first at {source}:2" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.txt", "-o", "o"], "nowhere.txt"),
        (["{tok}x", "-o", "o"], "no such file"),
        (["{source}", "-o", "o", "-f", "nope"], "nope"),
        (["{source}", "-o", "o", "--val-fraction", "2"], "--val-fraction"),
        (["{source}", "-o", "{source}/o"], "in.txt"),
        (["{source}", "-o", "o", "--rank", "5", "--world-size", "2"], "rank 5"),
        (["{source}", "-o", "o", "-t", "{source}"], "in.txt"),
    ],
)
def test_mistakes_are_one_line(ram_path: Path, tok: str, bpe: Bpe, arguments: list[str], message: str) -> None:
    source = ram_path / "in.txt"
    source.write_text("text")
    if "-t" not in arguments:
        arguments = [*arguments, "-t", "{tok}"]
    code, out, err = bpe("encode", *(it.format(tok=tok, source=source) for it in arguments))
    expected = 2 if message in ("nope", "--val-fraction", "rank 5") else 3 if arguments[-1] == "{source}" else 1
    assert (code, out) == (expected, b"")
    assert message in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("command", [["encode", "a.txt", "-t", "bpetite-32k"], ["merge"]])
def test_an_output_without_a_name(
    ram_path: Path, bpe: Bpe, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(ram_path)
    (ram_path / "a.txt").write_text("one")
    code, out, err = bpe(*command, "-o", "")
    assert (code, out) == (2, b"")
    assert "the output has no name; give one, or a folder ('.' is this one)" in err
    assert os.listdir(ram_path) == ["a.txt"]


def test_ranks_are_deleted_when_they_have_been_merged(ram_path: Path, tok: str, bpe: Bpe) -> None:
    (ram_path / "a.txt").write_text(TEXT)
    for rank in (0, 1):
        bpe("encode", ram_path / "a.txt", "-t", tok, "-o", ram_path / "o", "--rank", rank, "--world-size", 2)
    assert bpe("merge", "-o", ram_path / "o", "--delete")[0] == 0
    assert not list(ram_path.glob("*.rank*"))
    assert bpe("decode", ram_path / "o")[:2] == (0, TEXT.encode())


def test_a_suffix_of_another_format(ram_path: Path, tok: str, bpe: Bpe) -> None:
    (ram_path / "a.txt").write_text(TEXT)
    for format, name, said in (
        ("nanogpt", "x.npy", "x.npy: .npy is the suffix of --format npy; nanogpt has .bin"),
        ("npy", "x.parquet", ".parquet is the suffix of --format parquet; npy has .npy"),
    ):
        code, _, err = bpe("encode", ram_path / "a.txt", "-t", tok, "-f", format, "-o", ram_path / name)
        assert code == 2
        assert said in err
        with pytest.raises(ValueError, match=f"is the suffix of format='{name[2:]}'; {format} has"):
            encode_corpus(ram_path / "a.txt", ram_path / name, Tokenizer.load(tok), format=format)
    for format, name in (("nanogpt", "a.bin"), ("npy", "c.v2"), ("NanoGPT", "d.bin"), ("megatron", "e")):
        assert bpe("encode", ram_path / "a.txt", "-t", tok, "-f", format, "-o", ram_path / name)[0] == 0


def test_a_text_file_that_separators_cut(ram_path: Path, tok: str, bpe: Bpe) -> None:
    (ram_path / "readme.md").write_text("a<|endoftext|>b")
    command = ("encode", ram_path / "readme.md", "-t", tok, "-o")
    assert "1 text file cut into 2 documents at each separator" in bpe(*command, ram_path / "o")[2]
    assert "cut into" not in bpe(*command, ram_path / "p", "--whole-files")[2]


def test_help_in_sections(bpe: Bpe) -> None:
    out = bpe("encode", "--help")[1].decode()
    headings = ["Options:", "Reading:", "Token files:", "Several processes:", "Other options:", "Examples:"]
    places = [out.index(f"\n{heading}\n") for heading in headings]
    assert places == sorted(places)
    first = out[places[0] : places[1]]
    assert [word for word in first.split() if word.startswith("--")] == [
        "--tokenizer", "--output", "--format", "--jobs", "--overwrite", "--dry-run"
    ]
    command = cli.get_command(Context(cli), "encode")
    assert command is not None
    shown = {word.rstrip(",") for word in out.split() if word.startswith("-")}
    assert all(shown.intersection(option.opts) for option in command.params if isinstance(option, Option))
