"""Draws of corpus runs that are disturbed, and an oracle in plain Python for what they write.

A draw is made from a seed: inputs x options x jobs, ranks, a cluster's map, a store x kills, losses of power, a full
disk, a failing store. ``python tests/support/corpus_model.py SEED...`` repeats draws.
"""
from __future__ import annotations

import csv
import errno
import gzip
import hashlib
import io
import itertools
import json
import os
import random
import re
import shutil
import stat
import struct
import sys
import tempfile
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import faulty_store
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from bpetite import Tokenizer
from bpetite.cluster import encode_corpus as encode_on_cluster
from bpetite.corpus import Codec, Options, Plan, RecordError, api, codec_of, count_corpus, make_plan, merge_outputs
from bpetite.corpus import merge as merging
from bpetite.corpus import run as running
from bpetite.corpus.layouts import layout, registry, token_file
from bpetite.corpus.read import pieces, streams
from bpetite.corpus.read import text as text_reader
from bpetite.corpus.write import growing, shards
from bpetite.corpus.write import partial as partial_folder

#: format -> (files of a shard, whether shards keep documents, place of the end-of-text token, types of tokens)
FORMATS = {
    "npy": (2, True, "append", ("uint16", "uint32")),
    "nanogpt": (1, False, "append", ("uint16",)),
    "llmc": (1, False, "prepend", ("uint16", "uint32")),
    "megatron": (2, True, "none", ("uint16", "int32")),
    "datatrove": (3, True, "append", ("uint16", "uint32")),
    "dolma": (2, True, "append", ("uint16", "uint32")),
    "parquet": (1, True, "none", ("uint32",)),
}
EOT = "<|endoftext|>"
BOM = b"\xef\xbb\xbf"
WORDS = ["the", "cat", "sat", "on", "a", "mat,", "Zürich", "東京", "'we'll", "\n", "\n\n", "\n\n\n", "1234", "é", "🙂"]


@cache
def tokenizers() -> list[Tokenizer]:
    sample = [" ".join(WORDS * 20), "that cat sat on the mat; the mat sat. " * 9]
    small = Tokenizer.train(sample, 290)
    return [small, Tokenizer.train(sample, 280, normalization="NFC"), Tokenizer.load("bpetite-32k")]


@cache
def codec(number: int, special: str) -> Codec:
    return codec_of(tokenizers()[number], special=special)


# The oracle

#: (text, or the nearest one; None if there is no document whatever the policy), its problem, the id of the record
Record = tuple["bytes | None", "str | None", "str | None"]
#: (tokens, id of the record, path of the input, number of the record)
Document = tuple[list[int], "str | None", str, int]


class FlawedError(Exception):
    """There is a problem, and the policy is to fail."""


def records(path: Path, options: dict[str, Any]) -> Iterator[Record]:
    data, name, damaged = path.read_bytes(), path.name, False
    most = options.get("max_document_bytes") or 1 << 30
    if name.endswith(".gz"):
        name, packed, data, damaged = name[:-3], data, b"", not data
        while packed and not damaged:
            member = zlib.decompressobj(31)
            try:
                part = member.decompress(packed)
                damaged = not member.eof
            except zlib.error:
                damaged = True
            packed, data = member.unused_data, data + (b"" if damaged else part)
    elif name.endswith(".zst"):
        name, data = name[:-4], zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
    if name.endswith(".parquet"):
        try:
            rows = pq.read_table(io.BytesIO(data)).to_pylist()
        except pa.ArrowInvalid:
            rows, damaged = [], True
        yield from (of_value(row, b"", most) for row in rows)
    elif name.endswith(".txt"):
        whole, data = options.get("whole_files"), data.removeprefix(BOM)
        texts = [data] if whole else data.split(options.get("separator", EOT).encode())
        if damaged or not (whole or texts[-1]):
            texts.pop()
        for one in texts:
            wrong = "too-long" if len(one) > most else None if is_utf8(one) else "invalid-utf8"
            yield (b"" if wrong == "too-long" else one.decode(errors="replace").encode()), wrong, None
    elif name.endswith(".json") and not data.startswith(b'{"'):
        if len(data) > most:
            yield None, "too-long", None
            return
        try:
            values = json.loads(data) if data.strip() else []
        except ValueError:
            yield b"", "malformed-json", None
            return
        yield from (of_value(value, b"", most) for value in values)
    else:
        lines = data.removeprefix(BOM).split(b"\n")[: -1 if damaged else None]
        for line in (line for line in lines if line.removeprefix(BOM).strip()):
            try:
                yield of_value(json.loads(line.removeprefix(BOM).decode(errors="replace")), line, most)
            except ValueError:
                yield b"", "too-long" if len(line) > most else "malformed-json", None
    if damaged:
        yield None, "damaged-file", None


