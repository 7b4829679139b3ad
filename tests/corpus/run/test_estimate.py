"""A run estimated before it: near what it will be, no file written, and refused as the run would be."""
import gzip
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from corpus_tools import byte_codec, outputs, run

from bpetite.corpus import Options, RecordError, Sources, find_sources, make_part
from bpetite.corpus.run import estimate as estimate_module
from bpetite.corpus.run.corpus_options import ErrorPolicy
from bpetite.corpus.run.estimate import estimate


def test_it_is_near_and_writes_nothing(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs of several kinds, each larger than what is read of it."""
    monkeypatch.setattr(estimate_module, "SAMPLE", 1 << 20)
    lines = b"".join(json.dumps({"text": f"line {number} " * 40}).encode() + b"\n" for number in range(20_000))
    folder = ram_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(lines)
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(lines, 1))
    (folder / "c.txt").write_bytes(b"text <|endoftext|>" * 300_000)
    part = make_part(folder, ram_path / "new" / "o", byte_codec(), rank=1, world_size=2, options=Options())
    found = estimate(part, jobs=2)
    assert os.listdir(ram_path) == ["in"]
    for rank in (0, 1):
        run(folder, ram_path / "new" / "o", rank=rank, world_size=2)
    made = [json.loads(path.read_bytes()) for path in (ram_path / "new").glob("*.manifest.json")]
    assert found["files"] == 3
    assert found["bytes"] == sum(path.stat().st_size for path in folder.iterdir())
    assert len(found["ranks"]) == 2
    for name, total in (("text_bytes", "bytes"), ("documents", "documents"), ("tokens", "tokens")):
        assert found[name] == pytest.approx(sum(manifest[total] for manifest in made), rel=0.2)
    assert found["sampled_bytes"] < found["text_bytes"]


def test_it_is_refused_as_the_run_would_be(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ram_path / "a.jsonl"
    path.write_text('{"text": "one"}\n{"text": 5}\n')

    def tried(on_error: ErrorPolicy, sources: Sources | Path = path, **options: object) -> dict[str, object]:
        return estimate(make_part(
            sources, ram_path / "o", byte_codec(), options=Options(on_error=on_error, **options)  # type: ignore[arg-type]
        ))  # fmt: skip

    with pytest.raises(RecordError, match=r"a.jsonl:2: no text"):
        tried("fail")
    assert tried("skip")["documents"] == 1
    with pytest.raises(ValueError, match="is not one of"):
        tried("skip", eot="middle")
    with pytest.raises(ValueError, match="can be read only once"):
        tried("skip", find_sources(["-"]))
    run(path, ram_path / "o", on_error="skip")
    before = outputs(ram_path)
    assert tried("skip")["documents"] == 1
    with pytest.raises(FileExistsError, match="made with shard_tokens None, now 5"):
        tried("skip", shard_tokens=5)
    assert outputs(ram_path) == before
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=11))
    with pytest.raises(OSError, match="take about 16 bytes, and 11 are free"):
        tried("skip")
    said: list[str] = []
    run(path, ram_path / "p", on_error="skip", log=said.append)
    assert any("11 bytes are free, and at 4 bytes a token " in line for line in said)
