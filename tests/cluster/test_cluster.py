"""bpetite.cluster by any engine: a map in this process, Ray, Spark, and the job array of docs/scale.md.

Outputs of a plain map, killed and merged, are drawn by tests/corpus/test_model.py.
"""
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cluster_tools import HereMap, big_corpus, kill_workers, slow_codec, text_of, trained
from corpus_tools import contents, write_inputs
from paths import PYTHONPATH, TESTS

import bpetite
from bpetite import Tokenizer
from bpetite.cluster import count_pretokens, encode_corpus
from bpetite.cluster.calls import Call
from bpetite.corpus import RecordError
from bpetite.corpus import encode_corpus as encode_here

pytest.importorskip("pyarrow")

TINY = 1500  # bytes of a task


TEXTS = [text_of(seed, seed * 7 % 90) for seed in range(180)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_inputs(tmp_path_factory.mktemp("corpus"), TEXTS)[0].parent


# Engines


@contextmanager
def on_ray() -> Iterator[tuple[Any, str]]:
    """A head and one more node of one CPU each, with small object stores; this process is connected to it."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    from ray.cluster_utils import Cluster

    from bpetite.cluster.ray import ray_map

    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="disabled", RAY_DISABLE_IMPORT_WARNING="1")
    node = {"num_cpus": 1, "object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        cluster.add_node(**node)
        ray.init(address=cluster.address, logging_level="error", log_to_driver=False)
        with ray_map() as mapped:
            yield mapped, f"from bpetite.cluster.ray import ray_map\nmapped = ray_map({cluster.address!r}).__enter__()"
    finally:
        ray.shutdown()
        cluster.shutdown()


SESSION = """
from pyspark.sql import SparkSession
from bpetite.cluster.spark import spark_map
session = (
    SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").config("spark.driver.memory", "512m")
    .config("spark.ui.showConsoleProgress", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
)
session.sparkContext.setLogLevel("OFF")
mapped = spark_map(session)
"""


@contextmanager
def on_spark() -> Iterator[tuple[Any, str]]:
    """Two slots, and three more attempts for a task whose worker was lost (plain local[2] allows none)."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark takes Java, and there is none")
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    names: dict[str, Any] = {}
    exec(SESSION, names)
    yield names["mapped"], SESSION
    names["session"].stop()


@pytest.fixture(scope="module", params=["ray", "spark"])
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[Any, str]]:
    """(the map of an engine, the source that makes it in another process)."""
    before = dict(os.environ)
    os.environ["PYTHONPATH"] = PYTHONPATH
    try:
        with {"ray": on_ray, "spark": on_spark}[request.param]() as made:
            yield made
    finally:
        os.environ.clear()
        os.environ.update(before)


def marked(test: Any) -> Any:
    for warning in (
        # said by PySpark about any pandas of another major version than its own tests ran with
        "PySpark does not yet fully support pandas:FutureWarning",
        # sockets of the JVM gateway that PySpark leaves to the garbage collector
        "unclosed <socket:ResourceWarning",
    ):
        test = pytest.mark.filterwarnings(f"ignore:{warning}")(test)
    return pytest.mark.cluster(test)


@marked
@pytest.mark.parametrize("options", [{}, {"format": "parquet"}])
def test_the_output_is_that_of_one_process(
    engine: tuple[Any, str], ram_path: Path, corpus: Path, options: dict[str, Any]
) -> None:
    encode_here(corpus, ram_path / "here" / "out", trained(), **options)
    task_bytes = TINY if not options else 1 << 20
    encode_corpus(engine[0], corpus, ram_path / "there" / "out", trained(), task_bytes=task_bytes, **options)
    assert contents(ram_path / "there") == contents(ram_path / "here")
    learned = Tokenizer.train_from_counts(
        count_pretokens(engine[0], corpus / "a b.txt", work=ram_path / "work", task_bytes=500), 400
    )
    assert learned == Tokenizer.train_from_files(corpus / "a b.txt", 400)