def of_value(value: Any, line: bytes, most: int) -> Record:
    text, name = (value.get("text"), value.get("id")) if isinstance(value, dict) else (None, None)
    if len(line) > most:
        return b"", "too-long", None
    if not isinstance(text, str):
        return b"", "no-text", name
    data = re.sub("[\ud800-\udfff]", "\ufffd", text).encode()
    wrong = "lone-surrogate" if data.decode() != text else None if is_utf8(line) else "invalid-utf8"
    return (b"", "too-long", name) if len(data) > most else (data, wrong, name)


def is_utf8(data: bytes) -> bool:
    return data.decode(errors="replace").encode() == data


def oracle(draw: Draw, *, eot: str | None = None) -> tuple[dict[str, list[Document]], Counter[str], int]:
    """(the documents of each split, the problems by kind, bytes of text)."""
    options, tokenizer = draw.options, tokenizers()[draw.tokenizer]
    eot = eot or options.get("eot") or FORMATS[options["format"]][2]
    special, policy, fraction = (options.get(one) for one in ("special", "on_error", "val_fraction"))
    out: dict[str, list[Document]] = {split: [] for split in (("train", "val") if fraction else ("all",))}
    found: Counter[str] = Counter()
    size = 0
    for path in draw.files:
        for number, (text, problem, name) in enumerate(records(path, options)):
            if problem is None and special == "error" and EOT.encode() in (text or b""):
                problem = "special-token"
            elif problem and policy == "replace" and special == "error" and EOT.encode() in (text or b""):
                found.update(["special-token"])
            found.update([problem] if problem else [])
            if problem and policy is None:
                raise FlawedError(problem)
            if text is None or (problem and policy == "skip"):
                continue
            encode = tokenizer.encode if special == "allow" else tokenizer.encode_ordinary
            ids, size = encode(text.decode()), size + len(text)
            if eot != "none" and (ids or options["format"] != "megatron"):
                ids = [*ids, tokenizer.eot_token] if eot == "append" else [tokenizer.eot_token, *ids]
            digest = hashlib.blake2b(text, digest_size=8, key=str(options.get("seed", 0)).encode()).digest()
            held_out = fraction and int.from_bytes(digest, "big") < int(fraction * 2**64)
            out["val" if held_out else "train" if fraction else "all"].append((ids, name, str(path), number))
    return out, found, size


# Readers of the layouts, by their descriptions alone


def read_shard(format: str, dtype: str, parts: Sequence[bytes]) -> list[Document]:
    """The documents of a shard; all its tokens as one of a layout that has no documents."""
    def cut(tokens: Any, ends: Any) -> list[Document]:
        assert (ends[-1] if len(ends) else 0) == len(tokens)
        return [(tokens[a:b].tolist(), None, "", 0) for a, b in itertools.pairwise([0, *map(int, ends)])]

    if format == "npy":
        tokens, offsets = (np.load(io.BytesIO(one)) for one in parts)
        assert tokens.dtype == dtype and offsets[0] == 0  # noqa: PT018
        return cut(tokens, offsets[1:])
    if format == "parquet":
        table = pq.read_table(io.BytesIO(parts[0]))
        return [(row["input_ids"], row["id"], "", 0) for row in table.to_pylist()]
    if format == "megatron":
        index, code = parts[1], {"uint16": 8, "int32": 4}[dtype]
        assert index[:18] == b"MMIDIDX\0\0" + struct.pack("<QB", 1, code)
        count, ends = struct.unpack_from("<QQ", index, 18)
        lengths = np.frombuffer(index, "<i4", count, 34)
        pointers = np.frombuffer(index, "<i8", count, 34 + 4 * count)
        assert pointers.tolist() == ((np.cumsum(lengths) - lengths) * np.dtype(dtype).itemsize).tolist()
        firsts = np.frombuffer(index, "<i8", ends, 34 + 12 * count)
        assert len(index) == 34 + 12 * count + 8 * ends and firsts[0] == 0 and lengths.all()  # noqa: PT018
        return cut(np.frombuffer(parts[0], dtype), np.array([0, *np.cumsum(lengths)])[firsts[1:]])
    tokens = np.frombuffer(parts[0], dtype, offset=1024 if format == "llmc" else 0)
    if format == "llmc":
        header = struct.unpack("<256i", parts[0][:1024])
        code = {"uint16": (20240520, 1), "uint32": (20240801, 7)}[dtype]
        assert header == (*code, len(tokens), *[0] * 253)
    if format == "datatrove":
        assert parts[2].split(b"\n")[:2] == [b"tokenizer|%d" % np.dtype(dtype).itemsize, b"%d" % len(tokens)]
        return cut(tokens, np.frombuffer(parts[1], "<u8"))
    if format == "dolma":
        rows = list(csv.reader(io.StringIO(gzip.decompress(parts[1]).decode(), newline="")))
        assert [int(row[0]) for row in rows] == [0, *(int(row[1]) for row in rows)][: len(rows)]
        documents = cut(tokens, [int(row[1]) for row in rows])
        return [(one[0], row[2] or None, row[3], int(row[4]) - 1) for one, row in zip(documents, rows, strict=True)]
    return [(tokens.tolist(), None, "", 0)]


