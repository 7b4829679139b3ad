"""What a tokenizer is, apart from how it runs: tokens, merges, special tokens, split pattern, normalization.

File formats give a :class:`Vocab` and take one; the trainer gives one; the tokenizer runs one. Everything that can be
wrong with a vocabulary is found here, so that nothing behind it has to check again.
"""
from __future__ import annotations

import codecs
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import patterns
from .._merge import MergeTable
from ._listing import list_pairs, list_tokens
from ._merge_builder import build_merge_table
from ._tokens import TokenTable

if TYPE_CHECKING:  # what few vocabularies have is imported for those that have it
    from ..steps.normalizers import Normalization
    from ..steps.splits import SplitPattern
    from ..steps.template import Template

__all__ = ["FLAGS", "MAX_ID", "Vocab", "place_specials"]

MAX_ID = 2**32 - 1

#: What can be said of a special token beyond its literal and id, see :class:`Vocab`.
FLAGS = ("lstrip", "rstrip", "single_word", "normalized", "plain")


@dataclass(frozen=True, repr=False)
class Vocab:
    """A validated vocabulary; immutable by contract, comparable, picklable.

    Args:
        tokens: id -> bytes of every token, special ones included. Ids are 0..2^32-1, in any order, with gaps.
        merges: Pairs of ids in rank order; a pair becomes the token whose bytes are the two joined. None makes a
            vocabulary of the ranks kind: a pre-token that is a token is taken whole, and the rank of a pair is the
            id of the two joined.
        special_tokens: literal -> id, in order of registration. ``tokens`` has the literal's UTF-8 at that id.
        pattern: The split pattern; a tuple of patterns, each applied inside the pieces of the one before; or None.
            Steps that tokenizer.json knows beyond patterns are in :mod:`bpetite.steps.splits`.
        normalization: "NFC", "NFD", "NFKC", "NFKD" or None; or steps of :mod:`bpetite.steps.normalizers`.
        ignore_merges: With a merge list, a pre-token that is a token is taken whole before any merge.
        errors: How decoding treats bytes that are not UTF-8, a codec error name.
        token_flags: literal -> flags of special tokens that have any: "lstrip" and "rstrip" (takes the white space on
            that side with it), "single_word" (only where no word character is next to it), "normalized" (found in the
            normalized text, after the others), "plain" (text like any other to who skips special tokens in decoding).
        template: The special tokens that ``add_special_tokens=True`` puts around a text; None for none.
        kept: Settings of the file it came from that change no ids here, such as "dropout", to be written again.

    Raises:
        ValueError: Two ids with the same bytes (unless the higher one is a special token's), an id out of range, an
            empty token, a merge of unknown tokens, a merge listed twice, a special token whose id holds other bytes;
            the message names the value.
        TypeError: A value of the wrong type.

    >>> Vocab({0: b"a", 1: b"b", 2: b"ab"}, ((0, 1),), {}, pattern=None)
    Vocab(3 tokens, 1 merges, 0 special tokens, fingerprint b135dc8d)
    """

    tokens: dict[int, bytes]
    merges: tuple[tuple[int, int], ...] | None
    special_tokens: dict[str, int]
    pattern: SplitPattern = patterns.GPT2
    normalization: Normalization = None
    ignore_merges: bool = False
    errors: str = "strict"
    token_flags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    template: Template | None = None
    kept: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self._builds():
            _check_tokens(self.tokens, self.id_of, self.special_tokens)
            if self.merges is not None:
                _merge_results(self.merges, self.tokens, self.id_of)
        _check_specials(self.special_tokens, self.tokens)
        if not patterns.is_plain(self.pattern):
            from ..steps import splits

            splits.check(self.pattern)
        if self.normalization is not None:
            from ..steps import normalizers

            normalizers.check(self.normalization)
        _check_settings(self.ignore_merges, self.errors)
        _check_flags(self.token_flags, self.special_tokens)
        if self.template is not None and (unknown := self.template.ids() - self.tokens.keys()):
            raise ValueError(f"the template puts in id {min(unknown)}, which is no token")
        if self.ignore_merges and self.merges is None:
            raise ValueError("ignore_merges belongs to a merge list; the ranks kind takes whole tokens anyway")

    @classmethod
    def build(
        cls,
        tokens: Mapping[int, bytes],
        merges: Iterable[tuple[bytes, bytes]] | None,
        special_tokens: Sequence[str] | Mapping[str, int] | None = None,
        **settings: Any,
    ) -> Vocab:
        """A Vocab from merges in bytes and special tokens with or without ids.

        Args:
            tokens: id -> bytes.
            merges: Pairs of token bytes in rank order, or None for the ranks kind.
            special_tokens: Literals, or literal -> id. A literal that is a token keeps that token's id; others get
                the ids after the highest one, in the order given.
            settings: The remaining fields of Vocab.

        Raises:
            ValueError: As for Vocab; a merge of bytes that are no token names the merge's place.
        """
        tokens = dict(tokens)
        id_of = {token: token_id for token_id, token in tokens.items()}
        pairs: list[tuple[int, int]] | None = None
        if merges is not None:
            pairs = []
            for rank, merge in enumerate(merges):
                try:
                    left, right = merge
                    pairs.append((id_of[left], id_of[right]))
                except KeyError as unknown:
                    missing = unknown.args[0]
                    raise ValueError(f"merge {rank} {tuple(merge)!r}: {missing!r} is not in the vocabulary") from None
                except (TypeError, ValueError):
                    raise ValueError(f"merge {rank} must be a pair of bytes, not {merge!r}") from None
        specials = place_specials(special_tokens, tokens, id_of)
        return cls(tokens, None if pairs is None else tuple(pairs), specials, **settings)

    @classmethod
    def from_table(cls, table: TokenTable | None, tokens: dict[int, bytes], *arguments: Any, **settings: Any) -> Vocab:
        """A Vocab of tokens that a loader has made a table of, which is not made again; if tokens have been added
        since, it is.

        Args:
            table: The table, or None; ``tokens`` has what it holds and perhaps more.
            tokens: id -> bytes.
            arguments: The remaining fields of Vocab, and so are ``settings``.
        """
        vocab = cls.__new__(cls)
        if table is not None and len(table) == len(tokens):
            vocab.__dict__["token_table"] = table
        vocab.__init__(tokens, *arguments, **settings)  # type: ignore[misc]
        return vocab

    @cached_property
    def id_of(self) -> dict[bytes, int]:
        """bytes -> id of every token; where a special token has the bytes of another, the other's."""
        found = {token: token_id for token_id, token in self.tokens.items()}
        if len(found) != len(self.tokens):
            special = set(self.special_tokens.values())
            found.update((token, token_id) for token_id, token in self.tokens.items() if token_id not in special)
        return found

    @cached_property
    def merge_results(self) -> array[int]:
        """uint32 ids: what each merge gives, in rank order; empty for the ranks kind."""
        return self.merge_table.results() if self.merges is not None else array("I")

    @cached_property
    def token_table(self) -> TokenTable:
        """The tokens as the compiled core reads them."""
        return TokenTable(self.tokens)

    @cached_property
    def merge_table(self) -> MergeTable:
        """The merges, listed or of the ranks kind, as the compiled core reads them."""
        return build_merge_table(self.token_table, self.merges, frozenset(self.special_tokens.values()))

    def _builds(self) -> bool:
        """Whether tokens and merges are beyond doubt, since the tables of the core can be built of them, which is
        needed anyway; if not, the checks in Python say what is wrong, if it is."""
        try:
            table = self.token_table
            return not (
                table.repeated or table.empty or (self.merges is not None and len(self.merge_table) < len(self.merges))
            )
        except (TypeError, ValueError, OverflowError):
            return False

    @property
    def kind(self) -> str:
        """"merges" or "ranks"."""
        return "ranks" if self.merges is None else "merges"

    @property
    def is_rare(self) -> bool:
        """Whether it asks for what the compiled core does not do and :mod:`bpetite.engine.pipeline` does: flags of
        special tokens other than "plain", rewritten text, steps of pre-tokenization beyond patterns."""
        flagged = any(set(flags) != {"plain"} for flags in self.token_flags.values())
        rewritten = not isinstance(self.normalization, str | None)
        return flagged or rewritten or not patterns.is_plain(self.pattern)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (64 hex digits) of the content; the same in every process, on every machine."""
        import hashlib  # not at the top, as json: loading does without them
        import json

        from ..steps import normalizers, splits

        digest = hashlib.sha256(b"bpetite vocabulary 1\n")
        settings = {
            "kind": self.kind,
            "pattern": splits.to_json(self.pattern),
            "normalization": normalizers.to_json(self.normalization),
            "ignore_merges": self.ignore_merges,
            "errors": self.errors,
            "special_tokens": sorted(self.special_tokens.items(), key=lambda item: item[1]),
        }
        # only where they say something, so that what has none keeps the fingerprint it had without them
        rare = {
            "token_flags": self.token_flags,
            "template": self.template and self.template.to_json(),
            "kept": self.kept,
        }
        settings |= {name: value for name, value in rare.items() if value}
        digest.update(json.dumps(settings, sort_keys=True).encode() + b"\n")
        digest.update(list_tokens(self.token_table))
        digest.update(b"merges\n")
        digest.update(list_pairs(self.merges or ()))
        return digest.hexdigest()

    def __hash__(self) -> int:
        return int(self.fingerprint[:15], 16)

    def __repr__(self) -> str:
        merges = "ranks" if self.merges is None else f"{len(self.merges)} merges"
        return (
            f"Vocab({len(self.tokens)} tokens, {merges}, {len(self.special_tokens)} special tokens, "
            f"fingerprint {self.fingerprint[:8]})"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _check_tokens(tokens: dict[int, bytes], id_of: dict[bytes, int], special_tokens: dict[str, int]) -> None:
    if set(map(type, tokens)) - {int} or set(map(type, tokens.values())) - {bytes}:
        wrong = next(item for item in tokens.items() if type(item[0]) is not int or type(item[1]) is not bytes)
        raise TypeError(f"a vocabulary maps int to bytes, not {wrong[0]!r} to {wrong[1]!r}")
    if tokens and not 0 <= min(tokens) <= max(tokens) <= MAX_ID:
        wrong_id = next(token_id for token_id in tokens if not 0 <= token_id <= MAX_ID)
        raise ValueError(f"token id {wrong_id} is outside 0..{MAX_ID}")
    if len(id_of) != len(tokens):
        special = set(special_tokens.values())
        first: dict[bytes, int] = {}
        for token_id, token in sorted(tokens.items()):
            if first.setdefault(token, token_id) != token_id and (token_id not in special or first[token] in special):
                raise ValueError(f"ids {first[token]} and {token_id} have the same bytes {token!r}")
    if b"" in id_of:
        raise ValueError(f"token {id_of[b'']} is empty")


def _merge_results(
    merges: Sequence[tuple[int, int]], tokens: dict[int, bytes], id_of: dict[bytes, int]
) -> list[int]:
    if len(set(merges)) != len(merges):
        first: dict[tuple[int, int], int] = {}
        for rank, pair in enumerate(merges):
            if first.setdefault(pair, rank) != rank:
                raise ValueError(f"merges {first[pair]} and {rank} are the same pair {_show_pair(pair, tokens)}")
    try:
        return [id_of[tokens[left] + tokens[right]] for left, right in merges]
    except (KeyError, TypeError, ValueError):
        pass
    for rank, pair in enumerate(merges):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"merge {rank} must be a pair of token ids, not {pair!r}")
        for part in pair:
            if part not in tokens:
                raise ValueError(f"merge {rank} {pair!r}: no token has the id {part}")
        if tokens[pair[0]] + tokens[pair[1]] not in id_of:
            joined = tokens[pair[0]] + tokens[pair[1]]
            raise ValueError(f"merge {rank} {_show_pair(pair, tokens)} gives {joined!r}, which is no token")
    raise AssertionError("unreachable: some merge failed above")


def _show_pair(pair: tuple[int, int], tokens: dict[int, bytes]) -> str:
    return repr((tokens.get(pair[0]), tokens.get(pair[1])))


def place_specials(
    special_tokens: Sequence[str] | Mapping[str, int] | None, tokens: dict[int, bytes], id_of: dict[bytes, int]
) -> dict[str, int]:
    """literal -> id; puts literals that are no tokens yet into ``tokens`` and ``id_of``."""
    if special_tokens is None:
        return {}
    if isinstance(special_tokens, str | bytes):
        raise TypeError(f"special_tokens is a list of str or a dict, not {special_tokens!r}")
    placed: dict[str, int] = {}
    given = special_tokens if isinstance(special_tokens, Mapping) else dict.fromkeys(special_tokens)
    free = max(tokens, default=-1) + 1
    for literal, wanted in given.items():
        data = _special_bytes(literal)
        token_id = id_of.get(data)
        if wanted is None:
            if token_id is None:
                token_id, free = free, free + 1
        elif token_id not in (None, wanted):
            raise ValueError(f"special token {literal!r} cannot have the id {wanted}: token {token_id} has these bytes")
        elif wanted in tokens and tokens[wanted] != data:
            raise ValueError(f"special token {literal!r} cannot have the id {wanted}: it belongs to {tokens[wanted]!r}")
        else:
            token_id = wanted
        assert token_id is not None  # narrowed for the type checker
        tokens[token_id] = data
        id_of[data] = token_id
        placed[literal] = token_id
    return placed


def _special_bytes(literal: object) -> bytes:
    if not isinstance(literal, str):
        raise TypeError(f"a special token is a str, not {literal!r}")
    if not literal:
        raise ValueError("a special token must not be empty")
    try:
        return literal.encode("utf-8")
    except UnicodeEncodeError as bad:
        raise ValueError(f"special token {literal!r} holds a lone surrogate at {bad.start}") from None


def _check_specials(special_tokens: dict[str, int], tokens: dict[int, bytes]) -> None:
    for literal, token_id in special_tokens.items():
        data = _special_bytes(literal)
        if tokens.get(token_id) != data:
            raise ValueError(f"special token {literal!r}: id {token_id} holds {tokens.get(token_id)!r}")


def _check_flags(token_flags: dict[str, tuple[str, ...]], special_tokens: dict[str, int]) -> None:
    for literal, flags in token_flags.items():
        if literal not in special_tokens:
            raise ValueError(f"token_flags: {literal!r} is no special token")
        if not isinstance(flags, tuple) or not flags or set(flags) - set(FLAGS):
            raise ValueError(f"token_flags of {literal!r}: {flags!r} is not a tuple of {', '.join(FLAGS)}")


def _check_settings(ignore_merges: object, errors: object) -> None:
    if type(ignore_merges) is not bool:
        raise TypeError(f"ignore_merges is a bool, not {ignore_merges!r}")
    if not isinstance(errors, str):
        raise TypeError(f"errors is the name of a codec error handler, not {errors!r}")
    try:
        codecs.lookup_error(errors)
    except LookupError:
        raise ValueError(f"errors {errors!r} is no codec error handler (strict, replace, ignore, ...)") from None
