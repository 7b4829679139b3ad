"""The job array of docs/scale.md, run by bash with an ``srun`` that runs the command here."""
from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cluster_tools import text_of
from paths import PYTHONPATH, TESTS

from bpetite import Tokenizer
from bpetite.corpus import encode_corpus

WORLD = 4


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="bash")
def test_four_ranks_one_killed_and_requeued(ram_path: Path) -> None:
    source, tokens = ram_path / "corpus", ram_path / "tokens"
    source.mkdir()
    for number in range(8):
        text = "<|endoftext|>".join(text_of(100 * number + seed, 300) for seed in range(100))
        (source / f"{number}.txt").write_text("<|endoftext|>".join([text] * 40))
    tokenizer = Tokenizer.train([text_of(seed, 200) for seed in range(20)], 300)
    tokenizer.save(ram_path / "tok.json")
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
            "SLURM_ARRAY_TASK_ID": str(rank), "SLURM_ARRAY_TASK_COUNT": str(WORLD), "SLURM_CPUS_PER_TASK": "2",
        }  # fmt: skip
        return subprocess.Popen(["bash", "-ec", script], env=environment, start_new_session=True)

    ranks = {rank: start(job, rank) for rank in (2, 0, 1, 3)}
    deadline = time.monotonic() + 60
    while not list(tokens.glob("run.rank00002of00004.journal")) and time.monotonic() < deadline:
        time.sleep(0.001)
    os.killpg(ranks[2].pid, signal.SIGKILL)
    assert ranks.pop(2).wait() == -signal.SIGKILL
    assert not list(tokens.glob("run.rank00002of00004.manifest.json"))
    ranks[2] = start(job, 2)
    assert {process.wait(timeout=120) for process in ranks.values()} == {0}
    assert start(wrapped[1], 0).wait(timeout=120) == 0
    encode_corpus(source, ram_path / "one", tokenizer, format="megatron")
    for ending in ("bin", "idx"):
        name = f"_text_document.{ending}"
        assert (tokens / f"run{name}").read_bytes() == (ram_path / f"one{name}").read_bytes()
