r"""Split patterns in use, by name, each with the source that publishes it.

A pattern is one regular expression for the `regex` module, or a tuple of them, each applied inside the pieces of the
one before; `None` stands for no pre-tokenization. Matches are pre-tokens, and so is what lies between matches.

What a pattern means is what `regex` does with it. A pattern that compiles is cut by a scanner, with the same
pre-tokens; any other is left to `regex` itself, some twenty times slower: `Tokenizer.scanner` says "regex".

Where a model was published with two forms of one pattern, or with a form that is written differently but cuts alike,
both are here: files carry the text of a pattern, and are easier to compare when it is the published text.
"""
from __future__ import annotations

from typing import Any, TypeAlias, TypeGuard

__all__ = [
    "CL100K",
    "CL100K_POSSESSIVE",
    "DEEPSEEK_V3",
    "GPT2",
    "GPT2_POSSESSIVE",
    "LLAMA3",
    "NAMED",
    "O200K",
    "QWEN2",
    "STARCODER",
    "Pattern",
]

Pattern: TypeAlias = str | tuple[str, ...] | None

# openai/gpt-2, src/encoder.py. Also RoBERTa, GPT-NeoX, OLMo, and every ByteLevel pre-tokenizer with use_regex.
GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""

# tiktoken 0.14, tiktoken_ext/openai_public.py, r50k_pat_str: "equivalent, but executes faster".
GPT2_POSSESSIVE = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""

# tiktoken 0.3 to 0.6, tiktoken_ext/openai_public.py, cl100k_base (GPT-3.5, GPT-4).
CL100K = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"""
    r"""| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)

# tiktoken 0.14, tiktoken_ext/openai_public.py, cl100k_base. It cuts as the form above does, except white space that
# ends a text and has a newline before other white space: the form above cuts "x\n " into "x", "\n", " ", this one into
# "x", "\n ".
CL100K_POSSESSIVE = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"""
    r"""| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)

# tiktoken 0.14, tiktoken_ext/openai_public.py, o200k_base and o200k_harmony (GPT-4o, o1, gpt-oss).
O200K = "|".join(
    [
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    ]
)

# meta-llama/llama3, llama/tokenizer.py, pat_str; the same text as the first form of cl100k.
LLAMA3 = CL100K

# huggingface/transformers, src/transformers/models/qwen2/tokenization_qwen2.py, PRETOKENIZE_REGEX: single digits.
QWEN2 = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"""
    r"""| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)

# deepseek-ai/DeepSeek-V3, tokenizer.json: three Split steps, "Isolated"; also DeepSeek R1, Hunyuan.
DEEPSEEK_V3 = (
    r"""\p{N}{1,3}""",
    r"""[一-龥぀-ゟ゠-ヿ]+""",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"""| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
)

# bigcode/starcoder, tokenizer.json: Digits(individual_digits=True), then ByteLevel with its own regex, GPT-2's; also
# SmolLM, Command R.
STARCODER = (r"""\p{N}""", GPT2)

NAMED: dict[str, Pattern] = {
    "gpt2": GPT2,
    "gpt2-possessive": GPT2_POSSESSIVE,
    "cl100k": CL100K,
    "cl100k-possessive": CL100K_POSSESSIVE,
    "o200k": O200K,
    "llama3": LLAMA3,
    "qwen2": QWEN2,
    "deepseek-v3": DEEPSEEK_V3,
    "starcoder": STARCODER,
}

class _ByName:
    """The default of a ``pattern`` that may be None."""

    def __repr__(self) -> str:
        return "BY_NAME"


#: In place of a pattern: the one that belongs to the name of a published encoding.
BY_NAME: Any = _ByName()


def as_tuple(setting: Any) -> tuple[Any, ...]:
    """The steps of a pattern, or of another setting that is None, one step or a tuple of steps."""
    if setting is None:
        return ()
    return setting if isinstance(setting, tuple) else (setting,)


def is_plain(pattern: object) -> TypeGuard[Pattern]:
    """Whether a pattern only cuts, so that its pre-tokens joined are the text. :mod:`bpetite.steps.splits` has steps
    that do more."""
    return all(isinstance(step, str) for step in as_tuple(pattern))


#: Stages that need no check: they are regular expressions.
KNOWN: frozenset[str] = frozenset(stage for pattern in NAMED.values() for stage in as_tuple(pattern))


def is_known(pattern: object) -> bool:
    """Whether each step is one of a named pattern."""
    return is_plain(pattern) and KNOWN.issuperset(as_tuple(pattern))
