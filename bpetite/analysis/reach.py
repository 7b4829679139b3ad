"""Which tokens can a text produce?

A token is *reachable* when there is a text, of whole characters, whose ``encode_ordinary`` holds it. What follows
decides that for each token. A token found reachable comes with such a text, and the tokenizer itself has encoded it. A
token found unreachable comes with the reason:

``utf-8``          no UTF-8 text holds these bytes (0xFF; a lead byte without what must follow)
``normalization``  the tokenizer normalizes, and no text in that form holds these characters
``merges``         the merges make other tokens of these bytes, whatever stands around them
``neighbours``     the token is part of a character, and every way to complete the character merges into its bytes
``pattern``        the merges would make it, but the split pattern (or a normalization that is none of Unicode's forms)
                   kept it apart in every text tried

The first four are proofs, ``pattern`` is the outcome of a search over :data:`BUDGET` texts at most.

Why the bytes of a token alone can be asked (``merges``): merges go by the lowest rank, the leftmost first. Where a
token comes out, no merge ever crossed its edges, so inside them the same merges ran in the same order as they do on
its bytes alone. Why neighbours can be asked one at a time (``neighbours``): by the same argument, tokens come out as
a row if and only if each two that stand side by side come out as these two from their joined bytes. So completing a
character is a walk from token to token, over those whose bytes carry the character on, and when no walk arrives, no
text does.
"""
from __future__ import annotations

import random
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice, product
from typing import Literal

import numpy as np

from ..reference import merge_pretoken
from ..steps.normalizers import FORMS
from ..tokenizer import Tokenizer
from .utf8 import head_of, is_character, open_end, some_characters_with, split_part, tail_of

__all__ = ["BUDGET", "REASONS", "Reach", "Unreachable", "reach"]

#: Texts that the search behind the reason ``pattern`` may encode for all tokens together.
BUDGET = 500_000

Reason = Literal["utf-8", "normalization", "merges", "neighbours", "pattern"]

#: reason -> what it means, for people.
REASONS: dict[Reason, str] = {
    "utf-8": "no UTF-8 text holds these bytes",
    "normalization": "no text in the tokenizer's normal form holds these characters",
    "merges": "the merges make other tokens of these bytes",
    "neighbours": "part of a character, and whatever completes it merges into it",
    "pattern": "the split pattern cut it in every text tried",
}

#: Ways to complete a partial token that are tried before the search over all characters begins, and how many of them
#: differ only in what stands behind.
_WALKS, _BEHINDS = 1024, 8

#: Pairs of neighbours that are asked about for one partial token, and a quarter of those for all. Vocabularies that are
#: made to be hard come so far; what their walks leave open, the search decides.
_STEPS = 250_000

#: Characters that a pattern may tell apart, to stand around a token: those it is most likely to ask for first.
_AROUND = (
    "a A1 .\n'!/_\t\r-猫éÉ\u00a0\u3000s\u0301٣²ǅʰ🙂—€"
    "\u200d\u3042\uac00عkLtmdlvreSTMDLVRE\u17b5Ⅷ«»‿ſ\ue000\u0378\x00\u2028"
)


@dataclass(frozen=True)
class Unreachable:
    """A token that no text produces, why, and what its bytes give instead where that is known."""

    id: int
    token: bytes
    reason: Reason
    instead: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Reach:
    """The answer for a whole vocabulary.

    Attributes:
        unreachable: In order of ids; special tokens are not among them.
        witness: id -> a text that produces the token, for tokens whose own text does not: parts of characters, and
            tokens that need something in front or behind.
        forgeable: Special tokens that ordinary text can produce: id -> a text.
    """

    unreachable: list[Unreachable]
    witness: dict[int, str]
    forgeable: dict[int, str]


def reach(tokenizer: Tokenizer) -> Reach:
    """Sort the tokens of a vocabulary into those that text can produce and those that it cannot."""
    return _Search(tokenizer).run()


class _TooFar(Exception):
    """The walks from a partial token are too many."""


