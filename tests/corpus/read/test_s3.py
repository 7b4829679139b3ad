"""A real S3 server: encode, resume, inspect, decode and count, through s3fs."""
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import bpe
from corpus_tools import byte_codec, outputs, plan_of, run, run_plan, some_documents, write_inputs

from bpetite.corpus import count_corpus, find_sources
from bpetite.corpus.read.stores import RemotePath

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """An S3 server of this process; its address."""
    pytest.importorskip("s3fs")
    running = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def s3(server: str, ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty bucket, "bucket"."""
    import s3fs

    for name, value in {
        "AWS_ENDPOINT_URL": server, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", str(ram_path))
    s3fs.S3FileSystem.clear_instance_cache()
    store = s3fs.S3FileSystem()
    if store.exists("bucket"):
        store.rm("bucket", recursive=True)
    store.mkdir("bucket")
    yield store
    s3fs.S3FileSystem.clear_instance_cache()


def stored(store: Any, folder: str) -> dict[str, bytes]:
    store.invalidate_cache()
    return {path.rpartition("/")[2]: store.cat_file(path) for path in sorted(store.find(folder))}


def put_inputs(store: Any, folder: Path) -> list[Path]:
    paths = write_inputs(folder, some_documents(120))
    for path in paths:
        store.put_file(str(path), f"bucket/in/{path.name}")
    return paths


@pytest.mark.parametrize("format", ["npy", "megatron", "parquet"])
def test_from_s3_to_s3(s3: Any, ram_path: Path, format: str) -> None:
    pytest.importorskip("pyarrow")
    put_inputs(s3, ram_path / "in")
    for output in ("s3://bucket/out/o", ram_path / "out" / "o"):
        run("s3://bucket/in", output, block=500, jobs=2, format=format, shard_tokens=400, checkpoint_seconds=0)
    assert stored(s3, "bucket/out") == outputs(ram_path / "out")
    assert len(stored(s3, "bucket/out")) > 6


def test_names(s3: Any, ram_path: Path) -> None:
    for name in ("a b.txt", "sub/ü.txt", "sub/#1 100%.txt", "sub/deep/x.jsonl.gz", ".hidden/x.txt", "sub/readme"):
        s3.pipe_file(f"bucket/in/{name}", gzip.compress(b'{"text":"x"}') if name.endswith("gz") else b"text")
    s3.pipe_file("bucket/in/empty/", b"")  # what some tools put for a folder
    found = [one.path[12:] for one in find_sources(["s3://bucket/in/"]).inputs]
    assert found == sorted(found, key=str.encode) == sorted(
        ["in/a b.txt", "in/sub/ü.txt", "in/sub/#1 100%.txt", "in/sub/deep/x.jsonl.gz"], key=str.encode
    )
    assert len(find_sources(["s3://bucket/in/**/*.txt", "s3://bucket/in/*"]).inputs) == 4
    assert count_corpus(["s3://bucket/in"], byte_codec(), on_error="skip")["documents"] == 4
    for missing in ("s3://bucket/none", "s3://nobucket/x.txt", "s3://bucket/none/*.txt"):
        with pytest.raises(FileNotFoundError) as raised:
            find_sources([missing])
        assert raised.value.filename == missing
    with pytest.raises(FileNotFoundError, match="no such bucket or folder"):
        run("s3://bucket/in", "s3://nobucket/x/o", on_error="skip")


def test_an_object_that_is_replaced(s3: Any, ram_path: Path) -> None:
    s3.pipe_file("bucket/a.txt", b"abc<|endoftext|>" * 1000)
    plan = plan_of("s3://bucket/a.txt", ram_path / "o")
    assert plan.inputs[0].version.startswith("ETag")
    s3.pipe_file("bucket/a.txt", b"abd<|endoftext|>" * 1000)
    with pytest.raises(ValueError, match=r"s3://bucket/a\.txt: has changed"):
        run_plan(plan)


def test_parts_of_a_large_upload(s3: Any, ram_path: Path) -> None:
    """More than 100 MB go in parts."""
    with (ram_path / "large").open("wb") as file:
        file.truncate((101 << 20) + 5)
    RemotePath("s3://bucket/large").upload(ram_path / "large")
    assert RemotePath("s3://bucket/large").stat().st_size == (101 << 20) + 5
    assert "-" in s3.info("bucket/large")["ETag"]


def test_commands(s3: Any, ram_path: Path) -> None:
    put_inputs(s3, ram_path / "in")

    def run(*arguments: str, code: int = 0) -> Any:
        done = bpe(*arguments, "-q")
        assert done.code == code, done.err
        return done

    encode = ["encode", "s3://bucket/in", "-t", "bpetite-32k", "-o", "s3://bucket/out/o", "--shard-tokens", "300"]
    summary = json.loads(run(*encode, "--json").out)
    assert summary["documents"] == 120
    looked = run("inspect", "s3://bucket/out/o", "--verify", "--json").out.splitlines()
    assert sum(json.loads(line)["tokens"] for line in looked) == summary["tokens"]
    texts = [json.loads(line)["text"] for line in run("decode", "s3://bucket/out/o", "--jsonl").out.splitlines()]
    assert sorted(texts) == sorted(some_documents(120))
    assert run("count", "s3://bucket/in/*.txt").out.strip().isdigit()
    s3.pipe_file("bucket/out/o_000001.npy", s3.cat_file("bucket/out/o_000001.npy")[:-1] + b"x")
    assert "have changed since" in run("inspect", "s3://bucket/out/o", "--verify", code=3).err
