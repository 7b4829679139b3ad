"""The options of training: one declaration, from which checks, the command and clusters take them."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

from .. import patterns
from ..errors import check_integer
from ..patterns import PatternLike
from ..release import __version__
from ..vocabulary.vocab import MAX_ID, Vocab
from .counting.cutting import PATTERN, SPECIAL_TOKENS, Cutting, SpecialLiterals

#: Places of the ids of special tokens, see `TrainingOptions`.
SpecialIds: TypeAlias = Literal["after", "before"]
#: Choices among equally frequent pairs, see `TrainingOptions`.
TieBreak: TypeAlias = Literal["ids", "bytes", "tokenizers"]
SUPERWORDS = "superbpe"


@dataclass(frozen=True)
class TrainingOptions:
    """The options of a training, checked.

    Args:
        vocab_size: Tokens to end with, special tokens not counted: 256 bytes plus learned ones.
        special_tokens: Literals that cut the text and are in no pre-token, or literal -> id. An id must not belong to a
            byte or a learned token; a special token of one ASCII character has the id of its byte.
        special_ids: "after": bytes are 0..255, learned tokens follow, then special tokens. "before": special tokens
            from 0, then bytes, then learned tokens. The merges are the same.
        pattern: The split pattern: a regular expression, or a name in :data:`bpetite.patterns.NAMED`; None for no
            pre-tokenization.
        min_frequency: Pairs that occur less often are not learned; at least 1.
        tie_break: Among equally frequent pairs, "ids" takes the smallest (left id, right id), numbered as with
            ``special_ids="after"`` in any case; "bytes" the greatest (left bytes, right bytes). "tokenizers" takes the
            pair that Hugging Face's ``BpeTrainer`` takes: the smallest ids where bytes are numbered in the order of
            their printable characters (:data:`bpetite.bytelevel.ORDER`); ids of the result do not change.
        normalization: The normal form of the text between special tokens; None for none.
        max_token_bytes: Pairs that would give a longer token are not learned; None for no limit.
        superwords_from: SuperBPE: the number of tokens to learn within words, before tokens of several words.
        superword_pattern: The pattern that cuts text when superwords are learned, and when the tokenizer encodes.

    Raises:
        TypeError: An unknown option, or one of the wrong type.
        ValueError: An option out of range.

    >>> TrainingOptions(300, special_tokens=["<s>", "<s>"]).special_tokens
    ('<s>',)
    """

    vocab_size: int
    special_tokens: SpecialLiterals = SPECIAL_TOKENS
    special_ids: SpecialIds = "after"
    pattern: PatternLike = PATTERN
    min_frequency: int = 1
    tie_break: TieBreak = "ids"
    normalization: str | None = None
    max_token_bytes: int | None = None
    superwords_from: int | None = None
    superword_pattern: PatternLike = SUPERWORDS

    def __post_init__(self) -> None:
        cutting = Cutting.of(
            pattern=self.pattern, special_tokens=self.special_tokens, normalization=self.normalization
        )  # fmt: skip
        self._set(pattern=cutting.pattern)
        # check_integer turns NumPy integers into int, which JSON can hold
        for name, least, why in (
            ("vocab_size", 256, " (one token for each byte)"), ("min_frequency", 1, ""), ("max_token_bytes", 1, ""),
            ("superwords_from", 256, " (one token for each byte)"),
        ):  # fmt: skip
            if getattr(self, name) is not None or name in ("vocab_size", "min_frequency"):
                self._set(**{name: check_integer(name, getattr(self, name), least, why)})
        for name, allowed in (("tie_break", TieBreak), ("special_ids", SpecialIds)):
            choices = [*map(repr, get_args(allowed))]
            if repr(getattr(self, name)) not in choices:
                known = f"{', '.join(choices[:-1])} or {choices[-1]}"
                raise ValueError(f"{name} is {known}, not {getattr(self, name)!r}")
        special_tokens: SpecialLiterals = cutting.special_tokens
        if isinstance(self.special_tokens, Mapping):
            special_tokens = checked_ids(self.special_tokens, self.byte_specials, self._taken)
        self._set(special_tokens=special_tokens)
        if self.superwords_from is None:
            if self.superword_pattern != SUPERWORDS:
                raise ValueError("superword_pattern is for superwords_from, which is not given")
        elif self.superwords_from > self.vocab_size:
            raise ValueError(f"superwords_from is at most vocab_size={self.vocab_size}, not {self.superwords_from}")
        self._set(superword_pattern=patterns.resolve(self.superword_pattern))

    @property
    def cutting(self) -> Cutting:
        """The options of counting."""
        return Cutting(patterns.resolve(self.pattern), tuple(self.special_tokens), self.normalization)

    def _set(self, **values: object) -> None:
        vars(self).update(values)  # while it is made; frozen after

    @property
    def first_byte(self) -> int:
        """The id of the byte 0."""
        longer = sum(len(literal.encode()) > 1 for literal in self.special_tokens)
        return longer if self.special_ids == "before" else 0

    @property
    def byte_specials(self) -> dict[str, int]:
        """literal -> id of special tokens that are one byte."""
        single = [literal for literal in self.special_tokens if len(literal.encode()) == 1]
        return {literal: ord(literal) + self.first_byte for literal in single}

    def _taken(self, token_id: int) -> str | None:
        end = self.first_byte
        if end and token_id >= end:
            return f"with special_ids='before' the {end} special tokens have 0..{end - 1}"
        if not end and token_id < self.vocab_size:
            return (
                f"bytes and learned tokens have 0..{self.vocab_size - 1}. Give ids from {self.vocab_size} on, or with "
                "special_ids='before' the first ones"
            )
        return None

    def record(self) -> dict[str, Any]:
        """All options with their values, for :func:`train_config`."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        if self.superwords_from is None:
            del values["superwords_from"], values["superword_pattern"]
        return values


def checked_ids(
    ids: Mapping[str, Any], known: Mapping[str, int | None], taken: Callable[[int], str | None]
) -> dict[str, int]:
    """Return literal -> id of special tokens, if a vocabulary can have them.

    Args:
        ids: literal -> id.
        known: literal -> id of those that are tokens already, None for others.
        taken: Says of an id who has it; None where nobody does.

    Raises:
        ValueError: An id out of range, given twice, or of another token.
    """
    literal_of: dict[int, str] = {}
    for literal, token_id in ids.items():
        why: str | None = None
        if isinstance(token_id, bool) or not isinstance(token_id, int) or not 0 <= token_id <= MAX_ID:
            why = f"ids are int, 0..{MAX_ID}"
        elif literal_of.setdefault(token_id, literal) != literal:
            why = f"{literal_of[token_id]!r} has it"
        elif (own := known.get(literal)) is None:
            why = taken(token_id)
        elif own != token_id:
            why = f"it has {own}"
        if why is not None:
            raise ValueError(f"special token {literal!r} cannot have the id {token_id!r}: {why}")
    return dict(ids)


def train_config(method: str, options: Mapping[str, Any], before: Vocab | None = None) -> dict[str, Any]:
    """The record of a training, as JSON holds it: the options and the release.

    Args:
        method: "train", "extend" or "prune".
        options: The arguments of the call.
        before: The vocabulary that it began with; its own record is kept under "after".
    """
    record: dict[str, Any] = {"method": method, "bpetite": __version__, "options": {
        name: list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
        for name, value in options.items()
    }}  # fmt: skip
    if before is not None and before.train_config is not None:
        record["after"] = before.train_config
    return record
