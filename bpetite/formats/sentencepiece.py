"""Models of SentencePiece of the type BPE: ``tokenizer.model``.

A model has pieces with scores, and the settings of its normalizer. The neighbours that make the piece of the highest
score are joined first, the leftmost of equal ones. So a piece is always joined from the same two parts, as
:mod:`bpetite.vocabulary.kinds` says of ranks, and a merge list in the order of the scores gives the same ids for every
text.

Source: https://github.com/google/sentencepiece, ``src/{sentencepiece_model.proto,bpe_model.cc,normalizer.cc}``
"""
from __future__ import annotations

import re
import struct
from base64 import b64encode
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from ..errors import FormatError, short_repr
from ..lazy import without_collector
from ..steps.charsmap import Precompiled
from ..steps.normalizers import Normalization, Normalizer, Prepend, Replace, trimming
from ..steps.template import Template
from ..vocabulary._merge_builder import last_steps
from ..vocabulary._tokens import TokenTable
from ..vocabulary.alphabet import Alphabet
from ..vocabulary.vocab import Vocab
from .files import Spans, errors_named

#: The types of pieces.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
#: The types of models other than BPE, by number.
OTHER_MODELS = {1: "UNIGRAM", 3: "WORD", 4: "CHAR"}
#: The character that pieces have for a space.
SPACE = "▁"
#: The most letters of a run that pieces of the same score join.
LONGEST_RUN = 64
#: The normalization of a model that changes nothing but spaces.
PLAIN: Normalization = (Replace(" ", SPACE),)

T = TypeVar("T", int, bytes)


class Piece(NamedTuple):
    text: str
    score: float = 0.0
    type: int = NORMAL


class Rules(NamedTuple):
    """The changes that a model's normalizer makes to a text.

    Args:
        prefix: Puts a space before the text.
        trim: Removes spaces from both ends, and collapses runs of spaces.
        suffix: Puts the space of `prefix` after the text instead.
        charsmap: The map of characters that it applies first, as in :class:`Precompiled`.
    """

    prefix: bool = True
    trim: bool = False
    suffix: bool = False
    charsmap: str = ""

    def steps(self, kept: Sequence[str] = ()) -> Normalization:
        """The steps of a :class:`Vocab`, whose map leaves some pieces as they are."""
        made: list[Normalizer] = []
        appends = self.prefix and self.suffix
        unchanged = [*map(re.escape, sorted(kept, key=len, reverse=True))]
        if appends and not self.trim:  # also to a text that the map empties
            made.append(Replace(r"(?<=[\s\S])\Z", SPACE))
            unchanged += [rf"{SPACE}\Z"] if kept else []
        if self.charsmap:
            ending = SPACE if appends and self.trim else ""
            made.append(Precompiled(self.charsmap, kept="|".join(unchanged), ending=ending))
        before, after = trimming(SPACE)
        made += before if self.trim else ()
        if self.prefix and not self.suffix:  # also before a text that the map empties
            made.insert(len(made) if self.trim or kept else 0, Prepend(SPACE))
        made.append(Replace(" ", SPACE))
        if appends and self.trim:  # the trimmed text may end in spaces that are spelled
            made.append(Replace(rf"(?:(?<=[^{SPACE}]){SPACE}*|\A{SPACE}+)\Z", SPACE))
        elif self.trim:
            made.append(after)
        return tuple(made)


def recognizes(data: bytes, spans: Spans) -> bool:
    """True for bytes that begin with a piece and its score or type."""
    end = 4 + data[3] if len(data) > 4 else 0
    return data[:1] == data[2:3] == b"\n" and data[end : end + 1] in (b"\x15", b"\x18")


@without_collector()
def read(data: bytes, name: str, spans: Spans) -> Vocab:
    """The vocabulary in a model; ``name`` is for error messages."""
    pieces: list[Piece] = []
    parts: dict[int, dict[int, Any]] = {}
    for number, value in _fields(data, name):
        if number == 1:
            pieces.append(_piece(value, f"{name}: piece {len(pieces)}"))
        elif number in (2, 3, 5):
            parts.setdefault(number, {}).update(_fields(value, name))  # protobuf merges what is repeated
    trainer, normalizer, denormalizer = (parts.get(number, {}) for number in (2, 3, 5))
    model_type = _value(trainer, 3, 1, name)
    if model_type in OTHER_MODELS:
        raise FormatError(f"{name}: a model of SentencePiece of the type {OTHER_MODELS[model_type]}; bpetite reads BPE")
    if _value(denormalizer, 2, b"", name) or not _value(normalizer, 5, 1, name):
        raise FormatError(f"{name}: a model with a denormalizer, or escape_whitespaces=false; bpetite has neither")
    prefix, trim, suffix = (
        bool(_value(part, key, default, name))
        for part, key, default in ((normalizer, 3, 1), (normalizer, 4, 1), (trainer, 24, 0))
    )
    rules = Rules(prefix, trim, suffix, b64encode(_value(normalizer, 2, b"", name)).decode())
    return vocab_of_pieces(pieces, rules, name)


