"""The whole way: same bytes for any number of jobs, after any crash; refusals; the manifest."""
import errno
import gzip
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import (
    CRASHED,
    FORMATS,
    byte_codec,
    outputs,
    plain_sums,
    run,
    some_documents,
    texts_in,
    write_inputs,
)
from paths import PYTHONPATH
from tiers import slow_but

from bpetite.corpus import Options, Sources, make_part
from bpetite.corpus.reading.given import given_documents
from tests.support.running import running_threads


class Crash(BaseException):
    """The moment at which a process is no more."""


def task_of(inputs: list[Path], out: Path, **options: Any) -> Any:
    task = make_part(inputs, out / "o", byte_codec(), options=Options(**options))
    return replace(task, block=200, checkpoint_seconds=0)


def crash_at(monkeypatch: pytest.MonkeyPatch, folder: Path, moment: int) -> Callable[[], bool]:
    """Make the ``moment``-th durable operation in a folder the last one: nothing that was not synced survives it.

    Counts syncs, links, renames, truncations and deletions; half of the time the operation itself still happens.
    """
    count = 0
    synced = {str(path): path.stat().st_size for path in folder.glob("*")}
    real = {name: getattr(os, name) for name in ("fsync", "link", "replace", "truncate", "unlink")}

    def path_of(handle: int) -> str:
        return os.readlink(f"/proc/self/fd/{handle}")

    def lose() -> None:
        """As after a power failure: of files that may still grow, only what was synced is there."""
        for path in folder.glob("*"):
            if path.suffix in (".partial", ".journal"):
                size = synced.get(str(path), 0)
                if path.stat().st_size > size:
                    real["truncate"](path, size)

    def hooked(name: str) -> Callable[..., Any]:
        def operation(*arguments: Any, **keywords: Any) -> Any:
            nonlocal count
            count += 1
            if count > moment:
                raise Crash  # what is still called while the stack unwinds does not happen either
            if count == moment and moment % 2:
                lose()
                raise Crash
            result = real[name](*arguments, **keywords)
            if name == "fsync":
                path = path_of(arguments[0])
                synced[path] = os.stat(path).st_size
            elif name == "link":
                synced[str(arguments[1])] = synced.get(str(arguments[0]), 0)
            elif name == "replace":
                synced.pop(str(arguments[0]), None)
            if count == moment:
                lose()
                raise Crash
            return result

        return operation

    for name in real:
        monkeypatch.setattr(os, name, hooked(name))

    def undo() -> bool:
        for name, function in real.items():
            monkeypatch.setattr(os, name, function)
        return count >= moment

    return undo


@pytest.mark.skipif(sys.platform != "linux", reason="finds files by /proc")
@pytest.mark.parametrize(
    "format", slow_but([*CRASHED, "npy, in another order"], "parquet", "npy, in another order")
)
def test_a_crash_at_any_durable_operation(
    ram_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(42))
    options = {"format": format, "shard_tokens": 400, "val_fraction": 0.3 if format in ("npy", "llmc") else 0.0}
    if "order" in format:
        options |= {"format": "npy", "shuffle": 3, "memory": 7000}
    (ram_path / "whole").mkdir()
    expected_summary = task_of(inputs, ram_path / "whole", **options).run()
    expected = outputs(ram_path / "whole")
    assert expected_summary["documents"] == 42
    moment = crashes = 0
    step = 1
    while True:
        moment += step
        out = ram_path / "crashed"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        undo = crash_at(monkeypatch, out, moment)
        try:
            task_of(inputs, out, **options).run()
        except Crash:
            crashes += 1
        crashed = undo()
        task_of(inputs, out, **options).run()
        assert outputs(out) == expected, f"after a crash at operation {moment}"
        if not crashed:
            break
        step = 1 if moment < 20 else 7
    assert crashes >= 20


