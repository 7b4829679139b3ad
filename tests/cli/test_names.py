"""Names of encodings, models and patterns on every command, and what ``train`` checks before it reads."""
import errno
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from commands import bpe as run
from tiers import slow_but

from bpetite import Tokenizer, count_pretokens, get_encoding, patterns
from bpetite.cli import inputs, saving

TEXT = "the cat sat on the mat, the cat ate the hat"


@pytest.fixture(autouse=True)
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text(TEXT)


@pytest.mark.parametrize("name", slow_but(["gpt2", "gpt-2", "r50k"], "gpt-2"))
def test_a_name_on_every_command(name: str) -> None:
    ids = get_encoding("gpt2").encode(TEXT)
    assert run("count", "corpus.txt", "-t", name).out == f"{len(ids)}\n"
    assert run("tokens", "-t", name, TEXT, "--ids").out.split() == list(map(str, ids))
    assert run("encode", "corpus.txt", "-t", name, "-o", "out").code == 0
    assert run("decode", "out.npy", "-t", name).out.startswith(TEXT)
    assert run("convert", name, "pair", "--to", "gpt2").code == 1  # its pattern is another text
    assert run("convert", name, "tok.json").code == 0
    assert run("compare", name, "tok.json", "corpus.txt").code == 0
    assert run("tokens", "-t", name, "the cat", "--html", "page.html").code == 0
    assert json.loads(run("audit", "-t", name, "--json").out)["name"] == name
    assert "50,257 tokens, 0 of them new" in run("train", "corpus.txt", "-t", name, "--add", 1, "-o", "b.json").err


def test_a_model_and_an_unknown_name() -> None:
    assert run("count", "corpus.txt", "-t", "gpt-4o").out == f"{get_encoding('o200k_base').count(TEXT)}\n"
    done = run("count", "corpus.txt", "-t", "cl100k_bse")
    assert done.code == 1
    assert "did you mean 'cl100k_base'?" in done.err


