"""The commands that analyse tokenizers, as a user runs them."""
import json
from pathlib import Path

import pytest
from commands import bpe as run
from terminals import in_terminal

from bpetite import Tokenizer

TEXT = "the cat sat on the mat\n" * 5


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizers")
    Tokenizer.train(TEXT, 266).save(folder / "a.json")
    Tokenizer.train(TEXT, 262).save(folder / "b.json")
    tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"xyz"}
    Tokenizer(tokens, []).save(folder / "bad.json")
    (folder / "text.txt").write_text(TEXT + "naïve 猫<|endoftext|>more", encoding="utf-8")
    return folder


def test_audit(files: Path, tmp_path: Path) -> None:
    done = run("audit", "-t", files / "a.json", files / "text.txt", "--strict")
    assert (done.code, done.err) == (0, "")
    assert "no faults" in done.out
    assert "2  documents" in done.out
    done = run("audit", "-t", files / "a.json", files / "text.txt", "--json", "--html", tmp_path / "page.html")
    content = json.loads(done.out)
    assert content["settings"]["tokens"] == len(Tokenizer.load(files / "a.json"))
    assert content["usage"]["documents"] == 2
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run("audit", "-t", files / "bad.json").code == 0
    done = run("audit", "-t", files / "bad.json", "--strict")
    assert (done.code, "unreachable-merges" in done.out) == (1, True)


def test_compare_what_differs(files: Path, tmp_path: Path) -> None:
    two, page = ("compare", files / "a.json", files / "b.json"), tmp_path / "page.html"
    done = run(*two, files / "text.txt", "--html", page)
    assert (done.code, done.err) == (0, f"{page}: written\n")
    assert "4  only in A" in done.out
    assert "character" in done.out
    content = page.read_text(encoding="utf-8")
    assert content.startswith("<!doctype html>")
    assert "2 tokenizers, different</span>" in content
    assert "text.txt" in content
    page.unlink()
    done = run("compare", files / "a.json", files / "a.json", files / "text.txt", "-q", "--html", page, "--strict")
    assert (done.code, done.err) == (0, "")
    assert "2 tokenizers, the same</span>" in page.read_text(encoding="utf-8")
    assert len(json.loads(run(*two, "--json").out)["differences"][0]["only_a"]) == 4
    quiet = run(*two, "-q", "--strict")
    assert (quiet.code, quiet.out, quiet.err) == (1, run(*two).out, "")


def test_reports_name_the_files_they_read(files: Path, tmp_path: Path) -> None:
    """Of a folder, its files."""
    texts = [tmp_path / f"{number}.txt" for number in range(7)]
    for path in texts:
        path.write_text(TEXT, encoding="utf-8")
    said = run("audit", "-t", files / "a.json", tmp_path).out
    assert f"Texts: {texts[0]}, " in said
    assert f"{texts[4]} and 2 more" in said
    content = json.loads(run("compare", files / "a.json", files / "b.json", tmp_path, "--json").out)
    assert content["files"] == list(map(str, texts))
    assert content["differences"][0]["names"] == [str(files / "a.json"), str(files / "b.json")]


