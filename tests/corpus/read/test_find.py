"""Finding inputs: paths, folders, patterns, and their URLs; what looks like one of them and is another."""
import os
import sys
from functools import partial
from pathlib import Path

import pytest
from corpus_tools import byte_codec, run
from faulty_store import every, faulty, fresh

from bpetite import Tokenizer
from bpetite.corpus import count_corpus, find_sources


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"<{name}>")


def found(*arguments: object, **options: object) -> list[str]:
    return [one.path for one in find_sources([str(a) for a in arguments], **options).inputs]  # type: ignore[arg-type]


def test_folders_globs_and_names_with_anything_in_them(ram_path: Path) -> None:
    kinds = {
        "B.TXT": ("text", None), "a b.jsonl": ("jsonl", None), "b.txt": ("text", None),
        "sub/e.txt.GZIP": ("text", "gz"), "sub/f.txt.zstd": ("text", "zst"), "sub/g.txt.bz2": ("text", "bz2"),
        "sub/h.json.xz": ("json", "xz"), "sub/ü.json.gz": ("json", "gz"), "sub/漢.txt.zst": ("text", "zst"),
    }  # fmt: skip
    make(ram_path, *kinds, "n.md", "sub/g.txt.lz4", ".hidden.txt", ".git/x.txt")
    sources = find_sources([ram_path])
    assert {os.path.relpath(one.path, ram_path): (one.kind, one.compression) for one in sources.inputs} == kinds
    assert [one.path for one in sources.inputs] == sorted((one.path for one in sources.inputs), key=os.fsencode)
    assert [os.path.basename(name) for name in sources.left_out] == ["n.md", "g.txt.lz4"]
    assert found(ram_path / "*.txt") == [str(ram_path / "b.txt")]
    assert sources.as_text == ()
    assert find_sources([ram_path / "b.txt", ram_path / "n.md"]).as_text == (str(ram_path / "n.md"),)
    assert found(ram_path / "**" / "*.json*") == [str(ram_path / name) for name in kinds if ".json" in name]


def test_each_file_is_read_once_and_links_to_folders_are_not_followed(ram_path: Path) -> None:
    make(ram_path, "data/a.txt", "data/sub/b.txt", "data/sub/deep/c.txt", "other/d.txt")
    data = ram_path / "data"
    (data / "0").symlink_to("sub")
    (data / "0.txt").symlink_to("a.txt")
    (data / "sub" / "up").symlink_to("..")
    (data / "sub" / "deep" / "root").symlink_to(ram_path)
    os.link(data / "a.txt", data / "z.txt")
    expected = [str(data / name) for name in ("0.txt", "sub/b.txt", "sub/deep/c.txt")]
    assert found(data) == found(data / "**") == found(data, data / "**", data / "sub", data / "*.txt") == expected
    assert found(data / "**" / "*.txt") == expected
    assert found(data / "sub" / "**" / "deep" / "*.txt") == expected[2:]
    sources = find_sources([data / "a.txt", data / "a.txt", data])
    assert [one.path for one in sources.inputs] == [str(data / "a.txt"), *expected[1:]]
    assert sources.repeated == tuple(map(str, [data / "a.txt", data / "0.txt", data / "a.txt", data / "z.txt"]))
    assert sources.links == tuple(str(data / name) for name in ("0", "sub/up", "sub/deep/root"))
    assert found(data / "0") == [str(data / "0" / "b.txt"), str(data / "0" / "deep" / "c.txt")]  # it was named itself


