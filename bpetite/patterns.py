r"""Split patterns in use, by name, each with the source that publishes it.

A pattern is one regular expression for the `regex` module, or a tuple of them, each applied inside the pre-tokens of
the one before; `None` stands for no pre-tokenization. Matches are pre-tokens, and so is the text between matches.

`regex` defines the meaning of a pattern. A pattern that compiles runs in a scanner, with the same pre-tokens; any other
is left to `regex` itself, some twenty times slower: `Tokenizer.scanner` says "regex".

If a pattern was published in two forms that cut alike, or nearly, both are here: files hold the text of a pattern, and
the published text makes them easy to compare.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, TypeGuard

from .errors import nearest

__all__ = [
    "CL100K",
    "CL100K_POSSESSIVE",
    "DEEPSEEK_V3",
    "GPT2",
    "GPT2_POSSESSIVE",
    "LLAMA3",
    "LLAMA_CPP",
    "NAMED",
    "O200K",
    "QWEN2",
    "QWEN35",
    "STAGES",
    "STARCODER",
    "SUPERBPE",
    "TEKKEN",
    "CompiledPattern",
    "Pattern",
    "PatternLike",
    "is_explicit",
    "resolve",
]

Pattern: TypeAlias = str | tuple[str, ...] | None


class CompiledPattern(Protocol):
    """A pattern of ``regex.compile`` or ``re.compile``."""

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

# tiktoken 0.14, tiktoken_ext/openai_public.py, cl100k_base. It cuts as the form above, except white space that ends a
# text and has a newline before other white space: the form above cuts "x\n " into "x", "\n", " ", this form into "x",
# "\n ".
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

# Qwen/Qwen3.5-35B-A3B, tokenizer.json: as Qwen 2, with marks among the letters.
QWEN35 = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"""
    r"""| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)

# deepseek-ai/DeepSeek-V3, tokenizer.json: three Split steps, "Isolated"; also DeepSeek R1, Hunyuan.
DEEPSEEK_V3 = (
    r"""\p{N}{1,3}""",
    r"""[一-龥぀-ゟ゠-ヿ]+""",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"""| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
)

# moonshotai/Kimi-K2-Instruct, tokenization_kimi.py, pat_str: o200k's, with runs of Han characters apart; `&&` of Rust
# is a lookahead here.
_UPPER = r"""(?:(?!\p{Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"""
_LOWER = r"""(?:(?!\p{Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])"""
KIMI_K2 = "|".join(
    [
        r"""\p{Han}+""",
        rf"""[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        rf"""[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    ]
)

# bigcode/starcoder, tokenizer.json: Digits(individual_digits=True), then ByteLevel with its own regex, GPT-2's; also
# SmolLM, Command R.
STARCODER = (r"""\p{N}""", GPT2)

# PythonNut/superbpe, scripts/extend_tokenizer.sh: the second stage of SuperBPE, see :mod:`bpetite.training.train`.
# It cuts out numbers, runs of punctuation, and of several spaces all but the last; the text between stays whole.
SUPERBPE = r"""\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)"""

# mistralai/Mistral-Nemo-Base-2407, tekken.json: o200k's, without contractions and with single digits.
TEKKEN = (
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"""
    r"""|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"""
    r"""|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)

# The source of all that follow, up to NAMED: ggml-org/llama.cpp, src/llama-vocab.cpp. Where a comment there quotes the
# tokenizer.json of the model, this is the quoted text: the pattern that llama.cpp runs is an approximation.

# inclusionAI/Ling: single digits, possessive.
BAILING_MOE = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}"""
    r"""| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"""
)

# ByteDance-Seed/Seed-Coder: punctuation without the newlines after it.
SEED_CODER = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}"""
    r"""| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"""
)

