"""Damaged outputs: a `FormatError` that names the file, or what is right; never another error."""
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import byte_codec, run

from bpetite.corpus import merge_outputs, open_token_file
from bpetite.corpus.layouts.token_file import TokenFile, document_chunks
from bpetite.corpus.merge import find_manifest
from bpetite.corpus.write.manifest import shards_in
from bpetite.errors import FormatError

FORMATS = ["npy", "nanogpt", "llmc"]

#: What a forged value may be.
STRANGE: list[Any] = [
    None, True, -1, 0, 1, 2**31, 2**63, 10**40, 0.5, "", "x", "..", "../x", "/etc/passwd", "a/b", "\0", "\ud800", [],
    {}, [[]], {"a": None},
]


def damaged(data: bytes, seed: int, count: int = 120) -> Iterator[bytes]:
    """Data with flipped bytes, cut short, made longer."""
    chosen = random.Random(seed)
    for _ in range(count):
        at = chosen.randrange(len(data)) if data else 0
        yield data[:at] + bytes([chosen.randrange(256)]) + data[at + 1 :]
        yield data[:at]
        yield data[:at] + bytes(chosen.choice([1, 2, 4, 8, 100])) + data[at:]
    yield data + data
    yield b""


def read(file: TokenFile) -> None:
    """Everything that a file can be asked, and that the answers agree."""
    total = documents = 0
    for tokens, lengths in file.spans():
        total += len(tokens)
        if lengths is not None:
            assert int(lengths.sum()) == len(tokens)
            documents += len(lengths)
    assert total == file.tokens
    assert documents == (file.documents or 0)
    if file.documents is not None:
        assert sum(len(lengths) for lengths in file.lengths()) == file.documents
    assert len(file.read(1, 3)) == max(0, min(3, file.tokens - 1))


def fails_well(work: Callable[[], object], names: str, *errors: type[Exception]) -> bool:
    """Whether it ended in a FormatError, or a file that a manifest names is not there; the message must name it."""
    message = None
    try:
        work()
    except (FormatError, FileNotFoundError, *errors) as wrong:
        message = str(wrong)
    assert message is None or names in message
    return message is not None


@pytest.mark.parametrize("format", FORMATS)
def test_token_files(ram_path: Path, format: str) -> None:
    (ram_path / "in.txt").write_text("<|endoftext|>".join(["ab", "", "cde", "f" * 40]))
    run(ram_path / "in.txt", ram_path / "o", format=format, eot="append")
    found = find_manifest(ram_path / "o")
    assert found is not None
    tokens = ram_path / found[1]["files"][0]["name"]
    refused = 0
    for path in sorted(ram_path.glob("o*")):
        if path.name.endswith("manifest.json"):
            continue
        whole = path.read_bytes()
        for data in damaged(whole, 1):
            path.write_bytes(data)
            refused += fails_well(
                lambda: read(open_token_file(tokens, format=format, dtype=found[1]["dtype"])), str(ram_path / "o")
            )
        path.write_bytes(whole)
    assert refused > 50
    read(open_token_file(tokens, format=format, dtype=found[1]["dtype"]))


def mutations(value: Any) -> Iterator[Any]:
    """The JSON value with each value in it replaced by a strange one, or left out."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else [])
    for key, inner in items:
        for strange in [*STRANGE, *mutations(inner)]:
            copy = value.copy()
            copy[key] = strange
            yield copy
        copy = value.copy()
        del copy[key]
        yield copy


def test_manifests(ram_path: Path) -> None:
    (ram_path / "in.txt").write_text("ab<|endoftext|>c")
    for rank in range(2):
        run(ram_path / "in.txt", ram_path / "o", rank=rank, world_size=2)
    path = ram_path / "o.rank00000of00002.manifest.json"
    whole = json.loads(path.read_bytes())
    whole["problems"] = {"no-text": {"count": 1, "first": "x:1", "detail": "d"}}
    before = set(ram_path.iterdir())

    def use() -> None:
        found = find_manifest(path)
        assert found is not None
        stored = found[1]
        files = [
            open_token_file(ram_path / shard[0]["name"], format=stored["format"], dtype=stored["dtype"])
            for shard in shards_in(stored)
        ]
        if files:
            for tokens, _ in document_chunks(files, stored["eot"], 256):
                byte_codec().decode(tokens)
        merge_outputs(ram_path / "m" / "m", overwrite=True, parts=sorted(ram_path.glob("o.rank*.manifest.json")))

    refused = 0
    for mutated in mutations(whole):
        path.write_text(json.dumps(mutated))
        refused += fails_well(use, str(ram_path))
    assert refused > 300
    for data in damaged(json.dumps(whole).encode(), 2, 60):
        path.write_bytes(data)
        fails_well(use, str(ram_path))
    path.write_bytes(b'{"manifest":' + b"[" * 100_000)
    assert fails_well(use, str(path))
    assert {path for path in ram_path.iterdir() if path.name != "m"} == before