def test_a_pattern_without_a_folder(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(ram_path, "a.txt", "b/c.txt")
    monkeypatch.chdir(ram_path)
    assert found("**") == found("**/*") == found("**/*.txt") == ["a.txt", "b/c.txt"]
    assert found("*.txt", "b") == ["a.txt", "b/c.txt"]
    (ram_path / "loop.txt").symlink_to("loop.txt")
    with pytest.raises(OSError, match=r"loop\.txt"):
        found(".")


def test_text_of_any_suffix_is_read_where_it_is_named(ram_path: Path) -> None:
    make(ram_path, "a.md", "b.py", "c.html", "d", "e.txt")
    (ram_path / "cut.rst").write_bytes(b"x" * ((1 << 16) - 1) + "é".encode())
    for name in ("a.md", "b.py", "c.html", "d", "cut.rst"):
        assert [(one.path, one.kind) for one in find_sources([ram_path / name]).inputs] == [
            (str(ram_path / name), "text")
        ]
    assert find_sources([ram_path / "b.py"], whole_files=True).inputs[0].kind == "whole"
    everywhere = find_sources([ram_path])
    assert [one.path for one in everywhere.inputs] == [str(ram_path / "e.txt")]
    assert len(everywhere.left_out) == 5


def test_mistakes(ram_path: Path) -> None:
    folder = ram_path / "in"
    make(folder, "x.md", "sub/y.csv", "ok.txt", "z.tar.gz")
    for name, kind, error, message in (
        (folder / "missing.txt", None, FileNotFoundError, "no such file, folder or match"),
        (folder / "*.jsonl", None, FileNotFoundError, "no such file"),
        (folder / "sub", None, FileNotFoundError, "nothing to read here"),
        (folder / "z.tar.gz", None, ValueError, r"z\.tar\.gz: no reader for this suffix, and .* an archive.*kind="),
        (folder, "xml", ValueError, "'xml' is not one of"),
        ("nosuch://x", None, ValueError, "nosuch://x: Protocol not known: nosuch"),
        ("oss://x", None, ImportError, "oss://x: Install ossfs"),  # as fsspec says it
        ("file://elsewhere/x", None, ValueError, "file://elsewhere/x: a file on elsewhere"),
    ):
        with pytest.raises(error, match=message):
            found(name, kind=kind)
    assert found(folder / "z.tar.gz", kind="text") == [str(folder / "z.tar.gz")]
    with pytest.raises(ValueError, match="standard input"):
        found("-", "-")
    for call in (
        partial(run, folder, ram_path / "o"), partial(count_corpus, folder, byte_codec()),
        partial(Tokenizer.train_from_files, folder, 256),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"(md|csv): no reader for this suffix, nor for that of 2 more files here"):
            call()
        call(on_error="skip")
    assert run(str(folder / "*.txt"), ram_path / "p")["documents"] == 1


def test_a_folder_is_listed_once(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(ram_path / "in", "0.txt", "1.txt")
    listed, scandir = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: (listed.append(path), scandir(path))[1])
    run(ram_path / "in", ram_path / "o")
    assert listed.count(str(ram_path / "in")) == 1


def test_a_pattern_that_is_the_name_of_a_file(ram_path: Path) -> None:
    """The file is meant, also where other files match."""
    for name in ("a[1].txt", "a1.txt"):
        (ram_path / name).write_text(name)
    found = find_sources([ram_path / "a[1].txt"])
    assert [one.path for one in found.inputs] == [str(ram_path / "a[1].txt")]
    for arguments in ([ram_path], [ram_path / "a[[]1].txt"], [ram_path / "*"], sorted(ram_path.iterdir())):
        assert str(ram_path / "a[1].txt") in [one.path for one in find_sources(arguments).inputs]


NAMES = ("b.txt", "a.txt", "sub/c.jsonl.gz", "sub/deep/d.parquet", ".hidden/e.txt", "sub/.f.txt", "read.me")


@pytest.fixture
def store() -> None:
    files = fresh()
    for name in NAMES:
        files.pipe(f"/in/{name}", name.encode())


@pytest.mark.usefixtures("store")
def test_objects_are_found_as_local_files_are(tmp_path: Path) -> None:
    make(tmp_path / "in", *NAMES)
    for pattern in (
        "in", "in/", "in/*", "in/**", "in/**/*.txt", "in/*.txt", "in/sub", "in/?.txt", "in/[ab].txt", "in/su*",
        "in/a.txt", "in/.hidden/*",
    ):  # fmt: skip
        local = [path[len(str(tmp_path)) :] for path in found(f"{tmp_path}/{pattern}")]
        assert found(f"memory://{pattern}") == ["memory:/" + path for path in local]
        assert local
    sources = find_sources(["memory://in/*.txt", "memory://in/b.txt", "memory://in"])
    assert [one.path[12:] for one in sources.inputs] == ["a.txt", "b.txt", "sub/c.jsonl.gz", "sub/deep/d.parquet"]
    assert len(sources.repeated) == 3
    assert sources.left_out == ("memory://in/read.me",)
    text, _, packed, _ = sources.inputs
    assert (text.kind, text.compression, text.size) == ("text", None, 5)
    assert (packed.kind, packed.compression) == ("jsonl", "gz")
    assert str(text.version).startswith("created ")
    assert text.describe()[4] == text.version
    assert find_sources(["memory://in/read.me"]).inputs[0].kind == "text"  # it was named itself
    for name in ("memory://nothing", "memory://in/*.md", "memory://in/.hidden/*.md"):
        with pytest.raises(FileNotFoundError, match="no such object") as raised:
            find_sources([name])
        assert raised.value.filename == name


def test_listing_goes_on_after_errors() -> None:
    store = fresh("faulty")
    for name in "abc":
        store.pipe(f"/in/{name}.txt", name.encode())
    with faulty(every(2)):
        assert found("faulty://in") == found("faulty://in/*.txt") == [f"faulty://in/{name}.txt" for name in "abc"]
    with faulty(every(1)), pytest.raises(OSError, match=r"failed 2 times, at last with ConnectionError: call 2"):
        found("faulty://in")


def test_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, url, message in (("s3fs", "s3://x", r"s3://x.* needs s3fs: "), ("fsspec.core", "memory://in", "")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=rf"{message}pip install .*\[remote\]'"):
            found(url)


@pytest.mark.parametrize("url", ["s3:/bucket/x", "hf:/datasets/me/x", "file:/data/x", "simplecache::s3://bucket/x"])
def test_urls_that_cannot_be_meant_are_refused(ram_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.chdir(ram_path)
    Path("in.txt").write_text("a")
    for source, output in (("in.txt", url), ("in.txt", Path(url)), (url, "o"), (url + "/*.txt", "o")):
        with pytest.raises(ValueError, match=r"a URL has two slashes, .* give it as a str|a chain of URLs"):
            run(source, output)
    assert [path.name for path in ram_path.iterdir()] == ["in.txt"]


def test_local_files_and_their_urls(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(ram_path, "a b.txt", "s3:/bucket/in.txt")
    assert found((ram_path / "a b.txt").as_uri(), ram_path / "a b.txt") == [str(ram_path / "a b.txt")]
    monkeypatch.chdir(ram_path)
    run("s3:/bucket/in.txt", Path("./s3:/bucket/o").absolute())
    assert Path("s3:/bucket/o.npy").exists()
