"""The first call in a process: start Python, import, load GPT-2, encode 10 MB once. bpetite beside the peers.

    python -m benchmarks.first_call              # each library that is installed
    python -m benchmarks.first_call --runs 15 bpetite bpetite-list cli

A short script pays all of this for each text, and so does every worker process of a data loader. What counts is the
processor time of the whole process, user and system; the wall time is printed too. The libraries are run in rounds, so
the ratios hold on a noisy machine.
"""
from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import tempfile
from pathlib import Path

from . import texts
from .processes import run_python
from .rounds import interleaved

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

#: Beside the scripts: the command line with a short text, so that starting is what is measured.
CLI = "cli"


def prepare(folder: Path) -> Path:
    """Write the texts to encode; returns the path of the long one."""
    path = folder / "text.txt"
    path.write_bytes(texts.text("english", SIZE).encode())
    (folder / "short.txt").write_text("the cat sat on the mat\n", encoding="utf-8")
    return path


def run(name: str, path: Path, bytecode: Path | None = None) -> tuple[float, float]:
    """Run the process that a name stands for: wall and processor seconds."""
    if name == CLI:
        output = tempfile.mkdtemp(dir=path.parent)
        arguments = ["-m", "bpetite", "encode", str(path.parent / "short.txt"), "-o", f"{output}/ids.npy"]
    else:
        arguments = ["-c", SCRIPTS[name], str(texts.vocabulary()), str(path)]
    wall, processor, _ = run_python(*arguments, bytecode=bytecode)
    return wall, processor


def installed(name: str) -> bool:
    package = name.partition("-")[0]
    return package in ("python", "bpetite", CLI) or importlib.util.find_spec(package) is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=[*SCRIPTS, CLI], help="of: %(default)s")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--as-it-is", action="store_true", help="leave to the environment whether byte code is kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = prepare(Path(folder))
        bytecode = None if options.as_it_is else Path(folder) / "bytecode"
        calls = {}
        for name in filter(installed, options.names):
            try:
                run(name, path, bytecode)  # from here on the page cache and the byte code are warm
            except RuntimeError as error:
                print(f"{name} is left out: {error}", file=sys.stderr)
            else:
                calls[name] = lambda name=name: run(name, path, bytecode)
        times = interleaved(calls, options.runs)
    print("| | processor, median ms | least | wall, median ms | least |\n|---|---|---|---|---|")
    for name, measured in times.items():
        walls, processors = zip(*measured, strict=True)
        columns = [statistics.median(processors), min(processors), statistics.median(walls), min(walls)]
        print(f"| {name} | " + " | ".join(f"{seconds * 1000:.0f}" for seconds in columns) + " |")


if __name__ == "__main__":
    main()