@marked
def test_calls_and_their_errors(engine: tuple[Any, str], ram_path: Path) -> None:
    assert list(engine[0](len, ["a", "bc", ""])) == [1, 2, 0]
    assert list(engine[0](len, [])) == []
    with pytest.raises(TypeError, match="has no len"):
        list(engine[0](len, ["a", 1]))
    source = ram_path / "in.jsonl"
    source.write_bytes(b'{"text": "the cat sat on the mat"}\n' * 60 + b"[1, 2\n")
    with pytest.raises(RecordError, match=r"in\.jsonl:61"):
        encode_corpus(engine[0], source, ram_path / "out", trained(), task_bytes=TINY)


@marked
def test_workers_killed_in_mid_job(engine: tuple[Any, str], ram_path: Path) -> None:
    source = big_corpus(ram_path, 24)
    encode_here(source, ram_path / "here" / "out", slow_codec(trained(), ram_path / "nobody", 0))
    slow, done = slow_codec(trained(), ram_path / "seen", 0.4), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(kill_workers, ram_path / "seen", 2, 2, done)
        try:
            encode_corpus(
                engine[0], source, ram_path / "there" / "out", slow, task_bytes=12 << 20, checkpoint_seconds=0
            )
        finally:
            done.set()
        assert len({*killing.result()}) == 2
    assert contents(ram_path / "there") == contents(ram_path / "here")


DRIVER = """
import pickle, sys
from bpetite.cluster import encode_corpus
with open(sys.argv[1], "rb") as file:
    source, output, codec = pickle.load(file)
encode_corpus(mapped, source, output, codec, task_bytes=4 << 20, checkpoint_seconds=0)
"""


@marked
def test_the_driver_killed_and_started_again(engine: tuple[Any, str], ram_path: Path) -> None:
    source, there = big_corpus(ram_path, 16), ram_path / "there"
    encode_here(source, ram_path / "here" / "out", slow_codec(trained(), ram_path / "nobody", 0))
    slow = slow_codec(trained(), ram_path / "seen", 0.5)
    (ram_path / "job").write_bytes(pickle.dumps((str(source), str(there / "out"), slow)))
    driver = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", engine[1] + DRIVER, str(ram_path / "job")], cwd=ram_path,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        until = time.monotonic() + 90
        while not list(there.glob("*.manifest.json")):  # of a first task
            assert driver.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
    finally:
        os.killpg(driver.pid, signal.SIGKILL)  # of Spark the JVM, which is the driver, and its workers
        driver.wait()
    assert not (there / "out.manifest.json").exists()
    calls = len([*(ram_path / "seen").iterdir()])
    encode_corpus(engine[0], source, there / "out", slow, task_bytes=4 << 20, checkpoint_seconds=0)
    assert contents(there) == contents(ram_path / "here")
    assert len([*(ram_path / "seen").iterdir()]) < calls + 8  # what was finished is not done again


@pytest.mark.cluster
def test_ray_is_shut_down_when_it_could_not_be_initialised(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    from bpetite.cluster.ray import ray_map

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


@pytest.mark.cluster
def test_spark_connect_is_refused() -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    from bpetite.cluster.spark import spark_map

    session = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(ValueError, match="Spark Connect runs dataframes alone"):
        spark_map(session)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="bash")