@pytest.mark.skipif(sys.platform != "linux", reason="finds files by /proc")
@pytest.mark.parametrize("format", slow_but(["npy", "litdata"], "litdata"))
@pytest.mark.parametrize("overwrite", slow_but([False, True], False))
def test_a_crash_of_a_run_over_an_iterable(
    ram_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, overwrite: bool
) -> None:
    """At any durable operation: the run begins anew, and finds nothing in its way that the one before it has left."""
    documents = some_documents(16)
    whole, out = ram_path / "whole", ram_path / "crashed"
    for folder in (whole, out):
        folder.mkdir()

    def encode(folder: Path) -> None:
        sink = folder if format in ("mds", "litdata") else folder / "o"
        task = make_part(
            Sources((given_documents(documents),)), sink, byte_codec(), checkpoint_seconds=0, overwrite=overwrite,
            options=Options(format=format, shard_tokens=400, on_error="skip", rejected=True),
        )  # fmt: skip
        replace(task, block=200).run()

    encode(whole)
    for moment in range(1, 1000):
        shutil.rmtree(out)
        out.mkdir()
        undo = crash_at(monkeypatch, out, moment)
        with suppress(Crash):
            encode(out)
        crashed = undo()
        finished = any(out.glob("*manifest.json")) and not any(out.glob("*journal")) and not overwrite
        with pytest.raises(FileExistsError, match="only once") if finished else nullcontext():
            encode(out)
        assert outputs(out).items() >= outputs(whole).items(), f"after a crash at operation {moment}"
        if not crashed:
            break
    assert moment > 40


@pytest.mark.parametrize("format", slow_but(CRASHED, "npy", "parquet"))
def test_a_crash_in_the_crash(ram_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(60))
    options = {"format": format, "shard_tokens": 700}
    for name in ("whole", "crashed"):
        (ram_path / name).mkdir()
    task_of(inputs, ram_path / "whole", **options).run()
    for attempt in range(1, 60):
        undo = crash_at(monkeypatch, ram_path / "crashed", 4 + attempt % 9)
        try:
            task_of(inputs, ram_path / "crashed", **options).run()
            break
        except Crash:
            pass
        finally:
            undo()
    else:
        task_of(inputs, ram_path / "crashed", **options).run()
    assert outputs(ram_path / "crashed") == outputs(ram_path / "whole")
    assert attempt > 5


@pytest.mark.parametrize("format", slow_but(FORMATS, "npy", "parquet"))
def test_jobs_and_blocks_do_not_change_the_output(ram_path: Path, format: str) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(300))
    made = []
    for name, jobs, block in (("a", 1, 100), ("b", 2, 1000), ("c", 5, 1 << 20), ("d", 2, 1), ("e", 4, 2000)):
        (ram_path / name).mkdir()
        task = make_part(inputs, ram_path / name / "o", byte_codec(), options=Options(format=format, shard_tokens=999))
        replace(task, block=block).run(jobs=jobs)
        made.append(outputs(ram_path / name))
    assert all(one == made[0] for one in made)


@pytest.mark.parametrize("format", ["npy", "dolma"])
@pytest.mark.parametrize("separator", ["<|endoftext|>", "\n", "\n\n"])
@pytest.mark.parametrize("rank", slow_but([None, 0, 2], 2))
def test_workers_read_ranges_of_plain_files(
    ram_path: Path, format: str, separator: str, rank: int | None
) -> None:
    """Long documents, byte-order marks, records with problems, ranks: the same as one reader gives, in that order."""
    documents = [*some_documents(150), "é" * 900, *some_documents(60, 2), "", "x" * 3000]
    plain, lines = ram_path / "a.txt", ram_path / "b.jsonl"
    plain.write_bytes(b"\xef\xbb\xbf" + separator.join(documents).encode())
    rows = [json.dumps({"id": str(n), "text": text}, ensure_ascii=n % 2 == 0) for n, text in enumerate(documents)]
    rows[70] = '{"text": 5}'
    lines.write_text("\n\n".join(rows) + "\n")
    (ram_path / "c.txt").write_text("small")
    (ram_path / "mark.txt").write_bytes(b"\xef\xbb\xbf")
    inputs = [lines, ram_path / "c.txt", plain, ram_path / "mark.txt"]
    made = []
    for jobs, block in ((1, 4 << 20), (2, 1), (3, 333), (2, 2000)):
        out = ram_path / f"{jobs}-{block}"
        out.mkdir()
        part = {} if rank is None else {"rank": rank, "world_size": 3}
        options = Options(format=format, separator=separator, on_error="skip")
        task = make_part(inputs, out / "o", byte_codec(), options=options, **part)
        summary = replace(task, block=block).run(jobs=jobs)
        made.append((outputs(out), summary["problems"], summary["documents"]))
    assert all(one == made[0] for one in made)


