"""GPT-2's pair of files, published with the model and written by many trainers since.

``vocab.json`` is a JSON object: token in printable form -> id. ``merges.txt`` has a merge a line, its two tokens in
printable form with a space between, in rank order, after an optional first line ``#version: 0.2``.

The pair does not hold the split pattern and says nothing about special tokens: it is read with GPT-2's pattern, and
with ``<|endoftext|>`` as the only special token. Other special tokens go into ``added_tokens.json`` next to it, the
name under which ``transformers`` kept them: literal -> id.
"""
from __future__ import annotations

import os

from .. import patterns
from ..bytelevel import decode_tokens_bytes
from ..errors import FormatError
from ..lazy import without_collector
from ..vocabulary._tokens import grown
from ..vocabulary.special_literals import SpecialTokens, place_specials
from ..vocabulary.spelling import SpelledIds, spell
from ..vocabulary.vocab import Vocab
from ._json_tokens import read_merges, read_tokens
from .files import (
    WRITTEN,
    Source,
    Spans,
    check_ids,
    errors_named,
    parse_json,
    read_file,
    refuse_aliases,
    refuse_settings,
)

VOCAB, MERGES, ADDED = WRITTEN["gpt2"]
END_OF_TEXT = "<|endoftext|>"
#: Marks of tokens at the end of a word, and inside one, of CLIP, subword-nmt and fastBPE.
MARKS = ("</w>", "@@")


def load(vocab_filepath: Source, merges_filepath: Source, special_tokens: SpecialTokens = None) -> Vocab:
    """The vocabulary in a pair of files.

    Args:
        vocab_filepath: vocab.json.
        merges_filepath: merges.txt.
        special_tokens: Literals, or literal -> id. None means ``<|endoftext|>`` if the vocabulary has it, as in
            GPT-2; an empty list means none.

    Raises:
        FormatError: A file is damaged; names the file and the position.
        OSError: A file cannot be read.
    """
    return _read(read_file(vocab_filepath), os.fspath(vocab_filepath), merges_filepath, special_tokens)


@without_collector()
def _read(data: bytes, name: str, merges_filepath: Source, special_tokens: SpecialTokens) -> Vocab:
    with errors_named(name):
        table, odd, hidden = read_tokens(data)
        if not table:
            raise FormatError("no tokens")

        def find(token: bytes) -> int | None:
            # older writers put special tokens into vocab.json as they are, not in printable form
            token_id: int | None = table.find_id(token)
            return odd.get(token.decode()) if token_id is None else token_id

        for mark in MARKS:
            if all(find(f"{letter}{mark}".encode()) is not None for letter in "aeinot"):
                raise FormatError(
                    f"tokens such as {'a' + mark!r} carry a mark, of which such a pair of files says nothing "
                    "(docs/formats.md says how to make a tokenizer.json)"
                )
        if special_tokens is None:
            special_tokens = [END_OF_TEXT] if find(END_OF_TEXT.encode()) is not None else []
        specials, flags, new = place_specials(special_tokens, table, find)
        decode_tokens_bytes([text for text in odd if text not in specials])  # an error for no printable form
    unreachable = hidden.difference(specials.values())
    if len(unreachable) < len(hidden):
        table = table.with_tokens({}, unreachable)
    with errors_named(os.fspath(merges_filepath)):
        merges = read_merges(read_file(merges_filepath), table, SpelledIds(table, odd), unreachable)
    with errors_named(f"{name} with {merges_filepath}"):
        table = grown(table, new, unreachable) if new else table
        return Vocab(table, merges, specials, token_flags=flags, unreachable=unreachable)


def load_directory(folder: Source) -> Vocab:
    """The vocabulary in a directory with vocab.json, merges.txt and perhaps added_tokens.json."""
    added = os.path.join(folder, ADDED)
    specials = check_ids(parse_json(read_file(added), added), added, "the file") if os.path.exists(added) else None
    return load(os.path.join(folder, VOCAB), os.path.join(folder, MERGES), specials)


def recognizes(data: bytes, spans: Spans) -> bool:
    """True for a JSON object that looks like vocab.json, with integers alone."""
    return bool(spans) and all(data[start] in b"-0123456789" for start, _ in spans.values())


def read(data: bytes, name: str, spans: Spans) -> Vocab:
    """The vocabulary in a vocab.json with its merges.txt in the same directory."""
    merges_filepath = os.path.join(os.path.dirname(name), MERGES)
    if not os.path.exists(merges_filepath):
        raise FormatError(
            f"{name}: a JSON object of integers is the vocab.json of a tokenizer only with its {MERGES}, and "
            f"{merges_filepath} does not exist"
        )
    return _read(data, name, merges_filepath, None)


def dump(vocab: Vocab) -> dict[str, bytes]:
    """File name -> content, for a directory.

    Raises:
        FormatError: The pair of files cannot hold this vocabulary; the message says why.
    """
    import json  # not at the top: reading seldom needs it

    if vocab.merges is None:
        raise FormatError("vocab.json and merges.txt hold a merge list, and this vocabulary is of the ranks kind")
    refuse_settings(
        vocab, "vocab.json and merges.txt",
        pattern=patterns.GPT2, normalization=None, ignore_merges=False, alphabet=None, errors="strict",
        token_flags={}, template=None, kept={},
    )  # fmt: skip
    refuse_aliases(vocab, "added_tokens.json")
    spelled = spell(vocab, "vocab.json")
    for token_id in vocab.unreachable:
        if vocab.tokens[token_id]:
            raise FormatError(f"vocab.json holds tokens in printable form alone, and {spelled[token_id]!r} is not")
    merges = "".join([f"{spelled[left]} {spelled[right]}\n" for left, right in vocab.merges])
    files = {
        VOCAB: json.dumps({token: token_id for token_id, token in spelled.items()}, ensure_ascii=False).encode("utf-8"),
        MERGES: f"#version: 0.2\n{merges}".encode(),
    }
    implied = {END_OF_TEXT} if END_OF_TEXT in spelled.values() else set()
    if set(vocab.special_tokens) != implied:
        by_id = dict(sorted(vocab.special_tokens.items(), key=lambda item: item[1]))
        files[ADDED] = json.dumps(by_id, ensure_ascii=False).encode("utf-8")
    return files