def test_a_job_array_with_a_rank_killed_and_requeued(ram_path: Path) -> None:
    """The scripts of docs/scale.md, run by bash with an ``srun`` that runs the command here."""
    source, tokens, world = ram_path / "corpus", ram_path / "tokens", 4
    source.mkdir()
    for number in range(8):
        text = "<|endoftext|>".join(text_of(100 * number + seed, 300) for seed in range(100))
        (source / f"{number}.txt").write_text("<|endoftext|>".join([text] * 40))
    trained().save(ram_path / "tok.json")
    page = (TESTS.parent / "docs/scale.md").read_text()
    job, merge = re.findall(r'```sh title="Not tested: takes Slurm"\n(.*?)```', page, re.S)
    wrapped = re.search(r'--wrap "(.*?)"', merge)
    assert wrapped is not None
    programs = ram_path / "bin"
    programs.mkdir()
    for name, command in (("srun", 'exec "$@"'), ("python", f'exec {sys.executable} "$@"')):
        (programs / name).write_text(f"#!/bin/sh\n{command}\n")
        (programs / name).chmod(0o755)

    def start(script: str, rank: int) -> subprocess.Popen[bytes]:
        for path, here in (("/data/corpus", source), ("tok.json", ram_path / "tok.json"), ("/data/tokens", tokens)):
            script = script.replace(path, str(here))
        environment = {
            **os.environ, "PYTHONPATH": PYTHONPATH, "PATH": f"{programs}:{os.environ['PATH']}",
            "SLURM_ARRAY_TASK_ID": str(rank), "SLURM_ARRAY_TASK_COUNT": str(world), "SLURM_CPUS_PER_TASK": "2",
        }  # fmt: skip
        return subprocess.Popen(["bash", "-ec", script], env=environment, start_new_session=True)

    ranks = {rank: start(job, rank) for rank in (2, 0, 1, 3)}
    deadline = time.monotonic() + 60
    while not list(tokens.glob("run.rank00002of00004.partial")) and time.monotonic() < deadline:
        time.sleep(0.001)
    os.killpg(ranks[2].pid, signal.SIGKILL)
    assert ranks.pop(2).wait() == -signal.SIGKILL
    assert not list(tokens.glob("run.rank00002of00004.manifest.json"))
    ranks[2] = start(job, 2)
    assert {process.wait(timeout=120) for process in ranks.values()} == {0}
    assert start(wrapped[1], 0).wait(timeout=120) == 0
    encode_here(source, ram_path / "one", trained(), format="megatron")
    for ending in ("bin", "idx"):
        name = f"_text_document.{ending}"
        assert (tokens / f"run{name}").read_bytes() == (ram_path / f"one{name}").read_bytes()


# Without an engine


def test_calls_made_twice_and_backwards(ram_path: Path, corpus: Path) -> None:
    """Everything travels pickled, the engine dies anywhere, and the driver is started again."""
    encode_here(corpus, ram_path / "here" / "out", trained(), val_fraction=0.3)
    options: dict[str, Any] = {"task_bytes": 4 * TINY, "val_fraction": 0.3}
    for lose in (1, 2, 4, 6, None):
        there = ram_path / str(lose)
        if lose is not None:
            with pytest.raises(ConnectionError):
                encode_corpus(HereMap(lose=lose), corpus, there / "out", trained(), **options)
        steps: list[tuple[int, int, int]] = []
        made = encode_corpus(
            HereMap(), corpus, there / "out", trained(), progress=lambda *step, to=steps: to.append(step), **options
        )
        assert contents(there) == contents(ram_path / "here")
        assert steps[-1][1:] == (made["tokens"], made["documents"])
        again = HereMap()
        assert encode_corpus(again, corpus, there / "out", trained(), **options)["tokens"] == made["tokens"]
        assert again.begun == 0


def test_overwriting_and_what_is_in_the_way(ram_path: Path, corpus: Path) -> None:
    def encode(**options: Any) -> None:
        encode_corpus(HereMap(), corpus, ram_path / "there" / "out", trained(), task_bytes=TINY, **options)

    (ram_path / "there").mkdir()
    (ram_path / "there" / "out.npy").write_bytes(b"precious")
    with pytest.raises(FileExistsError, match=r"out\.npy"):
        encode()
    assert contents(ram_path / "there") == {"out.npy": b"precious"}  # before any rank was encoded
    encode(overwrite=True)
    with pytest.raises(FileExistsError, match="made with eot append, now none"):
        encode(eot="none")
    encode(eot="none", overwrite=True)
    encode_here(corpus, ram_path / "here" / "out", trained(), eot="none")
    assert contents(ram_path / "there") == contents(ram_path / "here")


@pytest.mark.parametrize("wrong", [{"task_bytes": 0}, {"threads": 0}, {"eot": "x"}, {"no_such": 1}])
def test_options_that_cannot_be(ram_path: Path, corpus: Path, wrong: dict[str, Any]) -> None:
    mapped = HereMap()
    with pytest.raises((ValueError, TypeError)):
        encode_corpus(mapped, corpus, ram_path / "out", trained(), **wrong)
    with pytest.raises((ValueError, TypeError)):
        count_pretokens(mapped, corpus, work=ram_path / "work", **wrong)
    assert mapped.begun == 0
    assert contents(ram_path) == {}