def _piece(data: Any, where: str) -> Piece:
    fields = dict(_fields(data, where))
    try:
        score = struct.unpack("<f", _value(fields, 2, bytes(4), where))[0]
        return Piece(_value(fields, 1, b"", where).decode("utf-8"), score, _value(fields, 3, NORMAL, where))
    except (UnicodeDecodeError, struct.error) as bad:
        raise FormatError(f"{where}: {bad}") from None


def _value(fields: dict[int, Any], number: int, default: T, name: str) -> T:
    value: T = fields.get(number, default)
    if type(value) is not type(default):
        raise FormatError(f"{name}: field {number} is {short_repr(value)}: the file is damaged, or no model")
    return value


def _fields(data: Any, name: str) -> Iterator[tuple[int, Any]]:
    """(number, value) of the fields of a protobuf message; the value is an int, or bytes."""
    at = 0
    try:
        while at < len(data):
            tag, at = _varint(data, at)
            size = {1: 8, 5: 4}.get(tag & 7, 0)
            if tag & 7 in (0, 2):
                size, at = _varint(data, at)
            if tag & 7 == 0:
                yield tag >> 3, size
                continue
            if tag & 7 not in (1, 2, 5) or at + size > len(data):
                raise IndexError
            yield tag >> 3, data[at : at + size]
            at += size
    except (IndexError, TypeError):
        raise FormatError(f"{name}: damaged, or no model: no protobuf field at byte {at} of its message") from None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, seven bits a byte, and the offset after it."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at
        if shift > 63:
            raise IndexError


def vocab_of_pieces(
    pieces: Sequence[Piece],
    rules: Rules,
    name: str,
    *,
    flags: tuple[str, ...] = (),
    template: Template | None = None,
) -> Vocab:
    """The vocabulary of pieces, whose ids are their indices. ``flags`` are the flags of pieces that the user
    defined; by default those with which SentencePiece finds them."""
    ids = _ids(pieces, name)
    unknown = [number for number, piece in enumerate(pieces) if piece.type == UNKNOWN]
    spelled = [f"<0x{byte:02X}>" for byte in range(256)]
    byte_ids = tuple(ids[text] for text in spelled if text in ids and pieces[ids[text]].type == BYTE)
    if len(unknown) != 1 or len(byte_ids) not in (0, 256) or SPACE not in ids:
        raise FormatError(
            f"{name}: a model must have one piece for unknown characters (it has {len(unknown)}), a piece {SPACE!r} "
            f"for the space (it has {SPACE in ids:d}), and byte pieces for all 256 bytes or none "
            f"(it has {len(byte_ids)})"
        )
    alphabet = Alphabet(byte_ids, unknown[0], True, SPACE, "one" if rules.prefix or rules.trim else "none")
    special = {
        piece.text: number
        for number, piece in enumerate(pieces)
        if piece.type in (UNKNOWN, CONTROL, USER_DEFINED)
    }
    tokens = {number: alphabet.read_spelled(text) for text, number in ids.items()}
    unreachable = frozenset(_unreachable(ids, byte_ids).difference(special.values()))
    defined = [piece.text for piece in pieces if piece.type == USER_DEFINED]
    for text in defined:
        if rules.trim and "  " in text:
            raise FormatError(
                f"{name}: the piece {text!r}, put in by the user, keeps spaces, and remove_extra_whitespaces leaves one"
            )
    steps = rules.steps(defined)
    if not flags and (steps != PLAIN or any(" " in text for text in defined)):
        flags = ("plain", "spelled")
    elif not flags:
        flags = ("plain", "normalized") if any(SPACE in text for text in defined) else ("plain",)
    with errors_named(name):
        return Vocab(
            tokens,
            _merges(pieces, ids, tokens, unreachable, name),
            special,
            pattern=None,
            normalization=steps,
            alphabet=alphabet,
            token_flags=dict.fromkeys(defined, flags),
            unreachable=unreachable,
            template=template,
        )


