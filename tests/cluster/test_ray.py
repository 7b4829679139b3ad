"""bpetite.cluster.ray on a real Ray of two nodes, both on this machine."""
from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cluster_tools import (
    big_corpus,
    contents,
    kill_workers,
    make_corpus,
    slow_codec,
    text_of,
    workers_seen,
)
from paths import PYTHONPATH

from bpetite import Tokenizer
from bpetite.cluster import count_pretokens, encode_corpus
from bpetite.corpus import RecordError
from bpetite.corpus import encode_corpus as encode_here

ray = pytest.importorskip("ray", reason="Ray is not installed")
pytest.importorskip("pyarrow")

from bpetite.cluster.ray import ray_map  # noqa: E402  (below what skips where Ray is absent)

pytestmark = [pytest.mark.cluster]

TINY = 1500  # bytes of a task


def on_ray(sources: Any, sink: Any, tokenizer: Any, **options: Any) -> dict[str, Any]:
    with ray_map() as run:
        return encode_corpus(run, sources, sink, tokenizer, **options)


@pytest.fixture(scope="module", autouse=True)
def address() -> Iterator[str]:
    """A head and one more node of one CPU each, with small object stores; this process is connected to it."""
    from ray.cluster_utils import Cluster

    before = dict(os.environ)
    os.environ.update(
        RAY_USAGE_STATS_ENABLED="0",
        RAY_AUTH_MODE="disabled",
        RAY_DISABLE_IMPORT_WARNING="1",
        PYTHONPATH=PYTHONPATH,
    )
    node = {"num_cpus": 1, "object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        cluster.add_node(**node)
        ray.init(address=cluster.address, logging_level="error", log_to_driver=False)
        yield cluster.address
    finally:
        ray.shutdown()
        cluster.shutdown()
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([text_of(seed, 200) for seed in range(20)], 300)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpus(tmp_path_factory.mktemp("corpus") / "in")


@pytest.mark.parametrize("format", ["npy", "parquet"])  # test_cluster.py has all of them
def test_the_output_is_that_of_one_process(ram_path: Path, corpus: Path, tokenizer: Tokenizer, format: str) -> None:
    options: dict[str, Any] = {"format": format, "shard_tokens": 1200}
    encode_here(corpus, ram_path / "here" / "out", tokenizer, **options)
    on_ray(corpus, ram_path / "there" / "out", tokenizer, task_bytes=TINY, **options)
    assert contents(ram_path / "there") == contents(ram_path / "here")


def test_ray_is_shut_down_when_it_could_not_be_initialised(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []

    def fail(**options: Any) -> None:
        called.append("init")
        raise ConnectionError("no cluster there")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", fail)
    monkeypatch.setattr(ray, "shutdown", lambda: called.append("shutdown"))
    with pytest.raises(ConnectionError), ray_map("nowhere:1"):
        pass
    assert called == ["init", "shutdown"]


def test_training(ram_path: Path, corpus: Path) -> None:
    source = corpus / "a one.txt"
    with ray_map() as run:
        learned = Tokenizer.train_from_counts(
            count_pretokens(run, source, work=ram_path / "work", task_bytes=500), 400
        )
    assert learned == Tokenizer.train_from_files(source, 400)


def test_workers_killed_in_mid_job(ram_path: Path, tokenizer: Tokenizer) -> None:
    source = big_corpus(ram_path, 32)
    one = slow_codec(tokenizer, ram_path / "nobody", 0)
    encode_here(source, ram_path / "here" / "out", one)
    done = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(kill_workers, ram_path / "seen", 2, 2, done)
        slow = slow_codec(tokenizer, ram_path / "seen", 0.4)
        try:
            on_ray(
                source, ram_path / "there" / "out", slow, task_bytes=16 << 20, checkpoint_seconds=0
            )
        finally:
            done.set()
        killed = killing.result()
    assert len(set(killed)) == 2
    assert contents(ram_path / "there") == contents(ram_path / "here")


DRIVER = """
import pickle, sys
from bpetite.cluster import encode_corpus
from bpetite.cluster.ray import ray_map
with open(sys.argv[1], "rb") as file:
    source, sink, codec, address = pickle.load(file)
with ray_map(address) as run:
    encode_corpus(run, source, sink, codec, task_bytes=4 << 20, checkpoint_seconds=0)
"""


def test_the_driver_killed_and_started_again(ram_path: Path, tokenizer: Tokenizer, address: str) -> None:
    source = big_corpus(ram_path, 16)
    encode_here(source, ram_path / "here" / "out", slow_codec(tokenizer, ram_path / "nobody", 0))
    slow = slow_codec(tokenizer, ram_path / "seen", 0.5)
    (ram_path / "job").write_bytes(pickle.dumps((str(source), str(ram_path / "there" / "out"), slow, address)))
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(ram_path / "job")], cwd=ram_path)
    try:
        until = time.monotonic() + 60
        while not list((ram_path / "there").glob("*.manifest.json")):  # of a first task
            assert driver.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    assert not (ram_path / "there" / "out.manifest.json").exists()
    calls = len(workers_seen(ram_path / "seen"))
    said: list[str] = []
    on_ray(
        source, ram_path / "there" / "out", slow, task_bytes=4 << 20, checkpoint_seconds=0, log=said.append
    )
    assert any("going on" in line for line in said)
    assert contents(ram_path / "there") == contents(ram_path / "here")
    # what was finished is not done again
    assert len(workers_seen(ram_path / "seen")) < calls + 8