def test_names_in_options_of_convert() -> None:
    Tokenizer.train(TEXT, 260).to_ranks().save("mine.tiktoken")
    assert run("convert", "mine.tiktoken", "a.json", "--pattern", "cl100k_base").code == 0
    assert Tokenizer.load("a.json").pattern == patterns.CL100K
    assert run("convert", "mine.tiktoken", "b.json", "--name", "p50k").code == 0
    assert run("convert", "mine.tiktoken", "c.json", "--pattern", "cl100", "--special-tokens", "<a>=9").code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "folder", "--overwrite"), "a folder has this name"),
        (("-o", "tok"), "tok has no suffix: name a file, as tok.json, or a folder with --to huggingface"),
        (("-o", "corpus.txt", "--to", "huggingface"), "a file has this name, and huggingface is a folder"),
        (("-o", "pair", "--to", "gpt2", "--pattern", "cl100k"), "cannot hold pattern"),
        (("-o", "full", "--to", "gpt2"), "vocab.json: the file exists"),
        (("-o", "added", "--to", "gpt2"), "added_tokens.json: the file exists"),
        (("-o", "model", "--to", "huggingface"), "tokenizer_config.json: the file exists"),
        (("-o", "tok.tiktoken", "--normalization", "NFC"), "cannot hold normalization 'NFC'"),
        (("-o", "tok.json", "--to", "tekken"), "'tekken' is not one of"),
        (("-o", "tok.json", "--pattern", "("), "not a regular expression"),
        (("-o", "tokenizer.json", "--pattern", r"\bx"), "tokenizer.json"),
        (("-o", "tok.json", "--special-tokens", "<a>=3"), "cannot have the id 3"),
        (("-o", "tok.json", "--special-tokens", "<a>=300", "--special-tokens", "<b>"), "ids for all or for none"),
    ],
)
def test_train_checks_everything_before_it_reads(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    Path("folder").mkdir()
    for name in ("full/vocab.json", "added/added_tokens.json", "model/tokenizer_config.json"):
        Path(name).parent.mkdir()
        Path(name).write_text("{}")
    monkeypatch.setattr(inputs, "read_documents", lambda *_, **__: pytest.fail("it was read"))
    done = run("train", "corpus.txt", "-n", 260, *arguments)
    assert (done.code, done.out) == (2 if "(bpetite train --help)" in done.err else 1, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_train_writes_tiktoken_where_convert_could() -> None:
    done = run("train", "corpus.txt", "-n", 270, "-o", "tok.tiktoken", "--pattern", "cl100k_base")
    assert done.code == 0
    written = Tokenizer.from_tiktoken("tok.tiktoken", pattern="cl100k", special_tokens=["<|endoftext|>"])
    assert written == Tokenizer.train(TEXT, 270, pattern="cl100k").to_ranks()
    assert written.fingerprint() in done.err


def test_what_was_trained_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("not the ids of the merge list")

    monkeypatch.setattr(saving, "_in_kind", refuse)
    done = run("train", "corpus.txt", "-n", 260, "-o", "tok.tiktoken")
    assert done.code == 1
    assert "tok.tiktoken could not be written; the tokenizer is saved as tok.tiktoken.native.json" in done.err
    assert "Error: not the ids of the merge list" in done.err
    assert Tokenizer.load("tok.tiktoken.native.json") == Tokenizer.train(TEXT, 260)


@pytest.mark.parametrize("full", [["tok.json"], ["tok.json", "tok.json.native.json"]])
def test_what_was_trained_is_not_lost_on_a_full_disk(full: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    save, create = Tokenizer.save, saving.create_output

    def writing(write: Any) -> Any:
        def fail_where_full(*arguments: Any, **options: Any) -> Any:
            if str(next(one for one in arguments if isinstance(one, Path))) in full:
                raise OSError(errno.ENOSPC, "No space left on device", "tok.json")
            return write(*arguments, **options)

        return fail_where_full

    monkeypatch.setattr(saving, "create_output", writing(create))
    monkeypatch.setattr(Tokenizer, "save", writing(save))
    monkeypatch.setattr(tempfile, "tempdir", os.getcwd())
    done = run("train", "corpus.txt", "-n", 260, "-o", "tok.json")
    assert done.code == 5
    assert "tok.json could not be written; the tokenizer is saved as " in done.err
    (rescued,) = Path().rglob("tok.json.native.json")
    assert Tokenizer.load(rescued) == Tokenizer.train(TEXT, 260)


def test_train_takes_ids_and_says_when_it_ends_early() -> None:
    special = ("--special-tokens", "<a>=500", "--special-tokens", "<b>=400")
    done = run("train", "corpus.txt", "-n", 400, "-o", "tok.json", *special)
    assert done.code == 0
    assert Tokenizer.load("tok.json").special_tokens == {"<a>": 500, "<b>": 400}
    assert any(line.startswith("no pair is left to learn") for line in done.err.splitlines())


def test_train_within_some_memory() -> None:
    Path("spill").mkdir()
    done = run("train", "corpus.txt", "-n", 270, "-o", "tok.json", "--memory", "64m", "--spill-to", "spill")
    assert done.code == 0
    assert Tokenizer.load("tok.json") == Tokenizer.train(TEXT, 270)
    assert not any(Path("spill").iterdir())
    done = run("train", "corpus.txt", "-n", 258, "-o", "rare.json", "--memory", "32m", "--min-count", 2)
    assert done.code == 0
    assert run("train", "corpus.txt", "-n", 258, "-o", "as_in_the_library.json", "--memory", "0.5 GiB").code == 0
    frequent = {pretoken: count for pretoken, count in count_pretokens(TEXT).items() if count > 1}
    assert Tokenizer.load("rare.json") == Tokenizer.train_from_counts(frequent, 258)
    for wrong, message in (
        (("--memory", "1m"), "1m is not at least 33,554,432"),
        (("--spill-to", "spill"), "--spill-to goes with --memory"),
        (("--min-count", 2), "--min-count goes with --memory"),
        (("--memory", "1g", "--spill-to", "none"), "'none' does not exist"),
    ):
        done = run("train", "corpus.txt", "-n", 270, "-o", "other.json", *wrong)
        assert done.code == 2
        assert message in done.err
