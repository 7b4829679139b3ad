"""The file of rejected records: what is in it, after interruptions, of ranks, and as a file of the output."""
import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import byte_codec, outputs, outputs_of_both, run, run_stopped

from bpetite.corpus import Options, make_part, merge_outputs
from bpetite.errors import FormatError


def inputs(folder: Path, count: int = 300) -> list[Path]:
    """Text, JSON lines (plain and gzip) and .json, of which every few records have a problem."""
    folder.mkdir(exist_ok=True)
    paths = [folder / "a.txt", folder / "b.jsonl", folder / "c.jsonl.gz", folder / "d.json"]
    wrong = [b"no \x07 token", b"not\nUTF-8 \xff"]
    texts = [b"some\ntext %d" % n if n % 7 else wrong[n % 2] for n in range(count)]
    paths[0].write_bytes(b"<|endoftext|>".join(texts))
    odd = [b"{", b'{"text": 1}', b'{"text": "\\u0007"}', b'{"id": 7}']
    lines = [b'{"text": "line %d"}' % n if n % 5 else odd[n // 5 % 4] for n in range(count)]
    paths[1].write_bytes(b"\n".join(lines) + b"\n\n")
    paths[2].write_bytes(gzip.compress(b"\n".join(lines[:50])))
    values = [f"record {n}\n" if n % 3 else [7, "\x07"][n % 2] for n in range(60)]
    paths[3].write_text(json.dumps([{"text": value} for value in values], indent=0))
    return paths


def rejected(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path) as file:
        return [json.loads(line) for line in file]


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_each_record_is_where_the_list_says(ram_path: Path, policy: str) -> None:
    paths = inputs(ram_path / "in")
    summary = run(paths, ram_path / "o", on_error=policy, rejected=True)
    found = rejected(ram_path / "o.rejected.jsonl.gz")
    counts: dict[str, int] = {}
    for one in found:
        assert one["treated"] == policy
        counts[one["reason"]] = counts.get(one["reason"], 0) + 1
        path = Path(one["file"])
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if path.suffix == ".json":
            assert set(one) == {"file", "row", "reason", "detail", "treated"}
            assert json.loads(data)[one["row"] - 1]["text"] in (7, "\x07")
            continue
        assert data.count(b"\n", 0, one["offset"]) == one["line"] - 1
        if one["reason"] == "invalid-utf8":
            assert data[one["offset"]] == 0xFF
        elif path.suffix == ".txt":
            assert data.startswith(b"no \x07", one["offset"])
        else:
            line = data[one["offset"] :].partition(b"\n")[0]
            assert line in (b"{", b'{"text": 1}', b'{"text": "\\u0007"}', b'{"id": 7}')
    assert counts == {kind: problem["count"] for kind, problem in summary["problems"].items()}
    assert len(found) == len(range(0, 300, 7)) + 60 + 10 + 20
    assert [one["file"] for one in found] == sorted(one["file"] for one in found)
    manifest = json.loads((ram_path / "o.manifest.json").read_text())
    assert manifest["rejected"]["name"] == summary["rejected"] == "o.rejected.jsonl.gz"
    assert manifest["rejected"]["records"] == len(found)
    assert manifest["rejected"]["bytes"] == (ram_path / "o.rejected.jsonl.gz").stat().st_size


@pytest.mark.parametrize("seed", range(4))
def test_interruptions_and_ranks_change_no_byte(ram_path: Path, seed: int) -> None:
    paths = inputs(ram_path / "in")
    options = Options(on_error="skip", rejected=True, shard_tokens=900, val_fraction=seed % 2 / 5)

    def make(folder: Path) -> Any:
        return replace(make_part(paths, folder / "o", byte_codec(), options=options), block=300)

    whole = outputs_of_both(make, ram_path, seed)
    for rank in range(3):
        task = make_part(paths, ram_path / "ranks" / "o", byte_codec(), rank=rank, world_size=3, options=options)
        replace(task, block=170).run()
    merge_outputs(ram_path / "ranks" / "o", delete=True)
    assert outputs(ram_path / "ranks") == whole


def test_a_run_that_failed_goes_on_with_a_list(ram_path: Path) -> None:
    paths = inputs(ram_path / "in")
    lines = paths[1].read_bytes().split(b"\n")
    paths[1].write_bytes(b"\n".join(line for line in lines[:200] if line.startswith(b'{"text": "line')) + b"\n{\n{}\n")
    made = []
    for name in ("whole", "failed"):
        for options in ({}, {"on_error": "skip", "rejected": True})[name == "whole" :]:
            task = make_part(paths[1], ram_path / name / "o", byte_codec(), options=Options(**options))  # type: ignore[arg-type]
            task = replace(task, block=300, checkpoint_seconds=0)
            if options:
                assert run_stopped(task, 1)[0]["documents"] == 160
            else:
                with pytest.raises(ValueError, match="malformed JSON"):
                    task.run()
        made.append(outputs(ram_path / name))
    assert made[0] == made[1]


def test_problems_are_all_treated_alike(ram_path: Path) -> None:
    """A run that failed goes on with any policy; then that one is kept."""
    (ram_path / "in.jsonl").write_text('{"text": "a"}\n' * 20 + '{"text": "a"}\n{\n' * 100)

    def task(**options: Any) -> Any:
        made = make_part(ram_path / "in.jsonl", ram_path / "out" / "o", byte_codec(), options=Options(**options))
        return replace(made, block=100, checkpoint_seconds=0)

    def stop(raw: int, tokens: int, documents: int) -> None:
        if documents > 50:
            raise KeyboardInterrupt

    with pytest.raises(ValueError, match="malformed JSON"):
        task().run()
    with pytest.raises(KeyboardInterrupt):
        task(on_error="skip").run(progress=stop)
    for options, what in (
        ({"on_error": "replace"}, "on_error skip, now replace"), ({}, "on_error skip, now fail"),
        ({"on_error": "skip", "rejected": True}, "rejected False, now True"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"begun with {what}"):
            task(**options).run()
    assert task(on_error="skip").run()["problems"]["malformed-json"]["count"] == 100


def test_without_problems_it_is_empty_and_parquet_has_rows(ram_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": ["a", None, "b", None]}), ram_path / "rows.parquet")
    run(ram_path / "rows.parquet", ram_path / "o", on_error="skip", rejected=True)
    found = rejected(ram_path / "o.rejected.jsonl.gz")
    assert [(one["row"], one["reason"]) for one in found] == [(2, "no-text"), (4, "no-text")]
    (ram_path / "a.txt").write_text("a")
    run(ram_path / "a.txt", ram_path / "p", on_error="skip", rejected=True)
    assert rejected(ram_path / "p.rejected.jsonl.gz") == []


def test_it_is_a_file_of_the_output(ram_path: Path) -> None:
    paths = inputs(ram_path / "in")
    with pytest.raises(ValueError, match="on_error='skip' or 'replace'"):
        run(paths, ram_path / "o", rejected=True)
    summary = run(paths, ram_path / "in" / "o", on_error="skip", rejected=True)
    again = run(ram_path / "in", ram_path / "in" / "o", on_error="skip", rejected=True, overwrite=True)
    assert again["documents"] == summary["documents"]  # it is no input
    listed = ram_path / "in" / "o.rejected.jsonl.gz"
    listed.write_bytes(listed.read_bytes()[:-1])
    with pytest.raises(FileExistsError, match=r"o\.rejected\.jsonl\.gz has changed"):
        run(paths, ram_path / "in" / "o", on_error="skip", rejected=True)
    run(paths, ram_path / "in" / "o", on_error="skip", overwrite=True)
    assert not listed.exists()
    manifest = json.loads((ram_path / "in" / "o.manifest.json").read_text())
    assert "rejected" not in manifest
    listed.write_text("of somebody else")
    shutil.rmtree(ram_path / "in", ignore_errors=True)
    inputs(ram_path / "in")
    (ram_path / "x.rejected.jsonl.gz").write_text("of somebody else")
    with pytest.raises(FileExistsError, match="exists already"):
        run(paths, ram_path / "x", on_error="skip", rejected=True)
    assert (ram_path / "x.rejected.jsonl.gz").read_text() == "of somebody else"


def test_damaged_ranks_are_refused(ram_path: Path) -> None:
    paths = inputs(ram_path / "in")
    for rank in range(2):
        run(paths, ram_path / "o", on_error="skip", rejected=True, rank=rank, world_size=2)
    one = ram_path / "o.rank00001of00002.rejected.jsonl"
    data = bytearray(one.read_bytes())
    data[len(data) // 2] ^= 1
    one.write_bytes(data)
    with pytest.raises(FormatError, match="rejected"):
        merge_outputs(ram_path / "o")
    assert not (ram_path / "o.manifest.json").exists()
