"""What stands in the way of a run that goes on: changed inputs and files, other runs, and what is no run's; by name.

Kills, losses of power and full disks are drawn by test_model.py.
"""
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import FORMATS, byte_codec, contents, outputs, plan_of, run, some_documents, texts_in, write_inputs
from paths import PYTHONPATH
from running import running_threads
from tiers import slow_but

from bpetite.corpus import Plan
from bpetite.corpus.layouts.registry import layout_of
from bpetite.corpus.run import run as run_plan
from bpetite.corpus.write import partial as module
from bpetite.corpus.write.names import Names
from bpetite.errors import FormatError


class Stop(Exception):
    """The run ends here, as by Ctrl-C."""


@pytest.fixture
def inputs(ram_path: Path) -> list[Path]:
    return write_inputs(ram_path / "in", some_documents(60))


def often(inputs: list[Path], output: Path, **options: Any) -> Plan:
    """A plan with small blocks, whose state is saved after each of them."""
    return plan_of(inputs, output, 100, checkpoint_seconds=0, **options)


def begin(plan: Plan, documents: int = 25) -> None:
    """A run that is stopped in the middle."""

    def stop(raw: int, tokens: int, done: int) -> None:
        if done >= documents:
            raise Stop

    with pytest.raises(Stop):
        run_plan(plan, progress=stop)
    assert (plan.names.folder / "state.json").exists()


def check_whole(folder: Path, inputs: list[Path], **options: Any) -> None:
    """The output "out" is that of a run without an end in the middle."""
    run(inputs, folder / "whole" / "o", **options)
    assert outputs(folder / "out") == outputs(folder / "whole")


def test_other_options_or_inputs_are_refused_and_nothing_is_deleted(ram_path: Path, inputs: list[Path]) -> None:
    out = ram_path / "out" / "o"
    plan, other = often(inputs, out, shard_tokens=300), replace(byte_codec(), eot_text="<eot>")
    begin(plan)
    before = contents(ram_path / "out")
    for changed, says in (
        (often(inputs, out, shard_tokens=800), r"begun with shard_tokens 300, now 800.*overwrite=True"),
        (often(inputs[:2], out, shard_tokens=300), "begun with .*inputs.*now 2"),
        (often(inputs, out, shard_tokens=300, codec=byte_codec(300)), "begun with tokenizer .*-25.*, now .*-30"),
        (often(inputs, out, shard_tokens=300, codec=other, separator="<|endoftext|>"), "begun with eot_text "),
    ):
        with pytest.raises(ValueError, match=says):
            run_plan(changed)
    status = inputs[1].stat()
    os.utime(inputs[1], ns=(1, 1))
    with pytest.raises(ValueError, match=r"begun with .*jsonl\.gz"):
        run_plan(often(inputs, out, shard_tokens=300))
    assert contents(ram_path / "out") == before
    os.utime(inputs[1], ns=(status.st_atime_ns, status.st_mtime_ns))
    inputs[1].chmod(0o600)  # which is no change of its content
    data, status = inputs[2].read_bytes(), inputs[2].stat()
    inputs[2].write_bytes(b"[]")
    with pytest.raises(ValueError, match="has changed since the run began"):  # behind its start
        run_plan(plan)
    assert {f"o.partial/o_{number:06d}.npy" for number in range(3)} <= {*contents(ram_path / "out")}
    inputs[2].write_bytes(data)
    os.utime(inputs[2], ns=(status.st_atime_ns, status.st_mtime_ns))
    assert run_plan(often(inputs, out, shard_tokens=300))["tokens_before"] > 0
    check_whole(ram_path, inputs, shard_tokens=300)


def test_overwriting_begins_anew_and_goes_on_too(ram_path: Path, inputs: list[Path]) -> None:
    out = ram_path / "out" / "o"
    begin(often(inputs, out, shard_tokens=800))
    plan = often(inputs, out, shard_tokens=300, overwrite=True)
    begin(plan)
    said: list[str] = []
    assert run_plan(plan, log=said.append)["tokens_before"] > 0
    assert any(line.startswith("going on from ") for line in said)
    check_whole(ram_path, inputs, shard_tokens=300)
    assert run_plan(plan)["tokens_before"] == 0  # anew: it is finished