class _Search:
    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        vocab = tokenizer.to_vocab()
        self.tokens = vocab.tokens
        self.specials = set(vocab.special_tokens.values())
        self.ranks: Mapping[tuple[bytes, bytes], int] | Mapping[bytes, int]
        if vocab.merges is None:
            self.ranks = {token: token_id for token_id, token in self.tokens.items() if token_id not in self.specials}
        else:
            self.ranks = {pair: rank for rank, pair in enumerate(tokenizer.merges)}
        #: Normal forms are closed under taking parts; of other steps nothing can be said.
        self.form = vocab.normalization if vocab.normalization in FORMS else None
        #: A pre-token that is a token is taken whole, so a token needs no merges to be reached.
        self.takes_whole = vocab.merges is None or vocab.ignore_merges
        self.joins: dict[tuple[bytes, bytes], bool] = {}
        # What may stand beside a part of a character, the shortest first, because they are the likeliest to fit:
        # tokens inside one character; others by the beginning of a character they end with, by the end they begin with.
        self.insiders: list[bytes] = []
        self.by_tail: dict[bytes, list[bytes]] = {}
        self.by_head: dict[bytes, list[bytes]] = {}
        for token in sorted(self.tokens.values(), key=len):
            tail, head = tail_of(token), head_of(token)
            if tail is None:
                continue
            if len(head) == len(token):
                self.insiders.append(token)
                continue
            if tail:
                self.by_tail.setdefault(tail, []).append(token)
            if head:
                self.by_head.setdefault(head, []).append(token)
        self.fronts: dict[bytes, bytes | None] = {}
        #: What the search and the walks of parts of characters may still cost, in texts and in pairs.
        self.budget = BUDGET
        self.steps = 0
        self.all_steps = 4 * _STEPS
        self.seen: set[int] = set()

    def run(self) -> Reach:
        texts: dict[int, str] = {}
        parts: dict[int, bytes] = {}
        for token_id, token in self.tokens.items():
            try:
                texts[token_id] = token.decode("utf-8")
            except UnicodeDecodeError:
                parts[token_id] = token
        self.seen |= self.produced(texts.values()).keys()
        witness: dict[int, str] = {}
        unreachable: list[Unreachable] = []
        cut: dict[int, str] = {}
        for token_id, text in texts.items():
            if token_id in self.seen:
                continue
            verdict = self.judge_text(token_id, text)
            if verdict is None:
                cut[token_id] = text
            else:
                unreachable.append(verdict)
        for token_id, token in parts.items():
            text_or_verdict = self.judge_part(token_id, token)
            if isinstance(text_or_verdict, str):
                witness[token_id] = text_or_verdict
            else:
                unreachable.append(text_or_verdict)
        # What no merges make comes out only as a whole pre-token, and few surroundings change what a pre-token is.
        whole_only = {key: text for key, text in cut.items() if merge_pretoken(text.encode(), self.ranks)[1:]}
        found = self.search_around(whole_only, islice(_surroundings(), 200))
        found |= self.search_around({key: text for key, text in cut.items() if key not in whole_only}, _surroundings())
        witness |= found
        unreachable += [
            Unreachable(token_id, self.tokens[token_id], "pattern", self.instead(text))
            for token_id, text in cut.items()
            if token_id not in found
        ]
        forgeable = {
            token_id: witness.pop(token_id, texts.get(token_id, ""))
            for token_id in sorted(self.specials)
            if token_id in self.seen or token_id in witness
        }
        return Reach(
            sorted((one for one in unreachable if one.id not in self.specials), key=lambda one: one.id),
            witness,
            forgeable,
        )

    # Asking the tokenizer

    def produced(self, texts: Iterable[str]) -> dict[int, str]:
        """The ids that some texts give, read as ordinary text, each with the first text that gives it."""
        texts = list(texts)
        if not texts:
            return {}
        try:
            ids, offsets = self.tokenizer.encode_batch_to_numpy(texts, allowed_special=())
        except ValueError:  # a byte without a token, in one text or more
            if len(texts) == 1:
                return {}
            middle = len(texts) // 2
            return self.produced(texts[middle:]) | self.produced(texts[:middle])
        different, first = np.unique(ids, return_index=True)
        of_text = np.searchsorted(offsets, first, "right") - 1
        return {token_id: texts[at] for token_id, at in zip(different.tolist(), of_text.tolist(), strict=True)}

    def first_producing(self, token_id: int, texts: Iterable[str]) -> str | None:
        """The first of some texts that gives a token."""
        texts = iter(texts)
        size = 4  # the first texts are the likeliest, and each may be long in the making
        while batch := list(islice(texts, size)):
            size = min(4 * size, 4096)
            if (text := self.produced(batch).get(token_id)) is not None:
                return text
        return None

    def instead(self, text: str) -> tuple[bytes, ...]:
        try:
            return tuple(self.tokens[token_id] for token_id in self.tokenizer.encode_ordinary(text))
        except ValueError:
            return ()

    def in_form(self, text: str) -> bool:
        return self.form is None or unicodedata.normalize(self.form, text) == text  # type: ignore[arg-type]

    # Tokens of whole characters

    def judge_text(self, token_id: int, text: str) -> Unreachable | None:
        """The proof that no text gives this token, or None: then it is for the search."""
        token = self.tokens[token_id]
        if not self.in_form(text):
            return Unreachable(token_id, token, "normalization", self.instead(text))
        merged = tuple(merge_pretoken(token, self.ranks))
        if merged != (token,) and not self.takes_whole:
            return Unreachable(token_id, token, "merges", merged)
        return None

    def search_around(self, wanted: dict[int, str], surroundings: Iterable[tuple[str, str]]) -> dict[int, str]:
        """Look for texts that give tokens which are cut when they stand alone: id -> text."""
        found: dict[int, str] = {}
        left = dict(wanted)
        surroundings = iter(surroundings)
        spent = 0
        while left and spent < BUDGET:
            # One call encodes thousands of texts: few surroundings of many tokens, or many of few.
            some = list(islice(surroundings, max(1, 4096 // len(left))))
            if not some:
                break
            spent += len(some) * len(left)
            texts = (front + text + behind for front, behind in some for text in left.values())
            for token_id, text in self.produced(texts).items():
                if left.pop(token_id, None) is not None:
                    found[token_id] = text
        return found

    # Tokens that are not whole characters

    def judge_part(self, token_id: int, token: bytes) -> str | Unreachable:
        """A text that gives this token, or the proof that there is none, or what the search came to."""
        split = split_part(token)
        if split is None:
            return Unreachable(token_id, token, "utf-8")
        _, body, _ = split
        if not self.in_form(body):
            return Unreachable(token_id, token, "normalization")
        merged = tuple(merge_pretoken(token, self.ranks))
        if merged != (token,):
            return Unreachable(token_id, token, "merges", merged)
        try:
            walks = self.completions(token)
            first = next(walks, None)
            if first is None:
                return Unreachable(token_id, token, "neighbours")
            text = self.first_producing(token_id, chain([first], islice(walks, _WALKS)))
        except _TooFar:
            text = None
        text = text or self.first_producing(token_id, self.sampled_completions(token))
        return text if text is not None else Unreachable(token_id, token, "pattern")

    def completions(self, token: bytes) -> Iterator[str]:
        """Texts out of which the merges bring the token: walks to the left and to the right of it.

        Empty if and only if there is none.

        Raises:
            _TooFar: It takes too long to find out.
        """
        self.all_steps -= self.steps
        self.steps = 0
        head = head_of(token)
        if len(head) < len(token):
            behinds = tuple(islice(self.walk_right(token, tail_of(token) or b""), _BEHINDS))
            if not behinds:
                return
            fronts = self.step_left(token, head, inside=False) if head else iter([(b"", b"", b"")])
            for before, between, _ in fronts:
                front = self.front_of(before)
                if front is not None:
                    for behind in behinds:
                        yield (front + before + between + token + behind).decode("utf-8")
            return
        # All of it lies inside one character, so what may stand behind depends on what stands in front.
        ways: dict[bytes, tuple[bytes, ...]] = {}
        for before, between, whole in self.step_left(token, head, inside=True):
            front = self.front_of(before)
            if front is None:
                continue
            if whole not in ways:
                rest = open_end(whole)
                ways[whole] = () if rest is None else tuple(islice(self.walk_right(token, rest), _BEHINDS))
            for behind in ways[whole]:
                yield (front + before + between + token + behind).decode("utf-8")

    def stand_together(self, left: bytes, right: bytes) -> bool:
        """Do two tokens come out as these two from their joined bytes?"""
        known = self.joins.get((left, right))
        if known is None:
            self.steps += 1
            if self.steps > max(_STEPS // 100, min(_STEPS, self.all_steps)):
                raise _TooFar
            if len(self.joins) > 4 * _STEPS:
                self.joins.clear()
            known = self.joins[left, right] = merge_pretoken(left + right, self.ranks) == [left, right]
        return known

    def step_left(self, token: bytes, wants: bytes, *, inside: bool) -> Iterator[tuple[bytes, bytes, bytes]]:
        """The tokens in which the character that a token goes on with can begin.

        Args:
            token: Where to start.
            wants: The continuation bytes that it begins with.
            inside: Nothing else is in it, so that the character need not end with it.

        Yields:
            The token that begins the character, the tokens between, and the character up to the end of ``wants``.
        """
        queue = deque([(token, wants, b"")])
        met = {(token, wants)}
        while queue:
            last, wants, between = queue.popleft()
            for tail, befores in self.by_tail.items():
                whole = tail + wants
                if is_character(whole) or (inside and open_end(whole) == whole):
                    for before in befores:
                        if self.stand_together(before, last):
                            yield before, between, whole
            for before in self.insiders:
                state = before, before + wants
                if len(state[1]) <= 3 and state not in met and self.stand_together(before, last):
                    met.add(state)
                    queue.append((*state, before + between))

    def front_of(self, token: bytes) -> bytes | None:
        """Bytes with which a text can begin in front of a token, so that it comes out; None if there are none."""
        if not head_of(token):
            return b""
        if token in self.fronts:
            return self.fronts[token]
        queue = deque([(token, b"")])
        met = {token}
        while queue:
            last, front = queue.popleft()
            for before, between, _ in self.step_left(last, head_of(last), inside=False):
                grown = before + between + front
                if not head_of(before):
                    self.fronts[token] = grown
                    return grown
                if before not in met:
                    met.add(before)
                    queue.append((before, grown))
        self.fronts.update(dict.fromkeys(met))
        return None

    def walk_right(self, token: bytes, rest: bytes) -> Iterator[bytes]:
        """What can stand behind a token, up to where a character ends; `rest` is what is open at the token's end."""
        if not rest:
            yield b""
            return
        queue = deque([(token, rest, b"")])
        met = {(token, rest)}
        while queue:
            last, rest, behind = queue.popleft()
            fitting = [(after, open_end(rest + after)) for after in self.insiders]
            for head, afters in self.by_head.items():
                if is_character(rest + head):
                    fitting += [(after, tail_of(after)) for after in afters]
            for after, left in fitting:
                if left is None or (after, left) in met or not self.stand_together(last, after):
                    continue
                met.add((after, left))
                if left:
                    queue.append((after, left, behind + after))
                else:
                    yield behind + after

    def sampled_completions(self, token: bytes) -> Iterator[str]:
        """The token with every character that can complete it at either end, or, where those are too many, with some
        drawn at random, so that all kinds of characters are among them; always the same ones."""
        most = min(BUDGET // 16, self.budget) // 4
        split = split_part(token)
        if split is None or most <= 0:
            return
        head, body, tail = split
        if len(head) == len(token):
            sides = [some_characters_with(token, most, before=True, behind=True), [b""]]
        else:
            sides = [
                some_characters_with(head, most, before=True) if head else [b""],
                some_characters_with(tail, most, behind=True) if tail else [b""],
            ]
        pairs: Iterable[tuple[bytes, ...]] = product(*sides)
        count = len(sides[0]) * len(sides[1])
        if count > most:
            draw = random.Random(0).choice
            pairs = ((draw(sides[0]), draw(sides[1])) for _ in range(most))
        self.budget -= 4 * min(most, count)
        for front, back in pairs:
            text = (front + body.encode() + back).decode("utf-8")
            yield from (text, " " + text, "a" + text, text + "a")


def _surroundings() -> Iterator[tuple[str, str]]:
    """What to put in front of a token and behind it, the shortest first."""
    around = list(dict.fromkeys(_AROUND))
    yield from ((one, "") for one in around)
    yield from (("", one) for one in around)
    yield from product(around, around)
    pairs = ["".join(pair) for pair in product(around, around)]
    yield from ((pair, "") for pair in pairs)
    yield from (("", pair) for pair in pairs)
    yield from product(pairs, around)
    yield from product(around, pairs)
