"""The encodings that OpenAI publishes as ranks files: their split patterns and special tokens, which the files lack.

Source: https://github.com/openai/tiktoken/blob/main/tiktoken_ext/openai_public.py (release 0.14.0)
"""
from __future__ import annotations

from typing import NamedTuple

from ..patterns import CL100K_POSSESSIVE, GPT2_POSSESSIVE, O200K

__all__ = ["PUBLISHED", "Published"]

_END_OF_TEXT = "<|endoftext|>"
_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
_END_OF_PROMPT = "<|endofprompt|>"

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
    """The named tokens, and a reserved one for every other id below 201,088."""
    named = set(_HARMONY.values())
    reserved = {f"<|reserved_{i}|>": i for i in range(200000, 201088) if i not in named}
    return dict(sorted((_HARMONY | reserved).items(), key=lambda item: item[1]))


class Published(NamedTuple):
    """What a ranks file does not hold."""

    pattern: str
    special_tokens: dict[str, int]


#: name -> pattern and special tokens.
PUBLISHED = {
    "gpt2": Published(GPT2_POSSESSIVE, {_END_OF_TEXT: 50256}),
    "r50k_base": Published(GPT2_POSSESSIVE, {_END_OF_TEXT: 50256}),
    "p50k_base": Published(GPT2_POSSESSIVE, {_END_OF_TEXT: 50256}),
    "p50k_edit": Published(
        GPT2_POSSESSIVE, {_END_OF_TEXT: 50256} | {literal: 50281 + n for n, literal in enumerate(_FIM)}
    ),
    "cl100k_base": Published(
        CL100K_POSSESSIVE,
        {_END_OF_TEXT: 100257} | {literal: 100258 + n for n, literal in enumerate(_FIM)} | {_END_OF_PROMPT: 100276},
    ),
    "o200k_base": Published(O200K, {_END_OF_TEXT: 199999, _END_OF_PROMPT: 200018}),
    "o200k_harmony": Published(O200K, _harmony()),
}
