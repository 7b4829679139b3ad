r"""Split patterns in use, by name, each with where it is published.

A pattern is one regular expression for the `regex` module, or a tuple of them, each applied inside the pieces of the
one before; `None` stands for no pre-tokenization. Matches are pre-tokens, and so is what lies between matches.
"""
from __future__ import annotations

from typing import Union

__all__ = ["GPT2", "Pattern"]

Pattern = Union[str, tuple[str, ...], None]

GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""

#: name -> pattern, as the command line takes them.
NAMED: dict[str, Pattern] = {"gpt2": GPT2}
