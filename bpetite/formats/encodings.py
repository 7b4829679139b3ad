"""The encodings that OpenAI publishes, with the models that use them, and with the split patterns and special tokens
that files of ranks do not hold.

In o200k_harmony two literals have the id 200018, which decodes to the first, ``<|endofprompt|>``.

Sources: https://github.com/openai/tiktoken/blob/main/tiktoken_ext/openai_public.py and
https://github.com/openai/tiktoken/blob/main/tiktoken/model.py (release 0.14.0)
"""
from __future__ import annotations

from typing import NamedTuple

from ..errors import nearest
from ..patterns import CL100K_POSSESSIVE, GPT2_POSSESSIVE, O200K

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
    """The named tokens, and reserved ones for all other ids below 201,088 and for the id of ``<|endofprompt|>``."""
    named = set(_HARMONY.values()) - {_HARMONY[_END_OF_PROMPT]}
    reserved = {f"<|reserved_{i}|>": i for i in range(200000, 201088) if i not in named}
    return dict(sorted((_HARMONY | reserved).items(), key=lambda item: item[1]))


class Published(NamedTuple):
    """The parts of an encoding that a file of ranks does not hold."""

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

#: All names of encodings: the published ones, and four without their end.
ENCODINGS = {name: name for name in PUBLISHED} | {
    "r50k": "r50k_base", "p50k": "p50k_base", "cl100k": "cl100k_base", "o200k": "o200k_base",
}  # fmt: skip

#: Model -> encoding, and start of a model's name -> encoding; the first start that fits decides.
_MODELS = {
    "o200k_base": "o1 o3 o4-mini gpt-5 gpt-4.1 gpt-4o",
    "cl100k_base": "gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002 text-embedding-ada-002 "
    "text-embedding-3-small text-embedding-3-large",
    "p50k_base": "text-davinci-003 text-davinci-002 code-davinci-002 code-davinci-001 code-cushman-002 "
    "code-cushman-001 davinci-codex cushman-codex",
    "p50k_edit": "text-davinci-edit-001 code-davinci-edit-001",
    "r50k_base": "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada "
    "text-similarity-davinci-001 text-similarity-curie-001 text-similarity-babbage-001 text-similarity-ada-001 "
    "text-search-davinci-doc-001 text-search-curie-doc-001 text-search-babbage-doc-001 text-search-ada-doc-001 "
    "code-search-babbage-code-001 code-search-ada-code-001",
    "gpt2": "gpt2 gpt-2",
}
_PREFIXES = {
    "o200k_base": "o1- o3- o4-mini- gpt-5 gpt-4.5- gpt-4.1- chatgpt-4o- gpt-4o- ft:gpt-4o",
    "o200k_harmony": "gpt-oss-",
    "cl100k_base": "gpt-4- gpt-3.5-turbo- gpt-35-turbo- ft:gpt-4 ft:gpt-3.5-turbo ft:davinci-002 ft:babbage-002",
}
MODELS, MODEL_PREFIXES = (
    {name: encoding for encoding, names in listed.items() for name in names.split()} for listed in (_MODELS, _PREFIXES)
)


def encoding_name(name: str) -> str:
    """The published name of an encoding.

    Raises:
        TypeError: The name is no str.
        ValueError: No published encoding has the name.

    >>> encoding_name("cl100k"), encoding_name("cl100k_base")
    ('cl100k_base', 'cl100k_base')
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of an encoding is a str, not {name!r}")
    if name in ENCODINGS:
        return ENCODINGS[name]
    near = nearest(name, PUBLISHED)
    hint = f"known are {', '.join(PUBLISHED)}" if near is None else f"did you mean {near!r}?"
    if of_model(name):
        hint = f"{name!r} is a model: encoding_for_model({name!r})"
    raise ValueError(f"no published encoding is called {name!r}; {hint}")


def encoding_name_for_model(model: str) -> str:
    """The encoding that a model of OpenAI uses: by its name, else by the start of its name, as "gpt-4o-2024-08-06".

    Raises:
        TypeError: The name is no str.
        KeyError: No known model has the name.

    >>> encoding_name_for_model("gpt-4o"), encoding_name_for_model("gpt-4-turbo")
    ('o200k_base', 'cl100k_base')
    """
    if not isinstance(model, str):
        raise TypeError(f"the name of a model is a str, not {model!r}")
    name = of_model(model)
    if name is None:
        near = nearest(model, [*PUBLISHED, *MODELS])
        hint = "name its encoding: get_encoding" if near is None else f"did you mean {near!r}?"
        raise KeyError(f"the encoding of a model {model!r} is not known; {hint}")
    return name


def of_model(model: str) -> str | None:
    """The encoding of a model, None for another name."""
    by_prefix = (encoding for prefix, encoding in MODEL_PREFIXES.items() if model.startswith(prefix))
    return MODELS.get(model) or next(by_prefix, None)


def find_name(name: str) -> str | None:
    """The published name of the encoding that an encoding's or a model's whole name stands for; None for any other
    name. The start of a model's name is not enough: it may be the name of a folder that is missing.

    >>> find_name("gpt-4o"), find_name("o200k"), find_name("gpt-4o-mine")
    ('o200k_base', 'o200k_base', None)
    """
    return ENCODINGS.get(name) or MODELS.get(name)