def _ids(pieces: Sequence[Piece], name: str) -> dict[str, int]:
    """piece -> id; FormatError for a piece that cannot be one."""
    ids: dict[str, int] = {}
    for number, piece in enumerate(pieces):
        fault = ""
        if not piece.text or piece.text in ids:
            fault = "is empty, or there already"
        elif piece.score != piece.score:
            fault = "has no score"
        elif piece.type not in (NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE):
            fault = f"is of type {piece.type} (5 is unused)"
        if fault:
            raise FormatError(f"{name}: piece {number} {short_repr(piece.text)} {fault}")
        ids[piece.text] = number
    return ids


def _unreachable(ids: dict[str, int], byte_ids: tuple[int, ...]) -> set[int]:
    """The ids that no text gives: pieces that hold a space (a text has ▁ there), and byte pieces of characters that
    have a piece."""
    spaced = {number for text, number in ids.items() if " " in text}
    return spaced.union(
        number for byte, number in enumerate(byte_ids[:0x80]) if (SPACE if byte == 0x20 else chr(byte)) in ids
    )


def _merges(
    pieces: Sequence[Piece], ids: dict[str, int], tokens: dict[int, bytes], unreachable: frozenset[int], name: str
) -> list[tuple[int, int]]:
    """The pairs that merging joins, the highest scores first."""
    normal = [number for number, piece in enumerate(pieces) if piece.type == NORMAL and number not in unreachable]
    normal.sort(key=lambda number: -pieces[number].score)
    letters = {piece.text for piece in pieces if piece.type in (NORMAL, USER_DEFINED) and len(piece.text) == 1}
    for number in normal:
        if not letters.issuperset(pieces[number].text):
            raise FormatError(f"{name}: piece {number} {pieces[number].text!r} has a character that is no piece")
    steps, _ = last_steps(TokenTable({rank: tokens[number] for rank, number in enumerate(normal)}), characters=True)
    merges = [(normal[left], normal[right]) for left, right in steps]
    score = {tokens[number]: pieces[number].score for number in normal}
    lowest = min((score[tokens[left] + tokens[right]] for left, right in merges), default=0)
    last = [number for number in normal if pieces[number].score == lowest and len(pieces[number].text) > 1]
    runs = _runs([pieces[number].text for number in last], pieces[last[0]].text[0]) if len(last) > 1 else []
    if runs:
        merges = [pair for pair in merges if score[tokens[pair[0]] + tokens[pair[1]]] > lowest]
    joined = [tokens[left] + tokens[right] for left, right in merges]
    tied = [pair for pair in pairwise(joined) if score[pair[0]] == score[pair[1]]]
    if runs:  # of which no other piece is made
        uses = zip(merges, joined, strict=True)
        tied += [(tokens[part], token) for pair, token in uses for part in pair if part in last]
    for one, other in tied:
        raise FormatError(
            f"{name}: {one.decode()!r} and {other.decode()!r}: pieces have one score, {score[one]}, and a merge list "
            "cannot say that the first in a text is joined first"
        )
    return merges + [(ids[left], ids[right]) for left, right in runs]


def _runs(last: Collection[str], letter: str) -> list[tuple[str, str]]:
    """The pairs, in order, that join a run of a letter as pieces of the same score do, the first in the text first;
    nothing if there are no such pairs, or a piece is no run. No other piece contains one of `last`."""
    longest = max(map(len, last))
    sizes = {1, *(len(piece) for piece in last)}
    if longest > LONGEST_RUN or any(piece != letter * len(piece) for piece in last):
        return []
    pairs = [(one, other) for one in sizes for other in sizes if one + other in sizes]
    # join equal powers of two from left to right, then the remainders, the longest first
    pairs.sort(key=lambda pair: (0, pair[0]) if pair[0] == pair[1] else (1, -pair[0], -pair[1]))
    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    # both rules cut off the longest piece again and again
    for length in range(2, 3 * longest):
        if _joined(length, ranks) != _joined(length, dict.fromkeys(pairs, 0)):
            return []
    return [(letter * one, letter * other) for one, other in pairs]


def _joined(length: int, ranks: dict[tuple[int, int], int]) -> list[int]:
    """The lengths that letters of a run are joined to, the lowest rank first, the leftmost of equal ones."""
    parts = [1] * length
    while best := min(((ranks[pair], at) for at, pair in enumerate(pairwise(parts)) if pair in ranks), default=None):
        parts[best[1] : best[1] + 2] = [sum(parts[best[1] : best[1] + 2])]
    return parts
