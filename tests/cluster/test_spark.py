"""bpetite.cluster.spark on a real local Spark with two worker slots."""
from __future__ import annotations

import json
import os
import pickle
import shutil
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
)
from paths import PYTHONPATH

from bpetite import Tokenizer
from bpetite.cluster import count_pretokens, encode_corpus
from bpetite.corpus import RecordError
from bpetite.corpus import encode_corpus as encode_here

pytest.importorskip("pyspark", reason="PySpark is not installed")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark takes Java, and there is none", allow_module_level=True)

from bpetite.cluster.spark import spark_map

pytestmark = [
    pytest.mark.cluster,
    # said by PySpark about any pandas of another major version than its own tests ran with
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    # sockets of the JVM gateway that PySpark leaves to the garbage collector
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

TINY = 2500  # bytes of a task


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Two slots, and three more attempts for a task whose worker was lost (plain local[2] allows none)."""
    from pyspark.sql import SparkSession

    before = dict(os.environ)
    os.environ.update(
        PYSPARK_PYTHON=sys.executable,
        SPARK_LOCAL_IP="127.0.0.1",
        PYTHONPATH=PYTHONPATH,
    )
    session = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "3")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([text_of(seed, 200) for seed in range(20)], 300)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpus(tmp_path_factory.mktemp("corpus") / "in")


def test_calls_and_what_becomes_of_them(spark: Any) -> None:
    run = spark_map(spark)
    assert list(run(len, ["a", "bc", ""])) == [1, 2, 0]
    assert list(run(len, [])) == []
    with pytest.raises(TypeError, match="has no len"):
        list(run(len, ["a", 1]))


def test_spark_connect_is_refused() -> None:
    session = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(ValueError, match="Spark Connect runs dataframes alone"):
        spark_map(session)


@pytest.mark.parametrize("format", ["npy", "parquet"])  # test_cluster.py has all of them
def test_the_output_is_that_of_one_process(
    spark: Any, ram_path: Path, corpus: Path, tokenizer: Tokenizer, format: str
) -> None:
    options: dict[str, Any] = {"format": format, "shard_tokens": 2000}
    encode_here(corpus, ram_path / "here" / "out", tokenizer, **options)
    encode_corpus(spark_map(spark), corpus, ram_path / "there" / "out", tokenizer, task_bytes=TINY, **options)
    assert contents(ram_path / "there") == contents(ram_path / "here")


def test_workers_killed_in_mid_job(spark: Any, ram_path: Path, tokenizer: Tokenizer) -> None:
    source = big_corpus(ram_path, 24)
    encode_here(source, ram_path / "here" / "out", slow_codec(tokenizer, ram_path / "nobody", 0))
    slow = slow_codec(tokenizer, ram_path / "seen", 0.4)
    done = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(kill_workers, ram_path / "seen", 2, 2, done)
        try:
            encode_corpus(
                spark_map(spark), source, ram_path / "there" / "out", slow, task_bytes=12 << 20, checkpoint_seconds=0
            )
        finally:
            done.set()
        assert len(killing.result()) == 2
    assert contents(ram_path / "there") == contents(ram_path / "here")


def test_an_odd_record_in_the_middle(spark: Any, ram_path: Path, tokenizer: Tokenizer) -> None:
    lines = [json.dumps({"text": text_of(seed, 20)}).encode() for seed in range(100)]
    lines[60] = b"[1, 2"
    source = ram_path / "in.jsonl"
    source.write_bytes(b"\n".join(lines))
    with pytest.raises(RecordError, match=r"in\.jsonl:61"):
        encode_corpus(spark_map(spark), source, ram_path / "there" / "out", tokenizer, task_bytes=TINY)
    shutil.rmtree(ram_path / "there")
    encode_here(source, ram_path / "here" / "out", tokenizer, on_error="skip")
    encode_corpus(spark_map(spark), source, ram_path / "there" / "out", tokenizer, task_bytes=TINY, on_error="skip")
    assert contents(ram_path / "there") == contents(ram_path / "here")


def test_training(spark: Any, ram_path: Path) -> None:
    texts = [text_of(seed, 60) + "<|endoftext|>" for seed in range(200)]
    (ram_path / "in.txt").write_text("".join(texts), encoding="utf-8")
    counts = count_pretokens(spark_map(spark), ram_path / "in.txt", work=ram_path / "work", task_bytes=TINY)
    learned = Tokenizer.train_from_counts(counts, 400)
    assert learned == Tokenizer.train(texts, 400)


DRIVER = """
import pickle, sys
from pyspark.sql import SparkSession
from bpetite.cluster import encode_corpus
from bpetite.cluster.spark import spark_map
with open(sys.argv[1], "rb") as file:
    source, sink, codec = pickle.load(file)
session = (
    SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").config("spark.driver.memory", "512m")
    .config("spark.driver.host", "127.0.0.1").getOrCreate()
)
encode_corpus(spark_map(session), source, sink, codec, task_bytes=4 << 20, checkpoint_seconds=0)
"""


def test_the_driver_killed_and_started_again(spark: Any, ram_path: Path, tokenizer: Tokenizer) -> None:
    source = big_corpus(ram_path, 12)
    encode_here(source, ram_path / "here" / "out", slow_codec(tokenizer, ram_path / "nobody", 0))
    slow = slow_codec(tokenizer, ram_path / "seen", 0.5)
    (ram_path / "job").write_bytes(pickle.dumps((str(source), str(ram_path / "there" / "out"), slow)))
    driver = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", DRIVER, str(ram_path / "job")],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )
    try:
        until = time.monotonic() + 90
        while not list((ram_path / "there").glob("*.manifest.json")):
            assert driver.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
    finally:
        os.killpg(driver.pid, 9)  # the JVM, which is the driver, and its workers
        driver.wait()
    assert not (ram_path / "there" / "out.manifest.json").exists()
    encode_corpus(
        spark_map(spark), source, ram_path / "there" / "out", slow, task_bytes=4 << 20, checkpoint_seconds=0
    )
    assert contents(ram_path / "there") == contents(ram_path / "here")
