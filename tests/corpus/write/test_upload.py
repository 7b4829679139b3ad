"""Outputs at URLs: what a store refuses, whose output it is, and who goes on with it; by name.

Kills, failing calls and changes of the machine are drawn by test_model.py.
"""
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import outputs, plan_of, some_documents, write_inputs
from faulty_store import Fault, failing, faulty, fresh

from bpetite.corpus import Plan, merge_outputs, open_token_file
from bpetite.corpus.merge import find_manifest
from bpetite.corpus.run import run
from bpetite.corpus.write.manifest import VERSION
from bpetite.errors import FormatError

pytest.importorskip("fsspec")


@pytest.fixture
def work(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with inputs and, as "temporary", that of outputs that grow."""
    monkeypatch.setattr(tempfile, "tempdir", str(ram_path / "temporary"))
    (ram_path / "temporary").mkdir()
    write_inputs(ram_path / "in", some_documents(120))
    for protocol in ("memory", "faulty"):
        fresh(protocol)
    return ram_path


def plan(work: Path, output: Any, *, often: bool = True, **options: Any) -> Plan:
    return plan_of([work / "in"], output, 400, **{
        "shard_tokens": 300, "checkpoint_seconds": 0 if often else 10, **options
    })  # fmt: skip


def local(work: Path, **options: Any) -> dict[str, bytes]:
    """What the same run writes into a folder."""
    folder = work / f"local{len(list(work.iterdir()))}"
    run(plan(work, folder / "o", **options))
    return outputs(folder)


def view(protocol: str) -> Any:
    import fsspec

    return fsspec.filesystem(protocol)


def stored(protocol: str = "memory") -> dict[str, bytes]:
    """name -> bytes of the objects of an output."""
    objects = sorted(view(protocol).store.items())
    return {path.rpartition("/")[2]: one.getvalue() for path, one in objects if "/out/" in path}


def reset(first: int) -> Fault:
    """Uploads fail, from one on."""
    return failing("put", ConnectionError("reset"), first=first)


def interrupted(work: Path) -> None:
    with faulty(reset(30)), pytest.raises(OSError):
        run(plan(work, "faulty://out/o"))


def test_it_is_read_and_found_as_a_local_one(work: Path) -> None:
    options = {"val_fraction": 0.3, "rejected": True, "on_error": "skip"}
    summary = run(plan(work, "memory://out/o", **options), jobs=2)
    assert stored() == local(work, **options)
    assert summary["manifest"] == "memory://out/o.manifest.json"
    assert not list((work / "temporary").glob("*/*"))  # nothing is left here
    again = run(plan(work, "memory://out/o", **options))
    assert {**again, "seconds": 0} == {**summary, "seconds": 0}
    found = find_manifest("memory://out/o")
    assert found is not None
    names = [file["name"] for file in found[1]["files"] if ".offsets" not in file["name"]]
    assert sum(open_token_file(found[0].parent / name).tokens for name in names) == summary["tokens"]
    run(plan(work, "memory://out/"))
    assert {"tokens_000000.npy", "manifest.json"} <= {*stored()}


def test_an_upload_that_fails_half_way(work: Path) -> None:
    """Or of which the store says that other bytes are there: it goes on."""
    whole, store = local(work), view("faulty")

    def cut(name: str, path: str) -> None:
        for there in store.store:
            if there.endswith("o_000001.npy") and name == "info":
                store.store[there].truncate(100)

    for fault, says in (
        (reset(15), "uploading failed 5 times, at last with ConnectionError: reset"),
        (cut, "100 bytes arrived of"),
    ):
        fresh("faulty")
        with faulty(fault), pytest.raises(OSError, match=says) as raised:
            run(plan(work, "faulty://out/o"))
        assert str(raised.value.filename).startswith("faulty://out/o")
        finished = {name: data for name, data in stored("faulty").items() if not name.startswith("o.")}
        assert fault is cut or finished.items() <= whole.items()
        made = run(plan(work, "faulty://out/o"))
        assert fault is cut or made["tokens_before"] > 0
        assert stored("faulty") == whole


def test_a_store_that_refuses_is_found_out_at_the_start(work: Path) -> None:
    with (
        faulty(failing("put", PermissionError("read-only"))) as calls,
        pytest.raises(PermissionError, match=r"the store refuses: PermissionError: read-only.*o\.partial\.state\.json"),
    ):
        run(plan(work, "faulty://out/o"))
    assert sum(call[0] == "put" for call in calls) == 1
    assert stored("faulty") == {}
    assert not list((work / "temporary").glob("*/*"))


@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize("options", [{}, {"format": "llmc", "shard_tokens": 500, "rejected": True, "on_error": "skip"}])
def test_machines_take_turns(
    work: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], turns: int
) -> None:
    """The state in the store counts, and not that of a machine that has been replaced since. With two turns, a machine
    first sends what it could not send in its turn before."""
    done = []
    for turn in range(60):
        folder = work / f"machine {turn // turns % 2}"
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        folder.mkdir(exist_ok=True)
        said: list[str] = []
        try:
            with faulty(reset(9 + turn % 5)):
                run(plan(work, "faulty://out/o", **options), log=said.append)
            break
        except OSError:
            going_on = [line for line in said if line.startswith("going on")]
            done += [int(line.split(" documents")[0].split()[-1]) for line in going_on]
    assert len(done) > 2
    assert done == sorted(done)
    assert stored("faulty") == local(work, **options)


def test_another_run_on_another_machine(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(work)
    before = stored("faulty")
    monkeypatch.setattr(tempfile, "tempdir", tempfile.mkdtemp(dir=work))
    with pytest.raises(ValueError, match="begun with shard_tokens 300, now 200"):
        run(plan(work, "faulty://out/o", shard_tokens=200))
    assert stored("faulty") == before
    run(plan(work, "faulty://out/o", shard_tokens=200, overwrite=True))
    whole = local(work, shard_tokens=200)
    assert stored("faulty") == whole
    with pytest.raises(FileExistsError, match="exists already: made with shard_tokens 200, now 300"):
        run(plan(work, "faulty://out/o"))
    run(plan(work, "faulty://out/o", shard_tokens=2000, overwrite=True))
    assert stored("faulty") == local(work, shard_tokens=2000)
    assert len(stored("faulty")) < len(whole)
    for name, says in (("o", r"o_000000\.npy has changed"), ("p", r"exists already.*p_000000\.npy")):
        view("faulty").pipe(f"/out/{name}_000000.npy", b"of something else")
        with pytest.raises(FileExistsError, match=says):
            run(plan(work, f"faulty://out/{name}", shard_tokens=2000))


def test_a_claim_that_a_finished_run_has_left(work: Path) -> None:
    """A run whose files all fit one shard has only a claim in the store; a process killed at its end leaves it."""
    one = plan(work, "memory://out/o", often=False, shard_tokens=None)
    run(one)
    claim = {"version": VERSION, "identity": None, "copied": {}, "claim": {"host": "other", "folder": "x"}}
    view("memory").pipe_file("/out/o.partial.state.json", json.dumps(claim).encode())
    run(one)
    assert {*stored()} == {"o.npy", "o.offsets.npy", "o.manifest.json"}


def test_a_run_that_has_been_replaced_ends(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second writer on another machine takes the output over; the first one finds that at its next shard."""
    said: list[str] = []

    def elsewhere(raw: int, tokens: int, documents: int) -> None:
        if documents > 60 and not said:
            said.append("begun")
            with monkeypatch.context() as there:
                there.setattr(tempfile, "tempdir", tempfile.mkdtemp(dir=work))
                with faulty(reset(2)), pytest.raises(OSError, match="uploading"):
                    run(plan(work, "faulty://out/o"))

    with pytest.raises(BlockingIOError, match=r"taken over by .*o\.partial\.state\.json"):
        run(plan(work, "faulty://out/o"), progress=elsewhere)
    assert run(plan(work, "faulty://out/o"))["tokens_before"] > 0
    assert stored("faulty") == local(work)


def test_objects_that_are_gone_or_changed_when_a_run_goes_on(work: Path) -> None:
    interrupted(work)
    shutil.rmtree(next((work / "temporary").iterdir()))
    store, copies = view("faulty"), [name for name in stored("faulty") if name.startswith("o.partial.o_")]
    whole = stored("faulty")["o_000000.npy"]
    store.pipe("/out/o_000000.npy", b"short")
    with pytest.raises(FormatError, match=r"faulty://out/o_000000\.npy: has changed since it was written"):
        run(plan(work, "faulty://out/o"))
    store.pipe("/out/o_000000.npy", whole)
    shutil.rmtree(next((work / "temporary").iterdir()))
    data = stored("faulty")[copies[0]]
    store.pipe(f"/out/{copies[0]}", data[:5])
    with pytest.raises(FormatError, match=rf"{copies[0]}: 5 bytes, not "):
        run(plan(work, "faulty://out/o"))
    store.pipe(f"/out/{copies[0]}", data)
    run(plan(work, "faulty://out/o"))
    assert stored("faulty") == local(work)


def test_local_disk_is_bounded(work: Path) -> None:
    """Only some shards are here at a time."""
    most = 0

    def fault(name: str, path: str) -> None:
        nonlocal most
        if name == "put":
            most = max(most, len(list((work / "temporary").glob("*/*/*.npy"))))

    with faulty(fault):
        run(plan(work, "faulty://out/o", shard_tokens=100))
    assert len(stored("faulty")) > 60
    assert most < 30


def test_ranks_and_merging_from_and_to_folders(work: Path) -> None:
    options = {"shard_tokens": None, "rejected": True, "on_error": "skip"}
    for rank in range(2):
        for output in ("memory://ranks/o", work / "ranks" / "o"):
            run(plan(work, output, rank=rank, world_size=2, **options))
    merge_outputs(work / "here" / "o", [f"memory://ranks/o.rank0000{rank}of00002.manifest.json" for rank in range(2)])
    merge_outputs("memory://out/o", [work / "ranks" / f"o.rank0000{rank}of00002" for rank in range(2)])
    assert stored() == outputs(work / "here") == local(work, **options)
    with pytest.raises(FileExistsError, match="exists already"):
        run(plan(work, "memory://out/o", rank=0, world_size=1, **{**options, "eot": "none"}))


def test_an_output_among_its_inputs_is_not_read(work: Path) -> None:
    """Finished or not, also where its files have the suffix of an input."""
    pytest.importorskip("pyarrow")
    store = view("faulty")
    for path in (work / "in").iterdir():
        store.pipe_file(f"/all/{path.name}", path.read_bytes())

    def begun() -> Plan:
        often: dict[str, Any] = {"checkpoint_seconds": 0, "on_error": "skip", "format": "parquet", "shard_tokens": 300}
        return plan_of(["faulty://all/*"], "faulty:///all/o", 400, **often)

    with faulty(reset(12)), pytest.raises(OSError):
        run(begun())
    assert any(path.endswith("partial.state.json") for path in store.store)
    assert any(path.endswith(".parquet") for path in store.store)
    made = run(begun())
    assert made["tokens_before"] > 0
    assert run(begun())["documents"] == made["documents"] == 120
