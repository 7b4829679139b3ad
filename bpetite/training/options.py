"""The options of training: one declaration, from which signatures, checks, the command and clusters take them.

An option is a key of the TypedDict of the functions that take it, has its default in `DEFAULTS`, and is checked in
`TrainingOptions`.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args, get_type_hints

from .. import patterns
from ..errors import check_integer
from ..patterns import Pattern, PatternLike
from ..release import __version__
from ..vocabulary.vocab import MAX_ID, Vocab
from .counting.count_options import COUNT_DEFAULTS, CountOptions, Cutting, Specials, refuse_unknown

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .counting.counts import Counts


class MergeOptions(TypedDict, total=False):
    """The choice of pairs that become tokens.

    Keys:
        min_frequency: Pairs that occur less often are not learned; at least 1.
        tie_break: Among equally frequent pairs, "ids" takes the smallest (left id, right id), numbered as with
            ``special_ids="after"`` in any case; "bytes" the greatest (left bytes, right bytes). "tokenizers" takes the
            pair that Hugging Face's ``BpeTrainer`` takes: the smallest ids where bytes are numbered in the order of
            their printable characters (:data:`bpetite.bytelevel.ORDER`); ids of the result do not change.
        max_token_bytes: Pairs that would give a longer token are not learned; None for no limit.
    """

    min_frequency: int
    tie_break: Literal["ids", "bytes", "tokenizers"]
    max_token_bytes: int | None


class LearningOptions(CountOptions, MergeOptions, total=False):
    """Options of all ways to train. A missing option of counting has the value that the counts were made with.

    Keys, besides `CountOptions` and `MergeOptions`:
        special_ids: "after": bytes are 0..255, learned tokens follow, then special tokens. "before": special tokens
            from 0, then bytes, then learned tokens. The merges are the same.
    """

    special_ids: Literal["after", "before"]


class TrainOptions(LearningOptions, total=False):
    """Options of training from texts.

    Keys, besides `LearningOptions`:
        superwords_from: SuperBPE: the number of tokens to learn within words, before tokens of several words.
        superword_pattern: The pattern that cuts text when superwords are learned, and when the tokenizer encodes.
    """

    superwords_from: int | None
    superword_pattern: PatternLike


class ExtendOptions(MergeOptions, total=False):
    """Options of learning further tokens.

    Keys, besides `MergeOptions`:
        special_tokens: Further special tokens.
        superword_pattern: Learn superwords, from text that this pattern cuts; not given for none.
    """

    special_tokens: Sequence[str] | Mapping[str, int]
    superword_pattern: PatternLike


DEFAULTS: TrainOptions = {
    **COUNT_DEFAULTS, "special_ids": "after", "min_frequency": 1, "tie_break": "ids", "max_token_bytes": None,
    "superwords_from": None, "superword_pattern": "superbpe",
}  # fmt: skip



class TrainingOptions:
    """The options of a training, checked.

    Args:
        vocab_size: Tokens to end with, special tokens not counted: 256 bytes plus learned ones.
        options: See `TrainOptions`. An id given to a special token must not belong to a byte or a learned token; a
            special token of one ASCII character has the id of its byte.

    Raises:
        TypeError: An unknown option, or one of the wrong type.
        ValueError: An option out of range.

    >>> TrainingOptions(300, special_tokens=["<s>", "<s>"]).special_tokens
    ('<s>',)
    """

    def __init__(self, vocab_size: int, **options: Unpack[TrainOptions]) -> None:
        values: Any = {**DEFAULTS, **options}
        self.given: TrainOptions = options
        # check_integer gives Python's own integers, which JSON holds: one may have been NumPy's
        self.vocab_size: int = check_integer("vocab_size", vocab_size, 256, " (one token for each byte)")
        self.cutting: Cutting = Cutting.of(**{name: values[name] for name in COUNT_DEFAULTS})
        self.min_frequency: int = check_integer("min_frequency", values["min_frequency"], 1)
        self.tie_break: str = _choice("tie_break", values["tie_break"])
        self.max_token_bytes: int | None = values["max_token_bytes"]
        if self.max_token_bytes is not None:
            self.max_token_bytes = check_integer("max_token_bytes", self.max_token_bytes, 1)
        self.special_ids: str = _choice("special_ids", values["special_ids"])
        self.special_tokens: Specials = self.cutting.special_tokens
        if isinstance(values["special_tokens"], Mapping):
            self.special_tokens = checked_ids(values["special_tokens"])
            self._check_new_ids(self.special_tokens)
        self.superwords_from: int | None = values["superwords_from"]
        self.superword_pattern: Pattern = patterns.resolve(values["superword_pattern"])
        if self.superwords_from is not None:
            first = check_integer("superwords_from", self.superwords_from, 256, " (one token for each byte)")
            if first > self.vocab_size:
                raise ValueError(f"superwords_from is at most vocab_size={self.vocab_size}, not {first}")
            self.superwords_from = first
        elif "superword_pattern" in options:
            raise ValueError("superword_pattern is for superwords_from, which is not given")

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

    def for_counts(self, counts: Counts) -> TrainingOptions:
        """These options, with the options of counting that the counts were made with.

        Raises:
            ValueError: One that was given contradicts them.
        """
        agreed: Any = {**vars(counts.cutting), **self.given}
        options = TrainingOptions(self.vocab_size, **agreed)
        if name := options.cutting.difference(counts.cutting):
            given, made_with = getattr(options.cutting, name), getattr(counts.cutting, name)
            raise ValueError(f"{name}={given!r} contradicts these counts, made with {name}={made_with!r}")
        return options

    def record(self) -> dict[str, Any]:
        """All options with their values, for :func:`train_config`."""
        values = vars(self.cutting) | {name: value for name, value in vars(self).items() if name in DEFAULTS}
        values["vocab_size"] = self.vocab_size
        if self.superwords_from is None:
            del values["superwords_from"], values["superword_pattern"]
        return values


def chosen_options(vocab_size: int, options: Mapping[str, Any], kind: type = TrainOptions) -> TrainingOptions:
    """Check the options of a caller against a TypedDict, by name."""
    refuse_unknown(options, kind)
    given: Any = options
    return TrainingOptions(vocab_size, **given)


def checked_ids(ids: Mapping[str, Any]) -> dict[str, int]:
    """Return literal -> id of special tokens; an id out of range or given twice is an error."""
    literal_of: dict[int, str] = {}
    for literal, token_id in ids.items():
        refusal = f"special token {literal!r} cannot have the id {token_id!r}"
        if isinstance(token_id, bool) or not isinstance(token_id, int) or not 0 <= token_id <= MAX_ID:
            raise ValueError(f"{refusal}: ids are int, 0..{MAX_ID}")
        if literal_of.setdefault(token_id, literal) != literal:
            raise ValueError(f"{refusal}: {literal_of[token_id]!r} has it")
    return {literal: token_id for token_id, literal in literal_of.items()}


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


def _choice(name: str, value: object) -> str:
    """The value of an option that is one of several strings."""
    choices = [repr(one) for one in get_args(get_type_hints(TrainOptions)[name])]
    if not isinstance(value, str) or repr(value) not in choices:
        raise ValueError(f"{name} is {', '.join(choices[:-1])} or {choices[-1]}, not {value!r}")
    return value