def read_output(files: dict[str, bytes], manifest: dict[str, Any], split: str) -> dict[str, list[list[Document]]]:
    """The documents of each shard, by the start of the names of each rank; "" for an output of all."""
    own = [one for one in manifest["files"] if one["split"] == split]
    width = FORMATS[manifest["format"]][0]
    found: dict[str, list[list[Document]]] = {}
    for at in range(0, len(own), width):
        parts = [files[one["name"]] for one in own[at : at + width]]
        assert [len(part) for part in parts] == [one["bytes"] for one in own[at : at + width]]
        shard = read_shard(manifest["format"], manifest["dtype"], parts)
        assert sum(len(one[0]) for one in shard) == own[at]["tokens"]
        found.setdefault(own[at]["name"][:18] if ".rank" in own[at]["name"] else "", []).append(shard)
    return found


# Draws


@dataclass
class Draw:
    """What is run, and how."""

    seed: int
    files: list[Path]
    tokenizer: int
    options: dict[str, Any]
    how: str  # "one", "ranks", "merged", "cluster"
    world: int
    delete: bool
    url: bool
    task_bytes: int

    @property
    def codec(self) -> Codec:
        return codec(self.tokenizer, self.options.get("special", "text"))

    @property
    def joins(self) -> bool:
        """Whether the outputs of ranks become those of one process."""
        return self.options["format"] not in ("llmc", "parquet") and self.options.get("shard_tokens") is None

    def plan(self, output: str, rank: int = 0, world: int = 1, **course: Any) -> Plan:
        return make_plan(self.files, output, self.codec, Options(**self.options, rank=rank, world_size=world, **course))


