"""Finding inputs, and sharing them between ranks."""
import gzip
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import byte_codec, run, some_documents, texts_in, texts_of_part
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.corpus import Options, Piece, count_corpus, find_sources, make_part, merge_outputs, share
from bpetite.corpus.reading.cutting import overlaps_itself
from bpetite.corpus.sources import find
from bpetite.corpus.sources.share import empty_ranks


def make(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"<{name}>")


def found(*arguments: object, **options: object) -> list[str]:
    return [piece.path for piece in find_sources([str(a) for a in arguments], **options).pieces]  # type: ignore[arg-type]


def test_folders_globs_and_names_with_anything_in_them(ram_path: Path) -> None:
    make(ram_path, "b.txt", "a b.jsonl", "sub/ü.json.gz", "sub/漢.txt.zst", "B.TXT", "n.md")
    make(ram_path, ".hidden.txt", ".git/x.txt")
    sources = find_sources([ram_path])
    assert [os.path.relpath(piece.path, ram_path) for piece in sources.pieces] == [
        "B.TXT", "a b.jsonl", "b.txt", "sub/ü.json.gz", "sub/漢.txt.zst",
    ]  # fmt: skip
    assert [(piece.kind, piece.compression) for piece in sources.pieces] == [
        ("text", None), ("jsonl", None), ("text", None), ("json", "gz"), ("text", "zst"),
    ]  # fmt: skip
    assert [os.path.basename(name) for name in sources.left_out] == ["n.md"]
    assert found(ram_path / "*.txt") == [str(ram_path / "b.txt")]
    assert found(ram_path / "**" / "*.json*") == [str(ram_path / "a b.jsonl"), str(ram_path / "sub/ü.json.gz")]


def test_suffixes_of_compressed_files(ram_path: Path) -> None:
    make(ram_path, "a.txt.gz", "b.txt.GZIP", "c.jsonl.zst", "d.jsonl.zstd", "e.txt.bz2", "f.json.xz", "g.txt.lz4")
    sources = find_sources([ram_path])
    assert [piece.compression for piece in sources.pieces] == ["gz", "gz", "zst", "zst", "bz2", "xz"]
    assert [os.path.basename(name) for name in sources.left_out] == ["g.txt.lz4"]


def test_each_file_is_read_once(ram_path: Path) -> None:
    make(ram_path, "data/a.txt", "data/sub/b.txt", "data/sub/deep/c.txt", "other/d.txt")
    (ram_path / "data" / "0").symlink_to("sub")
    (ram_path / "data" / "0.txt").symlink_to("a.txt")
    (ram_path / "data" / "sub" / "up").symlink_to("..")
    (ram_path / "data" / "sub" / "deep" / "root").symlink_to(ram_path)
    (ram_path / "data" / "sub" / "deep" / "self").symlink_to(".")
    os.link(ram_path / "data" / "a.txt", ram_path / "data" / "z.txt")
    data = ram_path / "data"
    linked = ["data/0.txt", "data/sub/b.txt", "data/sub/deep/c.txt", "data/sub/deep/root/other/d.txt"]
    expected = [str(ram_path / name) for name in linked]
    assert found(data) == expected
    assert found(data / "**") == expected
    assert found(data, data / "**", data / "sub", data / "*") == expected
    assert len(found(data / "**" / "*.txt")) == 4
    assert len(found(data / "*")) == 4
    assert found(data / "sub" / "**" / "deep" / "*.txt") == [str(data / "sub" / "deep" / "c.txt")]
    assert found(ram_path / "**" / "up" / "0.txt") == [str(data / "sub" / "up" / "0.txt")]
    sources = find_sources([data / "a.txt", data / "a.txt", data])
    assert [piece.path for piece in sources.pieces] == [str(data / "a.txt"), *expected[1:]]
    assert sources.repeated == tuple(map(str, [data / "a.txt", data / "0.txt", data / "a.txt", data / "z.txt"]))


def test_links_of_every_folder_to_every_other(ram_path: Path) -> None:
    names = [f"f{number}" for number in range(12)]
    make(ram_path, *(f"{name}/{name}.txt" for name in names))
    for name in names:
        for other in names:
            (ram_path / name / f"to-{other}").symlink_to(ram_path / other)
    expected = [str(ram_path / name / f"{name}.txt") for name in sorted(names)]
    assert found(ram_path) == expected
    assert found(ram_path / "**") == expected
    assert len(found(ram_path / "f3" / "**" / "*.txt")) == 12


