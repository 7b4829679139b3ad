"""All layouts by their names: which one writes, and which file is read by which."""
from __future__ import annotations

import os
import struct

import numpy as np

from ...errors import FormatError
from ..read.paths import AnyPath, path_of
from .datatrove import Datatrove
from .dolma import Dolma
from .layout import Layout
from .llmc import LlmC, open_llmc
from .megatron import Megatron
from .nanogpt import NanoGPT
from .npy import Npy, NpyFile
from .parquet import Parquet
from .token_file import TokenFile, count_tokens

LAYOUTS: dict[str, type[Layout]] = {
    layout.name: layout for layout in (Npy, NanoGPT, LlmC, Megatron, Datatrove, Dolma, Parquet)
}

DTYPES = ("uint16", "uint32", "int32")


def layout_of(name: str) -> Layout:
    if name not in LAYOUTS:
        raise ValueError(f"format {name!r} is not one of {', '.join(LAYOUTS)}")
    return LAYOUTS[name]()


def open_token_file(path: str | os.PathLike[str], *, format: str | None = None, dtype: str | None = None) -> TokenFile:
    """A token file of NumPy, nanoGPT or llm.c, in bounded memory.

    Args:
        format: The layout, where the file does not say.
        dtype: Of the tokens, where the file does not say.

    Raises:
        FormatError: The file is damaged, nothing says its layout, or its layout has a reader of its own.
        OSError: It cannot be read.
    """
    path = path_of(path)
    format = format or _sniff(path)
    layout = layout_of(format)  # the error for a wrong name lists the right ones
    if dtype not in (None, *DTYPES):
        raise ValueError(f"dtype {dtype!r} is not one of {', '.join(DTYPES)}")
    if layout.reader is not None:
        raise FormatError(f"{path}: {format} files are read by {layout.reader}")
    if format == "npy":
        return NpyFile(path)
    if format == "llmc":
        return open_llmc(path)
    kind = np.dtype(dtype or layout.dtypes[0])
    return TokenFile(path, format, kind, 0, count_tokens(path, 0, kind))


def _sniff(path: AnyPath) -> str:
    """The layout by a file's first bytes and name."""
    with path.open("rb") as file:
        head = file.read(12)
    index = path.with_name(path.name.removesuffix(".bin") + ".idx")
    if head.startswith(b"MMIDIDX") or (path.name.endswith(".bin") and index.exists()):
        return "megatron"
    if head[:8] in [struct.pack("<2i", magic, version) for magic, version in LlmC.codes.values()]:
        return "llmc"
    for start, format in ((b"\x93NUMPY", "npy"), (b"PAR1", "parquet")):
        if head.startswith(start):
            return format
    if path.name.endswith((".ds", ".ds.index", ".ds.metadata")):
        return "datatrove"
    raise FormatError(f"{path}: not a token file with a header; give format= (nanogpt, dolma, ...) for one without")
