"""The first call in a process: start Python, import, load GPT-2, encode 10 MB once. bpetite beside the peers.

    python -m benchmarks.first_call              # each library that is installed, in turn
    python -m benchmarks.first_call --runs 15 bpetite bpetite-list cli

A short script pays all of this for each text, and so does every worker process of a data loader. What is counted is the
processor time of the whole process, user and system, as the operating system tells it of a child that has ended; the
wall time stands beside it. The libraries run in turn, so that the ratios hold on a noisy machine.
"""
from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import texts

ROOT = Path(__file__).resolve().parents[1]
GPT2 = texts.SHARED / "gpt2"
SIZE = 10_000_000

READ = "import sys; folder, path = sys.argv[1:]; text = open(path, encoding='utf-8', newline='').read()\n"
FROM_FILES = """from bpetite import Tokenizer
tok = Tokenizer.from_files(folder + "/vocab.json", folder + "/merges.txt")
"""

#: What a process runs, given the folder with GPT-2's files and the path of a text.
SCRIPTS = {
    "python": READ,
    "numpy": READ + "import numpy",
    "bpetite": READ + FROM_FILES + "tok.encode_to_numpy(text)",
    "bpetite-list": READ + FROM_FILES + "tok.encode(text)",
    "bpetite-native": READ + "from bpetite import Tokenizer; Tokenizer.from_pretrained('bpetite-32k').encode(text)",
    "bpetite-import": READ + "import bpetite",
    "bpetite-load": READ + FROM_FILES,
    "gigatoken": READ + "import gigatoken; gigatoken.Tokenizer(folder + '/tokenizer.json').encode(text)",
    "tokenizers": READ + "from tokenizers import Tokenizer as T; T.from_file(folder + '/tokenizer.json').encode(text)",
    "tokie": READ + "import tokie; tokie.Tokenizer.from_json(folder + '/tokenizer.json').encode(text)",
    "fastokens": READ + "from fastokens import Tokenizer as T; T.from_file(folder + '/tokenizer.json').encode(text)",
    "splintr": READ + "import splintr; splintr.from_json(folder + '/tokenizer.json').encode(text)",
}

#: The command line: a short text, so that starting is what is measured.
CLI = ["-m", "bpetite", "encode"]


def prepare(folder: Path) -> Path:
    """Write the text to encode; returns its path."""
    path = folder / "text.txt"
    path.write_bytes(texts.text("english", SIZE).encode())
    (folder / "short.txt").write_text("the cat sat on the mat\n", encoding="utf-8")
    return path


def command(name: str, path: Path) -> list[str]:
    """The process that a name stands for."""
    if name == "cli":
        output = tempfile.mkdtemp(dir=path.parent)
        return [sys.executable, *CLI, str(path.parent / "short.txt"), "-o", f"{output}/ids.npy"]
    return [sys.executable, "-c", SCRIPTS[name], str(GPT2), str(path)]


def run(arguments: list[str], bytecode: Path | None = None) -> tuple[float, float]:
    """Run a process to its end: (processor seconds, wall seconds).

    Byte code is kept in a folder of its own from the first run on, as it is beside the modules of a package that has
    been installed, whatever this process is told about it. None: as this process has it.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    if bytecode is not None:
        environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    child = subprocess.Popen(arguments, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    complaints = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    child.stderr.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{arguments[:3]} failed:\n{complaints.decode()}")
    return usage.ru_utime + usage.ru_stime, wall


def installed(name: str) -> bool:
    if name == "cli" or name.split("-")[0] in ("python", "bpetite"):
        return True
    return importlib.util.find_spec(name) is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=[*SCRIPTS, "cli"], help="of: %(default)s")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--as-it-is", action="store_true", help="leave to the environment whether byte code is kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = prepare(Path(folder))
        bytecode = None if options.as_it_is else Path(folder) / "bytecode"
        found: dict[str, list[tuple[float, float]]] = {}
        for name in filter(installed, options.names):
            try:
                run(command(name, path), bytecode)  # the page cache and the byte code are warm from here on
                found[name] = []
            except RuntimeError as error:
                print(f"{name} is left out: {error}", file=sys.stderr)
        for _ in range(options.runs):
            for name, times in found.items():
                times.append(run(command(name, path), bytecode))
    print("| | processor, median ms | least | wall, median ms | least |\n|---|---|---|---|---|")
    for name, times in found.items():
        columns = [value for kind in zip(*times) for value in (statistics.median(kind), min(kind))]
        print(f"| {name} | " + " | ".join(f"{value * 1000:.0f}" for value in columns) + " |")


if __name__ == "__main__":
    main()