def test_tokens_as_a_page(files: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    both = ("tokens", "-t", files / "a.json", "-t", files / "b.json")
    done = run(*both, "--html", page, stdin=TEXT)
    assert (done.code, done.out, done.err) == (0, "", f"{page}: written\n")
    assert page.read_text(encoding="utf-8").count('class="text side') == 2 * 5
    assert "several tokenizers are shown on a page" in run(*both, "the cat").err
    alone = run("tokens", "-t", files / "a.json", "the cat", "--html", "-")
    assert (alone.out[:15], alone.out.rstrip()[-7:], alone.err) == ("<!doctype html>", "</html>", "")
    for other in ("--ids", "--printable", "--json"):
        assert "only one of" in run("tokens", "-t", files / "a.json", "the cat", "--html", page, other).err


def test_tokens(files: Path) -> None:
    tok, tokens = Tokenizer.load(files / "a.json"), ("tokens", "-t", files / "a.json")
    done = run(*tokens, "the cat 猫<|endoftext|>")
    lines = done.out.splitlines()
    assert [int(line.split("\t")[0]) for line in lines] == tok.encode("the cat 猫<|endoftext|>")
    assert lines[-1] == "266\t'<|endoftext|>'\tspecial"
    assert "characters per token" in done.err
    assert run(*tokens, "--ids", stdin="the cat").out.split() == list(map(str, tok.encode("the cat")))
    assert len(run(*tokens, "<|endoftext|>", "--special", "text", "--ids").out.split()) > 5
    content = json.loads(run(*tokens, "é", "--json").out)
    assert [one["bytes"] for one in content["tokens"]] == ["c3", "a9"]
    assert run(*tokens, "").out == ""
    printed = run(*tokens, "--printable", stdin=" the cat\n猫\x00 é<|endoftext|>").out
    assert printed.startswith("Ġthe ")
    assert printed.rstrip("\n").endswith(" Ã © <|endoftext|>")


def test_colours(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = in_terminal("tokens", "-t", files / "a.json", "the \x1b[2J猫\nmat<|endoftext|>", messages=False)
    assert "\x1b[48;5;" in coloured
    assert "\x1b[2J" not in coloured
    assert "\\x1b" in coloured
    assert "猫₃" in coloured
    assert "\x1b[7;1m<|endoftext|>" in coloured
    assert "\x1b" not in in_terminal("tokens", "-t", files / "a.json", "the cat", messages=False, NO_COLOR="1")
    assert "\x1b[48;5;" in run("tokens", "-t", files / "a.json", "the cat", "--color").out
    assert "\x1b" not in run("tokens", "-t", files / "a.json", "the cat").out


def test_mistakes_are_one_line(files: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.txt").write_bytes(b"ab\xff")
    good, text, missing = files / "a.json", files / "text.txt", tmp_path / "missing"
    for code, arguments in (
        (2, ("compare", good, missing)), (2, ("compare", good, text)), (2, ("compare", good, good, missing)),
        (2, ("compare", good, good, tmp_path / "broken.txt")), (2, ("compare", good)),
        (2, ("compare", good, good, "--places", "-1")), (1, ("tokens", "-t", missing, "x")),
        (2, ("audit", "-t", missing)), (1, ("tokens", "-t", text, "x", "--html", tmp_path / "page.html")),
    ):  # fmt: skip
        done = run(*arguments)
        assert (done.code, done.err.count("\n")) == (code, 1), done
        assert done.err.startswith("Error: ")
    assert "only one of" in run("tokens", "-t", good, "x", "--ids", "--json").err


def test_compare_by_group(files: Path, tmp_path: Path) -> None:
    rows = [("en", "the cat"), ("de", "die Katze"), (None, "mat")]
    lines = "".join(json.dumps({"text": text, **({"lang": lang} if lang else {})}) + "\n" for lang, text in rows)
    corpus, page = tmp_path / "x.jsonl", tmp_path / "page.html"
    corpus.write_text(lines)
    both = (files / "a.json", files / "b.json")
    done = run("compare", *both, corpus, "--by", "lang", "--html", page)
    assert (done.code, done.err) == (0, f"{page}: written\n")
    assert "Tokens per word by lang" in done.out
    assert "(none)" in done.out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    rows = json.loads(run("compare", *both, "--by", "lang", "--json", corpus).out)["rows"]
    assert [row["group"] for row in rows] == [None, "de", "en", "(none)"] * 2
    content = json.loads(run("compare", *both, corpus, files / "text.txt", "--by", "file", "--json").out)
    assert content["by"] == "file"
    assert list(dict.fromkeys(one["tokenizer"] for one in content["rows"])) == [str(path) for path in both]
    assert {one["group"] for one in content["rows"]} == {None, "x", "text"}
    for arguments, code, message in (
        ((corpus,), 2, "Missing argument 'B'"),
        ((*both, files / "text.txt", "--by", "lang"), 2, "text has no records with a key 'lang'"),
        ((*both, corpus, "--html", page), 2, "exists"),
    ):
        done = run("compare", *arguments)
        assert done.code == code, done
        assert message in done.err


def test_tokens_of_a_file_name(files: Path) -> None:
    """Many mean the content."""
    done = run("tokens", "-t", files / "a.json", files / "text.txt")
    assert f"those of the file: bpetite tokens < {files / 'text.txt'}" in done.err
