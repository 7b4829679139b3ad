"""The ranks of published encodings: from a folder, or from the URL that publishes them.

A file is used only if its SHA-256 is the published one. In a folder it has its own name, such as
``cl100k_base.tiktoken``, or the name that tiktoken gives it, the SHA-1 of its URL.

GPT-2 has the tokens of r50k_base, and p50k_base has these, then 24 runs of spaces: a file of any of them is enough.

Sources: https://github.com/openai/tiktoken/blob/main/tiktoken/load.py and
https://github.com/openai/tiktoken/blob/main/tiktoken_ext/openai_public.py
"""
from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import NamedTuple

from ..bytelevel import ORDER, decode_tokens_bytes
from ..errors import FormatError, warn_caller
from ..vocabulary._tokens import TokenTable, grown
from ..vocabulary.vocab import Vocab
from .encodings import PUBLISHED
from .files import decode_utf8
from .tiktoken import parse, vocab_of_tokens

#: The address below which the files are published.
URL = "https://openaipublic.blob.core.windows.net/"

#: The seconds that connecting to one address of the host may take, and each read from it.
TIMEOUT = 10

#: A bound of the size of all published files, in bytes.
LARGEST = 1 << 26


class RankFile(NamedTuple):
    """A published file: its path below :data:`URL`, and the SHA-256 of its content."""

    path: str
    sha256: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def names(self) -> tuple[str, str]:
        """The file's own name, and its name in tiktoken's cache."""
        return self.name, hashlib.sha1((URL + self.path).encode(), usedforsecurity=False).hexdigest()

    def check(self, data: bytes, origin: str, way_out: str) -> bytes:
        """The content, if it is the published one; otherwise a FormatError with both hashes."""
        digest = hashlib.sha256(data).hexdigest()
        if digest != self.sha256:
            raise FormatError(
                f"{origin}: not used, since it is not the published {self.name}: its SHA-256 is {digest}, not "
                f"{self.sha256}; {way_out}"
            )
        return data


_PUBLISHED = {
    "encodings/r50k_base.tiktoken": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    "encodings/p50k_base.tiktoken": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "encodings/cl100k_base.tiktoken": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "encodings/o200k_base.tiktoken": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "gpt-2/encodings/main/vocab.bpe": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
}
R50K, P50K, CL100K, O200K, GPT2_MERGES = (RankFile(path, sha256) for path, sha256 in _PUBLISHED.items())


def _of_merges(data: bytes, name: str) -> TokenTable:
    """rank -> bytes: the 256 bytes, printable ones first, then the result of each line of GPT-2's merges."""
    merges = decode_utf8(data, name).split("\n")[1:-1]
    joined = decode_tokens_bytes([merge.replace(" ", "") for merge in merges])
    return TokenTable(dict(enumerate([*(bytes([byte]) for byte in ORDER), *joined])))


def _with_spaces(read: Callable[[bytes, str], TokenTable]) -> Callable[[bytes, str], TokenTable]:
    """A reader of p50k_base from r50k_base: it adds 2 to 25 spaces, at the ids after ``<|endoftext|>``."""
    runs = {50255 + spaces: b" " * spaces for spaces in range(2, 26)}
    return lambda data, name: grown(read(data, name), runs)


def _without_spaces(data: bytes, name: str) -> TokenTable:
    """rank -> bytes of r50k_base from p50k_base: its lines before the runs of spaces."""
    return parse(b"".join(data.splitlines(keepends=True)[:50256]), name)


#: encoding -> the files that hold its ranks, each with its reader; the first is fetched if no folder has any of them.
RANK_FILES: dict[str, tuple[tuple[RankFile, Callable[[bytes, str], TokenTable]], ...]] = {
    "r50k_base": ((R50K, parse), (P50K, _without_spaces), (GPT2_MERGES, _of_merges)),
    "p50k_base": ((P50K, parse), (R50K, _with_spaces(parse)), (GPT2_MERGES, _with_spaces(_of_merges))),
    "cl100k_base": ((CL100K, parse),),
    "o200k_base": ((O200K, parse),),
}
RANK_FILES |= {
    "gpt2": RANK_FILES["r50k_base"], "p50k_edit": RANK_FILES["p50k_base"], "o200k_harmony": RANK_FILES["o200k_base"]
}  # fmt: skip


def load(encoding: str) -> Vocab:
    """The vocabulary of a published encoding, by its published name; :func:`bpetite.get_encoding` lists the places that
    are searched for its ranks.

    Raises:
        FormatError: A file in a folder or from the network is not the published one; names both hashes.
        ConnectionError: No folder has a file, and none can be fetched; names the file, its SHA-256 and its place.
        OSError: A file cannot be read, or ``BPETITE_CACHE_DIR`` cannot be written.
    """
    known = PUBLISHED[encoding]
    return vocab_of_tokens(_ranks(encoding), encoding, known.pattern, known.special_tokens, encoding)


def _ranks(encoding: str) -> TokenTable:
    rank_files = RANK_FILES[encoding]
    for folder in (cache_folder(), _cache_of_tiktoken()):
        for file, read in rank_files:
            for path in (os.path.join(folder, name) for name in file.names):
                if folder and os.path.isfile(path):
                    with open(path, "rb") as opened:
                        data = opened.read(LARGEST)
                    return read(file.check(data, path, "delete it, or put the published file in its place"), path)
    file, read = rank_files[0]
    return read(_fetch(file, encoding), file.name)


def cache_folder() -> str:
    """The folder in which fetched files are kept."""
    given = os.environ.get("BPETITE_CACHE_DIR")
    if given:
        return os.path.expanduser(given)
    variable, default = ("LOCALAPPDATA", "~/AppData/Local") if os.name == "nt" else ("XDG_CACHE_HOME", "~/.cache")
    return os.path.join(os.environ.get(variable) or os.path.expanduser(default), "bpetite")


def _cache_of_tiktoken() -> str:
    """tiktoken's folder; "" if its cache is switched off."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return os.environ[variable]
    import tempfile

    return os.path.join(tempfile.gettempdir(), "data-gym-cache")


def _fetch(file: RankFile, encoding: str) -> bytes:
    """The published file, fetched and kept in :func:`cache_folder`."""
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import urlopen

    from ..atomic import write_file

    url = (os.environ.get("BPETITE_ENCODINGS_URL") or URL).rstrip("/") + "/" + file.path
    path = os.path.join(cache_folder(), file.name)
    try:
        with urlopen(url, timeout=TIMEOUT) as answer:
            data: bytes = answer.read(LARGEST)
    except (OSError, HTTPException, ValueError) as lost:
        if isinstance(lost, HTTPError):
            lost.close()
        why = lost.reason if type(lost) is URLError else lost
        raise ConnectionError(
            f"the ranks of {encoding} are not on this machine, and {url} cannot be fetched: {why}. Without a network, "
            f"put {file.name} from {URL}{file.path} (SHA-256 {file.sha256}) at {path} "
            "(BPETITE_CACHE_DIR names another folder)"
        ) from None
    file.check(data, url, f"put the published file at {path}")
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_file(path, data, overwrite=True)
    except OSError as bad:
        if os.environ.get("BPETITE_CACHE_DIR"):
            raise
        warn_caller(
            f"{file.name} is fetched again next time, since it cannot be kept: {bad}; set BPETITE_CACHE_DIR",
            RuntimeWarning,
        )
    return data
