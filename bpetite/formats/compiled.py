"""The compiled file: the tables of a tokenizer as memory holds them, to be mapped and shared by processes.

It is made of a header, the settings as JSON, and flat parts, each at a multiple of 64 bytes. Nothing depends on it: it
is made again from its source, and another version's is refused. The file must not change while a process uses it;
saving puts a new file in its place, and so does no harm.
"""
from __future__ import annotations

import mmap
import os
import struct
from array import array
from collections.abc import Callable
from contextlib import suppress
from operator import xor

from ..errors import FormatError
from ..release import __version__
from ..vocabulary._compiled import Parts, checksum, tables_as_bytes
from ..vocabulary._merge_list import MergeList
from ..vocabulary.vocab import Vocab
from . import native
from .files import MAGIC, Source, errors_named, parse_json

__all__ = ["dump", "kept", "read", "seal", "verify"]

VERSION = 2
#: Magic, version, byte order, bytes of the file, checksum and SHA-256 of what follows.
HEADER = struct.Struct("<8sI4sQQ32s")
ORDER = struct.pack("=I", 0x01020304)
ALIGN = 64
AGAIN = "make it again from its source with Tokenizer.save"


def dump(vocab: Vocab) -> bytes:
    """The file of a vocabulary: the same bytes for equal vocabularies that were trained alike."""
    import json  # not at the top: reading does without the half of it that writes

    parts = _parts(vocab)
    facts = {
        "head": native.head_of(vocab),
        "fingerprint": vocab.fingerprint(),
        "repeated": vocab.token_table.repeated,
        "across": vocab.first_superword_rank,
        "parts": [len(part) for part in parts],
    }
    text = json.dumps(facts, ensure_ascii=False).encode()
    return seal(_aligned([struct.pack("<Q", len(text)) + text, *parts]))


def _parts(vocab: Vocab) -> list[bytes]:
    key = _key(vocab.fingerprint())
    tokens = vocab.token_table.with_tokens({}, vocab.unreachable, key)
    parts: list[bytes] = tables_as_bytes(tokens, vocab.keyed_merge_table(tokens, key))
    return parts if vocab.merges is None else [*parts, MergeList(vocab.merges).flat().tobytes()]


def _aligned(parts: list[bytes]) -> bytes:
    return b"".join(part + bytes(-len(part) % ALIGN) for part in parts)


def seal(body: bytes) -> bytes:
    """A file: what follows the header, behind a header with its size, checksum and SHA-256."""
    import hashlib

    whole = HEADER.size + len(body)
    return HEADER.pack(MAGIC, VERSION, ORDER, whole, checksum(body), hashlib.sha256(body).digest()) + body


def read(path: Source, name: str | None = None) -> Vocab:
    """The vocabulary of a file, whose tables stay in the file; the file is mapped until nothing uses them.

    Args:
        path: The file.
        name: The name that the vocabulary has.

    Raises:
        FormatError: The file is damaged, or of another version or byte order; the message has the way out.
        OSError: The file cannot be read.
    """
    vocab, _, mapped = _read(path)
    if hasattr(mmap, "MADV_DONTNEED"):  # what was only checked takes no memory of the process
        mapped.madvise(mmap.MADV_DONTNEED)
    vars(vocab)["name"] = name
    return vocab


def verify(path: Source) -> None:
    """Check what loading does not: the SHA-256 of the content, its fingerprint, and that its tables are what the
    vocabulary gives.

    Raises:
        FormatError: One of them differs.
    """
    import hashlib

    vocab, fingerprint, mapped = _read(path)
    if hashlib.sha256(memoryview(mapped)[HEADER.size :]).digest() != mapped[HEADER.size - 32 : HEADER.size]:
        raise FormatError(f"{os.fspath(path)}: its content has another SHA-256 than its header says; {AGAIN}")
    if vocab.fingerprint() != fingerprint:
        raise FormatError(f"{os.fspath(path)}: its tokenizer is not that of its fingerprint {fingerprint}; {AGAIN}")
    made = _aligned(_parts(vocab.replace()))  # without the tables of the file
    if mapped[len(mapped) - len(made) :] != made:
        raise FormatError(f"{os.fspath(path)}: its tables are not those of its tokens and merges; {AGAIN}")


