"""Named split patterns."""

__all__ = ["GPT2", "Pattern"]

#: One regular expression; a tuple of them, each applied inside the pieces of the one before; or None: no split.
Pattern = str | tuple[str, ...] | None

#: GPT-2 (Radford et al. 2019), as tiktoken's ``gpt2`` encoding has it.
GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
