"""nanoGPT: uint16 tokens and nothing else, because its trainer reads every file as that."""
from __future__ import annotations

from .layout import Layout


class NanoGPT(Layout):
    name = "nanogpt"
    suffix = ".bin"
    fills_shards = True
    dtypes: tuple[str, ...] = ("uint16",)