@pytest.mark.parametrize("format", FORMATS)
def test_files_that_were_changed_are_found(ram_path: Path, inputs: list[Path], format: str) -> None:
    """Whatever byte of a growing file or of a finished shard differs: the run does not go on. What comes after the
    bytes of the state does not matter."""
    plan = often(inputs, ram_path / "out" / "o", format=format, shard_tokens=300)
    begin(plan, 30)
    state = json.loads((plan.names.folder / "state.json").read_bytes())
    grow = state["writers"]["all"]["growing"]["files"]
    done = [file["name"] for shard in state["finished"]["all"] for file in shard["files"]]
    assert done
    for name, (size, _) in (*grow.items(), *((name, (0, "")) for name in done)):
        path = plan.names.folder / name
        whole = path.read_bytes()
        size = size or len(whole)
        header = plan.layout.header if name.endswith((".npy", ".bin")) and name in grow else 0
        if size == header:
            continue
        for at in {header, size - 1}:
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 8]) + whole[at + 1 :])
            with pytest.raises(FormatError, match=rf"{name}.*have changed since"):
                run_plan(plan)
        path.write_bytes(whole[: size - 1])
        with pytest.raises(FormatError, match=rf"{name}: (shorter|\d+ bytes, but)"):
            run_plan(plan)
        path.unlink()
        with pytest.raises(FormatError, match=rf"{name}: missing"):
            run_plan(plan)
        path.write_bytes(whole + b"torn" * 5000 * (name in grow))  # of a file system after a loss of power
    run_plan(plan)
    check_whole(ram_path, inputs, format=format, shard_tokens=300)


def test_states_that_are_none(ram_path: Path, inputs: list[Path]) -> None:
    plan = often(inputs, ram_path / "out" / "o", shard_tokens=300)
    begin(plan)
    path = plan.names.folder / "state.json"
    state = json.loads(path.read_bytes())
    first, no_name = state["finished"]["all"][0], r"'\.\./in/a b\.txt' is not the name of a file beside it"
    no_state = "not the state of a run.*overwrite=True starts anew"
    for content, says in (
        ({**state, "version": 4}, r"state version 4; this release goes on from .*overwrite=True starts anew"),
        ({**state, "finished": {"all": [{**first, "drop": ["../in/a b.txt"]}]}}, no_name),
        ({**state, "finished": {"all": [{"drop": [], "files": [{"name": "../in/a b.txt", "bytes": 1}]}]}}, no_name),
        ("", no_state), ("[]", no_state), ('{"version": 5', no_state), ("[" * 9**5, no_state),
    ):
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        before = contents(ram_path)
        with pytest.raises(FormatError, match=says):
            run_plan(plan)
        assert contents(ram_path) == before
    run_plan(often(inputs, ram_path / "out" / "o", shard_tokens=300, overwrite=True))
    check_whole(ram_path, inputs, shard_tokens=300)


