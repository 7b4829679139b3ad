"""The data of a tokenizer, without its engine: tokens, merges, special tokens, split pattern, normalization.

File formats and the trainer make a :class:`Vocab`; the tokenizer runs one. All faults of a vocabulary are found here,
so that no later stage has to check again.
"""
from __future__ import annotations

import codecs
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from .. import patterns
from .._merge import MergeTable
from ..errors import check_integer, short_repr
from ..splitting.pattern.unicode_data import UNICODE
from . import pickling
from ._merge_builder import build_merge_table
from ._merge_list import MergeList
from ._tokens import TokenTable
from .special_literals import SpecialTokens, check_literal, place_specials

if TYPE_CHECKING:  # imported at run time only for the few vocabularies that have it
    from ..steps.normalizers import Normalization
    from ..steps.splits import SplitPattern, SplitPatternLike
    from ..steps.template import Template
    from ._alphabet import AlphabetTable
    from .alphabet import Alphabet


#: The treatment of bytes that are not UTF-8 in decoding. Any other name that is registered with
#: :func:`codecs.register_error` works, too; type checkers want a ``cast(ErrorHandler, name)`` for it.
ErrorHandler: TypeAlias = Literal["strict", "replace", "ignore", "backslashreplace", "surrogateescape"]

MAX_ID = 2**32 - 1

#: Literals that end a text in published vocabularies, in the order they are looked for.
END_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>", "</s>", "<|im_end|>")

#: The flags that a special token can have, see :class:`Vocab`.
FLAGS = ("lstrip", "rstrip", "single_word", "normalized", "spelled", "plain", "added")
#: The flags that do not change the search for special tokens.
QUIET_FLAGS = frozenset(("plain", "added"))