def draw(seed: int, folder: Path) -> tuple[Draw, list[tuple[Any, str, Any]]]:
    """(a draw, whose inputs are written into a folder; sizes of parts of a corpus to work with)."""
    choose = random.Random(seed)
    maybe = lambda chance: choose.random() < chance  # noqa: E731
    how = choose.choices(["one", "ranks", "merged", "cluster"], [4, 1, 4, 2])[0]
    format = [*FORMATS][seed % len(FORMATS)]
    options: dict[str, Any] = {"format": format}
    short = maybe(0.4)  # documents are never cut, and may have flaws
    policy = choose.choice(["skip", "replace", None])
    if policy:
        options["on_error"] = policy
        options |= {"rejected": True} if maybe(0.6) else {}
    for name, chance, values in (
        ("dtype", 0.3, FORMATS[format][3]),
        ("eot", 0.5, ("append", "prepend", "none")),
        ("special", 0.4, ("allow", "error")),
        ("separator", 0.4, ("\n\n", "\n", " the ", "aa")),
        ("shard_tokens", 0.5, (25, 100, 400)),
        ("val_fraction", 0.15, (0.3, 0.8)),
        ("max_document_bytes", 0.15, (60, 200, 900)),
    ):
        if maybe(chance):
            options[name] = choose.choice(values)
    if "val_fraction" in options:
        options["seed"] = choose.randrange(3)
    if maybe(0.1):
        options["whole_files"] = options.pop("separator", None) is not None or True
    flaws = short and (policy is not None or maybe(0.1))
    if not short and options.get("special") == "error" and policy is None:
        del options["special"]
    block = choose.choice([64, 200, 700, 3000] if short else [64, 200, 200, 700])
    sizes = [
        (text_reader, "REACH", 1000 if short else choose.choice([16, 16, 100, 400])),
        (text_reader, "FIRST_LOOK", min(block, choose.choice([64, 300]))),
        (text_reader, "LOOK", block),  # a cut is found before the next block begins, or not at all
        (streams, "COMPRESSED_READ", choose.choice([100, 1 << 19])),
        (streams, "EXPANDED", choose.choice([300, 7 << 19])),
        (running, "RESULTS_AHEAD", choose.choice([1, 4])),
        (merging, "AT_ONCE", choose.choice([5, 300])),
        (shards, "CHUNK", 100), (merging, "CHUNK", 100), (growing, "QUEUED_BYTES", 5000),
        (api, "Plan", partial(Plan, block=block)),
        *((module, "LENGTHS", choose.choice([2, 2, 1 << 17])) for module in (layout, registry, token_file)),
    ]  # fmt: skip
    piece = block * choose.choice([1, 3, 40])
    sizes += [(pieces, "PIECE", piece), (pieces.cut_pieces, "__defaults__", (None, piece))]
    sizes += [(pieces.group_pieces, "__defaults__", (piece,))]
    files = Inputs(choose, folder, options, short=short, flaws=flaws).files
    task_bytes = 1 + sum(path.stat().st_size for path in files) // choose.randint(1, 4)
    one = Draw(
        seed, files, choose.choice([0, 0, 1, 2]), options, how, choose.randint(2, 4), maybe(0.5), maybe(0.35),
        task_bytes,
    )  # fmt: skip
    return one, sizes


