"""What the corpus tests share: a tokenizer of three lines, records of every kind, independent readers."""
from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bpetite.corpus import Codec, encode_corpus, find_sources
from bpetite.corpus.reading.blocks import BLOCK, Position, Reading
from bpetite.corpus.reading.readers import read_blocks
from bpetite.corpus.reading.records import documents_of

EOT = 256

#: Layouts whose shards stand beside each other; those of mds and litdata have a folder of their own.
FORMATS = ["npy", "nanogpt", "llmc", "megatron", "datatrove", "dolma", "parquet"]

#: Layouts that a crash sees in different ways: with a file of lengths, without one and cut anywhere, with ids besides,
#: and made of a file that goes. test_kill.py kills runs of all layouts.
CRASHED = ["npy", "nanogpt", "parquet"]


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


def byte_codec(vocab_size: int = 257, *, special: str = "text", eot: bool = True) -> Codec:
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
    )


def ids(text: str | bytes) -> list[int]:
    return list(text.encode() if isinstance(text, str) else text)


def run(sources: Any, sink: Path, **options: Any) -> dict[str, Any]:
    """encode_corpus with the byte tokenizer."""
    codec = options.pop("codec", None) or byte_codec(special=options.get("special", "text"))
    if not isinstance(sources, list):
        sources = [sources]
    return encode_corpus(sources, sink, codec, **options)


def read(*paths: Path, block: int = BLOCK, position: Position | None = None, **options: Any) -> list[str]:
    """The documents of files."""
    kind = options.pop("kind", None)
    pieces = find_sources(paths, kind=kind, whole_files=options.pop("whole_files", False)).pieces
    reading = Reading(block=block, **options)
    return [
        text.decode()
        for found in read_blocks(pieces, reading, position)
        for text in documents_of(found, reading, "skip").texts
    ]


def outputs(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, but the record of when and where runs were."""
    found = (path for path in sorted(folder.iterdir()) if path.is_file() and not f".{path.name}".endswith(".runs"))
    return {path.name: path.read_bytes() for path in found}


def plain_sums(data: bytes, size: int = 16 << 20) -> dict[str, Any]:
    """What a manifest has of a file, by its description: SHA-256 of ranges, and of their checksums."""
    ranges = [hashlib.sha256(data[start : start + size]) for start in range(0, len(data), size)]
    root = hashlib.sha256(b"".join(one.digest() for one in ranges))
    return {
        "algorithm": "sha256", "range_bytes": size, "root": root.hexdigest(),
        "ranges": [one.hexdigest() for one in ranges],
    }  # fmt: skip


def documents_in(path: Path) -> list[list[int]]:
    """The documents of a .npy output, by NumPy alone."""
    tokens = np.load(path, mmap_mode="r")
    ends = np.load(path.with_name(path.stem + ".offsets.npy"))
    return [tokens[start:stop].tolist() for start, stop in itertools.pairwise(ends)]


def texts_in(path: Path) -> list[str]:
    """The same as text, without the end-of-text token that stands behind each."""
    return [bytes(document[:-1]).decode() for document in documents_in(path)]


def texts_of_part(path: Path) -> list[str]:
    """The documents of a part of several, by its spool alone."""
    tokens = np.fromfile(path.with_name(path.name + ".tokens"), "<u2")
    ends = np.cumsum(np.fromfile(path.with_name(path.name + ".lengths"), "<i8"))
    return [bytes(part[:-1].tolist()).decode() for part in np.split(tokens, ends[:-1]) if len(part)]


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


def read_llmc(path: Path) -> tuple[np.dtype[Any], list[int]]:
    """A reader written from the description of the layout alone."""
    data = path.read_bytes()
    header = struct.unpack("<256i", data[:1024])
    dtype = {(20240520, 1): np.dtype("<u2"), (20240801, 7): np.dtype("<u4")}[header[:2]]
    assert set(header[3:]) == {0}
    assert len(data) == 1024 + dtype.itemsize * header[2]
    return dtype, np.frombuffer(data, dtype, offset=1024).tolist()


def read_megatron(prefix: Path) -> tuple[np.dtype[Any], list[list[int]]]:
    """A reader written from the description of the layout alone: documents as runs of sequences."""
    index = prefix.with_name(prefix.name + "_text_document.idx").read_bytes()
    data = prefix.with_name(prefix.name + "_text_document.bin").read_bytes()
    assert index[:9] == b"MMIDIDX\x00\x00"
    version, code = struct.unpack_from("<QB", index, 9)
    sequences, ends = struct.unpack_from("<QQ", index, 18)
    assert version == 1
    dtype = {8: np.dtype("<u2"), 4: np.dtype("<i4")}[code]
    assert len(index) == 34 + 12 * sequences + 8 * ends
    lengths = np.frombuffer(index, "<i4", sequences, 34)
    pointers = np.frombuffer(index, "<i8", sequences, 34 + 4 * sequences)
    firsts = np.frombuffer(index, "<i8", ends, 34 + 12 * sequences)
    assert firsts[0] == 0
    assert firsts[-1] == sequences
    rows = [
        np.frombuffer(data, dtype, int(length), int(pointer)).tolist()
        for length, pointer in zip(lengths, pointers, strict=True)
    ]
    assert sum(map(len, rows)) * dtype.itemsize == len(data)
    return dtype, [
        [token for row in rows[start:stop] for token in row] for start, stop in itertools.pairwise(firsts)
    ]


class Stopped(BaseException):
    """A process is no more."""


def run_stopped(task: Any, seed: int, jobs: Sequence[int] = (1, 2)) -> tuple[dict[str, Any], int]:
    """Run a task to its end, though it is stopped after some steps again and again; returns (summary, times stopped).

    The task makes a checkpoint after each step, and each attempt goes on from the last one.
    """
    chosen = random.Random(seed)
    stopped = 0
    while True:
        left = chosen.randrange(1, 4) if stopped < 12 else 1 << 30

        def step(raw: int, tokens: int, documents: int) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                raise Stopped

        try:
            return task.run(jobs=chosen.choice(jobs), progress=step), stopped
        except Stopped:
            stopped += 1


def outputs_of_both(make: Callable[[Path], Any], folder: Path, seed: int) -> dict[str, bytes]:
    """What a task writes: the same in one go, by two threads, and when it is stopped again and again.

    Args:
        make: Makes the task that writes into a folder. It has more than a few blocks.
    """
    replace(make(folder / "whole"), checkpoint_seconds=0).run(jobs=2)
    assert run_stopped(replace(make(folder / "stopped"), checkpoint_seconds=0), seed)[1] > 3
    whole = outputs(folder / "whole")
    assert outputs(folder / "stopped") == whole
    return whole
