"""tiktoken's file of ranks: on each line a token as base64, a space, and its rank, which is its id.

The file holds neither the split pattern nor special tokens; its reader has to know them. The vocabulary is of the ranks
kind. A token without bytes, which no text reaches, is written as ``=``.

Source: ``load_tiktoken_bpe`` in https://github.com/openai/tiktoken/blob/main/tiktoken/load.py
"""
from __future__ import annotations

import errno
import os
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..errors import FormatError
from ..lazy import without_collector
from ..patterns import BY_NAME, resolve
from ..vocabulary._tokens import TokenTable, grown
from ..vocabulary.special_literals import SpecialTokens, place_specials
from ..vocabulary.vocab import MAX_ID, Vocab
from ._ranks import read_ranks
from .encodings import ENCODINGS, PUBLISHED, encoding_name, find_name
from .files import Source, Spans, errors_named, read_file, refuse_settings

if TYPE_CHECKING:
    from ..steps.splits import SplitPattern, SplitPatternLike


#: A token without bytes. Python's base64 reads it as no bytes, and an empty field would be no field. The file of the
#: multilingual Whisper has one.
EMPTY = b"="


def load(
    source: Source | Any,
    *,
    pattern: SplitPatternLike = BY_NAME,
    special_tokens: SpecialTokens = None,
    name: str | None = None,
) -> Vocab:
    """The vocabulary in a file, or of a ``tiktoken.Encoding``.

    Args:
        source: The path of the file, or the encoding.
        pattern: The split pattern, see :func:`bpetite.patterns.resolve`; by default the pattern of the encoding.
        special_tokens: Literals, or literal -> id; by default, if no pattern is given either, the encoding's.
        name: The published encoding that a file holds; by default the file's name without ``.tiktoken``.

    Raises:
        FormatError: The file is damaged; names the file and the line. Or no pattern is given, and no published encoding
            has the name. Or the pattern of the encoding has no exact counterpart here, or two ids have the same bytes.
        OSError: The file cannot be read.
    """
    if isinstance(source, str) and not os.path.exists(source) and find_name(source) is not None:
        raise FileNotFoundError(errno.ENOENT, f"no such file; Tokenizer.load({source!r}) finds published ranks", source)
    if isinstance(source, str | os.PathLike):
        file = os.fspath(source)
        return read(read_file(file), file, {}, pattern=pattern, special_tokens=special_tokens, encoding=name)
    if not hasattr(source, "_mergeable_ranks"):
        raise TypeError(f"from_tiktoken takes a path or a tiktoken.Encoding, not {source!r}")
    return from_encoding(source, pattern, special_tokens)


@without_collector()
def from_encoding(encoding: Any, pattern: SplitPatternLike, special_tokens: SpecialTokens) -> Vocab:
    """Read the vocabulary of a ``tiktoken.Encoding``, with the arguments and errors of :func:`load`."""
    from .dialects import from_rust  # not at the top: it imports `regex`, slowly, and a file names its pattern

    split: SplitPattern = from_rust(encoding._pat_str) if pattern is BY_NAME else resolve(pattern)
    tokens = {rank: token for token, rank in encoding._mergeable_ranks.items()}
    if special_tokens is None:
        special_tokens = encoding._special_tokens
        times = Counter(encoding._special_tokens.values())
        # only the encoding knows to which of several literals their common id decodes
        shared = [token_id for token_id, count in times.items() if count > 1 and token_id not in tokens]
        tokens |= {token_id: encoding.decode_single_token_bytes(token_id) for token_id in shared}
    with errors_named(f"encoding {encoding.name!r}"):
        table = TokenTable(tokens)
    return vocab_of_tokens(table, f"encoding {encoding.name!r}", split, special_tokens, encoding.name)


def recognizes(data: bytes, spans: Spans) -> bool:
    """True for a file whose first line looks like base64 and a rank."""
    line = data[: data.find(b"\n") + 1 or None].split()
    return len(line) == 2 and line[1].isdigit() and (line[0] == EMPTY or canonical_base64(line[0]) is not None)


