"""encode, decode, count, inspect and merge as commands."""
import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xxhash
from commands import bpe, process
from corpus_tools import FORMATS
from paths import PACKAGES

from bpetite import Tokenizer
from bpetite.cli import main
from bpetite.cli.inputs import unescape

TEXT = "Once upon a time\n<|endoftext|>漢字 and 🙂\0<|endoftext|><|endoftext|>the end"


@pytest.fixture
def tok(ram_path: Path) -> str:
    path = ram_path / "tok.json"
    Tokenizer.train(TEXT, 280).save(path)
    return str(path)


@pytest.mark.parametrize("format", ["npy", "nanogpt", "llmc"])
@pytest.mark.parametrize(
    "text", [TEXT, TEXT + "<|endoftext|>", "", "<|endoftext|>", "x", "a<|endoftext|><|endoftext|>"]
)
def test_text_comes_back_byte_for_byte(ram_path: Path, tok: str, format: str, text: str) -> None:
    source = ram_path / "in ü.txt"
    source.write_bytes(text.encode())
    for n, extra in enumerate(([], ["--eot", "prepend"], ["--eot", "append", "--shard-tokens", "7"])):
        out = ram_path / f"o{n}"
        code, summary, _ = bpe("encode", source, "-t", tok, "-o", out, "-f", format, *extra)
        assert code == 0
        documents = len(text.split("<|endoftext|>")) - text.endswith("|>") - (not text)
        assert json.loads(summary)["documents"] == documents
        assert bpe("decode", out)[:2] == (0, text)


def test_tokens_without_ends_are_one_document(ram_path: Path, tok: str) -> None:
    source = ram_path / "in.txt"
    source.write_text("a<|endoftext|>b")
    assert bpe("encode", source, "-t", tok, "-o", ram_path / "o", "-f", "nanogpt", "--eot", "none")[0] == 0
    assert bpe("decode", ram_path / "o")[:2] == (0, "ab")
    long = ram_path / "long.txt"
    long.write_text("a" * 900 + "<|endoftext|>b")
    options = ("-t", tok, "-f", "llmc", "--shard-tokens", "50", "-o", ram_path / "s")
    assert bpe("encode", long, *options)[0] == 0
    shards = sorted(ram_path.glob("s_*.bin"))
    assert len(shards) > 2
    assert "".join(bpe("decode", shard)[1] for shard in shards).replace("<|endoftext|>", "") == "a" * 900 + "b"
    code, _, error = bpe("merge", "-o", "")
    assert (code, "the output has no name" in error) == (2, True)


def test_streams(ram_path: Path, tok: str) -> None:
    """A real process: the summary alone on standard output, people's lines on standard error, no bar in a pipe."""
    done = process("encode", "-", "--input-kind", "text", "-t", tok, "-o", "o", stdin=TEXT, cwd=ram_path)
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    assert summary["documents"] == 4
    assert summary["files"] == ["o.npy", "o.offsets.npy"]
    assert done.err.splitlines()[-1].startswith("4 documents, ")
    assert "it/s" not in done.err


