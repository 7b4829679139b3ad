"""Paths that are URLs never become local folders of that name."""
from pathlib import Path

import pytest
from corpus_tools import byte_codec, run

from bpetite.corpus import Options, find_sources, make_task, merge_outputs

URLS = ["s3://bucket/x", "gs://bucket/x.npy", "hf://datasets/me/x", "file:///x", "memory://x", "s3:/bucket/x"]


@pytest.mark.parametrize("url", URLS)
def test_urls_are_refused(ram_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.chdir(ram_path)
    Path("in.txt").write_text("a")
    for work in (
        lambda: run("in.txt", url),  # type: ignore[arg-type]
        lambda: run("in.txt", Path(url)),
        lambda: run(url, ram_path / "o"),
        lambda: run(url + "/*.txt", ram_path / "o"),
    ):
        with pytest.raises(ValueError, match=r"a URL, and only local paths .*: mount the store or copy the files"):
            work()
    for rank in (0, 1):
        make_task(["in.txt"], "o", byte_codec(), rank=rank, world_size=2, options=Options()).run()
    before = sorted(ram_path.iterdir())
    with pytest.raises(ValueError, match="a URL"):
        merge_outputs(url, ["o.rank00000of00002", "o.rank00001of00002"])
    assert sorted(ram_path.iterdir()) == before


def test_local_files_that_look_like_urls(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ram_path)
    Path("s3:/bucket").mkdir(parents=True)
    Path("s3:/bucket/in.txt").write_text("a")
    assert find_sources(["s3://bucket/in.txt"]).pieces[0].path == "s3://bucket/in.txt"
    run("s3:/bucket/in.txt", Path("./s3:/bucket/o").absolute())
    assert Path("s3:/bucket/o.npy").exists()