def test_a_pattern_without_a_folder(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(ram_path, "a.txt", "b/c.txt")
    monkeypatch.chdir(ram_path)
    assert found("**") == found("**/*") == found("**/*.txt") == ["a.txt", "b/c.txt"]
    assert found("*.txt", "b") == ["a.txt", "b/c.txt"]
    (ram_path / "loop.txt").symlink_to("loop.txt")
    with pytest.raises(OSError, match=r"loop\.txt"):
        found(".")


def test_a_name_that_looks_like_a_pattern_is_a_name(ram_path: Path) -> None:
    make(ram_path, "a[1].txt", "a1.txt")
    assert found(ram_path / "a[1].txt") == [str(ram_path / "a[1].txt")]


def test_order_does_not_depend_on_the_file_system(ram_path: Path) -> None:
    names = ["b.txt", "a.txt", "é.txt", "Z.txt", "a/z.txt", "a-b.txt"]
    make(ram_path, *names)
    assert found(ram_path) == sorted((str(ram_path / name) for name in names), key=os.fsencode)


def test_text_of_any_suffix_is_read_where_it_is_named(ram_path: Path) -> None:
    make(ram_path, "a.md", "b.py", "c.html", "d", "e.txt")
    (ram_path / "cut.rst").write_bytes(b"x" * ((1 << 16) - 1) + "é".encode())
    for name in ("a.md", "b.py", "c.html", "d", "cut.rst"):
        assert [(piece.path, piece.kind) for piece in find_sources([ram_path / name]).pieces] == [
            (str(ram_path / name), "text")
        ]
    assert find_sources([ram_path / "b.py"], whole_files=True).pieces[0].kind == "whole"
    everywhere = find_sources([ram_path])
    assert [piece.path for piece in everywhere.pieces] == [str(ram_path / "e.txt")]
    assert len(everywhere.left_out) == 5


def test_mistakes(ram_path: Path) -> None:
    make(ram_path, "x.md", "sub/y.csv", "ok.txt")
    with pytest.raises(FileNotFoundError, match="no such file, folder or match"):
        found(ram_path / "missing.txt")
    with pytest.raises(FileNotFoundError, match="no such file"):
        found(ram_path / "*.jsonl")
    with pytest.raises(FileNotFoundError, match="nothing to read here"):
        found(ram_path / "sub")
    (ram_path / "z.tar.gz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"z\.tar\.gz: no reader for this suffix, and .* an archive.*input_kind="):
        found(ram_path / "z.tar.gz")
    assert found(ram_path / "z.tar.gz", kind="text") == [str(ram_path / "z.tar.gz")]
    with pytest.raises(ValueError, match="standard input"):
        found("-", "-")
    with pytest.raises(ValueError, match="'xml' is not one of"):
        found(ram_path, kind="xml")


def test_separators_that_overlap_themselves() -> None:
    assert [s for s in (b"\n", b"\n\n", b"aba", b"ab", b"<|endoftext|>", b"---", b"xyx") if overlaps_itself(s)] == [
        b"\n\n", b"aba", b"---", b"xyx",
    ]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 50), min_size=1, max_size=8),
    plain=st.lists(st.booleans(), min_size=8, max_size=8),
    world=st.integers(1, 9),
)
def test_shares_are_the_whole(sizes: list[int], plain: list[bool], world: int) -> None:
    pieces = [
        Piece(f"f{n}", "text", None if whole else "gz", size)
        for n, (size, whole) in enumerate(zip(sizes, plain, strict=False))
    ]
    covered: dict[str, list[tuple[int, int | None]]] = {piece.path: [] for piece in pieces}
    order = []
    for rank in range(world):
        for piece in share(pieces, rank, world):
            covered[piece.path].append((piece.start, piece.stop))
            order.append(piece.path)
    assert order == sorted(order, key=lambda name: int(name[1:]))
    for piece in pieces:
        ranges = covered[piece.path]
        if ranges == [(0, None)]:
            continue
        starts = [start for start, _ in ranges]
        stops = [stop for _, stop in ranges]
        assert starts == [0, *stops[:-1]]
        assert stops[-1] == piece.size


def test_ranks_share_by_text() -> None:
    pieces = [Piece("a.jsonl", "jsonl", None, 300), Piece("b.gz", "jsonl", "gz", 50), Piece("c.gz", "jsonl", "gz", 50)]
    assert [[(piece.path, piece.start, piece.stop) for piece in share(pieces, rank, 2)] for rank in (0, 1)] == [
        [("a.jsonl", 0, 300)], [("b.gz", 0, None), ("c.gz", 0, None)],
    ]  # fmt: skip


