"""What the corpus tests share: a tokenizer of three lines, records of every kind, independent readers."""
import gzip
import itertools
import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from paths import PYTHONPATH

from bpetite import patterns
from bpetite.corpus import Codec, Options, Plan, Share, encode_corpus, find_sources, make_plan
from bpetite.corpus.read.pieces import BLOCK, Position, Reading, cut_pieces
from bpetite.corpus.read.readers import read_blocks
from bpetite.corpus.read.records import documents_of
from bpetite.corpus.run import run as run_plan
from bpetite.splitting.certain_cuts import CertainCuts, certain_cuts
from bpetite.splitting.pretokenizer import pretokenizer

EOT = 256

FORMATS = ["npy", "nanogpt", "llmc", "megatron", "datatrove", "dolma", "parquet"]


def encode_bytes(texts: Sequence[bytes]) -> tuple[Any, Any]:
    """A token a byte; texts must be UTF-8, and the letter U+0007 has no token."""
    for text in texts:
        text.decode("utf-8")
        if b"\x07" in text:
            raise ValueError(f"byte 0x07 at {text.index(7)} has no token")
    data = b"".join(texts)
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return np.frombuffer(data, np.uint8).astype(np.uint32), offsets


def refuse_special(texts: Sequence[bytes]) -> tuple[Any, Any]:
    for text in texts:
        if b"<|endoftext|>" in text:
            raise ValueError("special token '<|endoftext|>' is disallowed")
    return encode_bytes(texts)


def decode_ids(ids: Any) -> bytes:
    return b"".join(b"<|endoftext|>" if i == EOT else bytes([i]) for i in np.asarray(ids).tolist())


@cache
def gpt2_cuts(*literals: str) -> CertainCuts:
    found = certain_cuts(pretokenizer(patterns.GPT2), literals, normalized=False)
    assert found is not None
    return found


def byte_codec(vocab_size: int = 257, *, special: str = "text", eot: bool = True) -> Codec:
    """A tokenizer that can cut a text anywhere; it says so where GPT-2's pattern certainly cuts."""
    return Codec(
        encode=refuse_special if special == "error" else encode_bytes,
        encode_ordinary=encode_bytes,
        decode=decode_ids,
        vocab_size=vocab_size,
        eot_id=EOT if eot else None,
        eot_text="<|endoftext|>" if eot else None,
        tokenizer_digest=f"bytes-{vocab_size}",
        name="bytes",
        special=special,
        cuts=gpt2_cuts(*["<|endoftext|>"] * (special == "error")),
    )


def ids(text: str | bytes) -> list[int]:
    return list(text.encode() if isinstance(text, str) else text)


def run(sources: Any, output: Path | str, *, block: int | None = None, **options: Any) -> dict[str, Any]:
    """encode_corpus with the byte tokenizer; with ``block``, text is read in blocks of that many bytes."""
    codec = options.pop("codec", None) or byte_codec(special=options.get("special", "text"))
    if not isinstance(sources, list):
        sources = [sources]
    if block is None:
        return encode_corpus(sources, output, codec, **options)
    how = {name: options.pop(name) for name in ("jobs", "progress", "log") if name in options}
    return run_plan(plan_of(sources, output, block, codec=codec, **options), **how)


def plan_of(sources: Any, output: Path | str, block: int = BLOCK, *, codec: Any = None, **options: Any) -> Plan:
    """The plan of such a run."""
    return replace(make_plan(sources, output, codec or byte_codec(), Options(**options)), block=block)


def read(*paths: Path, block: int = BLOCK, position: Position | None = None, **options: Any) -> list[str]:
    """The documents of files."""
    kind = options.pop("kind", None)
    inputs = find_sources(paths, kind=kind, whole_files=options.pop("whole_files", False)).inputs
    reading = Reading(block=block, **options)
    pieces = cut_pieces(inputs, Share(Position(), Position(len(inputs))), position)
    return [
        text.decode()
        for found in read_blocks(inputs, pieces, reading)
        for text in documents_of(found, reading, "skip").texts
    ]


def outputs(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder and of the folders in it."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def documents_in(path: Path) -> list[list[int]]:
    """The documents of a .npy output, by NumPy alone."""
    tokens = np.load(path, mmap_mode="r")
    ends = np.load(path.with_name(path.stem + ".offsets.npy"))
    return [tokens[start:stop].tolist() for start, stop in itertools.pairwise(ends)]


def texts_in(path: Path) -> list[str]:
    """The same as text, without the end-of-text token that stands after each."""
    return [bytes(document[:-1]).decode() for document in documents_in(path)]


def some_documents(count: int, seed: int = 0, longest: int = 60) -> list[str]:
    """Documents with newlines, other scripts and empty ones among them."""
    chosen = random.Random(seed)
    return ["".join(chosen.choices("ab \n\té漢🙂\"\\,", k=chosen.randrange(longest))) for _ in range(count)]


def write_inputs(folder: Path, documents: Sequence[str]) -> list[Path]:
    """The documents as text, JSON lines (gzip in two members), a JSON array; in this order, a third of them each."""
    folder.mkdir(exist_ok=True)
    third = len(documents) // 3
    text, lines, array = documents[:third], documents[third : 2 * third], documents[2 * third :]
    paths = [folder / "a b.txt", folder / "ü.jsonl.gz", folder / "c.json"]
    paths[0].write_bytes("<|endoftext|>".join(text).encode() + b"<|endoftext|>")
    rows = [json.dumps({"id": n, "text": doc}).encode() + b"\n" for n, doc in enumerate(lines)]
    paths[1].write_bytes(gzip.compress(b"".join(rows[: third // 2])) + gzip.compress(b"".join(rows[third // 2 :])))
    paths[2].write_text(json.dumps([{"text": doc} for doc in array], indent=1))
    return paths


def read_megatron(prefix: Path) -> tuple[np.dtype[Any], list[list[int]]]:
    """By a reader that is written from the description of the layout alone."""
    from corpus_model import read_shard  # here: it needs what plain installations have not

    parts = [prefix.with_name(f"{prefix.name}_text_document.{end}").read_bytes() for end in ("bin", "idx")]
    dtype = {8: "uint16", 4: "int32"}[parts[1][17]]
    return np.dtype(dtype), [row[0] for row in read_shard("megatron", dtype, parts)]


#: What a child runs, and how much more memory than before it takes for it.
MEASURED = """
import resource, sys
from corpus_tools import byte_codec
from bpetite.cli import main
from bpetite.corpus import RecordError, count_corpus
import pyarrow.parquet
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
{}
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def megabytes_of(code: str, *arguments: object, cwd: Path | None = None) -> tuple[list[str], int]:
    """(the lines that some code prints in a process of its own, the megabytes of its peak)."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED.format(code), *map(str, arguments)], capture_output=True, text=True, cwd=cwd,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *lines, megabytes = done.stdout.splitlines()
    return lines, int(megabytes)


@contextmanager
def pipe(path: Path, data: bytes) -> Iterator[Path]:
    """A named pipe that gives some bytes to the first who opens it."""
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    try:
        yield path
    finally:
        writer.join(10)
    assert not writer.is_alive()
