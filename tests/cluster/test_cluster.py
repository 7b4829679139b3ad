"""bpetite.cluster without an engine: parts, assembly, counting, parcels. Ray and Spark are in files of their own."""
from __future__ import annotations

import itertools
import json
import pickle
import random
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cluster_tools import HereMap, contents, make_corpus, text_of
from corpus_tools import FORMATS
from faulty_store import fresh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiers import slow_but

from bpetite import Tokenizer
from bpetite.cluster import count_pretokens, encode_corpus
from bpetite.cluster.calls import Call
from bpetite.corpus import Options, RecordError, find_sources, make_part, share, shares
from bpetite.corpus import encode_corpus as encode_here
from bpetite.corpus.run.assembly import make_shard
from bpetite.corpus.run.corpus_options import Format
from bpetite.errors import FormatError

pytest.importorskip("pyarrow")

TINY = 1500  # bytes of a task


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([text_of(seed, 200) for seed in range(20)], 300)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpus(tmp_path_factory.mktemp("corpus") / "in")


@pytest.mark.parametrize("shard_tokens", [None, 700])
@pytest.mark.parametrize("format", slow_but(FORMATS, "npy", "parquet"))
def test_the_output_is_that_of_one_process(
    ram_path: Path, corpus: Path, tokenizer: Tokenizer, format: str, shard_tokens: int | None
) -> None:
    options: dict[str, Any] = {"format": format, "shard_tokens": shard_tokens}
    one = encode_here(corpus, ram_path / "here" / "out", tokenizer, **options)
    two = encode_corpus(HereMap(), corpus, ram_path / "there" / "out", tokenizer, task_bytes=TINY, **options)
    assert contents(ram_path / "there") == contents(ram_path / "here")
    assert {name: two[name] for name in ("documents", "tokens", "files")} == {
        name: one[name] for name in ("documents", "tokens", "files")
    }