@pytest.mark.parametrize("damaged", [False, True])
def test_workers_read_row_groups_and_several_compressed_files(ram_path: Path, damaged: bool) -> None:
    """The same as one reader gives, from any block on; what is damaged is left out in its place."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for number in range(4):
        texts = [None if damaged and n == 50 else text for n, text in enumerate(some_documents(120, number))]
        pq.write_table(pa.table({"text": texts}), ram_path / f"{number}.parquet", row_group_size=17)
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
        packed = gzip.compress(lines) + gzip.compress(lines)
        (ram_path / f"{number}.jsonl.gz").write_bytes(packed[:-9] if damaged and number == 2 else packed)
    (ram_path / "x.parquet").write_bytes(b"PAR1 no" if damaged else (ram_path / "0.parquet").read_bytes())
    for kind in ("parquet", "gz"):
        made = []
        for jobs, block in ((1, 4 << 20), (2, 300), (3, 3000)):
            out = ram_path / f"{kind}-{jobs}"
            out.mkdir()
            options = Options(on_error="skip", shard_tokens=900)
            task = make_part([ram_path / f"*.{kind}"], out / "o", byte_codec(), options=options)
            summary = replace(task, block=block, checkpoint_seconds=0).run(jobs=jobs)
            made.append((outputs(out), summary["problems"], summary["documents"]))
        assert made[0] == made[1] == made[2]
        assert bool(made[0][1]) == damaged


def test_a_finished_run_is_not_done_again(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(30))
    first = run(inputs, ram_path / "o")
    times = {path: path.stat().st_mtime_ns for path in ram_path.glob("o*")}
    assert {**run(inputs, ram_path / "o"), "seconds": 0} == {**first, "seconds": 0}
    assert {path: path.stat().st_mtime_ns for path in ram_path.glob("o*")} == times
    with pytest.raises(FileExistsError, match="made with eot append, now none"):
        run(inputs, ram_path / "o", eot="none")
    run(inputs, ram_path / "o", eot="none", overwrite=True)


def test_files_without_manifest_are_not_replaced(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(3))
    (ram_path / "o.npy").write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        run(inputs, ram_path / "o")
    assert (ram_path / "o.npy").read_text() == "mine"


def test_overwrite_leaves_nothing_of_the_old_output(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(30))
    run(inputs, ram_path / "o", shard_tokens=10)
    made = run(inputs, ram_path / "o", shard_tokens=10_000, overwrite=True)
    assert {path.name for path in ram_path.glob("o*")} == {*made["files"], "o.manifest.json", "o.runs"}


def test_neighbours_are_left_alone(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(3))
    others = ["o2.npy.partial", "o_x.npy.partial", "oo.journal", "o.rank00000of00002.npy.partial"]
    for name in others:
        (ram_path / name).write_text("of another run")
    run(inputs, ram_path / "o")
    for name in others:
        assert (ram_path / name).read_text() == "of another run"


@pytest.mark.parametrize("content", ["Dear diary,\n", "20241122", "\0" * 9])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_named_like_the_journal_stays(ram_path: Path, overwrite: bool, content: str) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(3))
    (ram_path / "folder").mkdir()
    for sink, name in ((ram_path / "o", "o.journal"), (ram_path / "folder", "folder/journal")):
        (ram_path / name).write_text(content)
        before = sorted(ram_path.rglob("*"))
        with pytest.raises(ValueError, match=f"{name}: not a journal"):
            run(inputs, sink, overwrite=overwrite)
        assert (ram_path / name).read_text() == content
        assert sorted(ram_path.rglob("*")) == before


def test_a_journal_that_is_a_link_is_refused(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(3))
    (ram_path / "mine").write_text("")
    (ram_path / "o.journal").symlink_to(ram_path / "mine")
    with pytest.raises(FileExistsError, match=r"a link.*o\.journal"):
        run(inputs, ram_path / "o")
    assert (ram_path / "o.journal").is_symlink()


@pytest.mark.parametrize("name", ["o.npy.partial", "o.lengths.partial", "o.manifest.json.partial", "o_val.npy.partial"])
@pytest.mark.parametrize("link", [False, True])
def test_a_temporary_name_that_is_taken(ram_path: Path, name: str, link: bool) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(3))
    (ram_path / "mine").write_text("mine")
    if link:
        (ram_path / name).symlink_to(ram_path / "mine")
    else:
        (ram_path / name).write_text("mine")
    for _ in range(2):
        with pytest.raises(FileExistsError, match=name):
            run(inputs, ram_path / "o")
        assert (ram_path / name).read_text() == "mine"
        assert not (ram_path / "o.journal").exists()
    run(inputs, ram_path / "o", overwrite=True)
    assert (ram_path / "mine").read_text() == "mine"


def test_a_finished_run_leaves_a_file_named_like_its_journal(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(3))
    run(inputs, ram_path / "o")
    (ram_path / "o.journal").write_text("mine\n")
    run(inputs, ram_path / "o")
    assert (ram_path / "o.journal").read_text() == "mine\n"


def test_an_output_that_is_a_broken_link_is_not_written_through(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(3))
    for name in ("o.npy", "o.offsets.npy", "o.manifest.json"):
        (ram_path / name).symlink_to(ram_path / "elsewhere")
        with pytest.raises(OSError, match=name):
            run(inputs, ram_path / "o")
        assert not (ram_path / "elsewhere").exists()
        (ram_path / name).unlink()
        for left in ram_path.glob("o.*"):
            left.unlink()


def test_overwrite_deletes_only_files_of_the_output(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(3))
    made = Path(run(inputs, ram_path / "o")["manifest"])
    manifest = json.loads(made.read_text())
    (ram_path / "thesis.txt").write_text("mine")
    manifest["files"].append({**manifest["files"][0], "name": "thesis.txt"})
    made.write_text(json.dumps(manifest))
    run(inputs, ram_path / "o", overwrite=True)
    assert (ram_path / "thesis.txt").read_text() == "mine"


def interrupted(ram_path: Path, monkeypatch: pytest.MonkeyPatch, inputs: list[Path], **options: Any) -> None:
    undo = crash_at(monkeypatch, ram_path, 12)
    with pytest.raises(Crash):
        task_of(inputs, ram_path, **options).run()
    undo()
    assert (ram_path / "o.journal").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="finds files by /proc")
def test_a_journal_of_other_options_or_inputs_is_refused(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(60))
    interrupted(ram_path, monkeypatch, inputs, shard_tokens=700)
    before = outputs(ram_path)
    with pytest.raises(ValueError, match=r"begun with shard_tokens 700, now 800.*overwrite=True"):
        task_of(inputs, ram_path, shard_tokens=800).run()
    with pytest.raises(ValueError, match="begun with 3 inputs, now 2"):
        task_of(inputs[:2], ram_path, shard_tokens=700).run()
    other = replace(task_of(inputs, ram_path, shard_tokens=700), tokenizer=byte_codec(300))
    with pytest.raises(ValueError, match=r"begun with tokenizer bytes \(bytes-25\), now bytes \(bytes-30\)"):
        other.run()
    os.utime(inputs[1], ns=(1, 1))
    with pytest.raises(ValueError, match=r"jsonl\.gz, which has been changed or touched since"):
        task_of(inputs, ram_path, shard_tokens=700).run()
    assert outputs(ram_path) == before
    replace(task_of(inputs, ram_path, shard_tokens=800), overwrite=True).run()


@pytest.mark.skipif(sys.platform != "linux", reason="finds files by /proc")
def test_a_run_that_cannot_go_on_leaves_no_thread(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(60))
    options = {"val_fraction": 0.5, "seed": 1}
    undo = crash_at(monkeypatch, ram_path, 19)
    with pytest.raises(Crash):
        task_of(inputs, ram_path, **options).run()
    undo()
    part = ram_path / "o_val.npy.partial"  # the second of the two
    data = bytearray(part.read_bytes())
    data[128] ^= 1  # the first token: what was written after the last record of the journal does not count
    part.write_bytes(data)
    before = running_threads()
    with pytest.raises(ValueError, match=r"o_val.*overwrite=True"):
        task_of(inputs, ram_path, **options).run()
    assert running_threads() == before


@pytest.mark.skipif(sys.platform != "linux", reason="finds files by /proc")
def test_overwriting_goes_on_too(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(60))
    for name in ("whole", "part"):
        (ram_path / name).mkdir()
    task_of(inputs, ram_path / "whole", shard_tokens=300).run()
    task = replace(task_of(inputs, ram_path / "part", shard_tokens=300), overwrite=True)
    replace(task, options=Options(shard_tokens=5000)).run()
    undo = crash_at(monkeypatch, ram_path / "part", 40)
    with pytest.raises(Crash):
        task.run()
    undo()
    log: list[str] = []
    assert task.run(log=log.append)["tokens_before"] > 0
    assert log[0].startswith("going on from ")
    assert outputs(ram_path / "part") == outputs(ram_path / "whole")


def test_standard_input_begins_anew(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed, it cannot be read again; finished, nothing says whether it is the same."""

    def give(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    data = "<|endoftext|>".join(some_documents(80))
    give(data)
    (ram_path / "part").mkdir()
    interrupted(ram_path / "part", monkeypatch, [Path("-")], input_kind="text")
    give("other")
    log: list[str] = []
    task_of([Path("-")], ram_path / "part", input_kind="text").run(log=log.append)
    assert log == ["begins anew: the input can be read only once"]
    assert texts_in(ram_path / "part" / "o.npy") == ["other"]
    give("more")
    with pytest.raises(FileExistsError, match=r"- can be read only once, .* overwrite=True"):
        task_of([Path("-")], ram_path / "part", input_kind="text").run()


def test_a_task_is_picklable_and_runs_elsewhere(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(30))
    (ram_path / "out").mkdir()
    task = task_of(inputs, ram_path / "out", shard_tokens=300)
    copy = pickle.loads(pickle.dumps(task))
    assert copy.run_digest == task.run_digest
    copy.run(jobs=2)
    assert pickle.loads(pickle.dumps(task)).run()["documents"] == 30


def test_manifest(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(30))
    made = run(inputs, ram_path / "o", shard_tokens=400)
    manifest = json.loads(Path(made["manifest"]).read_text())
    assert {name: manifest[name] for name in ("format", "dtype", "eot", "documents", "tokens")} == {
        "format": "npy", "dtype": "uint16", "eot": "append", "documents": 30, "tokens": made["tokens"],
    }  # fmt: skip
    assert manifest["bytes"] == sum(len(text.encode()) for text in some_documents(30))
    assert manifest["tokens"] == manifest["bytes"] + 30
    assert manifest["tokenizer"] == {
        "name": "bytes", "fingerprint": "bytes-257", "vocab_size": 257, "eot_id": 256, "eot_text": "<|endoftext|>",
    }  # fmt: skip
    assert set(manifest["libraries"]) == {"bpetite", "regex", "unicode", "orjson"}
    for file in manifest["files"]:
        data = (ram_path / file["name"]).read_bytes()
        assert (file["bytes"], file["checksum"]) == (len(data), plain_sums(data))
    tokens = {file["name"]: file["tokens"] for file in manifest["files"] if ".offsets" not in file["name"]}
    assert sum(tokens.values()) == manifest["tokens"]
    assert [file["path"] for file in manifest["inputs"]["files"]] == [str(path) for path in inputs]


@pytest.mark.parametrize("format", FORMATS)
def test_empty_input(ram_path: Path, format: str) -> None:
    (ram_path / "in.txt").write_bytes(b"")
    assert run(ram_path / "in.txt", ram_path / "o", format=format)["documents"] == 0
    from bpetite.corpus.layouts.registry import layout_in, open_in
    from bpetite.corpus.run.outputs import find_manifest

    found = find_manifest(ram_path / "o")
    assert found is not None
    for shard in found[2] if layout_in(found[1]).reader is None else ():
        file = open_in(ram_path, found[1], shard[0]["name"])
        assert file.tokens == 0
        assert list(file.spans()) == [] or all(not len(span.tokens) for span in file.spans())


def test_two_runs_of_one_output_do_not_mix(ram_path: Path) -> None:
    from bpetite.corpus.output.durable import Journal

    inputs = write_inputs(ram_path / "in", some_documents(3))
    journal = Journal(ram_path / "o.journal")
    with pytest.raises(BlockingIOError, match="another run is writing"):
        run(inputs, ram_path / "o")
    journal.close()


def test_read_only_output(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(3))
    with pytest.raises(OSError, match="/proc"):
        run(inputs, Path("/proc/bpetite/o"))
    (ram_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        run(inputs, ram_path / "file" / "o")


LIMITED = """
import resource, signal, sys
sys.path[:0] = {path!r}
from corpus_tools import byte_codec
from bpetite.corpus import encode_corpus
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
if {limit}:
    resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
try:
    encode_corpus([{source!r}], {out!r}, byte_codec(), format={format!r}, shard_tokens={shard})
except OSError as error:
    sys.exit(f"OSError {{error.errno}} {{error.filename}} {{error.strerror}}")
"""


@pytest.mark.parametrize("format", slow_but(CRASHED, "npy", "nanogpt"))
@pytest.mark.skipif(sys.platform != "linux", reason="limits file sizes")
def test_no_room(ram_path: Path, format: str) -> None:
    source = ram_path / "in.jsonl"
    documents = ["x" * 5_000] * 20 + ["y" * 200_000]
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    path = PYTHONPATH.split(os.pathsep)

    def attempt(out: Path, limit: int) -> subprocess.CompletedProcess[str]:
        code = LIMITED.format(path=path, limit=limit, source=str(source), out=str(out), format=format, shard=50_000)
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    for name in ("a", "b"):
        (ram_path / name).mkdir()
    assert attempt(ram_path / "a" / "o", 0).returncode == 0
    failed = attempt(ram_path / "b" / "o", 120_000 if format != "parquet" else 210_000)
    if format not in ("nanogpt", "llmc"):  # their shards are cut anywhere, so none is too large
        assert failed.returncode == 1
        assert f"OSError {errno.EFBIG}" in failed.stderr
        assert "finished shards are whole" in failed.stderr
    assert attempt(ram_path / "b" / "o", 0).returncode == 0
    assert outputs(ram_path / "b") == outputs(ram_path / "a")


@pytest.mark.exhaustive
def test_a_document_of_200_megabytes(tmp_path: Path) -> None:
    text = ("lorem ipsum dolor sit amet\n" * 7_700_000)[:200_000_000]
    (tmp_path / "in.txt").write_text(f"first<|endoftext|>{text}<|endoftext|>last")
    run(tmp_path / "in.txt", tmp_path / "o", jobs=2, shard_tokens=1_000_000)
    assert texts_in(tmp_path / "o_000001.npy") == [text]
    assert texts_in(tmp_path / "o_000002.npy") == ["last"]
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": text}))
    run(tmp_path / "in.jsonl", tmp_path / "p")
    assert texts_in(tmp_path / "p.npy") == [text]
    (tmp_path / "in.json").write_text(json.dumps([{"text": text}]))
    run(tmp_path / "in.json", tmp_path / "q")
    assert texts_in(tmp_path / "q.npy") == [text]
