"""The command line as a user runs it: real processes, exit codes, what goes to which stream."""
from pathlib import Path

import click
import pytest
from commands import bpe
from commands import process as run

from bpetite import Tokenizer, patterns

TEXT = "ab ab ab<|endoftext|>ab ab\n" * 20


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus ü.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_help_lists_the_commands() -> None:
    done = run("--help")
    assert done.code == 0
    assert "train" in done.out
    assert run().out == done.out
    assert run("--version").out.startswith("bpetite 0.")
    assert "--vocab-size" in run("train", "--help").out


def test_train(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "tok.json"
    done = run(
        "train", corpus, "-n", 260, "-o", out, "--special-tokens", "<s>", "--special-tokens", "<t>", "--special-ids",
        "before", "--pattern", "none", "--tie-break", "tokenizers", "--min-frequency", 3, "--normalization", "NFC",
    )  # fmt: skip
    assert (done.code, done.out) == (0, ""), done.err
    expected = Tokenizer.train(
        TEXT.split("<|endoftext|>"), 260, special_tokens=["<s>", "<t>"], special_ids="before", pattern=None,
        tie_break="tokenizers", min_frequency=3, normalization="NFC",
    )  # fmt: skip
    assert Tokenizer.load(out) == expected
    assert expected.fingerprint() in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{corpus}", "-n", "200", "-o", "x.json"], 2, "200"),
        (["{latin}", "-n", "300", "-o", "x.json"], 3, "latin.txt"),
        (["{corpus}", "-n", "many", "-o", "x.json"], 2, "many"),
        (["{corpus}", "-n", "1.5", "-o", "x.json"], 2, "'1.5' is not a number such as 500 or 32k"),
        (["{corpus}", "-n", "300", "-o", "x.json", "--memory", "64X"], 2, "such as 4096 or 64M"),
        (["{corpus}", "-n", "300", "-o", "x.json", "--jbs", "2"], 2, "--jobs"),
    ],
)
def test_mistakes_are_one_line(corpus: Path, tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    latin = tmp_path / "latin.txt"
    latin.write_bytes("größer".encode("latin-1"))
    before = corpus.read_bytes()
    done = bpe("train", *(it.format(corpus=corpus, latin=latin) for it in arguments), cwd=tmp_path)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("Error: ")
    assert len(done.err.splitlines()) == 1
    assert message in done.err
    assert corpus.read_bytes() == before
    assert not (tmp_path / "x.json").exists()


def test_unknown_command() -> None:
    done = run("trane")
    assert done.code == 2
    assert done.err.startswith("Error: No such command 'trane'.")
    assert "'train'" in done.err or not hasattr(click.exceptions, "NoSuchCommand")  # click 8.4 and later
    assert done.err.endswith(" (bpetite --help)\n")


def test_train_goes_on_after_another(corpus: Path, tmp_path: Path) -> None:
    small, large = tmp_path / "small.json", tmp_path / "large.json"
    assert bpe("train", corpus, "-n", 257, "-o", small, "--pattern", "cl100k").code == 0
    done = bpe("train", corpus, "-t", small, "--add", 1, "-o", large, "--special-tokens", "<a>")
    assert done.code == 0, done.err
    assert done.err.splitlines()[-1].startswith(f"{large}: 260 tokens, 2 of them new, fingerprint ")
    assert Tokenizer.load(large) == Tokenizer.load(small).extend(TEXT, 1, special_tokens=["<a>"])
    assert Tokenizer.load(large).merges == Tokenizer.train(TEXT, 258, pattern=patterns.CL100K).merges
    done = bpe("train", "none.txt", "-t", small, "--add", 1, "-o", tmp_path / "x.json", "--special-tokens", "<a>=7")
    assert (done.code, done.err.count("it belongs to b'\\x07'")) == (1, 1)


def test_train_superwords(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat of the day<|endoftext|>the cat of the night\n" * 5)
    command = ["train", str(tmp_path / "a.txt"), "-n", "280", "--superwords-from", "262", "-o"]
    done = bpe(*command, tmp_path / "tok.json", "--superword-pattern", "none")
    assert done.code == 0, done.err
    texts = ["the cat of the day", *["the cat of the night\nthe cat of the day"] * 4, "the cat of the night\n"]
    expected = Tokenizer.train(texts, 280, superwords_from=262, superword_pattern=None)
    assert Tokenizer.load(tmp_path / "tok.json") == expected
    refused = bpe(*command, tmp_path / "other.json", "--memory", "64M")
    assert (refused.code, "--superwords-from does not go with --memory" in refused.err) == (2, True)
