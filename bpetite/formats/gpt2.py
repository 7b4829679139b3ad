"""GPT-2's pair of files, published with the model and written by many trainers since.

``vocab.json`` is a JSON object: token in printable form -> id. ``merges.txt`` has a merge a line, its two tokens in
printable form with a space between, in rank order, after an optional first line ``#version: 0.2``.

The pair does not hold the split pattern and says nothing about special tokens: it is read with GPT-2's pattern, and
with ``<|endoftext|>`` as the only special token. Other special tokens go into ``added_tokens.json`` next to it, the
name under which ``transformers`` kept them: literal -> id.
"""
from __future__ import annotations

import os
from typing import Any

from .. import patterns
from ..bytelevel import decode_tokens_bytes
from ..errors import FormatError, short_repr
from ..lazy import without_collector
from ..vocabulary._tokens import grown
from ..vocabulary.special_literals import SpecialTokens, place_specials
from ..vocabulary.vocab import Vocab
from ._json_tokens import read_merges, read_tokens
from .files import FILES, Source, decode_utf8, errors_named, parse_json, read_file
from .spelling import check_ids, decode_or_utf8, merge_pairs, refuse_aliases, spell, without_unreachable

VOCAB, MERGES = FILES["gpt2"]
ADDED = "added_tokens.json"
END_OF_TEXT = "<|endoftext|>"


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
    data = read_file(vocab_filepath)
    vocab = _from_bytes(data, merges_filepath, special_tokens)
    if vocab is not None:
        return vocab
    return from_json(parse_json(data, str(vocab_filepath)), str(vocab_filepath), merges_filepath, special_tokens)


@without_collector()
def _from_bytes(data: bytes, merges_filepath: Source, special_tokens: SpecialTokens) -> Vocab | None:
    """The vocabulary in regular files; None for others, which :func:`from_json` reads or finds fault with.

    Reading by bytes equals reading by spelling only if no two tokens have the same bytes.
    """
    tokens = read_tokens(data)
    if not tokens or tokens.repeated or not os.path.isfile(merges_filepath):
        return None
    merges = read_merges(read_file(merges_filepath), tokens)
    if merges is None:
        return None
    if special_tokens is None:
        special_tokens = [END_OF_TEXT] if tokens.find_id(END_OF_TEXT.encode()) is not None else []
    if not isinstance(special_tokens, list | tuple | dict) or not all(isinstance(it, str) for it in special_tokens):
        return None
    try:
        specials, flags, new = place_specials(special_tokens, tokens, tokens.find_id)
        return Vocab(grown(tokens, new) if new else tokens, merges, specials, token_flags=flags)
    except ValueError:
        return None


def load_directory(folder: Source) -> Vocab:
    """The vocabulary in a directory with vocab.json, merges.txt and perhaps added_tokens.json."""
    added = os.path.join(folder, ADDED)
    specials = check_ids(parse_json(read_file(added), added), added, "the file") if os.path.exists(added) else None
    return load(os.path.join(folder, VOCAB), os.path.join(folder, MERGES), specials)


def recognizes(content: Any) -> bool:
    """True for a JSON value that looks like vocab.json: an object of integers."""
    return isinstance(content, dict) and bool(content) and all(type(value) is int for value in content.values())


@without_collector()
def from_json(
    content: Any, name: str, merges_filepath: Source | None = None, special_tokens: SpecialTokens = None
) -> Vocab:
    """:func:`load` from a parsed vocab.json; by default merges.txt is read from the same directory."""
    if merges_filepath is None:
        merges_filepath = os.path.join(os.path.dirname(name), MERGES)
        if not os.path.exists(merges_filepath):
            raise FormatError(
                f"{name}: a JSON object of integers is the vocab.json of a tokenizer only with its {MERGES}, and "
                f"{merges_filepath} does not exist"
            )
    ids = check_ids(content, name, "the file")
    if not ids:
        raise FormatError(f"{name}: no tokens")
    if special_tokens is None:
        special_tokens = [END_OF_TEXT] if END_OF_TEXT in ids else []
    # older writers put special tokens into vocab.json as they are, not in printable form
    printable = dict(ids)
    for literal in special_tokens:
        printable.pop(literal, None)
    with errors_named(name):
        tokens = dict(zip(printable.values(), decode_tokens_bytes(printable), strict=True))
    for spelled in ids.keys() - printable.keys():
        tokens[ids[spelled]] = decode_or_utf8(spelled)
    empty = frozenset([ids[""]] if "" in ids else ())
    merges = without_unreachable(_read_merges(merges_filepath, ids), empty)
    with errors_named(f"{name} with {merges_filepath}"):
        known = {token: token_id for token_id, token in tokens.items()}
        specials, flags, new = place_specials(special_tokens, tokens, known.get)
        return Vocab(tokens | new, merges, specials, token_flags=flags)


def _read_merges(path: Source, ids: dict[str, int]) -> tuple[tuple[int, int], ...]:
    name = os.fspath(path)
    lines = decode_utf8(read_file(path), str(name)).replace("\r\n", "\n").split("\n")
    first = 1 if lines[0].startswith("#version") else 0
    if lines[-1]:
        raise FormatError(
            f"{name}: line {len(lines)} {short_repr(lines[-1])} does not end in a newline: the file may be cut short "
            "(if it is whole, add the newline)"
        )
    return merge_pairs(lines[first:-1], ids, str(name), lambda rank: f"line {rank + first + 1}")


def dump(vocab: Vocab) -> dict[str, bytes]:
    """File name -> content, for a directory.

    Raises:
        FormatError: The pair of files cannot hold this vocabulary; the message says why.
    """
    import json  # not at the top: reading seldom needs it

    if vocab.merges is None:
        raise FormatError("vocab.json and merges.txt hold a merge list, and this vocabulary is of the ranks kind")
    for what, value, held in (
        ("the split pattern", vocab.pattern, patterns.GPT2),
        ("normalization", vocab.normalization, None),
        ("ignore_merges", vocab.ignore_merges, False),
        ("an alphabet of characters", vocab.alphabet, None),
        ("errors", vocab.errors, "strict"),
    ):
        if value != held:
            raise FormatError(f"vocab.json and merges.txt cannot hold {what} {value!r}, only {held!r}")
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