def created() -> dict[str, int]:
    """Bytes that have come into the object store of each node so far."""
    from ray._private.internal_api import node_stats

    return {
        node["NodeID"]: node_stats(
            node["NodeManagerAddress"], node["NodeManagerPort"], include_memory_info=False
        ).store_stats.cumulative_created_bytes
        for node in ray.nodes()
        if node["Alive"]
    }


def test_the_tokenizer_goes_to_a_node_once(ram_path: Path) -> None:
    pytest.importorskip("grpc", reason="reading a node's statistics takes grpcio")
    packaged = Tokenizer.load("bpetite-32k")
    size = len(pickle.dumps(packaged))
    source = ram_path / "in.txt"
    source.write_text("<|endoftext|>".join(text_of(seed, 100) for seed in range(400)), encoding="utf-8")
    before = created()
    summary = on_ray(source, ram_path / "out", packaged, task_bytes=source.stat().st_size // 60)
    sent = {node: now - before[node] for node, now in created().items()}
    assert summary["documents"] == 400
    assert len(sent) == 2
    # 60 tasks ran; a busy machine may give all of them to one node
    assert size <= max(sent.values()) < 1.1 * size
    assert all(bytes_sent == 0 or bytes_sent >= size for bytes_sent in sent.values())


def test_ten_thousand_small_files(ram_path: Path, tokenizer: Tokenizer) -> None:
    folder = ram_path / "in"
    for number in range(10_000):
        if number % 1000 == 0:
            (folder / f"{number // 1000}").mkdir(parents=True)
        (folder / f"{number // 1000}" / f"{number:05d}.txt").write_text(f"document {number} " + text_of(number, 9))
    encode_here(folder, ram_path / "here" / "out", tokenizer)
    summary = on_ray(folder, ram_path / "there" / "out", tokenizer, task_bytes=100_000)
    assert summary["documents"] == 10_000
    assert contents(ram_path / "there") == contents(ram_path / "here")


@pytest.mark.parametrize("policy", ["fail", "replace"])
def test_an_odd_record_in_the_middle(ram_path: Path, tokenizer: Tokenizer, policy: str) -> None:
    lines = [json.dumps({"text": text_of(seed, 20)}).encode() for seed in range(200)]
    lines[90], lines[140] = b'{"text": "\xff"}', b'{"txt": ""}'
    source = ram_path / "in.jsonl"
    source.write_bytes(b"\n".join(lines))
    options: dict[str, Any] = {"on_error": policy}
    if policy == "fail":
        with pytest.raises(RecordError, match=r"in\.jsonl:91"):
            on_ray(source, ram_path / "there" / "out", tokenizer, task_bytes=TINY, **options)
        return
    encode_here(source, ram_path / "here" / "out", tokenizer, **options)
    on_ray(source, ram_path / "there" / "out", tokenizer, task_bytes=TINY, **options)
    assert contents(ram_path / "there") == contents(ram_path / "here")
