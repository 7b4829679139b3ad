"""The encodings that OpenAI publishes as ranks files: their split patterns and special tokens, which the files lack.

Source: https://github.com/openai/tiktoken/blob/main/tiktoken_ext/openai_public.py (release 0.14.0)
"""
from __future__ import annotations

from typing import NamedTuple

__all__ = ["PUBLISHED", "Published"]

_END_OF_TEXT = "<|endoftext|>"
_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
_END_OF_PROMPT = "<|endofprompt|>"

_R50K = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
_CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"""
    r"""|\s+(?!\S)|\s"""
)
_O200K = "|".join(
    (
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    )
)

_HARMONY = {
    "<|startoftext|>": 199998,
    _END_OF_TEXT: 199999,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|call|>": 200012,
    _END_OF_PROMPT: 200018,
}


def _harmony() -> dict[str, int]:
    """The named ones, and a reserved one for every other id; 200018 has both."""
    named = set(_HARMONY.values()) - {200018}
    reserved = {f"<|reserved_{i}|>": i for i in range(200000, 201088) if i not in named and i != 200018}
    return dict(sorted((_HARMONY | reserved).items(), key=lambda item: item[1]))


class Published(NamedTuple):
    """What a ranks file does not hold."""

    pattern: str
    special_tokens: dict[str, int]


#: name -> pattern and special tokens.
PUBLISHED = {
    "gpt2": Published(_R50K, {_END_OF_TEXT: 50256}),
    "r50k_base": Published(_R50K, {_END_OF_TEXT: 50256}),
    "p50k_base": Published(_R50K, {_END_OF_TEXT: 50256}),
    "p50k_edit": Published(
        _R50K, {_END_OF_TEXT: 50256} | {literal: 50281 + n for n, literal in enumerate(_FIM)}
    ),
    "cl100k_base": Published(
        _CL100K,
        {_END_OF_TEXT: 100257} | {literal: 100258 + n for n, literal in enumerate(_FIM)} | {_END_OF_PROMPT: 100276},
    ),
    "o200k_base": Published(_O200K, {_END_OF_TEXT: 199999, _END_OF_PROMPT: 200018}),
    "o200k_harmony": Published(_O200K, _harmony()),
}