@pytest.mark.parametrize("task_bytes", [1, 4000, 1 << 30])
def test_the_size_of_tasks_changes_nothing(
    ram_path: Path, corpus: Path, tokenizer: Tokenizer, task_bytes: int
) -> None:
    options: dict[str, Any] = {"format": "megatron", "val_fraction": 0.3, "eot": "append", "shard_tokens": 900}
    source = corpus / "a one.txt"
    task_bytes = max(task_bytes, source.stat().st_size // 60)
    encode_here(source, ram_path / "here" / "out", tokenizer, **options)
    encode_corpus(HereMap(), source, ram_path / "there" / "out", tokenizer, task_bytes=task_bytes, **options)
    assert contents(ram_path / "there") == contents(ram_path / "here")


def test_an_output_folder(ram_path: Path, corpus: Path, tokenizer: Tokenizer) -> None:
    for name in ("here", "there"):
        (ram_path / name).mkdir()
    encode_here(corpus, ram_path / "here", tokenizer)
    encode_corpus(HereMap(), corpus, ram_path / "there", tokenizer, task_bytes=TINY)
    assert contents(ram_path / "there") == contents(ram_path / "here")


@pytest.mark.parametrize("format", ["npy", "mds", "dolma"])
def test_an_output_at_a_url(
    ram_path: Path, corpus: Path, tokenizer: Tokenizer, format: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same files, whatever machine makes a call, whenever the engine dies; nothing else stays there."""
    options: Any = {"format": format, "shard_tokens": 3000, "task_bytes": TINY}
    machines = itertools.count()

    def elsewhere(run: HereMap) -> Any:
        def call(function: Any, items: Any) -> Any:
            (ram_path / f"tmp{(number := next(machines))}").mkdir()
            with monkeypatch.context() as there:
                there.setattr(tempfile, "tempdir", str(ram_path / f"tmp{number}"))
                yield from run(function, items)

        return call

    store = fresh()
    encode_corpus(HereMap(), corpus, ram_path / "here" / "o", tokenizer, **options)
    expected = contents(ram_path / "here")
    for lose in (2, 6, None):
        try:
            encode_corpus(elsewhere(HereMap(lose=lose)), corpus, "memory://there/o", tokenizer, **options)
            assert lose is None
        except ConnectionError:
            assert not store.exists("/there/o.manifest.json")
    for overwrite in (False, True):
        found = {name.removeprefix("/there/"): store.cat(name) for name in store.find("/there")}
        assert {name: data for name, data in found.items() if not f".{Path(name).name}".endswith(".runs")} == expected
        encode_corpus(elsewhere(HereMap()), corpus, "memory://there/o", tokenizer, overwrite=overwrite, **options)


@given(
    lengths=st.lists(st.integers(0, 12), max_size=30),
    limit=st.integers(1, 20),
    tasks=st.integers(1, 9),
    format=st.sampled_from(["npy", "llmc", "datatrove"]),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_shards_are_cut_where_one_process_cuts_them(
    ram_path: Path, tokenizer: Tokenizer, lengths: list[int], limit: int, tasks: int, format: str
) -> None:
    folder = Path(tempfile.mkdtemp(dir=ram_path))
    lines = [json.dumps({"text": "q" * length}) for length in lengths]
    source = folder / "in.jsonl"
    source.write_text("".join(line + "\n" for line in lines))
    options: dict[str, Any] = {"format": format, "shard_tokens": limit, "eot": "none"}
    encode_here(source, folder / "here" / "out", tokenizer, **options)
    task_bytes = max(1, -(-source.stat().st_size // tasks))
    encode_corpus(HereMap(), source, folder / "there" / "out", tokenizer, task_bytes=task_bytes, **options)
    assert contents(folder / "there") == contents(folder / "here")


@pytest.mark.parametrize("format", slow_but(["npy", "llmc", "dolma"], "dolma"))
def test_an_engine_that_dies_anywhere(ram_path: Path, corpus: Path, tokenizer: Tokenizer, format: str) -> None:
    options: dict[str, Any] = {"format": format, "shard_tokens": 2000, "task_bytes": 4 * TINY}
    encode_corpus(HereMap(), corpus, ram_path / "whole" / "out", tokenizer, **options)
    died = 0
    for lose in range(1, 100):
        folder = ram_path / str(lose)
        try:
            encode_corpus(HereMap(lose=lose), corpus, folder / "out", tokenizer, **options)
        except ConnectionError:
            died += 1
            # the size of tasks is that of the run begun, whatever is asked for now
            encode_corpus(HereMap(), corpus, folder / "out", tokenizer, **{**options, "task_bytes": TINY})
        assert contents(folder) == contents(ram_path / "whole")
        if died < lose:
            break
    assert died > 5


@pytest.mark.parametrize("shard_tokens", [None, 700])
@pytest.mark.parametrize("format", slow_but(FORMATS, "npy"))
def test_a_bit_that_flips_before_files_are_joined_is_found(
    ram_path: Path, corpus: Path, tokenizer: Tokenizer, format: str, shard_tokens: int | None
) -> None:
    choose = random.Random(format)

    class Flipping(HereMap):
        def __call__(self, function: Any, items: Any) -> Any:
            if function is make_shard:
                files = sorted(ram_path.glob("out.rank*.tokens"))
                path = choose.choice(sorted(files, key=lambda path: path.stat().st_size)[-3:])  # the smallest are empty
                data = bytearray(path.read_bytes())
                data[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
                path.write_bytes(data)
            return super().__call__(function, items)

    options: dict[str, Any] = {"format": format, "shard_tokens": shard_tokens, "task_bytes": TINY}
    for _ in range(4):
        with pytest.raises(FormatError, match=r"out\.rank"):
            encode_corpus(Flipping(), corpus, ram_path / "out", tokenizer, overwrite=True, **options)
        assert not (ram_path / "out.manifest.json").exists()
    encode_corpus(HereMap(), corpus, ram_path / "out", tokenizer, overwrite=True, **options)


def test_files_of_others_that_are_named_like_own_ones(ram_path: Path, corpus: Path, tokenizer: Tokenizer) -> None:
    for name in ("out.journal", "out.shard", "out.npy", "out.runs"):
        (ram_path / name).write_text("mine\n")
        for _ in range(2):
            with pytest.raises((FormatError, FileExistsError), match=name):
                encode_corpus(HereMap(), corpus, ram_path / "out", tokenizer, task_bytes=TINY)
            assert (ram_path / name).read_text() == "mine\n"
        for path in ram_path.iterdir():
            path.unlink()


def test_doing_it_again_does_nothing(ram_path: Path, corpus: Path, tokenizer: Tokenizer) -> None:
    out = ram_path / "out"
    first = encode_corpus(HereMap(), corpus, out, tokenizer, task_bytes=TINY)
    run = HereMap()
    again = encode_corpus(run, corpus, out, tokenizer, task_bytes=TINY)
    assert run.begun == 0
    assert again["tokens"] == first["tokens"]
    with pytest.raises(FileExistsError):
        encode_corpus(run, corpus, out, tokenizer, task_bytes=TINY, eot="append", special="allow")


def test_overwrite(ram_path: Path, corpus: Path, tokenizer: Tokenizer) -> None:
    out = ram_path / "there" / "out"
    with pytest.raises(ConnectionError):
        encode_corpus(HereMap(lose=4), corpus, out, tokenizer, task_bytes=TINY, shard_tokens=500)
    with pytest.raises(FileExistsError, match="made with shard_tokens 500, now 600; overwrite=True"):
        encode_corpus(HereMap(), corpus, out, tokenizer, task_bytes=TINY, shard_tokens=600)
    encode_corpus(HereMap(), corpus, out, tokenizer, task_bytes=TINY, shard_tokens=600, overwrite=True)
    encode_corpus(HereMap(), corpus, out, tokenizer, task_bytes=TINY, overwrite=True)
    encode_here(corpus, ram_path / "here" / "out", tokenizer)
    assert contents(ram_path / "there") == contents(ram_path / "here")


def test_files_of_others_are_not_replaced(ram_path: Path, corpus: Path, tokenizer: Tokenizer) -> None:
    (ram_path / "out.npy").write_bytes(b"precious")
    run = HereMap()
    with pytest.raises(FileExistsError):
        encode_corpus(run, corpus, ram_path / "out", tokenizer, task_bytes=TINY)
    assert run.begun == 0
    assert contents(ram_path)["out.npy"] == b"precious"


@pytest.mark.parametrize("policy", ["fail", "skip", "replace"])
def test_an_odd_record_in_the_middle(ram_path: Path, tokenizer: Tokenizer, policy: str) -> None:
    lines = [json.dumps({"text": text_of(seed, 20)}).encode() for seed in range(100)]
    lines[40:40] = [b"{not json", b'{"text": null}']
    lines[70] = b'{"text": "\xff"}'
    source = ram_path / "in.jsonl"
    source.write_bytes(b"\n".join(lines))
    if policy == "fail":
        found = []
        for run in (
            lambda: encode_here(source, ram_path / "here" / "out", tokenizer),
            lambda: encode_corpus(HereMap(), source, ram_path / "there" / "out", tokenizer, task_bytes=TINY),
        ):
            with pytest.raises(RecordError, match=r"in\.jsonl:41") as caught:
                run()
            found.append(str(caught.value))
        assert found[0] == found[1]
        return
    said: list[str] = []
    encode_here(source, ram_path / "here" / "out", tokenizer, on_error=policy)
    encode_corpus(
        HereMap(), source, ram_path / "there" / "out", tokenizer, task_bytes=TINY, on_error=policy, log=said.append
    )
    assert contents(ram_path / "there") == contents(ram_path / "here")
    assert any("in.jsonl:41" in line for line in said)


def test_rejected_records_are_joined(ram_path: Path, tokenizer: Tokenizer) -> None:
    lines = [json.dumps({"text": text_of(n, 20)}) if n % 3 else "{" for n in range(400)]
    (ram_path / "in.jsonl").write_text("\n".join(lines))
    options: dict[str, Any] = {"on_error": "skip", "rejected": True}
    encode_here(ram_path / "in.jsonl", ram_path / "here" / "out", tokenizer, **options)
    encode_corpus(
        HereMap(), ram_path / "in.jsonl", ram_path / "there" / "out", tokenizer, task_bytes=TINY, **options
    )
    assert contents(ram_path / "there") == contents(ram_path / "here")
    taken = ram_path / "other" / "out.rejected.jsonl.gz"
    taken.parent.mkdir()
    taken.write_text("of somebody else")
    with pytest.raises(FileExistsError, match="rejected"):
        encode_corpus(HereMap(), ram_path / "in.jsonl", ram_path / "other" / "out", tokenizer, **options)


def test_shuffling_is_refused(ram_path: Path, corpus: Path, tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="each of several parts sees some: run one process"):
        encode_corpus(HereMap(), corpus, ram_path / "out", tokenizer, task_bytes=TINY, shuffle=1)


def test_progress_adds_up(ram_path: Path, corpus: Path, tokenizer: Tokenizer) -> None:
    steps: list[tuple[int, int, int]] = []
    summary = encode_corpus(
        HereMap(), corpus, ram_path / "out", tokenizer, task_bytes=TINY, progress=lambda *step: steps.append(step)
    )
    assert sum(step[0] for step in steps) == sum(path.stat().st_size for path in corpus.iterdir())
    assert steps[-1][1:] == (summary["tokens"], summary["documents"])


@pytest.mark.parametrize("wrong", [{"task_bytes": 0}, {"threads": 0}, {"eot": "x"}, {"format": "x"}])
def test_options_that_cannot_be(ram_path: Path, corpus: Path, tokenizer: Tokenizer, wrong: dict[str, Any]) -> None:
    run = HereMap()
    with pytest.raises(ValueError):
        encode_corpus(run, corpus, ram_path / "out", tokenizer, **wrong)
    assert run.begun == 0
    assert contents(ram_path) == {}


def test_options_that_there_are_not(ram_path: Path, tokenizer: Tokenizer) -> None:
    run, missing, work = HereMap(), ram_path / "missing", ram_path / "work"
    with pytest.raises(TypeError, match=r"^encode_corpus\(\) got an unexpected keyword argument 'formt'$"):
        encode_corpus(run, missing, ram_path / "out", tokenizer, formt="npy")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^count_pretokens\(\) .* 'format'$"):
        count_pretokens(run, missing, work=work, format="npy")  # type: ignore[call-arg]
    assert contents(ram_path) == {}


def test_shares_are_those_of_ranks(corpus: Path) -> None:
    pieces = find_sources([corpus]).pieces
    for size in (1, 2, 3, 7, 50, 5000):
        for cut in (True, False):
            assert list(shares(pieces, size, cut_files=cut)) == [
                share(pieces, rank, size, cut_files=cut) for rank in range(size)
            ]


def test_counts_and_training(ram_path: Path, corpus: Path) -> None:
    import bpetite

    texts = [text_of(seed, seed * 7 % 90) for seed in range(60)]
    source = corpus / "a one.txt"
    counts = count_pretokens(HereMap(), source, work=ram_path / "work", task_bytes=200)
    assert dict(counts) == dict(bpetite.count_pretokens(texts))
    assert counts.documents == len(texts)
    assert len([*(ram_path / "work").iterdir()]) == 1  # the sum
    learned = Tokenizer.train_from_counts(counts, 400)
    assert learned == Tokenizer.train(texts, 400)
    assert learned.extend(counts, 50) == learned.extend(texts, 50)
    run = HereMap()
    assert dict(count_pretokens(run, source, work=ram_path / "work", task_bytes=200)) == dict(counts)
    assert run.begun == 0


def test_workers_with_other_versions(ram_path: Path, corpus: Path, tokenizer: Tokenizer) -> None:
    part = replace(make_part(corpus, ram_path / "out", tokenizer, options=Options()), known_digest="0" * 64)
    with pytest.raises(ValueError, match=r"this worker would write another output .* 'regex': "):
        part.of(1, 3).run()
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


def test_counting_goes_on(ram_path: Path, corpus: Path) -> None:
    whole = count_pretokens(HereMap(), corpus, work=ram_path / "whole", task_bytes=TINY)
    with pytest.raises(ConnectionError):
        count_pretokens(HereMap(lose=4), corpus, work=ram_path / "work", task_bytes=TINY)
    before = {path: path.stat().st_mtime_ns for path in (ram_path / "work").iterdir()}
    assert before
    (next(iter(before)).with_name(".counts-left-by-another")).write_bytes(b"")
    counts = count_pretokens(HereMap(), corpus, work=ram_path / "work", task_bytes=TINY)
    assert dict(counts) == dict(whole)
    (ram_path / "work" / ".counts-left-by-another").unlink()
    assert contents(ram_path / "work") == contents(ram_path / "whole")


def test_tables_of_other_versions_are_not_taken(
    ram_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConnectionError):
        count_pretokens(HereMap(lose=4), corpus, work=ram_path / "work", task_bytes=TINY)
    before = set((ram_path / "work").iterdir())
    monkeypatch.setattr("regex.__version__", "1.0")
    with pytest.raises(ConnectionError):
        count_pretokens(HereMap(lose=4), corpus, work=ram_path / "work", task_bytes=TINY)
    after = set((ram_path / "work").iterdir())
    assert before < after
    assert {path.name[:20] for path in after - before}.isdisjoint(path.name[:20] for path in before)


def test_counting_meets_odd_records(ram_path: Path) -> None:
    source = ram_path / "in.txt"
    source.write_bytes(b"one two<|endoftext|>thr\xffee<|endoftext|>\nfour")
    with pytest.raises(RecordError, match=r"in\.txt:1: text that is not UTF-8"):
        count_pretokens(HereMap(), source, work=ram_path / "work", task_bytes=10)
    skipped = count_pretokens(HereMap(), source, work=ram_path / "work", task_bytes=10, on_error="skip")
    assert dict(skipped) == {b"one": 1, b" two": 1, b"\n": 1, b"four": 1}
    said: list[str] = []
    replaced = count_pretokens(
        HereMap(), source, work=ram_path / "work", task_bytes=10, on_error="replace", log=said.append
    )
    assert dict(replaced)["\ufffd".encode()] == 1
    assert said


def test_no_engine_is_imported_unasked() -> None:
    code = "import sys, bpetite.cluster, bpetite.cluster.ray, bpetite.cluster.spark\n"
    code += "print(sorted({'pyarrow', 'ray', 'pyspark', 'datasets', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
