"""How a tokenizer is trained: every option once, checked when they are put together."""
from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from .. import patterns
from ..not_given import NOT_GIVEN, NotGiven
from ..patterns import PatternLike
from ..splitting.pattern.unicode_version import check_unicode
from ..steps import normalizers
from ..steps.normalizers import FORMS
from ..vocabulary.special_literals import check_literal
from ..vocabulary.vocab import MAX_ID
from .counts import PretokenCounts

if TYPE_CHECKING:
    from .spilled import CountFile

__all__ = [
    "LearningOptions",
    "Specials",
    "TrainOptions",
    "TrainingOptions",
    "check_integer",
    "check_normalization",
    "checked_ids",
    "chosen_options",
    "distinct_literals",
]

#: Special tokens of a training: literals, or literal -> id.
Specials: TypeAlias = Sequence[str] | Mapping[str, int]


class LearningOptions(TypedDict, total=False):
    """Keys: the options that all ways to train share, as :meth:`bpetite.Tokenizer.train` explains them."""

    special_tokens: Specials
    special_ids: Literal["after", "before"]
    pattern: PatternLike | NotGiven
    min_frequency: int
    tie_break: Literal["ids", "bytes", "tokenizers"]
    normalization: str | NotGiven | None
    unicode: str | NotGiven | None
    max_token_bytes: int | None


class TrainOptions(LearningOptions, total=False):
    """Keys: those of `LearningOptions`, and what stays in this process."""

    superwords_from: int | None
    superword_pattern: PatternLike | NotGiven
    progress: Callable[..., None] | None


@dataclass(frozen=True)
class TrainingOptions:
    """The options of a training.

    Args:
        vocab_size: Tokens to end with, special tokens not counted: 256 bytes plus what is learned.
        special_tokens: Literals that cut the corpus and take no part in any merge, or literal -> id: ids that are no
            byte's and no learned token's. A special token of one ASCII character has the id of its byte.
        special_ids: "after": bytes are 0..255, learned tokens follow, then special tokens. "before": special tokens
            from 0, then bytes, then learned tokens. The merges are the same.
        pattern: The split pattern, see :func:`bpetite.patterns.resolve`; None for none. When not given, that of
            the counts, else GPT-2's.
        min_frequency: Pairs that occur less often are not learned; at least 1.
        tie_break: Among equally frequent pairs, "ids" takes the smallest (left id, right id), where ids are those of
            ``special_ids="after"`` whatever is asked for; "bytes" the greatest (left bytes, right bytes). "tokenizers"
            takes the pair that Hugging Face's ``BpeTrainer`` takes: the smallest ids where bytes are numbered in the
            order of their printable characters (:data:`bpetite.bytelevel.ALPHABET`); ids of the result do not change.
        normalization: "NFC", "NFD", "NFKC", "NFKD" or None; applied to the text between special tokens. When not given,
            that of the counts, else None.
        max_token_bytes: Pairs that would give a longer token are not learned; None for no limit.
        unicode: The version of Unicode, see :class:`bpetite.Vocab`. When not given, that of the counts, else
            None.
        superwords_from: Learn so many tokens within words, then superwords (:mod:`bpetite.training.train`); None
            for no superwords.
        superword_pattern: The pattern of that second stage and of the tokenizer; when not given, SuperBPE's.

    Raises:
        TypeError: An option of the wrong type.
        ValueError: An option out of range.

    >>> TrainingOptions(300, special_tokens=["<s>", "<s>"]).special_tokens
    ('<s>',)
    """

    vocab_size: int
    special_tokens: Specials = ("<|endoftext|>",)
    special_ids: Literal["after", "before"] = "after"
    pattern: PatternLike | NotGiven = NOT_GIVEN
    min_frequency: int = 1
    tie_break: Literal["ids", "bytes", "tokenizers"] = "ids"
    normalization: str | NotGiven | None = NOT_GIVEN
    max_token_bytes: int | None = None
    unicode: str | NotGiven | None = NOT_GIVEN
    superwords_from: int | None = None
    superword_pattern: PatternLike | NotGiven = NOT_GIVEN

    def __post_init__(self) -> None:
        # the integers of Python, which JSON holds: one may have been NumPy's
        whole = check_integer("vocab_size", self.vocab_size, 256, " (one token for each byte)")
        object.__setattr__(self, "vocab_size", whole)
        object.__setattr__(self, "min_frequency", check_integer("min_frequency", self.min_frequency, 1))
        if self.max_token_bytes is not None:
            object.__setattr__(self, "max_token_bytes", check_integer("max_token_bytes", self.max_token_bytes, 1))
        if self.special_ids not in ("after", "before"):
            raise ValueError(f"special_ids is 'after' or 'before', not {self.special_ids!r}")
        if self.tie_break not in ("ids", "bytes", "tokenizers"):
            raise ValueError(f"tie_break is 'ids', 'bytes' or 'tokenizers', not {self.tie_break!r}")
        if self.normalization is not NOT_GIVEN:
            check_normalization(self.normalization, None if self.unicode is NOT_GIVEN else self.unicode)
        elif self.unicode is not NOT_GIVEN:
            check_unicode(self.unicode)
        if self.pattern is not NOT_GIVEN:
            object.__setattr__(self, "pattern", patterns.resolve(self.pattern))
        self._check_superwords()
        literals = distinct_literals(self.special_tokens)
        object.__setattr__(self, "special_tokens", self._with_ids(literals) if self.ids_are_given else literals)

    def _check_superwords(self) -> None:
        if self.superwords_from is None:
            if self.superword_pattern is not NOT_GIVEN:
                raise ValueError("superword_pattern is for superwords_from, which is not given")
            return
        first = check_integer("superwords_from", self.superwords_from, 256, " (one token for each byte)")
        if first > self.vocab_size:
            raise ValueError(f"superwords_from is at most vocab_size={self.vocab_size}, not {first}")
        object.__setattr__(self, "superwords_from", first)
        given = patterns.SUPERBPE if self.superword_pattern is NOT_GIVEN else patterns.resolve(self.superword_pattern)
        object.__setattr__(self, "superword_pattern", given)

    @property
    def ids_are_given(self) -> bool:
        """Whether the special tokens have ids of their user's choice."""
        return isinstance(self.special_tokens, Mapping)

    def _with_ids(self, literals: tuple[str, ...]) -> dict[str, int]:
        """The ids that were given, or why one cannot be."""
        given: dict[str, Any] = dict(self.special_tokens)  # type: ignore[arg-type]
        self._check_new_ids(checked_ids({literal: given[literal] for literal in literals}))
        return given

    def _check_new_ids(self, ids: dict[str, int]) -> None:
        own = [literal for literal in ids if len(literal.encode()) > 1]
        shift = len(own) if self.special_ids == "before" else 0
        for literal, token_id in ids.items():
            refusal = f"special token {literal!r} cannot have the id {token_id}"
            if literal not in own and token_id != literal.encode()[0] + shift:
                raise ValueError(f"{refusal}: it is one byte, whose token has the id {literal.encode()[0] + shift}")
            if literal in own and shift and token_id >= shift:
                raise ValueError(f"{refusal}: with special_ids='before' the {shift} special tokens have 0..{shift - 1}")
            if literal in own and not shift and token_id < self.vocab_size:
                raise ValueError(
                    f"{refusal}: bytes and learned tokens have 0..{self.vocab_size - 1}. Give ids from "
                    f"{self.vocab_size} on, or with special_ids='before' the first ones"
                )

    def for_counts(self, counts: PretokenCounts | CountFile) -> TrainingOptions:
        """With the pattern, the normalization and the version of Unicode of counts.

        Raises:
            ValueError: One that was given contradicts them.
        """
        agreed: dict[str, Any] = {name: getattr(counts, name) for name in ("pattern", "normalization", "unicode")}
        for name, value in agreed.items():
            given = getattr(self, name)
            if given is not NOT_GIVEN and given != value:
                raise ValueError(f"{name}={given!r} contradicts these counts, made with {name}={value!r}")
        return replace(self, **agreed)

    def record(self) -> dict[str, Any]:
        """All options with their values, for :func:`bpetite.training.config.config_of`."""
        found = vars(self) | self.counting() | {"special_tokens": self.special_tokens}
        if self.superwords_from is None:
            del found["superwords_from"], found["superword_pattern"]
        return found

    def counting(self) -> dict[str, Any]:
        """The options that :func:`bpetite.count_pretokens` takes too, as its keyword arguments."""
        return {
            "pattern": patterns.GPT2 if self.pattern is NOT_GIVEN else self.pattern,
            "normalization": None if self.normalization is NOT_GIVEN else self.normalization,
            "special_tokens": tuple(self.special_tokens),
            "unicode": None if self.unicode is NOT_GIVEN else self.unicode,
        }