def test_messages_of_tasks(ram_path: Path) -> None:
    source = ram_path / "in.jsonl"
    source.write_bytes(b'{"text": "the cat sat on the mat"}\n' * 40 + b'{not json\n{"text": null}\n{"text": ""}')
    said: list[str] = []
    encode_corpus(HereMap(), source, ram_path / "out", trained(), task_bytes=TINY, on_error="skip", log=said.append)
    assert any("in.jsonl:41" in line for line in said)
    with pytest.raises(RecordError, match=r"in\.jsonl:41: malformed JSON"):
        encode_corpus(HereMap(), source, ram_path / "other", trained(), task_bytes=TINY)


def test_workers_with_other_versions(ram_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        monkeypatch.setattr("bpetite.corpus.plan.libraries", lambda inputs: {"regex": "1"})
        return map(function, items)

    with pytest.raises(ValueError, match=r"this worker would write another output .* {'regex': '1'}"):
        encode_corpus(elsewhere, corpus, ram_path / "out", trained(), task_bytes=TINY)
    assert contents(ram_path) == {}


def test_errors_that_do_not_pickle_are_told() -> None:
    class Odd(Exception):
        pass

    def fail(item: object) -> None:
        raise Odd("it is wrong")

    _, error, trace = pickle.loads(pickle.dumps(Call(fail)(1)))
    assert isinstance(error, RuntimeError)
    assert str(error) == "Odd: it is wrong"
    assert "in fail" in trace


# Counting


def test_counts_and_training(ram_path: Path, corpus: Path) -> None:
    texts, source = TEXTS[:60], corpus / "a b.txt"
    counts = count_pretokens(HereMap(), source, work=ram_path / "work", task_bytes=200)
    assert dict(counts) == dict(bpetite.count_pretokens(texts))
    assert counts.documents == len(texts)
    assert len([*(ram_path / "work").iterdir()]) == 1  # the sum
    learned = Tokenizer.train_from_counts(counts, 400)
    assert learned == Tokenizer.train(texts, 400)
    assert learned.extend(counts, 50) == learned.extend(texts, 50)
    mapped = HereMap()
    assert dict(count_pretokens(mapped, source, work=ram_path / "work", task_bytes=200)) == dict(counts)
    assert mapped.begun == 0


def test_counting_goes_on(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = write_inputs(ram_path / "in", TEXTS)[0].parent
    for number in range(4):
        shutil.copy(corpus / "a b.txt", corpus / f"z {number}.txt")
    whole = count_pretokens(HereMap(), corpus, work=ram_path / "whole", task_bytes=TINY)
    with pytest.raises(ConnectionError):
        count_pretokens(HereMap(lose=4), corpus, work=ram_path / "work", task_bytes=TINY)
    before = {*(ram_path / "work").iterdir()}
    assert before
    with monkeypatch.context() as patch:  # tables of other versions are not taken
        patch.setattr("regex.__version__", "1.0")
        with pytest.raises(ConnectionError):
            count_pretokens(HereMap(lose=4), corpus, work=ram_path / "work", task_bytes=TINY)
    others = {*(ram_path / "work").iterdir()} - before
    assert others
    assert {path.name[:20] for path in others}.isdisjoint(path.name[:20] for path in before)
    counts = count_pretokens(HereMap(), corpus, work=ram_path / "work", task_bytes=TINY)
    assert dict(counts) == dict(whole)
    for path in others:
        path.unlink()
    assert contents(ram_path / "work") == contents(ram_path / "whole")


def test_counting_meets_odd_records(ram_path: Path) -> None:
    source = ram_path / "in.txt"
    source.write_bytes(b"one two<|endoftext|>thr\xffee<|endoftext|>\nfour")
    with pytest.raises(RecordError, match=r"in\.txt:1: text that is not UTF-8"):
        count_pretokens(HereMap(), source, work=ram_path / "work")
    skipped = count_pretokens(HereMap(), source, work=ram_path / "work", on_error="skip")
    assert dict(skipped) == {b"one": 1, b" two": 1, b"\n": 1, b"four": 1}
    replaced = count_pretokens(HereMap(), source, work=ram_path / "work", on_error="replace")
    assert dict(replaced)["\ufffd".encode()] == 1


def test_no_engine_is_imported_unasked() -> None:
    code = "import sys, bpetite.cluster, bpetite.cluster.ray, bpetite.cluster.spark\n"
    code += "print(sorted({'pyarrow', 'ray', 'pyspark', 'datasets', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
