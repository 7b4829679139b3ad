"""Records that are not as they should be: each kind, in each format, under each policy."""
import gzip
import json
from pathlib import Path

import pytest
from corpus_tools import run, texts_in

from bpetite.corpus import RecordError

#: name -> (line, kind, what "replace" makes of it)
BAD_LINES = {
    "malformed": (b'{"text": "x"', "malformed-json", ""),
    "not json": (b"hello", "malformed-json", ""),
    "two values": (b'{"text": "x"} {"text": "y"}', "malformed-json", ""),
    "deep": (b"[" * 100_000, "malformed-json", ""),
    "missing": (b'{"body": "x"}', "no-text", ""),
    "null": (b'{"text": null}', "no-text", ""),
    "number": (b'{"text": 12}', "no-text", ""),
    "list": (b'{"text": ["x"]}', "no-text", ""),
    "string": (b'"x"', "no-text", ""),
    "array": (b'[{"text": "x"}]', "no-text", ""),
    "invalid utf-8": (b'{"text": "a\xffb"}', "invalid-utf8", "a\ufffdb"),
    "utf-8 surrogate": (b'{"text": "a\xed\xa0\x80b"}', "invalid-utf8", "a\ufffd\ufffd\ufffdb"),
    "lone surrogate": (b'{"text": "a\\ud800b"}', "lone-surrogate", "a\ufffdb"),
    "low surrogate": (b'{"text": "a\\udc80b"}', "lone-surrogate", "a\ufffdb"),
    "no token": (b'{"text": "a\\u0007"}', "unencodable", ""),
    "special token": (b'{"text": "b<|endoftext|>c"}', "special-token", "b<|endoftext|>c"),
}


@pytest.mark.parametrize("suffix", ["jsonl", "json"])
@pytest.mark.parametrize("name", BAD_LINES)
def test_json(ram_path: Path, name: str, suffix: str) -> None:
    line, kind, replacement = BAD_LINES[name]
    special = "error" if kind == "special-token" else "text"
    if suffix == "json" and (kind == "malformed-json" or name in ("utf-8 surrogate", "low surrogate")):
        return
    source, place = ram_path / f"in.{suffix}", ":3" if suffix == "jsonl" else ": row 2"
    lines, array = b'{"text": "good one"}\n\n%s\n{"text": "last"}\n', b'[{"text": "good one"},\n%s,\n{"text": "last"}]'
    source.write_bytes((lines if suffix == "jsonl" else array) % line)
    with pytest.raises(RecordError) as error:
        run(source, ram_path / "fail", special=special)
    assert str(error.value).startswith(f"{source}{place}: ")
    assert "on_error='skip'" in str(error.value)
    assert kind != "special-token" or "a special token in the text" in str(error.value)
    assert not (ram_path / "fail.npy").exists()
    for policy, expected in (("skip", ["good one", "last"]), ("replace", ["good one", replacement, "last"])):
        log: list[str] = []
        made = run(source, ram_path / policy, on_error=policy, log=log.append, special=special)
        assert texts_in(ram_path / f"{policy}.npy") == expected
        assert {what: (found["count"], found["first"]) for what, found in made["problems"].items()} == {
            kind: (1, f"{source}{place}")
        }
        assert len(log) == 1