@without_collector()
def read(
    data: bytes,
    name: str,
    spans: Spans,
    *,
    pattern: SplitPatternLike = BY_NAME,
    special_tokens: SpecialTokens = None,
    encoding: str | None = None,
) -> Vocab:
    """:func:`load` from the bytes of a file; ``encoding`` is the name of its encoding."""
    if data.lstrip()[:1] in (b"{", b"["):
        raise FormatError(f"{name}: JSON, and no .tiktoken file; Tokenizer.load finds the format by itself")
    with errors_named(name):
        stem = os.path.basename(name).removesuffix(".tiktoken")
        encoding = ENCODINGS.get(stem) if encoding is None else encoding_name(encoding)
    split: SplitPattern = resolve(pattern)
    if pattern is BY_NAME:
        if encoding is None:
            raise FormatError(
                f"{name}: a .tiktoken file does not hold its split pattern: Tokenizer.from_tiktoken and `bpetite "
                "convert` take pattern= (and special_tokens=), or name= of a published encoding "
                f"({', '.join(PUBLISHED)})"
            )
        known = PUBLISHED[encoding]
        split = known.pattern
        special_tokens = known.special_tokens if special_tokens is None else special_tokens
    if not data.endswith(b"\n"):
        raise FormatError(
            f"{name}: the last line does not end in a newline: the file may be cut short "
            "(if it is whole, add the newline)"
        )
    named = encoding if pattern is BY_NAME else None
    return vocab_of_tokens(parse(data, name), name, split, special_tokens, named)


def vocab_of_tokens(
    tokens: TokenTable,
    origin: str,
    pattern: SplitPattern,
    special_tokens: SpecialTokens,
    name: str | None = None,
) -> Vocab:
    """The vocabulary of ranks; ``name`` names the encoding, ``origin`` is for error messages."""
    with errors_named(origin):
        specials, flags, new = place_specials(special_tokens, tokens, tokens.find_id)
        tokens = grown(tokens, new) if new else tokens
        return Vocab(tokens, None, specials, pattern=pattern, token_flags=flags, name=name)


def parse(data: bytes, name: str) -> TokenTable:
    """The tokens of a file by rank; no rank and no token twice."""
    tokens = read_ranks(data)
    if tokens is None or tokens.repeated or tokens.empty > 1:
        raise FormatError(f"{name}: {_first_fault(data)}")
    return tokens


def canonical_base64(base64: bytes) -> bytes | None:
    """The bytes of base64 in canonical form; None for anything else."""
    try:
        token = a2b_base64(base64)
    except Base64Error:
        return None
    return token if token and b2a_base64(token, newline=False) == base64 else None


def _first_fault(data: bytes) -> str:
    """A description of the first line with an error."""
    rank_at: dict[int, int] = {}
    token_at: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line:
            continue
        where = f"line {number} {line[:60]!r}"
        fields = line.split(b" ")
        if len(fields) != 2 or fields != line.split():
            return f"{where} is not a base64 token, a space and a rank"
        token = b"" if fields[0] == EMPTY else canonical_base64(fields[0])
        if token is None:
            return f"{where}: {fields[0][:40]!r} is not base64"
        if not fields[1].isdigit():
            return f"{where}: {fields[1][:40]!r} is not a rank"
        if len(fields[1]) > 10 or int(fields[1]) > MAX_ID:
            return f"{where}: the rank is outside 0..{MAX_ID}"
        if rank_at.setdefault(int(fields[1]), number) != number:
            return f"{where}: line {rank_at[int(fields[1])]} has the rank {int(fields[1])} already"
        if token_at.setdefault(token, number) != number:
            return f"{where}: line {token_at[token]} has the token {token!r} already"
    return "no line with a token"


def dump(vocab: Vocab) -> bytes:
    """The file of a vocabulary of the ranks kind. The format does not hold its special tokens with their flags and
    template, its split pattern, its version of Unicode and `errors`: the reader of the file has to give them.

    Raises:
        FormatError: The vocabulary has a merge list (see :func:`bpetite.vocabulary.kinds.to_ranks`), or something that
            the format does not hold and a reader cannot give: a normalization, dropout, an unreachable token with
            bytes.
    """
    if vocab.merges is not None:
        raise FormatError(
            "a .tiktoken file holds ranks, and this vocabulary has a merge list: convert it with to_ranks() first, "
            "which tells whether the ids stay the same"
        )
    refuse_settings(vocab, "a .tiktoken file", normalization=None, kept={})
    empty = None
    for token_id in sorted(vocab.unreachable):
        if vocab.tokens[token_id] or empty is not None:
            raise FormatError(
                f"a .tiktoken file cannot hold token {token_id} {vocab.tokens[token_id]!r} as one that no text reaches"
            )
        empty = token_id
    return b"".join(
        [
            b"%b %d\n" % (b2a_base64(token, newline=False) or EMPTY, token_id)
            for token_id, token in sorted(vocab.tokens.items())
            if token_id not in vocab.special_only
        ]
    )