# LGAI-EXAONE/K-EXAONE: words with one space between them, as SuperBPE's, are one pre-token.
EXAONE_MOE = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}"""
    r"""| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"""
)

# inceptionai/Jais-2: Llama 3's, with runs of white space in powers of two.
JAIS2 = LLAMA3.removesuffix(r"""\s+(?!\S)|\s+""") + "|".join(
    [*(rf"""\s{{{n}}}(?!\S)""" for n in (512, 256, 128, 64, 32, 16, 8, 4)), r"""\s{1,2}(?!\S)""", r"""\s{1}"""]
)

# openbmb/MiniCPM5: Llama 3's, after a step that cuts digits.
MINICPM5 = (r"""\p{N}{1,3}""", LLAMA3.replace(r"""\p{N}{1,3}""", r"""\p{N}+"""))

# ufakzeka: Qwen 2's, without contractions.
UFAKZEKA = QWEN2.removeprefix(r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|""")

# poolside/Laguna: Qwen 2's, within lines.
LAGUNA = (r"""[^\n]+|[\n]+""", QWEN2)

# CohereLabs/tiny-aya: o200k's; the digits of a whole number are grouped from its end.
TINY_AYA = (r"""\d{1,3}(?=(?:\d{3})*\b)""", O200K)

# UW/OLMo2-8B-SuperBPE: only numbers are cut, into groups from their end.
OLMO2_SUPERBPE = (r"""\p{N}+""", r"""(?=(\d{3})+(?!\d))""")

# bigscience/bloom; also Poro, GPT-3 Finnish. Viking cuts digits, too.
BLOOM = r""" ?[^(\s|.,!?…。，、।۔،)]+"""
VIKING = (BLOOM, r"""\p{N}""")

# tiiuae/falcon; and what llama.cpp does for a file that names no pattern.
FALCON = (r"""[\p{P}\$\+<=>\^~\|`]+""", GPT2, r"""[0-9][0-9][0-9]""")
_DEFAULT = (r"""[\p{P}\$\+<=>\^~\|]+""", GPT2, r"""\p{N}+""", r"""[0-9][0-9][0-9]""")

# facebook/chameleon.
CHAMELEON = (
    r"""<sentinel:[0-9]+>""", r"""(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z""", r"""([\t\n]|    |  )""", r"""\p{N}""",
    r"""[\p{P}!-/:-@\[-`{-~]""", GPT2,
)  # fmt: skip

# deepseek-ai/deepseek-llm, with the cased letters of an older Unicode, and deepseek-coder.
DEEPSEEK_LLM = (
    r"""[\r\n]""",
    r"""\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ"""
    r"""-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-"""
    r"""𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+""",
    r"""\s?[!-/:-~！-／：-～‘-‟　-。]+""",
    r"""\s+$""",
    r"""[一-龥ࠀ-一가-퟿]+""",
    r"""\p{N}+""",
)
DEEPSEEK_CODER = (r"""[\r\n]""", r"""\s?\p{L}+""", r"""\s?\p{P}+""", r"""[一-龥ࠀ-一가-퟿]+""", r"""\p{N}""")

# iFlytek's Spark: DeepSeek V3's, with newlines and digits one by one.
SPARK = (*DEEPSEEK_V3[:2], DEEPSEEK_V3[2].replace(r"""[\r\n]*|\s*[\r\n]+""", r"""|[\r\n]"""), r"""\p{N}""")

# arcee-ai/Trinity: DeepSeek V3's, with other scripts apart, and digits grouped from the end of a number. The block of
# compatibility ideographs is meant to begin at U+F900; llama.cpp has U+8C48 for it.
AFMOE = (
    r"""\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))""",
    r"""[一-鿿㐀-䶿""" "\uf900" r"""-﫿぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-ᇿ]+""",
    DEEPSEEK_V3[2],
)

# tencent/Youtu-LLM: o200k's, with single digits, after East Asian scripts and punctuation.
YOUTU = (
    r"""[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+""",
    O200K.replace(r"""\p{N}{1,3}""", r"""\p{N}"""),
)

