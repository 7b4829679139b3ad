"""Mistral's tekken.json: the split pattern, special tokens, and ranks as in a .tiktoken file.

The first ``default_num_special_tokens`` ids are special tokens, and the token of rank r has that number plus r as its
id; ranks that do not fit into ``default_vocab_size`` are left out. Files up to version v7 may not list their special
tokens (those of Mistral NeMo and Pixtral do not); then mistral-common has a list for all of them.

Source: https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/tokens/tokenizers/tekken.py
"""
from __future__ import annotations

from collections import Counter
from itertools import starmap
from typing import Any

from ..errors import FormatError, short_repr
from ..lazy import without_collector
from ..vocabulary._tokens import TokenTable
from ..vocabulary.special_literals import check_literal
from ..vocabulary.vocab import MAX_ID, Vocab
from .dialects import from_rust
from .files import Spans, errors_named, parse_json
from .tiktoken import canonical_base64

#: ``Tekkenizer.DEPRECATED_SPECIAL_TOKENS`` of mistral-common, by id.
UNLISTED = (
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]",
    "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
)  # fmt: skip
#: The versions of files for which that list stands in.
UNLISTED_VERSIONS = (None, "v1", "v2", "v3", "v7")


def recognizes(data: bytes, spans: Spans) -> bool:
    """True for a JSON object that looks like tekken.json."""
    parts = ("config", b"{"), ("vocab", b"[")
    return all(key in spans and data.startswith(opening, spans[key][0]) for key, opening in parts)


@without_collector()
def read(data: bytes, name: str, spans: Spans) -> Vocab:
    """The vocabulary in a file. ``name`` is for error messages."""
    if not recognizes(data, spans):
        raise FormatError(f'{name}: no tekken.json: no "config" and "vocab" in it')
    content = parse_json(data, name)
    literals, size = _head(content, name)
    first, ranks = len(literals), content["vocab"]
    if not first <= size <= first + len(ranks):
        raise FormatError(f"{name}: {size} tokens, {first} of them special, do not fit {len(ranks)} ranks")
    specials = {literal: token_id for token_id, literal in enumerate(literals)}
    with errors_named(name):
        tokens = [*map(check_literal, literals), *starmap(_token, enumerate(ranks[: size - first]))]
        table = TokenTable(dict(enumerate(tokens)))
        return Vocab(table, None, specials, pattern=from_rust(content["config"]["pattern"]))


def _token(rank: int, entry: Any) -> bytes:
    """The bytes of a rank."""
    if not isinstance(entry, dict) or type(entry.get("rank")) is not int or entry["rank"] != rank:
        raise ValueError(f"vocab[{rank}] must be an object of rank {rank}, not {short_repr(entry)}")
    spelled = entry.get("token_bytes")
    token = canonical_base64(spelled.encode("utf-8", "replace")) if isinstance(spelled, str) else None
    if token is None:
        raise ValueError(f"vocab[{rank}]: token_bytes is not base64: {short_repr(entry)}")
    return token


def _head(content: dict[str, Any], name: str) -> tuple[list[str], int]:
    """The literals of the special tokens, and the number of tokens."""
    config = content["config"]
    if not isinstance(config.get("pattern"), str):
        raise FormatError(f"{name}: config.pattern must be a str, not {short_repr(config.get('pattern'))}")
    size = _count(config, "default_vocab_size", name)
    reserved = _count(config, "default_num_special_tokens", name)
    listed = content.get("special_tokens")
    if listed is None and config.get("version") not in UNLISTED_VERSIONS:
        raise FormatError(
            f"{name}: no special_tokens in it, which version {short_repr(config['version'])} has to list; files up to "
            "v7 may leave them out"
        )
    return _special_tokens(listed, reserved, name), size


def _count(config: dict[str, Any], key: str, name: str) -> int:
    number = config.get(key)
    if type(number) is not int or not 0 <= number <= MAX_ID:
        raise FormatError(f"{name}: config.{key} must be a number of tokens, not {short_repr(number)}")
    return number


def _special_tokens(entries: Any, reserved: int, name: str) -> list[str]:
    """The literals of ids 0, 1, 2, ..."""
    literals = list(UNLISTED)
    if entries is not None:
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise FormatError(f"{name}: special_tokens must be an array of objects, not {short_repr(entries)}")
        literals = []
        for rank, entry in enumerate(sorted(entries, key=lambda entry: str(entry.get("rank")).rjust(20))):
            if entry.get("rank") != rank or not isinstance(entry.get("token_str"), str):
                raise FormatError(f"{name}: no special token of rank {rank}: {short_repr(entry)}")
            literals.append(entry["token_str"])
    if len(literals) > reserved:
        raise FormatError(f"{name}: {len(literals)} special tokens, but room for {reserved}")
    literals += [f"<SPECIAL_{token_id}>" for token_id in range(len(literals), reserved)]
    if len(set(literals)) != len(literals):
        repeated, _ = Counter(literals).most_common(1)[0]
        raise FormatError(f"{name}: the special token {short_repr(repeated)} occurs twice")
    return literals
