"""Token files of every layout: read whole, or refused with FormatError; never more tokens than the file holds."""
from __future__ import annotations

import struct

import numpy as np

from bpetite import FormatError, Tokenizer
from bpetite.corpus import encode_corpus, open_token_file

from .scratch import fresh, scratch

__all__ = ["WORDS", "one", "seeds"]

#: Layout -> suffixes of its files.
LAYOUTS = {
    "npy": (".npy", ".offsets.npy"),
    "nanogpt": (".bin", ".none"),
    "llmc": (".bin", ".none"),
}

WORDS = (
    b"\x93NUMPY\x01\x00", b"'descr': '<u4'", b"'fortran_order': False", b"'shape': (4,)", b"'|V1'",
    struct.pack("<Q", 2**63), struct.pack("<Q", 2**64 - 1), struct.pack("<I", 2**31), bytes(8),
)  # fmt: skip


def one(data: bytes) -> None:
    """A byte for the layout, four for the size of the first file, then both files."""
    head = data[:5].ljust(5, b"\0")
    layout = [*LAYOUTS][head[0] % len(LAYOUTS)]
    size = int.from_bytes(head[1:], "little") % (len(data) + 1)
    folder = fresh("tokens")
    for suffix, content in zip(LAYOUTS[layout], (data[5 : 5 + size], data[5 + size :]), strict=True):
        (folder / f"t{suffix}").write_bytes(content)
    path = folder / f"t{LAYOUTS[layout][0]}"
    try:
        file = open_token_file(path, format=layout, dtype="uint16" if layout == "nanogpt" else None)
        read = 0
        for tokens, lengths in file.spans():
            read += len(tokens)
            if lengths is not None and (int(lengths.sum()) != len(tokens) or (lengths < 0).any()):
                raise AssertionError(f"documents of {lengths.tolist()} tokens in {len(tokens)}")
            if read > 8 * len(data) + 8:
                raise AssertionError(f"{read} tokens out of {len(data)} bytes")
        if file.tokens != read:
            raise AssertionError(f"{read} tokens read of {file.tokens}")
    except FormatError:
        return


def seeds() -> list[bytes]:
    tok = Tokenizer.train("ab ab ab", 258)
    folder = scratch("tokens-seeds")
    source = folder / "in.txt"
    source.write_text("ab<|endoftext|>ab ab x<|endoftext|><|endoftext|>de")
    made = []
    for number, (layout, suffixes) in enumerate(LAYOUTS.items()):
        encode_corpus(source, folder / layout, tok, format=layout, overwrite=True)
        stem = f"{layout}_000000" if layout == "llmc" else layout
        files = [folder / f"{stem}{suffix}" for suffix in suffixes]
        first, second = (path.read_bytes() if path.exists() else b"" for path in files)
        made.append(bytes([number]) + struct.pack("<I", len(first)) + first + second)
    np.save(folder / "two.npy", np.zeros((2, 2), np.uint16))
    rows = (folder / "two.npy").read_bytes()
    return [*made, b"\0" + struct.pack("<I", len(rows)) + rows]
