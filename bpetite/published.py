"""Tokenizers of the encodings that OpenAI publishes, by the names of tiktoken."""
from __future__ import annotations

from functools import cache

from .formats import published_ranks
from .formats.encodings import encoding_name, encoding_name_for_model
from .tokenizer import Tokenizer


def get_encoding(name: str) -> Tokenizer:
    """The tokenizer of an encoding that tiktoken knows by name.

    It equals ``Tokenizer.load(name)``, but does not look for a file of this name, and is made once in a process. It has
    the methods of :class:`bpetite.Tokenizer`, which recognise special tokens in a text by default; ``.as_tiktoken()``
    has tiktoken's methods and defaults. If tiktoken has two special tokens with one id, only the token to which the id
    decodes is here: ``<|endofprompt|>`` in o200k_harmony, and not ``<|reserved_200018|>``.

    The ranks are not in this package. They come from the first of these places that has them, and are used only if
    their SHA-256 is the published one:

    1. the folder ``BPETITE_CACHE_DIR``, by default ``bpetite`` in the user's cache folder;
    2. tiktoken's cache: ``TIKTOKEN_CACHE_DIR``, ``DATA_GYM_CACHE_DIR``, or ``data-gym-cache`` in the folder for
       temporary files;
    3. the published URL, or the mirror that ``BPETITE_ENCODINGS_URL`` names. The fetched file is kept in the first
       folder. Connecting to one address of the host may take 10 seconds, and nothing is tried twice.

    Args:
        name: gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base, o200k_base or o200k_harmony; also without "_base".

    Raises:
        ValueError: No published encoding has the name; the message has the nearest one.
        FormatError: A file in a cache or from the network is not the published one; the message has both hashes.
        ConnectionError: The ranks are not on this machine and cannot be fetched; the message names the file, its
            SHA-256 and the place for it.
        OSError: A file cannot be read, or ``BPETITE_CACHE_DIR`` cannot be written.

    >>> tok = get_encoding("gpt2")
    >>> tok.encode("hello world"), tok.count("hello world")
    ([31373, 995], 2)
    >>> tok.as_tiktoken()
    <Encoding 'gpt2'>
    >>> get_encoding("cl100k_bse")
    Traceback (most recent call last):
    ValueError: no published encoding is called 'cl100k_bse'; did you mean 'cl100k_base'?
    """
    return _tokenizer(encoding_name(name))


def encoding_for_model(model: str) -> Tokenizer:
    """The tokenizer of a model of OpenAI, for every name that tiktoken knows.

    Args:
        model: The name of a model, "gpt-4o", "gpt-3.5-turbo", "text-embedding-3-small", or one that starts like a
            known one: "gpt-4o-2024-08-06", "ft:gpt-4o:my-org::id".

    Raises:
        KeyError: No known model has the name; the message has the nearest one.
        FormatError, OSError: As for :func:`get_encoding`.

    >>> encoding_for_model("gpt-2").decode([31373, 995])
    'hello world'
    """
    return _tokenizer(encoding_name_for_model(model))


@cache
def _tokenizer(encoding: str) -> Tokenizer:
    return Tokenizer.from_vocab(published_ranks.load(encoding))
