"""Paths that are URLs never become local folders of that name."""
from pathlib import Path

import pytest
from corpus_tools import run

from bpetite.corpus import find_sources


@pytest.mark.parametrize("url", ["s3:/bucket/x", "hf:/datasets/me/x", "file:/data/x", "simplecache::s3://bucket/x"])
def test_what_cannot_be_meant_is_refused(ram_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.chdir(ram_path)
    Path("in.txt").write_text("a")
    for work in (
        lambda: run("in.txt", url),  # type: ignore[arg-type]
        lambda: run("in.txt", Path(url)),
        lambda: run(url, ram_path / "o"),
        lambda: run(url + "/*.txt", ram_path / "o"),
    ):
        with pytest.raises(ValueError, match=r"a URL has two slashes, .* give it as a str|a chain of URLs"):
            work()
    assert [path.name for path in ram_path.iterdir()] == ["in.txt"]


def test_urls_of_local_files(ram_path: Path) -> None:
    (ram_path / "a b.txt").write_text("a")
    piece = find_sources([(ram_path / "a b.txt").as_uri(), ram_path / "a b.txt"]).pieces[0]
    assert piece.path == str(ram_path / "a b.txt")
    with pytest.raises(ValueError, match="file://elsewhere/x: a file on elsewhere"):
        find_sources(["file://elsewhere/x"])


def test_local_files_that_look_like_urls(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ram_path)
    Path("s3:/bucket").mkdir(parents=True)
    Path("s3:/bucket/in.txt").write_text("a")
    run("s3:/bucket/in.txt", Path("./s3:/bucket/o").absolute())
    assert Path("s3:/bucket/o.npy").exists()