@dataclass(frozen=True, repr=False)
class Vocab:
    """A validated vocabulary; immutable by contract, comparable, picklable. ``dataclasses.replace`` makes another one.

    Args:
        tokens: id -> bytes of every token, special ones included. Ids are 0..2^32-1, in any order; gaps are allowed.
            They are held in flat memory, in the order of the ids (:class:`._tokens.TokenTable`): the attribute is a
            mapping that makes a bytes object at each look-up.
        merges: Pairs of ids in rank order; a pair becomes the token with its joined bytes. None makes a vocabulary of
            the ranks kind: a pre-token that is a token is taken whole, and the rank of a pair is the id of the joined
            token. Merges are held in flat memory, too (:class:`._merge_list.MergeList`); the attribute is a sequence.
        special_tokens: literal -> id, in order of registration. ``tokens`` has the literal's UTF-8 at that id. If
            literals share an id, it has one of them, to which the id decodes; the rest are :attr:`aliases`.
        pattern: The split pattern; a tuple of patterns, each applied inside the parts of the one before; or None.
            Steps that tokenizer.json knows beyond patterns are in :mod:`bpetite.steps.splits`.
        normalization: "NFC", "NFD", "NFKC", "NFKD" or None; or steps of :mod:`bpetite.steps.normalizers`.
        ignore_merges: With a merge list, a pre-token that is a token is taken whole before any merge.
        alphabet: The characters that merges begin from, see :class:`bpetite.vocabulary.alphabet.Alphabet`; None for
            the 256 bytes, where every byte that occurs in text has a token.
        errors: The codec error handler of decoding, for bytes that are not UTF-8.
        token_flags: literal -> flags of special tokens that have any: "lstrip" and "rstrip" (takes the white space on
            that side with it), "single_word" (only where no word character is next to it), "normalized" (found in the
            normalized text, after the others), "spelled" (likewise, but its literal is not normalized), "plain" (kept
            when decoding skips special tokens), "added" (of one byte, which has no token of ordinary text; without it,
            a special token of one byte is that byte's token as well).
        template: The special tokens that ``add_special_tokens=True`` puts around a text; None for none.
        kept: Settings of its file that change no ids here unless asked for, such as "dropout"; they are written again.
        name: The name of a published encoding, for people; no part of the content, and not saved.
        beside: The files beside a tokenizer.json that say how ``transformers`` uses it, name -> content; no part of the
            content either, and not saved.
        unreachable: Ids that no text gives: they only decode. A token without bytes is always unreachable, a special
            token never.
        train_config: The record of the training, as JSON holds it: method, options, the corpus with a checksum, the
            release. It is no part of the content: vocabularies that encode alike are equal and have one fingerprint,
            however they were trained. The native file keeps it.

    Raises:
        ValueError: Two ids with the same bytes (unless one is unreachable, or the higher one a special token's), an id
            out of range, a merge of unknown or unreachable tokens, a merge listed twice, a special token whose id
            holds other bytes; the message names the value.
        TypeError: A value of the wrong type.

    >>> Vocab({0: b"a", 1: b"b", 2: b"ab"}, ((0, 1),), {}, pattern=None)
    Vocab(3 tokens, 1 merges, 0 special tokens)
    """

    tokens: Mapping[int, bytes]
    merges: Sequence[tuple[int, int]] | None
    special_tokens: dict[str, int]
    pattern: SplitPattern = patterns.GPT2
    normalization: Normalization = None
    ignore_merges: bool = False
    alphabet: Alphabet | None = None
    errors: ErrorHandler = "strict"
    token_flags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    template: Template | None = None
    kept: dict[str, Any] = field(default_factory=dict)
    unreachable: frozenset[int] = frozenset()
    name: str | None = field(default=None, compare=False)
    beside: dict[str, str] = field(default_factory=dict, compare=False)
    train_config: dict[str, Any] | None = field(default=None, compare=False)
    #: The resulting id of each merge, uint32 in rank order; empty for the ranks kind.
    merge_results: array[int] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)  # the fields take their one form, and nothing changes after that
        if self.merges is not None and not isinstance(self.merges, Iterable):
            raise TypeError(f"merges is a tuple of pairs of ids, or None for ranks, not {short_repr(self.merges)}")
        tokens = self.tokens if isinstance(self.tokens, TokenTable) else TokenTable(self.tokens, self.unreachable)
        unreachable = self.unreachable
        if unreachable or type(unreachable) is not frozenset:
            unreachable = _check_unreachable(unreachable, tokens).difference(self.special_tokens.values())
        if tokens.empty:
            unreachable = unreachable.union(token_id for token_id, token in tokens.items() if not token)
        # the table may be of a loader that did not know of these, or of a vocabulary with others
        if tokens.unreachable != len(unreachable) or any(tokens.find_id(tokens[one]) == one for one in unreachable):
            tokens = tokens.with_tokens({}, unreachable)
        put("tokens", tokens)
        put("unreachable", unreachable)
        if tokens.repeated:
            _check_tokens(tokens, self.special_tokens, unreachable)
        _check_specials({literal: self.literal_bytes(literal) for literal in self.special_tokens},
                        self.special_tokens, self.tokens)  # fmt: skip
        _check_flags(self.token_flags, self.special_tokens, self.alphabet)
        if self.merges is None:
            put("merge_results", array("I"))
        else:
            merges = self.merges if isinstance(self.merges, MergeList) else MergeList(self.merges)
            put("merges", merges)
            put("merge_results", merges.results(tokens, unreachable))
        if patterns.is_known(self.pattern):
            put("pattern", patterns.as_setting(patterns.as_tuple(self.pattern)))
        else:
            from ..steps import splits

            put("pattern", splits.checked(self.pattern))
        if self.normalization is not None:
            from ..steps import normalizers

            normalizers.check(self.normalization)
            put("normalization", patterns.as_setting(patterns.as_tuple(self.normalization)))
        if type(self.ignore_merges) is not bool:
            raise TypeError(f"ignore_merges is a bool, not {self.ignore_merges!r}")
        if not isinstance(self.errors, str):
            raise TypeError(f"errors is the name of a codec error handler, not {self.errors!r}")
        try:
            codecs.lookup_error(self.errors)
        except LookupError:
            raise ValueError(
                f"errors {self.errors!r} is no codec error handler (strict, replace, ignore, ...)"
            ) from None
        if self.alphabet is not None:
            if self.merges is None:
                raise ValueError("an alphabet belongs to a merge list; the ranks kind begins from bytes")
            self.alphabet.check(self.tokens, self.merges)
        if self.template is not None and (unknown := self.template.ids() - self.tokens.keys()):
            raise ValueError(f"the template puts in id {min(unknown)}, which is no token")
        if self.ignore_merges and self.merges is None:
            raise ValueError("ignore_merges belongs to a merge list; the ranks kind takes whole tokens anyway")

    @classmethod
    def build(
        cls,
        tokens: Mapping[int, bytes],
        merges: Iterable[tuple[bytes, bytes]] | None,
        special_tokens: SpecialTokens = None,
        *,
        pattern: SplitPatternLike = patterns.GPT2,
        **settings: Any,
    ) -> Vocab:
        """A Vocab from merges in bytes and special tokens with or without ids.

        Args:
            tokens: id -> bytes.
            merges: Pairs of token bytes in rank order, or None for the ranks kind.
            special_tokens: Literals, or literal -> id. A literal that is a token keeps that token's id; others get
                the ids after the highest one, in the order given.
            pattern: The split pattern, see :func:`bpetite.patterns.resolve`.
            settings: Further fields of Vocab.

        Raises:
            ValueError: As for Vocab; for a merge of bytes that are no token, with its rank.

        >>> Vocab.build({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")], ["<s>"]).merges
        ((0, 1),)
        """
        if not isinstance(tokens, Mapping):
            raise TypeError(f"a vocabulary is a dict of id -> bytes, not {short_repr(tokens)}")
        if isinstance(next(iter(tokens), None), str | bytes):
            raise TypeError(
                "a vocabulary is a dict of id -> bytes, and this one begins with "
                f"{short_repr(next(iter(tokens.items())))}; "
                "{token_id: token for token, token_id in vocab.items()} turns token -> id round"
            )
        unreachable = settings.get("unreachable", frozenset())
        table = TokenTable(tokens, unreachable)
        hidden = {table[token_id]: token_id for token_id in unreachable if token_id in table}

        def find(token: bytes) -> int | None:
            token_id: int | None = table.find_id(token)
            return hidden.get(token) if token_id is None else token_id

        pairs: list[tuple[int, int]] | None = None
        if merges is not None:
            given: object = merges
            if isinstance(given, str | bytes) or not isinstance(given, Iterable):
                raise TypeError(f"merges is an iterable of pairs of bytes, or None for ranks, not {short_repr(merges)}")
            pairs = []
            for rank, merge in enumerate(merges):
                try:
                    left, right = merge
                    if not (isinstance(left, bytes) and isinstance(right, bytes)):
                        raise TypeError
                except (TypeError, ValueError):
                    raise ValueError(f"merge {rank} must be a pair of bytes, not {short_repr(merge)}") from None
                one, other = find(left), find(right)
                if one is None or other is None:
                    missing = left if one is None else right
                    raise ValueError(f"merge {rank} {tuple(merge)!r}: {missing!r} is not in the vocabulary")
                pairs.append((one, other))
        specials, flags, new = place_specials(special_tokens, table, find)
        if flags:
            settings["token_flags"] = flags | settings.get("token_flags", {})
        return cls(table.with_tokens(new, unreachable), pairs, specials, patterns.resolve(pattern), **settings)

    @property
    def id_of(self) -> dict[bytes, int]:
        """bytes -> id of every token and alias, a new dict each time; :meth:`find` does without it. Equal bytes have
        the id of ordinary text, else the id of a special token, else an unreachable one."""
        ids: dict[bytes, int] = {}
        for token_id, token in self.tokens.items():
            if token_id not in self.unreachable:
                ids.setdefault(token, token_id)
        return self._found_apart | ids

    def find(self, token: bytes) -> int | None:
        """The id of the token or alias with these bytes, as in :attr:`id_of`; None if there is none."""
        token_id: int | None = self.token_table.find_id(token)
        return self._found_apart.get(token) if token_id is None else token_id

    @cached_property
    def _found_apart(self) -> dict[bytes, int]:
        """bytes -> id of aliases and unreachable tokens, which the index of the tokens does not have."""
        aliases = {literal.encode("utf-8"): token_id for literal, token_id in self.aliases.items()}
        return aliases | {self.tokens[token_id]: token_id for token_id in sorted(self.unreachable)}

    @cached_property
    def aliases(self) -> dict[str, int]:
        """literal -> id of the special tokens whose id decodes to another literal."""
        if len(set(self.special_tokens.values())) == len(self.special_tokens):
            return {}
        return {
            literal: token_id
            for literal, token_id in self.special_tokens.items()
            if self.tokens[token_id] != self.literal_bytes(literal)
        }

    def spelled(self, literal: str) -> str:
        """A special token as ``tokenizers`` spells it: normalized, if it is found in normalized text."""
        return _spelled_literal(literal, self.token_flags, self.normalization)

    def literal_bytes(self, literal: str) -> bytes:
        """The bytes that the id of a special token decodes to."""
        check_literal(literal)
        return literal_bytes(literal, self.alphabet, self.token_flags, self.normalization)

    @cached_property
    def special_only(self) -> frozenset[int]:
        """The ids that ordinary text does not give by looking up its bytes: special tokens, except those of one byte
        that are not flagged "added"."""
        return frozenset(
            token_id
            for literal, token_id in self.special_tokens.items()
            if not is_letter(self.tokens[token_id], self.alphabet) or "added" in self.token_flags.get(literal, ())
        )

    @cached_property
    def not_looked_up(self) -> frozenset[int]:
        """The ids that ordinary text does not give by looking up its bytes, :attr:`special_only` or unreachable."""
        return self.special_only | self.unreachable

    @cached_property
    def skipped(self) -> frozenset[int]:
        """The ids that ``skip_special_tokens=True`` leaves out of decoding: special tokens not flagged "plain", and, as
        in ``tokenizers``, not spelled in another way after the normalization."""
        return frozenset(
            token_id
            for literal, token_id in self.special_tokens.items()
            if "plain" not in self.token_flags.get(literal, ())
            and self.literal_bytes(literal) == literal_bytes(literal, self.alphabet)
        )

    @property
    def dropout(self) -> float | None:
        """The probability of BPE-dropout that its tokenizer.json declares, for ``dropout=True``; None for none."""
        return self.kept.get("dropout")

    @cached_property
    def around(self) -> tuple[list[int], list[int]]:
        """The ids that ``add_special_tokens=True`` puts before and after a text; none without a template."""
        return ([], []) if self.template is None else self.template.around()

    @property
    def eot_token(self) -> int | None:
        """The id of the special token that ends a text, or None when there is none."""
        return next((self.special_tokens[literal] for literal in END_OF_TEXT if literal in self.special_tokens), None)

    def pad_id(self, pad_token: str | int | None) -> int | None:
        """The id to pad with, from a special token or an id; :attr:`eot_token` when None.

        Raises:
            ValueError: There is no such token.
        """
        if pad_token is None:
            return self.eot_token
        if isinstance(pad_token, str):
            if pad_token not in self.special_tokens:
                raise ValueError(f"pad_token: {pad_token!r} is not a special token of this tokenizer")
            return self.special_tokens[pad_token]
        token_id = check_integer("pad_token", pad_token, 0, kind="a special token or an id")
        if token_id not in self.tokens:
            raise ValueError(f"pad_token: no token has the id {token_id}")
        return token_id

    @property
    def token_table(self) -> TokenTable:
        """:attr:`tokens`, as the compiled core reads them."""
        return self.tokens

    @property
    def next_id(self) -> int:
        """The highest id plus one."""
        next_id: int = self.token_table.next_id
        return next_id

    @cached_property
    def merge_table(self) -> MergeTable:
        """The merges, listed or of the ranks kind, as the compiled core reads them."""
        return build_merge_table(self.tokens, self.merges, self.never_merged, self.merge_results)

    @property
    def never_merged(self) -> frozenset[int]:
        """The ids that no merge gives."""
        return self.not_looked_up if self.merges is None else self.skipped

    @cached_property
    def derived(self) -> dict[str, Any]:
        """Values that other rooms make from this vocabulary once, by name; no part of it."""
        return {}

    @cached_property
    def alphabet_table(self) -> AlphabetTable | None:
        """The characters that merges begin from, as the compiled core reads them; None where these are bytes."""
        if self.alphabet is None:
            return None
        from ._alphabet import AlphabetTable

        return AlphabetTable(self.tokens, self.alphabet, self.special_only)

    @property
    def kind(self) -> Literal["merges", "ranks"]:
        """"merges" where a merge list decides, "ranks" where the ids do."""
        return "ranks" if self.merges is None else "merges"

    @property
    def is_rare(self) -> bool:
        """True if it needs :mod:`bpetite.engine.pipeline` with any pattern, for steps that the compiled core lacks:
        flags that change the search for special tokens, rewritten text."""
        return self.has_flags or not isinstance(self.normalization, str | None)

    @property
    def has_flags(self) -> bool:
        """True if it has flags that change the search for special tokens."""
        return any(set(flags) - QUIET_FLAGS for flags in self.token_flags.values())

    def facts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The settings by name: settings of every file, and settings that a file has only if they are set."""
        return {
            "kind": self.kind,
            "pattern": self.pattern,
            "normalization": self.normalization,
            "ignore_merges": self.ignore_merges,
            "errors": self.errors,
        }, {
            "token_flags": {literal: list(flags) for literal, flags in sorted(self.token_flags.items())},
            "template": self.template,
            "kept": dict(sorted(self.kept.items())),
            "unicode": UNICODE,
            "alphabet": self.alphabet,
        }

    def fingerprint(self) -> str:
        """SHA-256 (64 hex digits) of the content; the same in every process, on every machine."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        import hashlib  # these two not at the top: loading does without them
        import json

        digest = hashlib.sha256(b"bpetite vocabulary 1\n")
        settings, rare = self.facts()
        settings["special_tokens"] = sorted(self.special_tokens.items(), key=lambda item: item[::-1])
        rare["unreachable"] = sorted(self.unreachable)
        # without the settings that are not set: then a further setting changes no fingerprint
        settings |= {name: value for name, value in rare.items() if value}
        written = json.dumps(settings, sort_keys=True, default=_saved)
        digest.update(written.encode() + b"\n")
        tokens = self.tokens.items()
        digest.update(b"".join([b"%d %d\n%b\n" % (token_id, len(token), token) for token_id, token in tokens]))
        digest.update(b"merges\n")
        digest.update(b"".join([b"%d %d\n" % pair for pair in self.merges or ()]))
        return digest.hexdigest()

    def __hash__(self) -> int:
        return int(self.fingerprint()[:15], 16)

    def __repr__(self) -> str:
        merges = "ranks" if self.merges is None else f"{len(self.merges)} merges"
        return f"Vocab({len(self.tokens)} tokens, {merges}, {len(self.special_tokens)} special tokens)"

    @cached_property
    def pickled(self) -> tuple[bytes, bytes]:
        """The key and the content of its pickle."""
        return pickling.pickled(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return pickling.vocab_of, (type(self), *self.pickled)


class BytePairs(Sequence[tuple[bytes, bytes]]):
    """Merges as pairs of bytes, which are made when they are asked for; equal to a list of them."""

    def __init__(self, tokens: Mapping[int, bytes], merges: Sequence[tuple[int, int]]) -> None:
        self._tokens, self._merges = tokens, merges

    def __len__(self) -> int:
        return len(self._merges)

    @overload
    def __getitem__(self, at: int) -> tuple[bytes, bytes]: ...
    @overload
    def __getitem__(self, at: slice) -> list[tuple[bytes, bytes]]: ...
    def __getitem__(self, at: int | slice) -> tuple[bytes, bytes] | list[tuple[bytes, bytes]]:
        if isinstance(at, slice):
            return [self[rank] for rank in range(len(self))[at]]
        left, right = self._merges[at]
        return self._tokens[left], self._tokens[right]

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, list | tuple | BytePairs) else NotImplemented

    def __add__(self, other: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        return [*self, *other]

    def __repr__(self) -> str:
        return repr(list(self))


def _saved(step: Any) -> dict[str, dict[str, Any]]:
    """A step or another setting of several fields, by the name that fingerprints have for it, and its fields other than
    their defaults."""
    values = ((one.name, getattr(step, one.name), one.default) for one in fields(step))
    return {step.saved_name: {name: value for name, value, default in values if value != default}}


def _check_unreachable(unreachable: Iterable[int], tokens: Mapping[int, bytes]) -> frozenset[int]:
    if isinstance(unreachable, str | bytes) or not isinstance(unreachable, Iterable):
        raise TypeError(f"unreachable is a set of ids, not {short_repr(unreachable)}")
    for token_id in (ids := frozenset(unreachable)):
        if type(token_id) is not int:
            raise TypeError(f"unreachable: an id is an int, not {short_repr(token_id)}")
        if token_id not in tokens:
            raise ValueError(f"unreachable: no token has the id {token_id}")
    return ids


def _check_tokens(tokens: Mapping[int, bytes], special_tokens: dict[str, int], unreachable: frozenset[int]) -> None:
    """Find two tokens with the same bytes; a special token may have the higher id."""
    special = set(special_tokens.values())
    first: dict[bytes, int] = {}
    for token_id, token in tokens.items():
        if token_id in unreachable:
            continue
        if first.setdefault(token, token_id) != token_id and (token_id not in special or first[token] in special):
            raise ValueError(f"ids {first[token]} and {token_id} have the same bytes {token!r}")


def literal_bytes(
    literal: str,
    alphabet: Alphabet | None = None,
    flags: Mapping[str, Collection[str]] = {},
    normalization: Normalization = None,
) -> bytes:
    """The bytes that the id of a special token decodes to. With an alphabet of characters these are what its literal
    spells, after the normalization if it is found in normalized text."""
    if alphabet is None or not alphabet.of_characters:
        return literal.encode("utf-8")
    return alphabet.read_spelled(_spelled_literal(literal, flags, normalization))


def _spelled_literal(literal: str, flags: Mapping[str, Collection[str]], normalization: Normalization) -> str:
    if normalization is None or "normalized" not in flags.get(literal, ()):
        return literal
    from ..steps.normalizers import normalizer  # not at the top: few vocabularies normalize

    return (normalizer(normalization) or str)(literal)


def is_letter(token: bytes, alphabet: Alphabet | None) -> bool:
    """True for a token of one byte, or of one character where merges begin from these."""
    return len(token) == 1 if alphabet is None else alphabet.is_symbol(token)


def _check_specials(literals: dict[str, bytes], special_tokens: dict[str, int], tokens: Mapping[int, bytes]) -> None:
    held = {token_id for literal, token_id in special_tokens.items() if tokens.get(token_id) == literals[literal]}
    for literal, token_id in special_tokens.items():
        if token_id not in held:
            raise ValueError(f"special token {literal!r}: id {token_id} holds {tokens.get(token_id)!r}")


def _check_flags(
    token_flags: dict[str, tuple[str, ...]], special_tokens: dict[str, int], alphabet: Alphabet | None
) -> None:
    for literal, flags in token_flags.items():
        if literal not in special_tokens:
            raise ValueError(f"token_flags: {literal!r} is no special token")
        if not isinstance(flags, tuple) or not flags or set(flags) - set(FLAGS):
            raise ValueError(f"token_flags of {literal!r}: {flags!r} is not a tuple of {', '.join(FLAGS)}")
        if "added" in flags and not is_letter(literal_bytes(literal, alphabet), alphabet):
            raise ValueError(f"token_flags of {literal!r}: \"added\" is for special tokens of one byte or character")