def test_json_lines_without_orjson_are_the_same(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bpetite.corpus.read import records

    lines = [line for line, _, _ in BAD_LINES.values()]
    lines += [b'\xef\xbb\xbf{"text": "mark"}', b'{"text": "nan", "x": NaN}', b'{"text": "a", "text": "b"}']
    lines += [b'{"text": "e", "x": 1e999, "y": 123456789012345678901234567890}', b'{"text": "tab\there"}']
    source = ram_path / "in.jsonl"
    source.write_bytes(b"\r\n".join(lines) + b'\n  \n\t\n{"text": "\\ud83d\\ude42"}')
    first = run(source, ram_path / "a", on_error="replace")
    monkeypatch.setattr(records, "loads", records.json_loads)
    second = run(source, ram_path / "b", on_error="replace")
    assert first["problems"] == second["problems"]
    assert (ram_path / "a.npy").read_bytes() == (ram_path / "b.npy").read_bytes()
    assert texts_in(ram_path / "a.npy")[-4:] == ["b", "e", "", "🙂"]


def test_a_line_of_a_byte_order_mark_is_no_record(ram_path: Path) -> None:
    source = ram_path / "in.jsonl"
    source.write_bytes(b'{"text": "a"}\n\xef\xbb\xbf\r\n{"text": "b"}\n{"text": 1}\n')  # of files that were joined
    with pytest.raises(RecordError, match=r"in\.jsonl:4: "):
        run(source, ram_path / "fail")
    run(source, ram_path / "skip", on_error="skip", rejected=True)
    rejected = json.loads(gzip.decompress((ram_path / "skip.rejected.jsonl.gz").read_bytes()))
    assert (rejected["line"], rejected["offset"]) == (4, 33)


def test_the_first_problem_of_a_file_is_the_one_named(ram_path: Path) -> None:
    """Line 2 fails in the tokenizer, line 3 in the parser."""
    source = ram_path / "in.jsonl"
    source.write_bytes(b'{"text": "a"}\n{"text": "\\u0007"}\nx\n')
    with pytest.raises(RecordError, match=r"in\.jsonl:2: "):
        run(source, ram_path / "o")


def test_text_names_the_line_of_the_byte(ram_path: Path) -> None:
    source, lines = ram_path / "in.txt", ram_path / "in.jsonl"
    source.write_bytes(b"one\ntwo<|endoftext|>" * 100 + b"three\nfo\xffur\nfive<|endoftext|>six\n")
    lines.write_bytes(b'{"text": "abc"}\n' * 100 + b'{"text": "\\u0007"}')
    for path, block, place in ((source, 1 << 20, 102), (source, 64, 102), (lines, 64, 101)):
        with pytest.raises(RecordError, match=rf"{path.name}:{place}: .*(not UTF-8: byte 0xff|0x07)"):
            run(path, ram_path / "fail", block=block)


def test_the_place_in_a_file_that_is_one_record(ram_path: Path) -> None:
    text, array = ram_path / "in.txt", ram_path / "in.json"
    text.write_bytes(b"x\n\n\xc3(")
    with pytest.raises(RecordError, match=r"in\.txt:3: "):
        run(text, ram_path / "fail", whole_files=True)
    array.write_bytes(b'[{"text": "a"},\n{"text" "b"},\n{"text": "c"}]')
    with pytest.raises(RecordError, match=r"in\.json: row 1: malformed JSON: .* line 2 "):
        run(array, ram_path / "fail")


def test_parquet(ram_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    source = ram_path / "in.parquet"
    column = pa.array([b"good one", None, b"a\xffb", b"\x07", b"last"], pa.binary())
    pq.write_table(pa.table({"text": column}), source)
    with pytest.raises(RecordError, match=r"in\.parquet: row 2: no text: 'text' is null"):
        run(source, ram_path / "fail")
    made = run(source, ram_path / "replace", on_error="replace")
    assert {kind: found["first"] for kind, found in made["problems"].items()} == {
        "no-text": f"{source}: row 2", "invalid-utf8": f"{source}: row 3", "unencodable": f"{source}: row 4",
    }  # fmt: skip
    assert texts_in(ram_path / "replace.npy") == ["good one", "", "a\ufffdb", "", "last"]


def test_ids_of_all_kinds(ram_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    source = ram_path / "in.jsonl"
    source.write_text('{"meta": {"id": 7}, "text": ""}\n{"text": ""}\n{"meta": {"id": "\\ud800x"}, "text": ""}\n')
    run(source, ram_path / "o", format="parquet", id_key="meta.id")
    assert pq.read_table(ram_path / "o.parquet").column("id").to_pylist() == ["7", None, "\ufffdx"]


def test_a_release_of_a_parser_is_another_run(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("orjson")
    source = ram_path / "in.jsonl"
    source.write_text('{"text": "a"}\n')
    run(source, ram_path / "o")
    monkeypatch.setattr("orjson.__version__", "0.1")
    with pytest.raises(FileExistsError, match=r"made with orjson 3[.\d]*, now 0\.1"):
        run(source, ram_path / "o")
    monkeypatch.setattr("numpy.__version__", "1.0")
    (ram_path / "in.txt").write_text("a")
    run(ram_path / "in.txt", ram_path / "p")
    assert "numpy" not in json.loads((ram_path / "p.manifest.json").read_text())["libraries"]