def chosen_options(vocab_size: int, options: Mapping[str, Any]) -> TrainingOptions:
    """The options as `TrainOptions` has them: ``progress`` is not for here."""
    for name in options:
        if name not in TrainOptions.__annotations__:
            known = ", ".join(TrainOptions.__annotations__)
            raise TypeError(f"unexpected keyword argument {name!r}; the options of training are {known}")
    return TrainingOptions(vocab_size, **{name: value for name, value in options.items() if name != "progress"})


def checked_ids(ids: Mapping[str, Any]) -> dict[str, int]:
    """literal -> id of special tokens, or the error that says which id cannot be."""
    literal_of: dict[int, str] = {}
    for literal, token_id in ids.items():
        refusal = f"special token {literal!r} cannot have the id {token_id!r}"
        if isinstance(token_id, bool) or not isinstance(token_id, int) or not 0 <= token_id <= MAX_ID:
            raise ValueError(f"{refusal}: ids are int, 0..{MAX_ID}")
        if literal_of.setdefault(token_id, literal) != literal:
            raise ValueError(f"{refusal}: {literal_of[token_id]!r} has it")
    return {literal: token_id for token_id, literal in literal_of.items()}


def distinct_literals(special_tokens: Specials) -> tuple[str, ...]:
    """The literals without repeats, or the error that says which one is wrong."""
    if isinstance(special_tokens, (str, bytes)) or not hasattr(special_tokens, "__iter__"):
        raise TypeError(f"special_tokens is a list of str or a dict of ids, not {special_tokens!r}")
    literals = tuple(dict.fromkeys(special_tokens))
    for literal in literals:
        check_literal(literal)
    return literals


def check_normalization(normalization: object, unicode: str | None = None) -> None:
    """Raise ValueError for what training cannot apply: anything but None or a normal form that this Python has for a
    version of Unicode."""
    if normalization is not None and normalization not in FORMS:
        raise ValueError(f"normalization {normalization!r} is not one of {', '.join(FORMS)} or None")
    check_unicode(unicode)
    normalizers.check(normalization, unicode)


def check_integer(name: str, value: object, least: int, why: str = "") -> int:
    """The number, or the error that says why it is none."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} is an int, not {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}{why}, not {number}")
    return number
