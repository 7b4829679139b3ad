"""nanoGPT: uint16 tokens and nothing else, because its trainer reads every file as that."""
from __future__ import annotations

from .layout import Layout

__all__ = ["NanoGPT"]


class NanoGPT(Layout):
    name = "nanogpt"
    suffix = ".bin"
    exact = True
    dtypes: tuple[str, ...] = ("uint16",)