def test_plain_installations_read_text_and_json(ram_path: Path, tok: str) -> None:
    """Without any extra: text, JSON lines, JSON, gzip; every format but Parquet."""
    (ram_path / "a.txt").write_text(TEXT)
    (ram_path / "b.jsonl").write_text(json.dumps({"text": "b"}) + "\n")
    (ram_path / "c.json.gz").write_bytes(gzip.compress(json.dumps([{"text": "c"}]).encode()))
    code = """if True:
        import sys
        sys.modules.update(dict.fromkeys(["orjson", "pyarrow", "zstandard", "isal"]))
        from bpetite.cli import main
        failed = []
        for format in sys.argv[2:]:
            try:
                main([*"encode a.txt b.jsonl c.json.gz -q -f".split(), format, "-o", format, "-t", sys.argv[1]])
            except SystemExit as left:
                failed += [format] if left.code else []
        print(*failed)
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, tok, *FORMATS], capture_output=True, text=True, cwd=ram_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGES)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "parquet", done.stderr
    assert re.search(r"writing \.parquet needs pyarrow: pip install .*\[corpus\]'", done.stderr)
    assert bpe("decode", ram_path / "npy").out == TEXT + "<|endoftext|>b<|endoftext|>c"


@pytest.mark.skipif(sys.platform != "linux", reason="file names of any bytes")
@pytest.mark.parametrize("format", FORMATS)
def test_file_names_of_any_bytes(ram_path: Path, tok: str, format: str) -> None:
    line_break = b"" if format == "dolma" else b"\n"  # its readers take the table line by line
    source = os.fsdecode(os.fsencode(ram_path) + b"/\xff " + line_break + b",\".txt")
    Path(source).write_text(TEXT)
    for rank in (0, 1):
        code, _, err = bpe(
            "encode", source, "-t", tok, "-o", ram_path / "o", "-f", format, "--rank", rank, "--world-size", 2
        )
        assert code == 0, err
    assert bpe("merge", "-o", ram_path / ("o_text_document.bin" if format == "megatron" else "o"))[0] == 0
    assert bpe("inspect", ram_path / "o", "--verify")[0] == 0
    if format in ("megatron", "datatrove", "dolma", "parquet"):
        code, _, err = bpe("decode", ram_path / "o")
        assert code == 3
        assert f"{format} files are read by " in err
    else:
        assert bpe("decode", ram_path / "o")[:2] == (0, TEXT)


def test_separators(ram_path: Path, tok: str) -> None:
    for typed, text in ((None, None), ("a", "a"), (r"\n\n", "\n\n"), (r"\\n", r"\n"), (r"\t\0\r", "\t\0\r")):
        assert unescape(None, None, typed) == text
    source = ram_path / "in.txt"
    source.write_bytes(b"one\n\ntwo\n\n\nthree\n\n")
    out = bpe("encode", source, "-t", tok, "-o", ram_path / "o", "--separator", r"\n\n").out
    assert json.loads(out)["documents"] == 3
    assert bpe("decode", ram_path / "o")[:2] == (0, source.read_text())
    assert bpe("decode", ram_path / "o", "--separator", "|")[:2] == (0, "one|two|\nthree|")


def test_splits(ram_path: Path, tok: str) -> None:
    source = ram_path / "in.txt"
    source.write_text("".join(f"document {n}<|endoftext|>" for n in range(50)))
    bpe("encode", source, "-t", tok, "-o", ram_path / "o", "--val-fraction", "0.3", "-f", "nanogpt")
    train, val = (bpe("decode", ram_path / "o", "--split", split)[1] for split in ("train", "val"))
    assert bpe("decode", ram_path / "o_val.bin")[1] == val
    shown = bpe("decode", ram_path / "o_val.bin", "--jsonl")[1].splitlines()
    assert [json.loads(line)["text"] for line in shown] == val.split("<|endoftext|>")[:-1]
    assert sorted((train + val).split("<|endoftext|>")[:-1]) == sorted(f"document {n}" for n in range(50))
    assert val.endswith("<|endoftext|>")


def test_files_without_a_manifest(ram_path: Path, tok: str) -> None:
    eot = "ab<|endoftext|>c<|endoftext|>"
    ids = Tokenizer.load(tok).encode(eot)
    raw = ("-t", tok, "-f", "nanogpt")
    np.array(ids, np.uint16).tofile(ram_path / "x.bin")
    assert bpe("decode", ram_path / "x.bin", *raw)[:2] == (0, eot)
    np.array(ids, np.int32).tofile(ram_path / "int.bin")
    assert bpe("decode", ram_path / "int.bin", *raw, "--dtype", "int32")[:2] == (0, eot)
    shown = bpe("inspect", ram_path / "int.bin", "-f", "nanogpt", "--dtype", "int32", "--json").out
    assert json.loads(shown)["first"] == ids
    np.array([*ids, 65_535], np.uint16).tofile(ram_path / "y.bin")
    np.save(ram_path / "y.npy", np.array([65_535], np.uint16))
    np.save(ram_path / "x.npy", np.array([97, 98], np.uint16))
    assert "documents: not in this format" in bpe("inspect", ram_path / "x.npy").out
    assert json.loads(bpe("inspect", ram_path / "x.npy", "--json").out)["documents"] is None
    assert 'text: "ab"' in bpe("inspect", ram_path / "x.npy", "-t", tok).out
    (ram_path / "page.html").write_text("<!doctype html>")
    no_header, no_token = "not a token file with a header; give --format", "token 65535 is not in the tokenizer"
    for arguments, message in (
        (("decode", ram_path / "y.bin", *raw), no_token), (("decode", ram_path / "y.bin", *raw, "--jsonl"), no_token),
        (("decode", ram_path / "y.bin", *raw, "-o", ram_path / "text"), no_token),
        (("inspect", ram_path / "y.npy", "-t", tok), "65535 is not in the tokenizer"),
        (("inspect", ram_path / "x.npy", "--verify"), "manifest"),
        (("decode", ram_path / "x.bin", "-t", tok), no_header), (("inspect", ram_path / "page.html"), no_header),
    ):  # fmt: skip
        done = bpe(*arguments)
        assert done.code == 3
        assert message in done.err


def test_decode_mistakes(ram_path: Path, tok: str) -> None:
    source, other = ram_path / "in.txt", ram_path / "other.json"
    source.write_text("text")
    bpe("encode", source, "-t", tok, "-o", ram_path / "o")
    Tokenizer.train("xyz xyz", 257).save(other)
    for expected, arguments, message in (
        (1, (ram_path / "nothing",), "no token file"),
        (3, (ram_path / "o", "-t", other), "not with this one"),
        (3, (ram_path / "o", "--split", "val"), "no files of split val"),
        (1, (ram_path / "o", "-o", source), "--overwrite"),
        (3, (ram_path,), "without a manifest.json"),
        (3, (ram_path / "o",), "give --tokenizer"),
    ):
        if "--tokenizer" in message:
            os.remove(tok)
        code, out, err = bpe("decode", *arguments)
        assert (code, out, err.count("\n")) == (expected, "", 1)
        assert message in err


def test_count(ram_path: Path, tok: str) -> None:
    (ram_path / "in").mkdir()
    (ram_path / "in" / "a.txt").write_text(TEXT)
    (ram_path / "in" / "b.md").write_text("not read")
    (ram_path / "in" / "up").symlink_to(".")
    count = ("count", ram_path / "in", "-t", tok)
    said = bpe(*count).err
    assert "b.md: no reader for this suffix; a pattern such as *.jsonl leaves them out, --input-kind" in said
    code, out, err = bpe(*count, "--on-error", "skip", "-j", 2)
    expected = sum(len(Tokenizer.load(tok).encode_ordinary(text)) for text in TEXT.split("<|endoftext|>"))
    assert (code, int(out)) == (0, expected)
    assert "not read, for another suffix (--input-kind reads all): 1 file, the first: " in err
    err = bpe(*count, ram_path / "in" / "**", "--on-error", "skip").err
    assert f"not read again under another name: 1 name, the first: {ram_path}" in err
    assert f"leads to a folder: 2 links, the first: {ram_path / 'in' / 'up'}" in err
    err = bpe("count", ram_path / "in" / "b.md", "-t", tok).err
    assert "read as text, for an unknown suffix (--input-kind says what it holds): 1 file, the first: " in err
    assert json.loads(bpe(*count, "--on-error", "skip", "--json").out)["documents"] == 4
    assert not list(ram_path.glob("count*"))


def test_inspect(ram_path: Path, tok: str) -> None:
    (ram_path / "in.txt").write_text(TEXT)
    bpe("encode", ram_path / "in.txt", "-t", tok, "-o", ram_path / "o.npy")
    tokens = Tokenizer.load(tok).encode(TEXT)
    done = bpe("inspect", ram_path / "o.npy", "--verify", "--tokens", 4)
    assert done.code == 0
    assert dict(line.split(": ", 1) for line in done.out.splitlines()).items() >= {
        "format": "npy", "dtype": "uint16", "documents": "4", "tokens": str(len(tokens) + 1),
        "first": " ".join(map(str, tokens[:4])), "text": json.dumps(Tokenizer.load(tok).decode(tokens[:4])),
        "verified": "xxh3_128 as in the manifest",
    }.items()  # fmt: skip
    assert json.loads(bpe("inspect", ram_path / "o.npy", "--json").out)["first"][: len(tokens)] == tokens[:32]
    data = (ram_path / "o.npy").read_bytes()
    (ram_path / "o.npy").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    done = bpe("inspect", ram_path / "o.npy", "--verify")
    assert (done.code, "o.npy: its bytes have changed since it was written" in done.err) == (3, True)
    listed = json.loads((ram_path / "o.manifest.json").read_text())["files"]
    sums = {one["name"]: one["xxh3_128"] for one in listed}
    assert sums.keys() == {"o.npy", "o.offsets.npy"}
    assert sums["o.offsets.npy"] == xxhash.xxh3_128_hexdigest((ram_path / "o.offsets.npy").read_bytes())


@pytest.mark.parametrize(
    ("arguments", "expected", "message"),
    [
        (["nowhere.txt"], 1, "nowhere.txt"),
        (["{tok}x"], 1, "no such file"),
        (["{source}", "-f", "nope"], 2, "nope"),
        (["{source}", "--val-fraction", "2"], 2, "--val-fraction"),
        (["{source}", "-o", "{source}/o"], 1, "in.txt"),
        (["{source}", "--rank", "5", "--world-size", "2"], 2, "rank 5"),
        (["{source}", "-t", "{source}"], 3, "in.txt"),
        (["{source}", "-o", ""], 2, "the output has no name; give one, or a folder ('.' is this one)"),
        (["{source}", "--separator", r"\x"], 2, "\\x is not one of"),
        (["{source}", "--separator", "\udcff"], 2, r"--separator '\udcff' is not UTF-8"),
        (["{source}", "-f", "nanogpt", "-o", "x.npy"], 2, ".npy is the suffix of --format npy; nanogpt has .bin"),
        (["{source}", "-o", "x.parquet"], 2, ".parquet is the suffix of --format parquet; npy has .npy"),
    ],
)
def test_mistakes_are_one_line(ram_path: Path, tok: str, arguments: list[str], expected: int, message: str) -> None:
    source = ram_path / "in.txt"
    source.write_text("text")
    given = (it.format(tok=tok, source=source) for it in ["-t", "{tok}", "-o", "o", *arguments])
    code, out, err = bpe("encode", *given, cwd=ram_path)
    assert (code, out, len(err.strip().splitlines())) == (expected, "", 1)
    assert message in err
    assert {*os.listdir(ram_path)} == {"in.txt", "tok.json"}


def test_suffixes_of_the_format(ram_path: Path, tok: str) -> None:
    (ram_path / "a.txt").write_text(TEXT)
    for format, name in (("nanogpt", "a.bin"), ("npy", "c.v2"), ("NanoGPT", "d.bin"), ("megatron", "e")):
        assert bpe("encode", ram_path / "a.txt", "-t", tok, "-f", format, "-o", ram_path / name)[0] == 0


def test_a_text_file_that_separators_cut(ram_path: Path, tok: str) -> None:
    (ram_path / "readme.md").write_text("a<|endoftext|>b")
    command = ("encode", ram_path / "readme.md", "-t", tok, "-o")
    assert "1 text file cut into 2 documents at each separator" in bpe(*command, ram_path / "o")[2]
    assert "cut into" not in bpe(*command, ram_path / "p", "--whole-files")[2]


def test_names_of_files_from_a_file(ram_path: Path, tok: str) -> None:
    """A line each, or ended by NUL as of find -print0; from standard input, too."""
    names = ["a b.txt", "ü.txt", *(["new\nline.txt"] if os.name != "nt" else [])]
    for name in names:
        (ram_path / name).write_text("a b")
    lines, nulls = ram_path / "lines", ram_path / "nulls"
    lines.write_bytes(b"".join(os.fsencode(ram_path / name) + b"\r\n" for name in names[:2]))
    nulls.write_bytes(b"".join(os.fsencode(ram_path / name) + b"\0" for name in names))
    count = ("count", "-t", tok, "--files-from")
    assert "2 documents, " in bpe(*count, lines).err
    assert f"{len(names)} documents, " in bpe(*count, nulls, "-0").err
    assert "2 documents, " in bpe(*count, "-", names[0], stdin=f"{names[1]}\n", cwd=ram_path).err
    code, _, err = bpe("count", "-0", lines)
    assert (code, "-0 goes with --files-from" in err) == (2, True)


@pytest.mark.parametrize("command", ["encode", "count", "train"])
def test_no_files(
    ram_path: Path, tok: str, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a terminal, where `count` reads no standard input."""
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    (ram_path / "none").write_text("")
    options = {"encode": ("-t", tok, "-o", "o"), "count": ("-t", tok), "train": ("-n", "257", "-o", "t.json")}
    for more in ((), ("--files-from", str(ram_path / "none"))):
        with pytest.raises(SystemExit) as left:
            main([command, *options[command], *more])
        out, err = capsys.readouterr()
        assert (left.value.code, out) == (2, "")
        assert "no FILES given: name files, folders, patterns or URLs, or - for standard input" in err


def test_train_needs_text(ram_path: Path) -> None:
    (ram_path / "in.txt").write_text("")
    (ram_path / "in.jsonl").write_text('{"text": 5}\n')
    for name, more in (("in.txt", ()), ("in.jsonl", ("--on-error", "skip"))):
        code, _, err = bpe("train", ram_path / name, "-n", 300, "-o", ram_path / "t.json", *more)
        assert code == 1
        assert "no text in the inputs; nothing can be learned" in err
        assert not (ram_path / "t.json").exists()


def test_an_output_in_memory_says_so(ram_path: Path, tok: str) -> None:
    pytest.importorskip("fsspec")
    (ram_path / "a.txt").write_text(TEXT)
    code, _, err = bpe("encode", ram_path / "a.txt", "-t", tok, "-o", "memory://cli/o")
    assert code == 0
    assert "memory://cli/o: in the memory of this process; nothing will be left of it" in err
