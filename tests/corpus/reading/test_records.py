"""Records that are not as they should be: each kind, in each format, under each policy."""
import gzip
import json
import shutil
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import byte_codec, run, texts_in
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.corpus import Options, RecordError, encode_corpus, make_part
from bpetite.corpus.reading.blocks import Block, Position, Reading
from bpetite.corpus.reading.records import documents_of

GOOD = "good one"


def jsonl(path: Path, bad: bytes) -> Path:
    first, last = json.dumps({"text": GOOD}).encode(), json.dumps({"text": "last"}).encode()
    path.write_bytes(b"\n".join([first, b"", bad, last]) + b"\n")
    return path


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
}


@pytest.mark.parametrize("name", BAD_LINES)
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_json_lines(ram_path: Path, name: str, suffix: str) -> None:
    line, kind, replacement = BAD_LINES[name]
    source = jsonl(ram_path / "in.jsonl", line)
    if suffix == ".jsonl.gz":
        source = ram_path / "in.jsonl.gz"
        source.write_bytes(gzip.compress((ram_path / "in.jsonl").read_bytes()))
    with pytest.raises(RecordError) as error:
        run(source, ram_path / "fail")
    assert str(error.value).startswith(f"{source}:3: ")
    assert "on_error='skip'" in str(error.value)
    assert not (ram_path / "fail.npy").exists()
    for policy, expected in (("skip", [GOOD, "last"]), ("replace", [GOOD, replacement, "last"])):
        log: list[str] = []
        made = run(source, ram_path / policy, on_error=policy, log=log.append)
        assert texts_in(ram_path / f"{policy}.npy") == expected
        assert made["documents"] == len(expected)
        assert made["problems"][kind]["count"] == 1
        assert made["problems"][kind]["first"] == f"{source}:3"
        assert len(log) == 1