def kept(file: str, source: bytes, folder: str, make: Callable[[], Vocab], name: str | None = None) -> Vocab:
    """The vocabulary of a source, from its compiled file in a folder, or else made and put there.

    The file does not depend on ``regex`` or Python: patterns are compiled, and settings checked, when it is loaded.
    ``BPETITE_CACHE=off`` keeps and reads none; where none can be kept, the vocabulary is made each time.

    Args:
        file: The beginning of the file's name.
        source: A digest of all that the vocabulary is made of: its files, and its settings.
        folder: The folder.
        make: Reads the source.
        name: The name that the vocabulary has.
    """
    import hashlib  # not at the top: reading does without these two

    from ..atomic import write_file

    if os.environ.get("BPETITE_CACHE") == "off":
        return make()
    key = hashlib.sha256(source + f"{__version__} {VERSION}".encode()).hexdigest()[:16]
    path = os.path.join(folder, f"{file}-{key}.bpetite")
    with suppress(OSError, FormatError):
        return read(path, name)
    vocab = make()
    with suppress(OSError):
        os.makedirs(folder, exist_ok=True)
        write_file(path, dump(vocab), overwrite=True)
    return vocab


def _read(path: Source) -> tuple[Vocab, str, mmap.mmap]:
    name = os.fspath(path)
    with open(name, "rb") as file:
        start = file.read(HEADER.size)
        size = os.fstat(file.fileno()).st_size
        if len(start) < HEADER.size:
            raise FormatError(f"{name}: cut off after {size} bytes, within its header of {HEADER.size}; {AGAIN}")
        magic, version, order, stated, expected, _ = HEADER.unpack(start)
        if magic != MAGIC:
            raise FormatError(f"{name}: no compiled tokenizer: it begins with {magic!r}")
        if version != VERSION:
            raise FormatError(f"{name}: version {version} of compiled files, and this release reads {VERSION}; {AGAIN}")
        if order != ORDER:
            raise FormatError(f"{name}: made on a machine with another order of bytes; {AGAIN}")
        if size != stated:
            raise FormatError(f"{name}: it has {size} bytes, and its header says {stated}; {AGAIN}")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    whole = memoryview(mapped)
    try:
        actual, vocab, fingerprint = _tables(whole, name)
    except FormatError:
        actual = checksum(whole[HEADER.size :])
        if actual == expected:
            raise
    if actual != expected:
        raise FormatError(f"{name}: damaged: its checksum differs; {AGAIN}")
    return vocab, fingerprint, mapped


def _tables(whole: memoryview, name: str) -> tuple[int, Vocab, str]:
    """The checksum of a file, the vocabulary whose tables are in it, and its fingerprint."""
    at = HEADER.size + 8
    stop = at + int.from_bytes(whole[HEADER.size : at], "little")
    facts = parse_json(bytes(whole[at:stop]), name)
    with errors_named(name, (ValueError, TypeError, LookupError, OverflowError)):
        parts = Parts(whole, HEADER.size, stop, facts["parts"])
        key = _key(facts["fingerprint"])
        tokens = parts.tokens(facts["repeated"], key)
        merges = None
        if facts["head"]["kind"] == "merges":
            merges = MergeList(array("I", whole[parts.ends[-1] - facts["parts"][-1] : parts.ends[-1]].tobytes()))
        vocab = native.from_head(facts["head"], name, tokens, merges)
        table = parts.merges(tokens, key, vocab.never_merged)
        if vocab.tokens is not tokens or table.ranks != len(tokens if merges is None else merges):
            raise ValueError("its settings are not those of its tables")
        across = facts["across"]
        if across is not None and (type(across) is not int or not 0 <= across <= table.ranks):
            raise ValueError(f"across {across!r} is no rank")
    vars(vocab).update(merge_table=table, first_superword_rank=across)
    return parts.checksum(), vocab, facts["fingerprint"]


def _key(fingerprint: str) -> bytes:
    """The key of 48 bytes of both hash tables."""
    digest = bytes.fromhex(fingerprint)
    return digest + bytes(map(xor, digest[:16], digest[16:]))
