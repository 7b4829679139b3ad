"""What can be seen of a run that has not ended, and what a finished one says that is asked for something else."""
import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import byte_codec, outputs, run, some_documents, write_inputs
from paths import PYTHONPATH

from bpetite.cli import main
from bpetite.corpus import Options, make_part
from bpetite.corpus.layouts.registry import layout_of
from bpetite.errors import FormatError


class Stop(Exception):
    pass


def begin(inputs: list[Path], sink: Path, **options: Any) -> None:
    """A run that is killed in the middle."""
    rank, world_size = options.pop("rank", 0), options.pop("world_size", 1)
    task = make_part(inputs, sink, byte_codec(), rank=rank, world_size=world_size, options=Options(**options))

    def killed(raw: int, tokens: int, documents: int) -> None:
        if documents > 9:
            raise Stop

    with pytest.raises(Stop):
        replace(task, block=100, checkpoint_seconds=0).run(progress=killed)


def inspect(*arguments: object) -> tuple[int, str, str]:
    """(exit code, standard output, standard error)."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as leave:
        main(["inspect", *map(str, arguments)])
    assert isinstance(leave.value.code, int)
    return leave.value.code, out.getvalue(), err.getvalue()


def test_inspect_says_that_an_output_is_not_finished(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(60))
    begin(inputs, ram_path / "o")
    for name in ("o", "o.npy"):
        code, out, _ = inspect(ram_path / name)
        assert (code, out.startswith(f"{ram_path / name}: rank 0 of 1: failed, ")) == (0, True)
        assert inspect(ram_path / name, "--verify")[0] == 3


def test_other_options_are_named(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(12))
    run(inputs, ram_path / "o")
    for changes, says in (
        ({"shard_tokens": 5}, "made with shard_tokens None, now 5"),
        ({"codec": byte_codec(300)}, r"made with tokenizer bytes \(bytes-25\), now bytes \(bytes-30\)"),
        ({"max_document_bytes": 9000, "on_error": "skip"}, "bytes 1073741824, now 9000; .*on_error fail, now skip"),
    ):
        with pytest.raises(FileExistsError, match=says):
            run(inputs, ram_path / "o", **changes)
    with pytest.raises(FileExistsError, match="made with 3 inputs, now 2"):
        run(inputs[:2], ram_path / "o")
    with pytest.raises(FileExistsError, match=r"made with .*a b\.txt, now .*c\.json"):
        run([inputs[2], *inputs[:2]], ram_path / "o")
    with inputs[0].open("a") as file:
        file.write("x")
    with pytest.raises(FileExistsError, match=r"a b\.txt of \d+ bytes, now \d+"):
        run(inputs, ram_path / "o")
    os.truncate(inputs[0], inputs[0].stat().st_size - 1)
    with pytest.raises(FileExistsError, match=r"a b\.txt, which has been changed or touched"):
        run(inputs, ram_path / "o")


#: Everything is imported by the first run, since the interpreter's own files may be closed to others.
READ_ONLY = """
import os, sys
sys.path[:0] = sys.argv[1].split(os.pathsep)
from corpus_tools import run
from pathlib import Path
run([Path(sys.argv[2])], Path(sys.argv[3]))
os.setgid(65534); os.setuid(65534)
print(run([Path(sys.argv[2])], Path(sys.argv[3]))["documents"])
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else")
def test_a_finished_run_that_is_read_only(ram_path: Path) -> None:
    (ram_path / "in.txt").write_text("a<|endoftext|>b")
    out = ram_path / "out"
    out.mkdir()
    run([ram_path / "in.txt"], out / "o")
    for path in (*out.iterdir(), out):
        path.chmod(0o555)
    ram_path.chmod(0o755)
    for folder in out.parents:
        if not folder.stat().st_mode & 1:
            pytest.skip("the folder of the tests is closed to others")
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, PYTHONPATH, ram_path / "in.txt", out / "o"], capture_output=True, text=True,
        cwd="/",
    )  # fmt: skip
    assert done.stdout == "2\n", done.stderr


@pytest.mark.parametrize("format", ["npy", "nanogpt", "llmc", "megatron", "datatrove", "dolma", "parquet"])
def test_a_partial_file_that_was_changed_is_found(ram_path: Path, format: str) -> None:
    """Whatever byte of it, or of a finished shard that has no final name yet, differs: the run does not go on."""
    inputs = write_inputs(ram_path / "in", some_documents(60))
    (ram_path / "whole").mkdir()
    (ram_path / "out").mkdir()
    run(inputs, ram_path / "whole" / "o", format=format)
    begin(inputs, ram_path / "out" / "o", format=format)
    state = outputs(ram_path / "out")
    covered = json.loads(state["o.journal"].splitlines()[-1][9:])["writers"]["all"]["files"]
    assert len(covered) == len(state) - 1
    task = make_part(inputs, ram_path / "out" / "o", byte_codec(), options=Options(format=format))
    for name, (size, _) in covered.items():
        header = layout_of(format).header if name == next(iter(covered)) else 0  # is written again at the end
        for at in {header, size // 2, size - 1}:
            data = state[name]
            (ram_path / "out" / name).write_bytes(data[:at] + bytes([data[at] ^ 8]) + data[at + 1 :])
            with pytest.raises(FormatError, match=rf"{name}: has been changed .* first {size} bytes"):
                task.run()
            (ram_path / "out" / name).write_bytes(data + b"torn")
    task.run()
    assert outputs(ram_path / "out") == outputs(ram_path / "whole")


def test_a_finished_shard_that_was_changed_before_it_had_its_name(
    ram_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import bpetite.corpus.output.upload as module

    inputs = write_inputs(ram_path / "in", some_documents(60))
    (ram_path / "out").mkdir()
    task = replace(
        make_part(inputs, ram_path / "out" / "o", byte_codec(), options=Options(shard_tokens=300)),
        block=100, checkpoint_seconds=0,
    )  # fmt: skip

    def killed(folder: Path, shards: Any, **options: Any) -> None:
        if shards:
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(module, "publish", killed)
        with pytest.raises(Stop):
            task.run()
    path = ram_path / "out" / "o_000000.npy.partial"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(FormatError, match=rf"o_000000.npy.partial: bytes 0 to {len(data) - 1} differ"):
        task.run()
    path.write_bytes(data)
    assert task.run()["documents"] == 60