def test_json_lines_without_orjson_are_the_same(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bpetite.corpus.reading import records

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


def test_counts_and_the_first_place_of_each_kind(ram_path: Path) -> None:
    source = ram_path / "in.jsonl"
    bad = [b"{}", b"{}", b"x", b'{"text": null}', b'{"text": "\\ud800"}', b'{"text": "\xff"}']
    source.write_bytes(b"\n".join([b'{"text": "a"}', *bad, b'{"text": "z"}']))
    made = run(source, ram_path / "o", on_error="skip")
    assert {kind: (found["count"], found["first"]) for kind, found in made["problems"].items()} == {
        "no-text": (3, f"{source}:2"),
        "malformed-json": (1, f"{source}:4"),
        "lone-surrogate": (1, f"{source}:6"),
        "invalid-utf8": (1, f"{source}:7"),
    }
    manifest = json.loads((ram_path / "o.manifest.json").read_text())
    assert manifest["problems"] == made["problems"]
    assert texts_in(ram_path / "o.npy") == ["a", "z"]


def test_a_line_of_a_byte_order_mark_is_no_record(ram_path: Path) -> None:
    source = ram_path / "in.jsonl"
    source.write_bytes(b'{"text": "a"}\n\xef\xbb\xbf\r\n{"text": "b"}\n{"text": 1}\n')  # of files that were joined
    with pytest.raises(RecordError, match=r"in\.jsonl:4: "):
        run(source, ram_path / "fail")
    run(source, ram_path / "skip", on_error="skip", rejected=True)
    rejected = json.loads(gzip.decompress((ram_path / "skip.rejected.jsonl.gz").read_bytes()))
    assert (rejected["line"], rejected["offset"]) == (4, 33)


def test_the_first_problem_of_a_file_is_the_one_named(ram_path: Path) -> None:
    # line 2 fails in the tokenizer, line 3 in the parser
    source = ram_path / "in.jsonl"
    source.write_bytes(b'{"text": "a"}\n{"text": "\\u0007"}\nx\n')
    with pytest.raises(RecordError, match=r"in\.jsonl:2: "):
        run(source, ram_path / "o")


def test_text_names_the_line_of_the_byte(ram_path: Path) -> None:
    source = ram_path / "in.txt"
    source.write_bytes(b"one\ntwo<|endoftext|>three\nfo\xffur\nfive<|endoftext|>six\n")
    with pytest.raises(RecordError, match=r"in\.txt:3: .*not UTF-8: byte 0xff"):
        run(source, ram_path / "fail")
    made = run(source, ram_path / "skip", on_error="skip")
    assert texts_in(ram_path / "skip.npy") == ["one\ntwo", "six\n"]
    assert made["problems"]["invalid-utf8"]["first"] == f"{source}:3"
    run(source, ram_path / "replace", on_error="replace")
    assert texts_in(ram_path / "replace.npy") == ["one\ntwo", "three\nfo\ufffdur\nfive", "six\n"]


def test_problems_in_later_blocks_keep_their_lines(ram_path: Path) -> None:
    text = ram_path / "in.txt"
    text.write_bytes(b"abc\n<|endoftext|>" * 100 + b"\n\xff")
    lines = ram_path / "in.jsonl"
    lines.write_bytes(b'{"text": "abc"}\n' * 100 + b'{"text": "\\u0007"}')
    for source, line in ((text, 102), (lines, 101)):
        with pytest.raises(RecordError, match=rf"{source.name}:{line}: "):
            small_blocks(source, ram_path / "o")


def small_blocks(source: Path, sink: Path, **options: Any) -> dict[str, Any]:
    from dataclasses import replace

    from bpetite.corpus import Options, make_part

    return replace(make_part([source], sink, byte_codec(), options=Options(**options), overwrite=True), block=64).run()


def test_whole_files(ram_path: Path) -> None:
    (ram_path / "in").mkdir()
    (ram_path / "in" / "a.txt").write_bytes(b"ok<|endoftext|>ok")
    (ram_path / "in" / "b.txt").write_bytes(b"x\n\n\xc3(")
    (ram_path / "in" / "c.txt").write_bytes(b"")
    with pytest.raises(RecordError, match=r"b\.txt:3: "):
        run(ram_path / "in", ram_path / "fail", whole_files=True)
    run(ram_path / "in", ram_path / "skip", whole_files=True, on_error="skip")
    assert texts_in(ram_path / "skip.npy") == ["ok<|endoftext|>ok", ""]
    run(ram_path / "in", ram_path / "replace", whole_files=True, on_error="replace")
    assert texts_in(ram_path / "replace.npy") == ["ok<|endoftext|>ok", "x\n\n\ufffd(", ""]


@pytest.mark.parametrize("name", ["missing", "null", "number", "invalid utf-8", "lone surrogate", "no token"])
def test_json_arrays(ram_path: Path, name: str) -> None:
    line, kind, replacement = BAD_LINES[name]
    source = ram_path / "in.json"
    source.write_bytes(b'[\n{"text": "good one"},\n' + line + b',\n{"text": "last"}]')
    with pytest.raises(RecordError, match=r"in\.json: row 2: "):
        run(source, ram_path / "fail")
    for policy, expected in (("skip", [GOOD, "last"]), ("replace", [GOOD, replacement, "last"])):
        made = run(source, ram_path / policy, on_error=policy)
        assert texts_in(ram_path / f"{policy}.npy") == expected
        assert made["problems"][kind]["count"] == 1
        assert made["problems"][kind]["first"] == f"{source}: row 2"


def test_a_malformed_array_is_one_problem(ram_path: Path) -> None:
    source = ram_path / "in.json"
    source.write_bytes(b'[{"text": "a"},\n{"text" "b"},\n{"text": "c"}]')
    (ram_path / "z.txt").write_text("next")
    with pytest.raises(RecordError, match=r"in\.json: row 1: malformed JSON: .* line 2 "):
        run(source, ram_path / "fail")
    for policy, expected in (("skip", ["next"]), ("replace", ["", "next"])):
        run([source, ram_path / "z.txt"], ram_path / policy, on_error=policy)
        assert texts_in(ram_path / f"{policy}.npy") == expected


def test_parquet(ram_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    source = ram_path / "in.parquet"
    column = pa.array([b"good one", None, b"a\xffb", b"\x07", b"last"], pa.binary())
    pq.write_table(pa.table({"text": column}), source)
    with pytest.raises(RecordError, match=r"in\.parquet: row 2: no text: 'text' is null"):
        run(source, ram_path / "fail")
    made = run(source, ram_path / "skip", on_error="skip")
    assert texts_in(ram_path / "skip.npy") == ["good one", "last"]
    assert {kind: found["first"] for kind, found in made["problems"].items()} == {
        "no-text": f"{source}: row 2", "invalid-utf8": f"{source}: row 3", "unencodable": f"{source}: row 4",
    }  # fmt: skip
    run(source, ram_path / "replace", on_error="replace")
    assert texts_in(ram_path / "replace.npy") == ["good one", "", "a\ufffdb", "", "last"]


def test_special_tokens_in_documents(ram_path: Path) -> None:
    source = ram_path / "in.jsonl"
    source.write_text('{"text": "a"}\n{"text": "b<|endoftext|>c"}\n')
    run(source, ram_path / "text")
    assert texts_in(ram_path / "text.npy") == ["a", "b<|endoftext|>c"]
    with pytest.raises(RecordError, match=r"in\.jsonl:2: a special token in the text"):
        run(source, ram_path / "error", special="error")
    run(source, ram_path / "skip", special="error", on_error="skip")
    assert texts_in(ram_path / "skip.npy") == ["a"]
    run(source, ram_path / "replace", special="error", on_error="replace")
    assert texts_in(ram_path / "replace.npy") == ["a", "b<|endoftext|>c"]


def test_special_tokens_with_the_tokenizer(ram_path: Path) -> None:
    from bpetite import Tokenizer

    tok = Tokenizer.train("ab ab ab", 258)
    source = ram_path / "in.jsonl"
    source.write_text('{"text": "ab<|endoftext|>"}\n')
    sizes = [
        encode_corpus(source, ram_path / special, tok, special=special, on_error="skip", eot="none")["tokens"]
        for special in ("text", "allow", "error")
    ]
    assert sizes == [len(tok.encode_ordinary("ab<|endoftext|>")), 2, 0]
    with pytest.raises(ValueError, match="'maybe' is not one of text, allow, error"):
        encode_corpus(source, ram_path / "o", tok, special="maybe")


def test_ids_of_all_kinds(ram_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    source = ram_path / "in.jsonl"
    source.write_text('{"meta": {"id": 7}, "text": ""}\n{"text": ""}\n{"meta": {"id": "\\ud800x"}, "text": ""}\n')
    run(source, ram_path / "o", format="parquet", id_key="meta.id")
    assert pq.read_table(ram_path / "o.parquet").column("id").to_pylist() == ["7", None, "\ufffdx"]


def test_a_gzip_checksum_that_is_wrong_is_damage(ram_path: Path) -> None:
    packed = bytearray(gzip.compress(b"text that is there"))
    packed[-8:-4] = zlib.crc32(b"other").to_bytes(4, "little")
    source = ram_path / "in.txt.gz"
    source.write_bytes(packed)
    with pytest.raises(RecordError, match="damaged"):
        run(source, ram_path / "o")


def test_a_failed_run_leaves_room_for_a_policy(ram_path: Path) -> None:
    source = jsonl(ram_path / "in.jsonl", b"x")
    with pytest.raises(RecordError):
        run(source, ram_path / "o", checkpoint_seconds=0)
    run(source, ram_path / "o", on_error="skip")
    assert texts_in(ram_path / "o.npy") == [GOOD, "last"]
    shutil.copy(ram_path / "o.npy", ram_path / "copy.npy")
    run(source, ram_path / "p", on_error="skip")
    assert (ram_path / "p.npy").read_bytes() == (ram_path / "copy.npy").read_bytes()


@pytest.mark.parametrize("block", [3000, 1 << 20])
def test_long_lines_and_their_problems(ram_path: Path, block: int) -> None:
    long = "é" * 2000
    lines = [
        json.dumps({"id": 1, "text": long}).encode(), b'{"text": "' + b"x" * 3000 + b"\xff" + b'"}', b"{" * 3000,
        b" " * 3000, json.dumps({"text": long + "\ud800"}).encode(), b'{"text": 5, "x": "' + b"y" * 3000 + b'"}',
        json.dumps({"text": long + "z" * 5000}).encode(), json.dumps({"id": 2, "text": "last"}).encode(),
    ]  # fmt: skip
    source = ram_path / "in.jsonl"
    source.write_bytes(b"\n".join(lines))
    options = Options(on_error="skip", max_document_bytes=14_000)
    made = replace(make_part([source], ram_path / "o", byte_codec(), options=options), block=block).run()
    assert texts_in(ram_path / "o.npy") == [long, "last"]
    assert {what: found["first"].rsplit(":", 1)[1] for what, found in made["problems"].items()} == {
        "invalid-utf8": "2", "malformed-json": "3", "lone-surrogate": "5", "no-text": "6", "too-long": "7",
    }  # fmt: skip


GOOD_LINES = [b'{"text": "a"}', b'{"text": "\\u00e9\\n"}', '{"text": "\u6f22", "id": 3}'.encode(), b'{"text": ""}']


@given(
    st.lists(
        st.sampled_from([*GOOD_LINES * 3, b"", b"  ", b"\r", *(line for line, _, _ in BAD_LINES.values())]), max_size=6
    ),
    st.sampled_from(["fail", "skip", "replace"]), st.sampled_from(["text", "a.text"]), st.booleans(),
)  # fmt: skip
@settings(max_examples=50, deadline=None)
def test_lines_without_origins(lines: list[bytes], policy: str, key: str, closed: bool) -> None:
    """Lines whose ids nobody wants are parsed in a loop of their own, up to the first that is not as it should be."""
    data = b"\n".join(lines) + b"\n" * closed
    block = Block("jsonl", data, 0, 7, Position(0, 7 + len(data)), len(data), 4)
    with_ids = documents_of(block, Reading(text_key=key), policy, with_origins=True)
    found = documents_of(block, Reading(text_key=key), policy)
    for name in ("texts", "problems", "records", "final_separator"):
        assert getattr(with_ids, name) == getattr(found, name)


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
