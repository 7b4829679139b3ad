"""Outputs at URLs: the same bytes as local ones, whatever fails, and resumed from a local folder."""
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cluster_tools import contents
from corpus_tools import FORMATS, byte_codec, outputs, some_documents, write_inputs
from faulty_store import DiskStore, every, faulty, fresh
from tiers import slow_but

from bpetite.corpus import Options, Part, make_part, merge_outputs
from bpetite.corpus.layouts.registry import layout_in, open_in
from bpetite.corpus.output.checksums import check_file
from bpetite.corpus.output.durable import Journal
from bpetite.corpus.output.upload import Publisher
from bpetite.corpus.run.outputs import find_manifest


@pytest.fixture
def work(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with inputs and, as "staging", that of outputs that grow."""
    monkeypatch.setattr("tempfile.tempdir", str(ram_path / "temporary"))
    (ram_path / "temporary").mkdir()
    write_inputs(ram_path / "in", some_documents(120))
    for protocol in ("memory", "faulty"):
        fresh(protocol)
    return ram_path


def task_of(work: Path, sink: Any, *, often: bool = True, overwrite: bool = False, **options: Any) -> Part:
    options = {"shard_tokens": 300, **options}
    task = make_part([work / "in"], sink, byte_codec(), options=Options(**options), overwrite=overwrite)
    return replace(task, block=400, checkpoint_seconds=0 if often else 10)


def local(work: Path, **options: Any) -> dict[str, bytes]:
    """What the same run writes into a folder."""
    folder = work / f"local{len(list(work.iterdir()))}"
    task_of(work, folder / "o", **options).run()
    return outputs(folder)


def stored(protocol: str = "memory") -> dict[str, bytes]:
    """name -> bytes of the objects of an output, but for the record of its runs."""
    store = fresh_view(protocol)
    paths = [path for path in sorted(store.store) if "/out/" in path and not path.endswith((".runs", "/runs"))]
    return {path.rpartition("/")[2]: store.store[path].getvalue() for path in paths}


def fresh_view(protocol: str) -> Any:
    import fsspec

    return fsspec.filesystem(protocol)


@pytest.mark.parametrize("format", slow_but(FORMATS, "npy", "parquet"))
def test_the_same_bytes_as_a_local_output(work: Path, format: str) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    options = {"format": format, "val_fraction": 0.3, "rejected": True, "on_error": "skip"}
    if format == "llmc":
        options |= {"shuffle": 1, "memory": 20_000}
    summary = task_of(work, "memory://out/o", **options).run(jobs=2)
    task_of(work, work / "here" / "o", **options).run()
    assert stored() == outputs(work / "here")
    assert summary["manifest"] == "memory://out/o.manifest.json"
    assert not list((work / "temporary").glob("*/*"))  # nothing is left here
    again = task_of(work, "memory://out/o", **options).run()
    assert {**again, "seconds": 0} == {**summary, "seconds": 0}
    found = find_manifest("memory://out/o")
    assert found is not None
    path, manifest, shards = found
    for listed in manifest["files"]:
        check_file(path.parent / listed["name"], listed, 2)
    for shard in shards if layout_in(manifest).reader is None else ():
        there, here = (open_in(folder, manifest, shard[0]["name"]) for folder in (path.parent, work / "here"))
        for one, other in zip(there.spans(), here.spans(), strict=True):
            assert one.tokens.tolist() == other.tokens.tolist()


@pytest.mark.parametrize("format", ["mds", "litdata"])
def test_layouts_with_a_file_of_all_shards(work: Path, format: str) -> None:
    for _ in range(2):
        task_of(work, "memory://out/o", format=format).run()
    task_of(work, work / "here" / "o", format=format).run()
    assert stored() == outputs(work / "here" / "o")
    assert "index.json" in stored()


def test_shuffled(work: Path) -> None:
    options = {"shuffle": 3}
    with faulty(failing("put", 4, ConnectionError("reset"))), pytest.raises(OSError, match="uploading failed"):
        task_of(work, "faulty://out/o", **options).run()
    task_of(work, "faulty://out/o", **options).run()
    assert stored("faulty") == local(work, **options)
    assert not list((work / "temporary").glob("*/*"))


def test_a_folder_of_its_own(work: Path) -> None:
    task_of(work, "memory://out/").run()
    assert {"tokens_000000.npy", "manifest.json"} <= set(stored())
    assert not any("unfinished" in name for name in stored())


@pytest.mark.parametrize("count", [4, 5, 8, 13])
def test_errors_that_pass_change_nothing(work: Path, count: int) -> None:
    with faulty(every(count)):
        task_of(work, "faulty://out/o").run(jobs=2)
    assert stored("faulty") == local(work)


def failing(name: str, number: int, error: Exception) -> Callable[[str, str], None]:
    """Calls of this name fail from one on."""
    made = 0

    def fault(called: str, path: str) -> None:
        nonlocal made
        made += called == name
        if called == name and made >= number:
            raise error

    return fault


@pytest.mark.parametrize("number", [6, 9, 15, 40])
def test_an_upload_that_fails_half_way(work: Path, number: int) -> None:
    with faulty(failing("put", number, ConnectionError("reset"))), pytest.raises(OSError) as raised:
        task_of(work, "faulty://out/o").run()
    assert "uploading failed 5 times, at last with ConnectionError: reset" in str(raised.value)
    assert str(raised.value.filename).startswith("faulty://out/o")
    whole = local(work)
    there = stored("faulty")
    assert "o.manifest.json" not in there
    finished = {name: data for name, data in there.items() if not name.startswith("o.") and ".partial." not in name}
    assert finished.items() <= whole.items()
    summary = task_of(work, "faulty://out/o").run()
    assert summary["tokens_before"] > 0
    assert stored("faulty") == whole


def test_a_store_that_refuses_is_found_out_at_the_start(work: Path) -> None:
    with (
        faulty(failing("put", 1, PermissionError("read-only"))) as calls,
        pytest.raises(PermissionError, match=r"the store refuses: PermissionError: read-only.*o\.unfinished"),
    ):
        task_of(work, "faulty://out/o").run()
    assert sum(call[0] == "put" for call in calls) == 1
    assert stored("faulty") == {}
    assert not list((work / "temporary").glob("*/*"))


def test_other_bytes_than_were_written(work: Path) -> None:
    """A store that says that other bytes are there."""
    store = fresh_view("faulty")

    def fault(name: str, path: str) -> None:
        for there in store.store:
            if there.endswith("o_000001.npy") and name == "info":
                store.store[there].truncate(100)

    with faulty(fault), pytest.raises(OSError, match=r"100 bytes arrived of"):
        task_of(work, "faulty://out/o").run()
    task_of(work, "faulty://out/o").run()
    assert stored("faulty") == local(work)


def test_nothing_stays_of_a_run_that_was_killed_as_it_claimed_its_output(work: Path) -> None:
    task = task_of(work, "memory://out/o")
    task.names.folder.mkdir(parents=True)
    task.names.sibling("unfinished.partial").write_bytes(b"{")
    with pytest.raises(FileExistsError, match="no journal says that a run made it"):
        task.run()
    Journal(task.names.journal).close()  # as that run has made it
    task.run()
    assert not list((work / "temporary").glob("*/*"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("delete", slow_but([False, True], True))
@pytest.mark.parametrize("new", slow_but([False, True], True))
def test_a_merge_killed_at_every_change_of_the_store(work: Path, delete: bool, new: bool) -> None:
    """It goes on from wherever it was killed, on the same machine or a new one, to the same objects."""
    sink = f"disk://{work}/out/o"
    make_ranks(work, sink, 2, shard_tokens=3000)
    call = partial(merge_outputs, sink, delete=delete)
    assert run_killed(partial(on_a_new_machine, work, call) if new else call, 200, 100) > 3
    make_ranks(work, work / "here" / "o", 2, shard_tokens=3000)
    merge_outputs(work / "here" / "o", delete=delete)
    assert outputs(work / "out") == outputs(work / "here")
    assert any((work / "out").glob("*.rank*")) != delete
    assert new or not list((work / "temporary").glob("*/*"))


def test_outputs_of_other_runs(work: Path) -> None:
    task_of(work, "memory://out/o").run()
    with pytest.raises(FileExistsError, match=r"exists already: made with shard_tokens 300, now 200"):
        task_of(work, "memory://out/o", shard_tokens=200).run()
    before = stored()
    store = fresh_view("memory")
    store.pipe("/out/o_000077.npy", b"of a run whose journal is lost")
    task_of(work, "memory://out/o", shard_tokens=2000, overwrite=True).run()
    assert stored() == local(work, shard_tokens=2000)
    assert len(stored()) < len(before)
    store.pipe("/out/o_000000.npy", b"changed")
    with pytest.raises(FileExistsError, match=r"o_000000\.npy has changed"):
        task_of(work, "memory://out/o", shard_tokens=2000).run()
    store.pipe("/out/p_000001.npy", b"of something else")
    with pytest.raises(FileExistsError, match=r"memory://out/p_000001\.npy|p_000001\.npy"):
        task_of(work, "memory://out/p").run()


def interrupted(work: Path, put: int = 30) -> None:
    with faulty(failing("put", put, ConnectionError("reset"))), pytest.raises(OSError):
        task_of(work, "faulty://out/o").run()


def test_a_run_whose_local_files_are_lost(work: Path) -> None:
    interrupted(work)
    shutil.rmtree(next((work / "temporary").iterdir()))
    assert task_of(work, "faulty://out/o").run()["tokens_before"] > 0
    assert stored("faulty") == local(work)


@pytest.mark.parametrize("options", [{}, {"shard_tokens": None}, {"format": "llmc", "shard_tokens": None}])
def test_machines_take_turns(work: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    """The state in the store counts, and not that of a machine that has been replaced since."""
    going_on = []
    for turn in range(40):
        monkeypatch.setattr("tempfile.tempdir", str(work / f"machine {turn % 2}"))
        (work / f"machine {turn % 2}").mkdir(exist_ok=True)
        said: list[str] = []
        try:
            with faulty(failing("put", 12, ConnectionError("reset"))):
                task_of(work, "faulty://out/o", **options).run(log=said.append)
            break
        except OSError:
            going_on += [line for line in said if line.startswith("going on")]
    documents = [int(line.split(" documents")[0].split()[-1]) for line in going_on]
    assert len(documents) == turn - 1 > 1
    assert documents == sorted(documents)
    assert stored("faulty") == local(work, **options)
    with pytest.raises(FileExistsError, match="made with eot"):
        task_of(work, "faulty://out/o", eot="none", **options).run()


def test_another_run_on_another_machine(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(work)
    before = stored("faulty")
    monkeypatch.setattr("tempfile.tempdir", tempfile.mkdtemp(dir=work))
    with pytest.raises(ValueError, match=r"begun with shard_tokens 300, now 200; give the same command again"):
        task_of(work, "faulty://out/o", shard_tokens=200).run()
    assert stored("faulty") == before
    task_of(work, "faulty://out/o", shard_tokens=200, overwrite=True).run()
    assert stored("faulty") == local(work, shard_tokens=200)


def test_a_run_that_has_been_replaced_ends(work: Path) -> None:
    task = task_of(work, "memory://out/o")

    def replaced(raw: int, tokens: int, documents: int) -> None:
        if documents > 60 and not claimed:
            claimed.append(journal)
            Publisher(task.names, journal).claim()

    claimed: list[Journal] = []
    journal = Journal(work / "j")
    with pytest.raises(BlockingIOError, match=r"taken over by .*: 'memory://out/o.unfinished'"):
        task.run(progress=replaced)
    journal.close()
    assert task.run()["tokens_before"] > 0
    assert stored() == local(work)


def test_objects_that_are_gone_or_changed_when_a_run_goes_on(work: Path) -> None:
    interrupted(work)
    fresh_view("faulty").pipe("/out/o_000000.npy", b"short")
    with pytest.raises(ValueError, match=r"faulty://out/o_000000\.npy: finished by an earlier run, but missing or"):
        task_of(work, "faulty://out/o").run()


def test_ranks(work: Path) -> None:
    for rank in range(2):
        for sink in ("memory://out/o", work / "local" / "o"):
            make_part([work / "in"], sink, byte_codec(), rank=rank, world_size=2, options=Options()).run()
    assert stored() == outputs(work / "local")


def test_an_output_among_its_inputs(work: Path) -> None:
    store = fresh_view("memory")
    store.pipe("/out/a.jsonl", b'{"text": "a"}\n')
    for number in (1, 2):
        task = make_part(["memory://out"], "memory:///out/o.jsonl", byte_codec(), options=Options(format="parquet"))
        assert task.run()["documents"] == 1
        assert bool(task.left_out) == (number == 2)


def test_local_disk_is_bounded(work: Path) -> None:
    """Only some shards are here at a time."""
    most = 0

    def fault(name: str, path: str) -> None:
        nonlocal most
        if name == "put":
            most = max(most, len(list((work / "temporary").glob("*/*/*.partial"))))

    with faulty(fault):
        task_of(work, "faulty://out/o", shard_tokens=100).run()
    assert len(stored("faulty")) > 60
    assert most < 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize(
    ("format", "shard_tokens", "new"),
    [
        ("npy", 2000, True),
        pytest.param("npy", 900, False, marks=pytest.mark.slow),
        *(
            pytest.param(format, shard_tokens, True, marks=pytest.mark.slow)
            for format, shard_tokens in [("llmc", None), ("nanogpt", 900), ("parquet", 900)]
        ),
    ],
)
def test_kills_at_every_change_of_the_store(work: Path, format: str, shard_tokens: int | None, new: bool) -> None:
    """A run is killed before and after each of its changes, and goes on from there, on the same machine or on a new one
    that has nothing but the store, to be killed again."""
    options = {"format": format, "shard_tokens": shard_tokens}
    sink = f"disk://{work}/out/o"
    call = task_of(work, sink, **options).run
    assert run_killed(partial(on_a_new_machine, work, call) if new else call, 300, 25) > 5
    assert outputs(work / "out") == local(work, **options)
    assert new or not list((work / "temporary").glob("*/*"))


def on_a_new_machine(work: Path, call: Callable[[], object]) -> object:
    """Make a call, in this process for good, with temporary files of its own."""
    tempfile.tempdir = tempfile.mkdtemp(dir=work)
    return call()


def run_killed(call: Callable[[], object], most: int, within: int) -> int:
    """Make a call in processes that end at their first, second, third change of the store, and so on up to a number,
    until it is done; returns how many have ended."""
    for step in range(1, most):
        child = os.fork()
        if not child:
            made = 0

            def die(name: str, path: str, step: int = step) -> None:
                nonlocal made
                made += 1
                if made == 1 + step % within:
                    os._exit(9)

            DiskStore.fault = die
            code = 1
            try:
                call()
                code = 0
            except BaseException as error:  # shown with the failure
                print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, 9)
        if code == 0:
            return step - 1
    pytest.fail("never done")


def test_local_runs_do_without_fsspec(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    task_of(work, work / "out" / "o").run()
    assert json.loads((work / "out/o.manifest.json").read_text())["documents"] == 120


def make_ranks(work: Path, sink: Any, world_size: int, **options: Any) -> None:
    options = {"shard_tokens": 300, "rejected": True, "on_error": "skip", **options}
    for rank in range(world_size):
        task = make_part(
            [work / "in"], sink, byte_codec(), rank=rank, world_size=world_size, options=Options(**options)
        )
        replace(task, block=400).run()


@pytest.mark.parametrize("format", ["npy", "llmc", "dolma", "mds"])
def test_merging(work: Path, format: str) -> None:
    """At a URL as in a folder: merging again and running a rank again do nothing."""
    for sink in ("memory://out/o", str(work / "here" / "o")):
        make_ranks(work, sink, 3, format=format)
        whole = merge_outputs(sink)
        assert merge_outputs(sink) == whole
        make_ranks(work, sink, 3, format=format)
    folder = work / "here"
    there = contents(folder)
    store = fresh_view("memory")
    kept = [path for path in store.store if not path.endswith("runs")]
    assert {path.removeprefix("/out/"): store.store[path].getvalue() for path in kept} == there
    assert any(".rank" in name for name in there)
    assert not list((work / "temporary").glob("*/*"))
    merge_outputs("memory://out/o", delete=True)
    assert not any(".rank" in name for name in store.store)


def test_merging_in_a_store_with_folders(work: Path) -> None:
    (work / "out").mkdir()
    make_ranks(work, f"local://{work}/out/o", 2)
    merge_outputs(f"local://{work}/out/o")
    make_ranks(work, work / "here" / "o", 2)
    merge_outputs(work / "here" / "o")
    assert outputs(work / "out") == outputs(work / "here")


def test_merging_from_and_to_folders(work: Path) -> None:
    make_ranks(work, "memory://ranks/o", 2)
    make_ranks(work, work / "ranks" / "o", 2)
    given = [f"memory://ranks/o.rank0000{rank}of00002.manifest.json" for rank in range(2)]
    merge_outputs(work / "here" / "o", given)
    merge_outputs("memory://out/o", [work / "ranks" / f"o.rank0000{rank}of00002" for rank in range(2)])
    assert stored() == outputs(work / "here")
    make_ranks(work, "memory://more/o", 3, shard_tokens=200)
    with pytest.raises(FileExistsError, match="exists already"):
        merge_outputs("memory://out/o", [f"memory://more/o.rank0000{rank}of00003" for rank in range(3)])


@pytest.mark.parametrize("number", [1, 2, 4, 9])
def test_a_merge_that_fails(work: Path, number: int) -> None:
    make_ranks(work, "faulty://out/o", 2)
    with faulty(failing("put", number, ConnectionError("reset"))), pytest.raises(OSError, match="uploading failed 5"):
        merge_outputs("faulty://out/o")
    assert not any(name.startswith("o.manifest") for name in stored("faulty"))
    merge_outputs("faulty://out/o")
    make_ranks(work, work / "here" / "o", 2)
    merge_outputs(work / "here" / "o")
    assert stored("faulty") == outputs(work / "here")
