"""URLs of objects, folders and patterns become pieces, as local paths do."""
from pathlib import Path

import pytest
from faulty_store import every, faulty, fresh

from bpetite.corpus import find_sources


def paths(*names: str, **options: object) -> list[str]:
    return [piece.path for piece in find_sources(names, **options).pieces]


@pytest.fixture(autouse=True)
def store() -> None:
    files = fresh()
    for name in ("b.txt", "a.txt", "sub/c.jsonl.gz", "sub/deep/d.parquet", ".hidden/e.txt", "sub/.f.txt", "read.me"):
        files.pipe(f"/in/{name}", name.encode())


def test_names_are_found_as_local_ones_are(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "sub/c.jsonl.gz", "sub/deep/d.parquet", ".hidden/e.txt", "sub/.f.txt", "read.me"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(name)
    for pattern in (
        "in", "in/", "in/*", "in/**", "in/**/*.txt", "in/*.txt", "in/sub", "in/?.txt", "in/[ab].txt", "in/su*",
        "in/a.txt", "in/.hidden/*",
    ):  # fmt: skip
        local = [path[len(str(tmp_path)) :] for path in paths(f"{tmp_path}/{pattern}")]
        assert paths(f"memory://{pattern}") == ["memory:/" + path for path in local]
        assert local


def test_each_object_is_read_once() -> None:
    found = find_sources(["memory://in/*.txt", "memory://in/b.txt", "memory://in"])
    assert [piece.path[12:] for piece in found.pieces] == ["a.txt", "b.txt", "sub/c.jsonl.gz", "sub/deep/d.parquet"]
    assert len(found.repeated) == 3
    assert found.left_out == ("memory://in/read.me",)


def test_what_an_object_is() -> None:
    text, packed = find_sources(["memory://in/a.txt", "memory://in/sub/c.jsonl.gz"]).pieces
    assert (text.kind, text.compression, text.size) == ("text", None, 5)
    assert (packed.kind, packed.compression) == ("jsonl", "gz")
    assert text.version is not None
    assert text.version.startswith("created ")
    assert text.describe()[4] == text.version
    assert find_sources(["memory://in/read.me"]).pieces[0].kind == "text"  # it was named itself


@pytest.mark.parametrize("name", ["memory://nothing", "memory://in/*.md", "memory://in/.hidden/*.md"])
def test_nothing_is_found(name: str) -> None:
    with pytest.raises(FileNotFoundError, match="no such object") as raised:
        find_sources([name])
    assert raised.value.filename == name


def test_listing_goes_on_after_errors() -> None:
    store = fresh("faulty")
    for name in "abc":
        store.pipe(f"/in/{name}.txt", name.encode())
    with faulty(every(2)):
        assert paths("faulty://in") == [f"faulty://in/{name}.txt" for name in "abc"]
        assert paths("faulty://in/*.txt") == [f"faulty://in/{name}.txt" for name in "abc"]
    with faulty(every(1)), pytest.raises(OSError, match=r"failed 2 times, at last with ConnectionError: call 2"):
        paths("faulty://in")


def test_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"nosuch://x: Protocol not known: nosuch"):
        find_sources(["nosuch://x"])
    with pytest.raises(ImportError, match=r"oss://x: Install ossfs"):  # as fsspec says it
        find_sources(["oss://x"])
    monkeypatch.setitem(__import__("sys").modules, "s3fs", None)
    with pytest.raises(ImportError, match=r"s3://x.* needs s3fs: pip install 'bpetite\[remote\]'"):
        find_sources(["s3://x"])
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(ImportError, match=r"pip install 'bpetite\[remote\]'"):
        find_sources(["memory://in"])
