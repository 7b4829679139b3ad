r"""Split patterns in use, by name, each with the source that publishes it.

A pattern is one regular expression for the `regex` module, or a tuple of them, each applied inside the pieces of the
one before; `None` stands for no pre-tokenization. Matches are pre-tokens, and so is what lies between matches.

What a pattern means is what `regex` does with it. A pattern that compiles is cut by a scanner, with the same
pre-tokens; any other is left to `regex` itself, some twenty times slower: `Tokenizer.scanner` says "regex".

Where a model was published with two forms of one pattern, or with a form that is written differently but cuts alike,
both are here: files carry the text of a pattern, and are easier to compare when it is the published text.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, TypeGuard

from .naming import folded, nearest

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
    "STAGES",
    "STARCODER",
    "SUPERBPE",
    "CompiledPattern",
    "Pattern",
    "PatternLike",
    "by_name",
    "is_explicit",
    "resolve",
]

Pattern: TypeAlias = str | tuple[str, ...] | None


class CompiledPattern(Protocol):
    """What ``regex.compile`` and ``re.compile`` give for a str."""

    @property
    def pattern(self) -> str: ...

    @property
    def flags(self) -> int: ...


#: A pattern as callers give it, see :func:`resolve`.
PatternLike: TypeAlias = str | CompiledPattern | Sequence[str | CompiledPattern] | None

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

# PythonNut/superbpe, scripts/extend_tokenizer.sh: the second stage of SuperBPE, see :mod:`bpetite.training.train`.
# It cuts out numbers, runs of punctuation and the spaces before the last one, and leaves whole what lies between them.
SUPERBPE = r"""\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)"""

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
    "superbpe": SUPERBPE,
}

#: Every regular expression of the named patterns.
STAGES: frozenset[str] = frozenset(
    stage for pattern in NAMED.values() for stage in (pattern if isinstance(pattern, tuple) else (pattern,)) if stage
)


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


def is_known(pattern: object) -> bool:
    """Whether each step is one of a named pattern."""
    return is_plain(pattern) and STAGES.issuperset(as_tuple(pattern))


#: Other names of the same patterns, folded: of encodings and of models.
_ALIASES = {
    "r50k": "gpt2",
    "p50k": "gpt2",
    "gpt4": "cl100k",
    "gpt4o": "o200k",
    "o200kharmony": "o200k",
    "gptoss": "o200k",
    "llama31": "llama3",
    "llama32": "llama3",
    "llama33": "llama3",
    "qwen25": "qwen2",
    "qwen3": "qwen2",
    "deepseekr1": "deepseek-v3",
}
_FOLDED = {folded(name): name for name in NAMED} | _ALIASES
#: Nothing in it is an operator of regular expressions, but for the dot.
_WORD = re.compile(r"\w[\w .-]*")
#: Flags of compiled patterns that a group can have, and their letters; the same in `re` and `regex`.
_SCOPED = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}
#: A pattern that is one group from end to end, or looks like it.
_GROUP = re.compile(r"\(\?[imsx]*:.*\)", re.DOTALL)
#: The flags of every compiled pattern of str: UNICODE, and VERSION0 of `regex`.
_DEFAULT_FLAGS = 0x2020


def by_name(name: str) -> Pattern:
    """The pattern of a name, however it is spelled; "none" is None.

    Raises:
        KeyError: No pattern has the name.

    >>> by_name("CL100K-base") == by_name("cl100k") == CL100K
    True
    """
    key = folded(name).removesuffix("base")
    return None if key == "none" else NAMED[_FOLDED[key]]


def resolve(pattern: Any) -> Any:
    """The split pattern that an argument stands for.

    Args:
        pattern: One of these, or a sequence of the first three, applied one inside the pieces of the other:

            - a name of :data:`NAMED`, in any spelling: "cl100k", "CL100K-base", "gpt-2", "llama3"; "none" is None;
            - a regular expression, as the `regex` module reads it;
            - a compiled one, of `regex` or `re`. It becomes a group with its flags: IGNORECASE, MULTILINE, DOTALL,
              VERBOSE. `regex` reads it whichever compiled it, so ``\\s`` and ``\\w`` are those of `regex`;
            - None, or a step of :mod:`bpetite.steps.splits`.

    Raises:
        ValueError: A word that is nearly a name, flags that a group cannot have.
        TypeError: A compiled pattern of bytes.

    >>> resolve("gpt-2") == GPT2
    True
    >>> resolve(re.compile("[a-z]+|.", re.IGNORECASE))
    '(?i:[a-z]+|.)'
    >>> resolve("cl100k_bse")
    Traceback (most recent call last):
    ValueError: pattern 'cl100k_bse': did you mean 'cl100k'? As a regular expression it is '(?:cl100k_bse)'
    """
    if isinstance(pattern, str):
        return _of_str(pattern)
    if isinstance(pattern, (tuple, list)):
        return tuple(step for one in pattern for step in as_tuple(resolve(one)))
    return _of_compiled(pattern) if hasattr(pattern, "flags") and hasattr(pattern, "pattern") else pattern


def _of_str(pattern: str) -> Pattern:
    if not _WORD.fullmatch(pattern):
        return pattern
    try:
        return by_name(pattern)
    except KeyError:
        near = nearest(pattern, [*NAMED, *(f"{name}_base" for name in ("cl100k", "o200k"))])
    if near is None:
        return pattern
    near = near.removesuffix("_base")
    raise ValueError(f"pattern {pattern!r}: did you mean {near!r}? As a regular expression it is '(?:{pattern})'")


def _of_compiled(compiled: CompiledPattern) -> str:
    text = compiled.pattern
    if not isinstance(text, str):
        raise TypeError(f"a split pattern is compiled from str, not from bytes: {text!r}")
    scoped = [letter for flag, letter in _SCOPED.items() if compiled.flags & flag]
    other = compiled.flags & ~(sum(_SCOPED) | _DEFAULT_FLAGS)
    if other:
        raise ValueError(f"{compiled!r}: of the flags only {', '.join(str(flag.name) for flag in _SCOPED)} can be kept")
    if not scoped and text in STAGES:
        return text
    end = "\n)" if "x" in scoped else ")"  # after a comment
    return f"(?{''.join(scoped)}:{text}{end}"


def is_explicit(pattern: Pattern) -> bool:
    """True where a pattern certainly cuts as its user wants: None, a named one, or one whole group ``(?:...)``."""
    return all(stage in STAGES or _GROUP.fullmatch(stage) for stage in as_tuple(pattern))