class Inputs:
    """Files of every kind."""

    def __init__(
        self, choose: random.Random, folder: Path, options: dict[str, Any], *, short: bool, flaws: bool
    ) -> None:
        self._choose = choose
        self._short, self._flaws = short, flaws
        self._literal = options.get("special") != "error" or flaws
        self._most = options.get("max_document_bytes") or 1 << 30
        self._separator = "" if options.get("whole_files") else options.get("separator", EOT)
        self.files: list[Path] = []
        folder.mkdir(exist_ok=True)
        kinds = ["txt", "txt", "long.txt", "jsonl", "json", "txt.gz", "jsonl.gz", "jsonl.zst", "parquet", "empty.txt"]
        for number in range(choose.randint(1, 4)):
            kind = choose.choice(kinds) if short or number else "long.txt"
            head = kind.split(".")[0]
            content: Callable[[], bytes] = getattr(self, "txt" if head in ("long", "empty") else head)
            data = choose.choice([b"", BOM]) if kind == "empty.txt" else content()
            if kind == "long.txt" and not short:
                data = self.words(choose.randint(200, 700)).encode()
            if kind.endswith("gz"):
                data = self.packed(data, content, text="txt" in kind)
            elif kind.endswith("zst"):
                data = zstandard.ZstdCompressor().compress(data)
            self.files.append(folder / f"{number} é.{kind}")
            self.files[-1].write_bytes(data)

    def maybe(self, chance: float) -> bool:
        return self._choose.random() < chance

    def words(self, count: int) -> str:
        rare = [EOT, EOT[:5], "aaa"] if self._literal else [EOT[:5], "aaa"]
        return " ".join(self._choose.choice(rare if self.maybe(0.05) else WORDS) for _ in range(count))

    def document(self) -> str:
        if self.maybe(0.15):
            return self._choose.choice(["", "", " ", "\n", "the", "x" * 200])
        if self._most < 900 and self.maybe(0.5):
            return "x" * (self._most - self._choose.randint(-1, 12))
        return self.words(self._choose.randint(1, 20 if self._short or self.maybe(0.6) else 150))

    def txt(self) -> bytes:
        texts = []
        for _ in range(self._choose.choice([1, 5, 20]) if self._separator or not self._short else 1):
            data = self.document().encode()
            if self._short:
                data = b" ".join(data[at : at + 150] for at in range(0, min(300, len(data)), 150))
                data = data.decode(errors="ignore").encode()
            if self._flaws and self.maybe(0.1):
                data = data[:3] + self._choose.choice([b"\xff", b"\xe6\x9d", b"\xed\xa0\x80"]) + data[3:]
            texts.append(data)
        end = self._separator.encode() if self.maybe(0.5) else b""
        return (BOM if self.maybe(0.2) else b"") + self._separator.encode().join(texts) + end

    def record(self) -> dict[str, Any]:
        return {"id": f"r{self._choose.randrange(99)}", "text": self.document()} if self.maybe(0.9) else \
            {"text": self.document(), "n": [1]}

    def jsonl(self) -> bytes:
        lines = []
        for _ in range(self._choose.choice([1, 5, 20])):
            line = json.dumps(self.record(), ensure_ascii=self.maybe(0.5)).encode()
            if self._flaws and self.maybe(0.15):
                line = self._choose.choice([
                    line[:-2], b"7", b'{"text": null}', b'{"id": "x"}', b'{"text": "a\xffb", "id": "y"}', b"{}",
                    b'{"text": "a\\ud800b"}',
                ])  # fmt: skip
            lines.append(line if self.maybe(0.95) else b" ")
        return (BOM if self.maybe(0.1) else b"") + b"\n".join(lines) + (b"\n" if self.maybe(0.7) else b"")

    def json(self) -> bytes:
        if self.maybe(0.3):
            return b'{"text": "1"}\n' + self.jsonl().removeprefix(BOM)
        values: list[Any] = [self.record() for _ in range(self._choose.choice([0, 3, 15]))]
        if self._flaws and self.maybe(0.3):
            values += [{"text": "a\ud800b", "id": "z"}, {"text": 3}, None]
        data = json.dumps(values, indent=self._choose.choice([None, 1])).encode()
        return data[:-1] if self._flaws and self.maybe(0.2) else data

    def parquet(self) -> bytes:
        if self._flaws and self.maybe(0.1):
            return b"PAR1 not"
        rows: list[Any] = [self.record() for _ in range(self._choose.choice([0, 3, 20]))]
        rows += [{"text": None, "id": "none"}] if self._flaws and self.maybe(0.3) else []
        column = pa.array([row["text"] for row in rows], pa.string())
        column = column.dictionary_encode() if self.maybe(0.2) else column
        file = io.BytesIO()
        table = pa.table({"text": column, "id": pa.array([row.get("id") for row in rows], pa.string())})
        pq.write_table(table, file, row_group_size=self._choose.choice([2, 7, 100]))
        return file.getvalue()

    def packed(self, data: bytes, more: Callable[[], bytes], *, text: bool) -> bytes:
        members = [data, *(more() for _ in range(self._choose.choice([0, 0, 2])))]
        if text and len(members) > 1 and self._short:
            members = [one + (self._separator or " ").encode() for one in members]
        made = b"".join(gzip.compress(one, 1) for one in members)
        if self._flaws and self.maybe(0.3):
            at = self._choose.randrange(len(made))
            made = made[:at] if self.maybe(0.5) else made[:at] + bytes([made[at] ^ 16]) + made[at + 1 :]
        return made


# The machine


class Killed(BaseException):
    """The process is no more."""


