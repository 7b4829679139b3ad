"""Damaged outputs: a `FormatError` that names the file, or what is right; never another error."""
import json
import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import byte_codec, run, some_documents, write_inputs

from bpetite.corpus import Options, make_part, merge_outputs, open_token_file
from bpetite.corpus.layouts.registry import open_in
from bpetite.corpus.layouts.token_file import TokenFile, document_chunks
from bpetite.corpus.run.outputs import find_manifest
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
    for span in file.spans():
        total += len(span.tokens)
        if span.lengths is not None:
            assert int(span.lengths.sum()) == len(span.tokens)
            documents += len(span.lengths)
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
    tokens = ram_path / found[2][0][0]["name"]
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
        make_part([ram_path / "in.txt"], ram_path / "o", byte_codec(), rank=rank, world_size=2, options=Options()).run()
    path = ram_path / "o.rank00000of00002.manifest.json"
    whole = json.loads(path.read_bytes())
    whole["problems"] = {"no-text": {"count": 1, "first": "x:1", "detail": "d"}}
    before = set(ram_path.iterdir())

    def use() -> None:
        found = find_manifest(path)
        assert found is not None
        stored = found[1]
        files = [open_in(ram_path, stored, shard[0]["name"]) for shard in found[2]]
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


def test_a_journal_names_no_file_elsewhere(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(12))
    (ram_path / "out").mkdir()
    (ram_path / "victim.partial").write_text("mine")
    part = make_part(inputs, ram_path / "out" / "o", byte_codec(), options=Options(shard_tokens=100))

    def killed(raw: int, tokens: int, documents: int) -> None:
        if documents > 9:
            raise KeyboardInterrupt

    part = replace(part, block=100, checkpoint_seconds=0)
    with pytest.raises(KeyboardInterrupt):
        part.run(progress=killed)
    path = ram_path / "out" / "o.journal"
    for name in ("temporary", "name"):
        output = {"temporary": "x.partial", "name": "x", "bytes": 1, "checksum": {}, name: "../victim.partial"}
        shard = {"tokens": 1, "documents": 1, "outputs": [output], "drop": []}
        body = json.dumps({"finished": {"all": [shard]}, "on_error": "fail", "writers": {}, "tally": {"problems": {}}})
        head = path.read_bytes().split(b"\n")[:2]
        record = b"%08x %b" % (zlib.crc32(body.encode()), body.encode())
        path.write_bytes(b"\n".join([*head, record, b""]))
        with pytest.raises(FormatError, match="is not the name of a file beside it"):
            part.run()
    assert (ram_path / "victim.partial").read_text() == "mine"