def test_a_lock_on_a_folder_that_is_deleted_is_none(
    ram_path: Path, inputs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run ends, and deletes its folder, just when another one has opened the lock in it."""
    plan, real = often(inputs, ram_path / "out" / "o"), module._lock

    def late(handle: int, path: Path) -> None:
        path.unlink()
        path.write_bytes(b"")  # of a third one
        real(handle, path)

    monkeypatch.setattr(module, "_lock", late)
    with pytest.raises(BlockingIOError, match="another run is writing this output"):
        run_plan(plan)


def test_files_that_have_moved_are_no_inputs(
    ram_path: Path, inputs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before the manifest was in its place, a run whose output is in the folder of its inputs goes on."""
    folder = inputs[0].parent
    with monkeypatch.context() as killed:
        killed.setattr(module, "sync_folder", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(folder, folder / "o")
    assert (folder / "o.npy").exists()
    assert not (folder / "o.manifest.json").exists()
    run(folder, folder / "o")
    assert len(texts_in(folder / "o.npy")) == 60


@pytest.mark.parametrize("what", ["state", "file", "link", "lock"])
def test_what_is_no_folder_of_a_run_stays(ram_path: Path, inputs: list[Path], what: str) -> None:
    out, folder = ram_path / "out" / "o", ram_path / "out" / "o.partial"
    out.parent.mkdir()
    (ram_path / "mine").write_text("mine")
    if what in ("state", "lock"):
        folder.mkdir()
    make = {
        "state": lambda: (folder / "state.json").write_text("{}"), "file": lambda: folder.write_text("mine"),
        "link": lambda: folder.symlink_to(ram_path / "nowhere"),
        "lock": lambda: (folder / "lock").symlink_to(ram_path / "mine"),
    }  # fmt: skip
    make[what]()
    before = contents(ram_path)
    says = "a link, a folder or a device" if what == "lock" else "is no folder of an unfinished run; move it away"
    for overwrite in (False, True, False, True):
        with pytest.raises(FileExistsError, match=says):
            run(inputs, out, overwrite=overwrite)
    assert contents(ram_path) == before


def test_files_in_the_way_of_the_end(ram_path: Path, inputs: list[Path]) -> None:
    """They are found before a run, and at its end if they have come later; then nothing is moved or lost."""
    (ram_path / "o.npy").write_text("mine")
    with pytest.raises(FileExistsError, match=r"overwrite=True.*o\.npy"):
        run(inputs, ram_path / "o")
    assert outputs(ram_path) == {"o.npy": b"mine"}
    (ram_path / "o.npy").unlink()
    plan = often(inputs, ram_path / "o")

    def put(raw: int, tokens: int, documents: int) -> None:
        (ram_path / "o.offsets.npy").write_text("mine")

    with pytest.raises(FileExistsError, match=r"in the way.*o\.offsets\.npy"):
        run_plan(plan, progress=put)
    assert outputs(ram_path) == {"o.offsets.npy": b"mine"}
    (ram_path / "o.offsets.npy").unlink()
    assert run_plan(plan)["tokens_before"] > 0
    run(inputs, ram_path / "whole" / "o")
    assert outputs(ram_path) == outputs(ram_path / "whole")


def test_names_are_durable_before_the_manifest_has_its_own(
    ram_path: Path, inputs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loss of power that undoes a name of a shard, and not that of the manifest, is too rare for a draw."""
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def syncing(handle: int) -> None:
        fsync(handle)
        done.append("sync" if os.path.samestat(os.fstat(handle), (ram_path / "out").stat()) else "")

    def moving(old: Any, new: Any) -> None:
        replace(old, new)
        done.append(Path(new).name if Path(new).parent == ram_path / "out" else "")

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "replace", moving)
    run(inputs, ram_path / "out" / "o")
    assert list(filter(None, done))[-5:] == ["o.npy", "o.offsets.npy", "sync", "o.manifest.json", "sync"]


def test_overwriting_deletes_the_old_output_and_nothing_else(ram_path: Path, inputs: list[Path]) -> None:
    run(inputs, ram_path / "o", shard_tokens=100)
    others = ["o_x.npy", "o2.partial", "oo.npy", "o.rank00000of00002.npy"]
    for name in others:
        (ram_path / name).write_text("of another run")
    made = run(inputs, ram_path / "o", shard_tokens=10_000, overwrite=True)
    assert {*outputs(ram_path)} == {*made["files"], "o.manifest.json", *others}
    manifest = json.loads((ram_path / "o.manifest.json").read_text())
    manifest["files"].append({**manifest["files"][0], "name": "oo.npy"})  # its checksum says that it was changed
    (ram_path / "o.manifest.json").write_text(json.dumps(manifest))
    run(inputs, ram_path / "o", overwrite=True)
    assert {*others} <= {*outputs(ram_path)}


def test_a_finished_run_is_not_done_again(ram_path: Path, inputs: list[Path]) -> None:
    first = run(inputs, ram_path / "out" / "o", shard_tokens=300)
    times = {path: path.stat().st_mtime_ns for path in (ram_path / "out").iterdir()}
    again = run(inputs, ram_path / "out" / "o", shard_tokens=300)
    assert {**again, "seconds": 0} == {**first, "seconds": 0}
    assert {path: path.stat().st_mtime_ns for path in (ram_path / "out").iterdir()} == times
    with pytest.raises(FileExistsError, match="made with shard_tokens 300, now 5"):
        run(inputs, ram_path / "out" / "o", shard_tokens=5)
    os.truncate(ram_path / "out" / "o_000001.npy", 9)
    with pytest.raises(FileExistsError, match=r"o_000001\.npy has changed"):
        run(inputs, ram_path / "out" / "o", shard_tokens=300)


def test_a_run_that_cannot_go_on_leaves_no_thread(ram_path: Path, inputs: list[Path]) -> None:
    plan = often(inputs, ram_path / "out" / "o", val_fraction=0.5, seed=1)
    begin(plan)
    with (plan.names.folder / "o_val.npy").open("r+b") as file:  # the second of the two
        file.seek(128)
        file.write(b"\xff")
    before = running_threads()
    with pytest.raises(FormatError, match=r"o_val.*overwrite=True"):
        run_plan(plan)
    assert running_threads() == before


def test_a_run_that_failed_goes_on_with_any_policy_and_then_keeps_it(ram_path: Path) -> None:
    (ram_path / "in.jsonl").write_text('{"text": "a"}\n' * 20 + '{"text": "a"}\n{\n' * 100)

    def plan(**options: Any) -> Plan:
        return often([ram_path / "in.jsonl"], ram_path / "out" / "o", **options)

    with pytest.raises(ValueError, match="malformed JSON"):
        run_plan(plan())
    begin(plan(on_error="skip"), 50)
    for options, what in (
        ({"on_error": "replace"}, "on_error skip, now replace"), ({}, "on_error skip, now fail"),
        ({"on_error": "skip", "rejected": True}, "rejected False, now True"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"begun with {what}"):
            run_plan(plan(**options))
    with pytest.raises(ValueError, match=r"problems .* more than max_errors 90; with a larger one, the run goes on"):
        run_plan(plan(on_error="skip", max_errors=90))
    assert run_plan(plan(on_error="skip"))["problems"]["malformed-json"]["count"] == 100


SIGNALLED = """
import sys
sys.path[:0] = {path!r}
from corpus_tools import byte_codec
from bpetite.cli import main
from bpetite.corpus import encode_corpus
print("ready", flush=True)
encode_corpus([{source!r}], {out!r}, byte_codec(), shard_tokens=2000, format={format!r})
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("format", slow_but(["npy", "megatron"], "npy"))
def test_a_signal_in_the_first_seconds_leaves_nothing_that_refuses_the_command(ram_path: Path, format: str) -> None:
    """Also while a thread finishes a shard, and before the first state is saved."""
    source, out = ram_path / "in.jsonl", ram_path / "out" / "o"
    source.write_text("".join(json.dumps({"text": text * 9}) + "\n" for text in some_documents(800)))
    code = SIGNALLED.format(path=PYTHONPATH.split(os.pathsep), source=str(source), out=str(out), format=format)
    whole = run(source, ram_path / "whole" / "o", shard_tokens=2000, format=format)["seconds"]
    for number in range(3):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(whole * number / 4)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
        assert process.returncode in (0, -signal.SIGINT, 1), said
        assert process.returncode != 1 or b"KeyboardInterrupt" in said, said
    run(source, out, shard_tokens=2000, format=format)
    assert outputs(ram_path / "out") == outputs(ram_path / "whole")


def test_blocks_may_change_and_what_the_state_does_not_list_is_deleted(ram_path: Path, inputs: list[Path]) -> None:
    plan = often(inputs, ram_path / "out" / "o", shard_tokens=300)
    begin(plan)
    left = plan.names.folder / "o_000099.npy"
    left.write_bytes(b"of a process that was killed")
    run_plan(replace(plan, block=4000), jobs=3, progress=lambda *_: left.exists() and pytest.fail("it takes up room"))
    check_whole(ram_path, inputs, shard_tokens=300)


def names_in(folder: Path) -> Names:
    return Names(folder, "o", layout_of("npy"), False)


def test_one_of_many_makes_it(ram_path: Path) -> None:
    """However the first and last steps of processes interleave, at most one has the folder, and nothing is left."""

    def open_one(_: int) -> module.PartialFolder | None:
        try:
            return module.PartialFolder(names_in(ram_path))
        except (BlockingIOError, FileNotFoundError):
            return None

    with ThreadPoolExecutor(8) as pool:
        for _ in range(100):
            made = [partial for partial in pool.map(open_one, range(8)) if partial]
            assert len(made) <= 1
            for partial in made:
                partial.delete()
    assert os.listdir(ram_path) == []