def test_ranks_that_have_nothing_to_read() -> None:
    large, small = Piece("large.gz", "text", "gz", 900), Piece("small.txt", "text", None, 300)
    warning = "2 of 4 ranks have nothing to read: large.gz cannot be cut, and is about 90% of the text; give smaller "
    assert str(empty_ranks([large, small], 4)).startswith(warning)
    assert empty_ranks([small], 400) is None  # cut as far as it goes
    assert empty_ranks([large, small], 1) is None
    assert str(empty_ranks([small], 2, cut_files=False)).startswith("1 of 2 ranks have nothing to read: small.txt")


def test_a_rank_says_that_others_are_empty(ram_path: Path) -> None:
    (ram_path / "a.txt.gz").write_bytes(gzip.compress(b"one"))
    log: list[str] = []
    for rank in range(2):
        task = make_part(
            [ram_path / "a.txt.gz"], ram_path / "o", byte_codec(), rank=rank, world_size=2, options=Options()
        )
        task.run(log=log.append)
    assert len(log) == 2
    assert "1 of 2 ranks have nothing to read" in log[1]


def test_patterns_of_windows(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sep", "\\")
    monkeypatch.setattr(os, "altsep", "/")
    assert find._at_stars("data/**/*.txt") == ("data/", True, "*.txt")
    assert find._at_stars("data\\**\\*.txt") == ("data\\", True, "*.txt")
    assert find._at_stars("data/**") == ("data/", True, "")
    assert find._at_stars("a**/b") == ("a**/b", False, "")


def test_share_refuses() -> None:
    with pytest.raises(ValueError, match=r"rank 2 is not in 0\.\.1"):
        share([Piece("a", "text")], 2, 2)
    with pytest.raises(ValueError, match="standard input"):
        share([Piece("-", "text", once=True)], 0, 2)


@pytest.mark.parametrize("separator", ["<|endoftext|>", "\n\n", "aa", "x"])
def test_ranks_read_every_document_once(ram_path: Path, separator: str) -> None:
    text = ram_path / "in.txt"
    text.write_text(separator.join(some_documents(40, 3)), encoding="utf-8")
    run(text, ram_path / "whole", separator=separator)
    expected = texts_in(ram_path / "whole.npy")
    for world in (2, 7, 23):
        documents = []
        for rank in range(world):
            task = make_part(
                [text], ram_path / f"w{world}", byte_codec(), rank=rank, world_size=world,
                options=Options(separator=separator),
            )  # fmt: skip
            task.run()
            documents += texts_of_part(ram_path / f"w{world}.rank{rank:05d}of{world:05d}")
        assert documents == expected


def test_files_that_no_reader_knows_are_counted(ram_path: Path) -> None:
    folder = ram_path / "in"
    folder.mkdir()
    for name in ("a.txt", "b.md", "c.lz4"):
        (folder / name).write_text("text")
    for call in (partial(run, folder, ram_path / "o"), partial(count_corpus, folder, byte_codec())):
        with pytest.raises(ValueError, match=r"b\.md: no reader for this suffix, nor for that of 1 more files here"):
            call()
        assert call(on_error="skip")["unread"] == 2
    assert json.loads((ram_path / "o.manifest.json").read_text())["inputs"]["unread"] == 2
    assert run(str(folder / "*.txt"), ram_path / "p")["unread"] == 0
    for rank in range(2):
        options = Options(on_error="skip")
        task = make_part(folder, ram_path / "r", byte_codec(), rank=rank, world_size=2, options=options)
        assert task.run()["unread"] == 2
    assert merge_outputs(ram_path / "r")["inputs"]["unread"] == 2


def test_a_folder_is_listed_once(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ram_path / "in").mkdir()
    for number in range(3):
        (ram_path / "in" / f"{number}.txt").write_text("a")
    listed = []

    def scandir(path: str, original: Callable[[str], Any] = os.scandir) -> Any:
        listed.append(path)
        return original(path)

    monkeypatch.setattr(os, "scandir", scandir)
    run(ram_path / "in", ram_path / "o")
    assert listed.count(str(ram_path / "in")) == 1


def test_a_pattern_that_is_the_name_of_a_file(ram_path: Path) -> None:
    """The file is meant, also where other files match."""
    for name in ("a[1].txt", "a1.txt"):
        (ram_path / name).write_text(name)
    found = find_sources([ram_path / "a[1].txt"])
    assert [piece.path for piece in found.pieces] == [str(ram_path / "a[1].txt")]
    for arguments in ([ram_path], [ram_path / "a[[]1].txt"], [ram_path / "*"], sorted(ram_path.iterdir())):
        assert str(ram_path / "a[1].txt") in [piece.path for piece in find_sources(arguments).pieces]