NAMED: dict[str, Pattern] = {
    "gpt2": GPT2,
    "gpt2-possessive": GPT2_POSSESSIVE,
    "cl100k": CL100K,
    "cl100k-possessive": CL100K_POSSESSIVE,
    "o200k": O200K,
    "llama3": LLAMA3,
    "qwen2": QWEN2,
    "qwen3.5": QWEN35,
    "deepseek-v3": DEEPSEEK_V3,
    "starcoder": STARCODER,
    "superbpe": SUPERBPE,
    "tekken": TEKKEN,
}

#: Split patterns by the names that llama.cpp has for them, the values of ``tokenizer.ggml.pre``.
LLAMA_CPP: dict[str, Pattern] = {
    name: pattern
    for pattern, names in (
        (_DEFAULT, "default"),
        (GPT2, "gpt-2 phi-2 mpt olmo jais trillion granite-docling gigachat a.x-4.0 mellum modern-bert exaone4 "
               "roberta-bpe jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code"),
        (LLAMA3, "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano dbrx smaug-bpe "
                 "chatglm-bpe glm4 glm5"),
        (QWEN2, "qwen2 stablelm2 deepseek-r1-qwen kormo f2llmv2 megrez hunyuan solar-open grok-2"),
        (QWEN35, "qwen35"),
        (O200K, "gpt-4o llama4 kanana2 talkie minimax-m2 granite-embed-multi-97m"),
        (DEEPSEEK_V3, "deepseek-v3 hunyuan-dense joyai-llm hy_v4"),
        (STARCODER, "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2"),
        (BLOOM, "bloom poro-chat gpt3-finnish"),
        (BAILING_MOE, "bailingmoe bailingmoe2 llada-moe"),
        (TINY_AYA, "tiny_aya cohere2moe"),
        (OLMO2_SUPERBPE, "superbpe"),
        (KIMI_K2, "kimi-k2"),
        (TEKKEN, "tekken"),
        (SEED_CODER, "seed-coder"),
        (EXAONE_MOE, "exaone-moe"),
        (JAIS2, "jais-2"),
        (MINICPM5, "minicpm5"),
        (UFAKZEKA, "ufakzeka"),
        (LAGUNA, "laguna"),
        (VIKING, "viking"),
        (FALCON, "falcon"),
        (CHAMELEON, "chameleon"),
        (DEEPSEEK_LLM, "deepseek-llm"),
        (DEEPSEEK_CODER, "deepseek-coder"),
        (SPARK, "spark2_5"),
        (AFMOE, "afmoe"),
        (YOUTU, "youtu"),
        (None, "gemma4 granite-embed-multi-311m sarvam-moe"),
    )
    for name in names.split()
}  # fmt: skip

#: Every regular expression of the named patterns.
STAGES: frozenset[str] = frozenset(
    stage for pattern in NAMED.values() for stage in (pattern if isinstance(pattern, tuple) else (pattern,)) if stage
)


class _ByName:
    """The type of :data:`BY_NAME`, the default of a ``pattern`` that may be None."""

    def __repr__(self) -> str:
        return "BY_NAME"


#: In place of a pattern: the one that belongs to the name of a published encoding.
BY_NAME: Any = _ByName()


def as_tuple(setting: Any) -> tuple[Any, ...]:
    """The steps of a pattern, or of another setting that is None, one step or a tuple of steps."""
    if setting is None:
        return ()
    return setting if isinstance(setting, tuple) else (setting,)


def unescaped(pattern: str) -> str:
    r"""The pattern, with ``\ `` as a plain space: the two need no import of `regex` to be equal."""
    return " " if pattern == r"\ " else pattern


def as_setting(steps: Sequence[Any]) -> Any:
    """The one form of a setting with some steps: None for no step, a string for a string alone, else a tuple.

    >>> as_setting([]), as_setting(["a"]), as_setting([1]), as_setting(["a", "b"])
    (None, 'a', (1,), ('a', 'b'))
    """
    return steps[0] if len(steps) == 1 and isinstance(steps[0], str) else tuple(steps) or None