class Traced(io.FileIO):
    """A file whose changes are steps of a machine."""

    machine: Machine

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self.machine.step("write", lambda: super(Traced, self).write(view[: len(view) // 2]))
        return super().write(view)

    def truncate(self, size: int | None = None) -> int:
        self.machine.step("truncate")
        return super().truncate(size)


class Machine:
    """A folder, and a store, whose changes are counted: at one of them, the process or the machine may end.

    What an ended process would leave is saved in that moment, and put back when its threads have ended. After a loss of
    power, files have what was synced, and of what came after that anything; so have the names in folders.
    """

    def __init__(self, disk: Path, choose: random.Random) -> None:
        self.disk = disk
        self.choose = choose
        self.steps: Counter[str] = Counter()  # by their kind, and all of them as ""
        self._lock = threading.RLock()
        self._store = faulty_store.fresh("faulty")

    @contextmanager
    def process(self, what: str | None = None, kind: str = "", at: int = 0) -> Iterator[None]:
        """A process on it, which meets something at a step of a kind."""
        (self.disk / "tmp").mkdir(parents=True, exist_ok=True)
        self._what, self._kind, self._at, self.steps = what, kind, at, Counter()
        self._left: tuple[dict[str, bytes | None], dict[str, bytes]] | None = None
        self._synced = {os.stat(path).st_ino: path.read_bytes() for path in self.disk.rglob("*") if path.is_file()}
        self._renamed: list[tuple[str, str, bytes | None]] = []
        self._opened: list[Traced] = []
        Traced.machine = self
        own, real_replace, real_unlink, real_truncate = growing.open_own, os.replace, os.unlink, os.truncate

        def open_traced(path: Path, *, new: bool) -> Any:
            with own(path, new=new) as file:
                self._opened.append(Traced(os.dup(file.fileno()), "r+b"))
                return self._opened[-1]

        def fsync(handle: int) -> None:
            status = os.fstat(handle)
            self.step("folder" if stat.S_ISDIR(status.st_mode) else "sync")
            with self._lock:
                if stat.S_ISDIR(status.st_mode):
                    self._renamed = [one for one in self._renamed if inode_of(os.path.dirname(one[1])) != status.st_ino]
                else:
                    self._synced[status.st_ino] = Path(f"/proc/self/fd/{handle}").read_bytes()

        def replace(old: Any, new: Any) -> None:
            self.step("rename")
            with self._lock:
                there = Path(new).read_bytes() if os.path.exists(new) else None
                self._synced.pop(inode_of(new), None)
                real_replace(old, new)
                self._renamed.append((os.fspath(old), os.fspath(new), there))

        def unlink(path: Any, *, dir_fd: int | None = None) -> None:
            self.step("unlink")
            with self._lock:
                with suppress(FileNotFoundError):
                    self._synced.pop(os.stat(path, dir_fd=dir_fd).st_ino, None)
                real_unlink(path, dir_fd=dir_fd)

        def truncate(path: Any, size: int) -> None:
            self.step("truncate")
            real_truncate(path, size)

        patches = [
            *((module, "open_own", open_traced) for module in (growing, shards, partial_folder)),
            (os, "fsync", fsync), (os, "replace", replace), (os, "unlink", unlink), (os, "truncate", truncate),
            (tempfile, "tempdir", str(self.disk / "tmp")),
        ]  # fmt: skip
        try:
            with patched(patches), faulty_store.faulty(self._fault):
                yield
        finally:
            if self._left is not None:
                for file in self._opened:
                    file.close()
                self._restore(*self._left)

    def step(self, kind: str, first: Callable[[], object] = lambda: None) -> None:
        """A change begins. ``first``: does a part of it."""
        with self._lock:
            if self._left is not None:
                raise Killed
            self.steps.update(["", kind])
            if self._what is None or self.steps[self._kind] < self._at:
                return
            if self._what == "full" and kind in ("write", "sync"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if self._what == "store" and kind == "put":
                raise ConnectionError("reset")
            if self._what in ("kill", "power"):
                first()
                objects = {name: one.getvalue() for name, one in self._store.store.items()}
                self._left = self._files(), objects
                raise Killed

    def _fault(self, name: str, path: str) -> None:
        if name in ("put", "remove"):
            self.step(name)
        elif self._what == "flaky" and self.choose.random() < 0.02:
            raise ConnectionError("reset")

    def _files(self) -> dict[str, bytes | None]:
        found: dict[str, bytes | None] = {}
        for path in sorted(self.disk.rglob("*")):
            data = None if path.is_dir() else path.read_bytes()
            if data is not None and self._what == "power":
                data = self._after_power_loss(data, self._synced.get(inode_of(path), b""))
            found[str(path)] = data
        kept = set()
        for old, new, before in reversed(self._renamed) if self._what == "power" else ():
            if new in kept or new not in found or self.choose.random() < 0.5:
                kept.add(new)
                continue
            found[old] = found.pop(new)
            found |= {} if before is None else {new: before}
        return found

    def _after_power_loss(self, now: bytes, synced: bytes) -> bytes:
        size = max(len(synced), self.choose.randint(0, len(now)))
        mixed = synced if now.startswith(synced) else bytes(map(self.choose.choice, zip(now, synced, strict=False)))
        return mixed + (now[len(mixed) : size] if self.choose.random() < 0.5 else bytes(max(0, size - len(mixed))))

    def _restore(self, files: dict[str, bytes | None], objects: dict[str, bytes]) -> None:
        shutil.rmtree(self.disk)
        self.disk.mkdir()
        for name, data in files.items():
            if data is None:
                Path(name).mkdir(parents=True, exist_ok=True)
            else:
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_bytes(data)
        self._store.store.clear()
        for name, data in objects.items():
            self._store.pipe_file(name, data)

    def contents(self, output: str) -> dict[str, bytes]:
        """The files beside an output."""
        if output.startswith("faulty://"):
            return {name.rpartition("/")[2]: one.getvalue() for name, one in self._store.store.items()}
        return {path.name: path.read_bytes() for path in sorted(Path(output).parent.iterdir())}


def inode_of(path: Any) -> int:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return -1


@contextmanager
def patched(values: Sequence[tuple[Any, str, Any]]) -> Iterator[None]:
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in values]
    try:
        for owner, name, value in values:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)


# Runs


def calls_of(one: Draw, output: str, choose: random.Random, *, plain: bool = False) -> list[Callable[..., Any]]:
    """The calls that make an output, each of which is made again until it is done."""
    def rank(number: int, world: int, progress: Any) -> Any:
        plan = one.plan(output, number, world, checkpoint_seconds=choose.choice([0, 0, 0, 0.001, 10]))
        return running.run(plan, jobs=1 if plain else choose.randint(1, 4), progress=progress)

    def cluster(progress: Any) -> Any:
        return encode_on_cluster(
            map, one.files, output, one.codec, task_bytes=one.task_bytes, threads=1 if plain else choose.randint(1, 2),
            progress=progress, checkpoint_seconds=0, **one.options,
        )  # fmt: skip

    if one.how == "one" or (plain and one.joins and one.how in ("merged", "cluster")):
        return [partial(rank, 0, 1)]
    if one.how == "cluster":
        return [cluster]
    calls: list[Callable[..., Any]] = [partial(rank, number, one.world) for number in range(one.world)]
    if one.how == "merged":
        calls.append(lambda progress: merge_outputs(output, delete=one.delete and not plain, progress=progress))
    return calls


def run_disturbed(one: Draw, machine: Machine, output: str, steps: Counter[str], most: int) -> Counter[str]:
    """Make all calls, disturbed up to so many times; returns the disturbances."""
    choose, met = machine.choose, Counter[str]()
    whats = [*["kill", "power"] * 3, "full", "interrupt", *(["store", "flaky"] if one.url else [])]
    for call in calls_of(one, output, choose):
        while True:
            what = choose.choice(whats) if met.total() < most else None
            left = choose.randint(1, 8)

            def progress(*_: object) -> None:
                nonlocal left
                left -= 1
                if what == "interrupt" and left == 0:  # noqa: B023
                    raise KeyboardInterrupt

            try:
                kind = choose.choice(["", "", "rename", "folder", "unlink"])
                with machine.process(what, kind, choose.randint(1, 1 + steps[kind])):
                    call(progress)
                break
            except (Killed, KeyboardInterrupt, OSError) as error:
                if what is None or (isinstance(error, OSError) and what not in ("full", "store")):
                    raise
                if getattr(error, "errno", None) != {"full": errno.ENOSPC, "store": errno.EIO}.get(what):
                    raise
                met[what] += 1
                if one.url and what in ("kill", "power") and choose.random() < 0.5:
                    shutil.rmtree(machine.disk)  # another machine goes on
    return met


def check(seed: int, folder: Path, most: int = 4) -> Counter[str]:
    """Run a draw, and compare what it wrote with the oracle, and byte for byte with undisturbed runs."""
    one: Draw | None = None
    try:
        one, sizes = draw(seed, folder / "in")
        with patched(sizes):
            return check_draw(one, folder, most)
    except BaseException as error:
        error.add_note(f"{one}\nto repeat it: python tests/support/corpus_model.py {seed}")
        raise


def check_draw(one: Draw, folder: Path, most: int) -> Counter[str]:
    choose = random.Random(one.seed)
    try:
        expected, problems, size = oracle(one)
    except FlawedError as flaw:
        expected, problems = {}, Counter(fail=len(str(flaw)))
    machine = Machine(folder / "disk", choose)
    plain, output = str(folder / "disk" / "plain" / "o"), str(folder / "disk" / "out" / "o")
    output = "faulty://out/o" if one.url else output
    if not expected:
        try:
            run_disturbed(one, machine, output, Counter({"": 40}), most)
        except RecordError:
            assert not Path(f"{output}.manifest.json").exists()
            assert not any(name.endswith("o.manifest.json") for name in machine._store.store)
            return Counter()
        raise AssertionError("a problem did not end the run")
    with machine.process():
        for call in calls_of(one, plain, choose, plain=True):
            call(lambda *_: None)
        steps = machine.steps
    reference = machine.contents(plain)
    shutil.rmtree(machine.disk / "plain")
    met = run_disturbed(one, machine, output, steps, most)
    files, kept = machine.contents(output), {*reference}
    if one.how == "merged" and one.delete:
        listed = {file["name"] for file in json.loads(reference["o.manifest.json"])["files"]}
        kept -= {name for name in kept if ".rank" in name} - listed
    assert {name: files.get(name) for name in kept} == {name: reference[name] for name in kept}
    left = {name for name in files.keys() - kept if one.delete or one.how != "merged" or ".rank" not in name}
    assert not left, left
    assert not list((machine.disk / "tmp").glob("*/*"))
    compare(one, reference, expected, problems, size)
    if one.how in ("one", "cluster"):
        with machine.process():
            calls_of(one, output, choose)[0](lambda *_: None)
            assert not machine.steps
    counted = count_corpus(one.files, one.codec, jobs=2, **{
        name: value for name, value in one.options.items()
        if name in ("separator", "on_error", "whole_files", "max_document_bytes", "special")
    })  # fmt: skip
    if "val_fraction" not in one.options and one.options["format"] != "parquet":
        assert counted["tokens"] == sum(len(row[0]) for row in oracle(one, eot="none")[0]["all"])
    return met


def compare(
    one: Draw, files: dict[str, bytes], expected: dict[str, list[Document]], problems: Counter[str], size: int
) -> None:
    """The files of an undisturbed run, and what the oracle expects."""
    options, format = one.options, one.options["format"]
    ranks = [json.loads(files[name]) for name in sorted(files) if ".rank" in name and name.endswith("manifest.json")]
    manifests = [json.loads(files["o.manifest.json"])] if "o.manifest.json" in files else ranks
    for before, after in itertools.pairwise(rank for rank in ranks if rank["tokens"]):
        assert before["goes_on"] == after["continues"]
    assert sum((Counter({name: row["count"] for name, row in manifest["problems"].items()}) for manifest in manifests),
               Counter()) == problems  # fmt: skip
    rows = [row for split in expected.values() for row in split]
    assert sum(manifest["tokens"] for manifest in manifests) == sum(len(row[0]) for row in rows)
    if one.how != "ranks":
        assert manifests[0]["bytes"] == size
    if options.get("rejected"):
        lists = [gzip.decompress(files[manifest["rejected"]["name"]]) for manifest in manifests]
        assert Counter(json.loads(line)["reason"] for line in b"".join(lists).splitlines()) == problems
    for split, documents in expected.items():
        by_rank = [shards for manifest in manifests for shards in read_output(files, manifest, split).values()]
        for found_shards in by_rank:
            check_shards(format, options.get("shard_tokens"), found_shards)
        found = [row for found_shards in by_rank for shard in found_shards for row in shard]
        whole = len(by_rank) == 1 or (ranks and not any(manifest["goes_on"] for manifest in ranks))
        if FORMATS[format][1] and whole:
            kept = {"dolma": slice(0, 4), "parquet": slice(0, 2)}.get(format, slice(0, 1))
            assert [row[kept] for row in found] == [row[kept] for row in documents]
        else:
            assert [token for row in found for token in row[0]] == [token for row in documents for token in row[0]]


def check_shards(format: str, limit: int | None, found: list[list[Document]]) -> None:
    """A shard has as many documents as fit, or the exact number of tokens."""
    if limit is None:
        assert len(found) == 1
        return
    sizes = [sum(len(row[0]) for row in shard) for shard in found]
    if not FORMATS[format][1]:
        tail = max(1, limit // 10) if format == "llmc" else 1
        assert sizes[:-1] == [limit] * (len(sizes) - 1)
        assert len(sizes) == 1 or tail <= sizes[-1] < limit + tail
        return
    for size, shard, following in itertools.zip_longest(sizes, found, found[1:]):
        assert size <= limit or len(shard) == 1
        assert following is None or size + len(following[0][0]) > limit


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as made:
            print(argument, dict(check(int(argument), Path(made))))