def is_plain(pattern: object) -> TypeGuard[Pattern]:
    """True for a pattern that only cuts: its pre-tokens joined are the text. :mod:`bpetite.steps.splits` has the other
    steps."""
    return all(isinstance(step, str) for step in as_tuple(pattern))


def is_known(pattern: object) -> bool:
    """True for a pattern all of whose steps come from named patterns."""
    return is_plain(pattern) and STAGES.issuperset(as_tuple(pattern))


#: All names of patterns, and the names of encodings and models that cut by one of them: llama.cpp's, tiktoken's, and of
#: models whose files of ranks name no pattern.
_NAMES = {name: pattern for name, pattern in LLAMA_CPP.items() if pattern and name != "default"} | NAMED | {
    "none": None,
    "r50k_base": GPT2,
    "p50k_base": GPT2,
    "cl100k_base": CL100K,
    "gpt-4": CL100K,
    "o200k_base": O200K,
    "o200k_harmony": O200K,
    "gpt-4o": O200K,
    "gpt-oss": O200K,
    "phi-4": CL100K,
    "whisper": GPT2,
    "glm-4": LLAMA3,
    "qwen2.5": QWEN2,
    "qwen3": QWEN2,
    "deepseek-r1": DEEPSEEK_V3,
}
#: A text without operators of regular expressions, but for the dot.
_WORD = r"\w[\w .-]*"
#: A word of letters and digits.
_NAME = r"[A-Za-z][\w-]*\d[\w.-]*"
#: Flags of compiled patterns that a group can have, and their letters; the same in `re` and `regex`.
_SCOPED = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}
#: A pattern that is one group from end to end, or looks like it.
_GROUP = r"(?s)\(\?[imsx]*:.*\)"
#: The flags of every compiled pattern of str: UNICODE, and VERSION0 of `regex`.
_DEFAULT_FLAGS = 0x2020


def resolve(pattern: Any) -> Any:
    """The split pattern that an argument stands for.

    Args:
        pattern: One of these, or a sequence of the first three, applied one inside the pieces of the other:

            - a name of :data:`NAMED`, "cl100k", or of an encoding or a model that cuts by one: "cl100k_base", "gpt-4o";
              "none" is None;
            - a regular expression, as the `regex` module reads it;
            - a compiled one, of `regex` or `re`. It becomes a group with its flags: IGNORECASE, MULTILINE, DOTALL,
              VERBOSE. `regex` reads it, whichever module compiled it;
            - None, or a step of :mod:`bpetite.steps.splits`.

    Raises:
        ValueError: A word that is no name, flags that a group cannot have.
        TypeError: A compiled pattern of bytes.

    >>> resolve("cl100k") == resolve("cl100k_base") == CL100K
    True
    >>> resolve(re.compile("[a-z]+|.", re.IGNORECASE))
    '(?i:[a-z]+|.)'
    >>> resolve("cl100k_bse")
    Traceback (most recent call last):
    ValueError: pattern 'cl100k_bse': did you mean 'cl100k_base'? As a regular expression it is '(?:cl100k_bse)'
    """
    if isinstance(pattern, str):
        return _of_str(pattern)
    if isinstance(pattern, (tuple, list)):
        return tuple(step for one in pattern for step in as_tuple(resolve(one)))
    return _of_compiled(pattern) if hasattr(pattern, "flags") and hasattr(pattern, "pattern") else pattern


def _of_str(pattern: str) -> Pattern:
    if pattern in _NAMES:
        return _NAMES[pattern]
    near = nearest(pattern, _NAMES) if re.fullmatch(_WORD, pattern) else None
    if near is None and not re.fullmatch(_NAME, pattern):
        return pattern
    known = f"did you mean {near!r}?" if near else f"no pattern has this name; the names are {', '.join(NAMED)}."
    raise ValueError(f"pattern {pattern!r}: {known} As a regular expression it is '(?:{pattern})'")


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
    """True for a pattern that cannot be a slip: None, a named one, or one whole group ``(?:...)``."""
    return all(stage in STAGES or re.fullmatch(_GROUP, stage) for stage in as_tuple(pattern))
