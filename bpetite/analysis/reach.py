"""Which tokens can a text produce?

A token is *reachable* when there is a text, of whole characters, whose ``encode_ordinary`` holds it. What follows
decides that for each token. A token found reachable comes with such a text, and the tokenizer itself has encoded it. A
token found unreachable comes with the reason:

``utf-8``          no UTF-8 text holds these bytes (0xFF; a lead byte without what must follow)
``normalization``  the tokenizer normalizes, and no text in that form holds these characters
``merges``         the merges make other tokens of these bytes, whatever stands around them
``neighbours``     the token is part of a character, and every way to complete the character merges into its bytes
``pattern``        the merges would make it, but the split pattern (or a normalization other than Unicode's forms) kept it
                   apart in every text tried

The first four are proofs, ``pattern`` is the outcome of a search over :data:`BUDGET` texts at most.

Why the bytes of a token alone can be asked (``merges``): merges go by the lowest rank, the leftmost first. Where a
token comes out, no merge ever crossed its edges, so inside them the same merges ran in the same order as they do on
its bytes alone. Why neighbours can be asked one at a time (``neighbours``): by the same argument, tokens come out as
a row if and only if each two that stand side by side come out as these two from their joined bytes. So completing a
character is a walk from token to token, over those whose bytes carry the character on, and when no walk arrives, no
text does.
"""
from __future__ import annotations

import codecs
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, product
from typing import Literal

import numpy as np

from ..reference import merge_pretoken
from ..tokenizer import Tokenizer
from ..normalize import FORMS

__all__ = ["BUDGET", "REASONS", "Reach", "Unreachable", "reach"]

#: Texts that the search behind the reason ``pattern`` may encode for all tokens together.
BUDGET = 2_000_000

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

#: Characters that a pattern may tell apart, to stand around a token: those it is most likely to ask for first.
_AROUND = (
    "a A1 .\n'!/_\t\r-猫éÉ\u00a0\u3000s\u0301٣²ǅʰ🙂—€\u200d\u3042\uac00عkLtmdlvreSTMDLVRE\u17b5Ⅷ«»‿ſ\ue000\u0378\x00\u2028"
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
        # Tokens that may stand beside a part of a character, the shortest first: they are the likeliest to fit.
        by_length = sorted(self.tokens.values(), key=len)
        self.headed = [token for token in by_length if 0x80 <= token[0] < 0xC0]
        self.tailed = [token for token in by_length if token[-1] >= 0x80 and _tail(token)]
        self.seen: set[int] = set()

    def run(self) -> Reach:
        texts: dict[int, str] = {}
        parts: dict[int, bytes] = {}
        for token_id, token in self.tokens.items():
            try:
                texts[token_id] = token.decode("utf-8")
            except UnicodeDecodeError:
                parts[token_id] = token
        self.seen |= self.produced(texts.values())
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

    def produced(self, texts: Iterable[str]) -> set[int]:
        """The ids that some texts give, read as ordinary text."""
        texts = list(texts)
        if not texts:
            return set()
        try:
            ids, _ = self.tokenizer.encode_batch_to_numpy(texts, allowed_special=())
        except ValueError:  # a byte without a token, in one text or more
            found: set[int] = set()
            for text in texts:
                try:
                    found.update(self.tokenizer.encode_ordinary(text))
                except ValueError:
                    continue
            return found
        return set(np.unique(ids).tolist())

    def first_producing(self, token_id: int, texts: Iterable[str]) -> str | None:
        """The first of some texts that gives a token."""
        texts = iter(texts)
        size = 4  # the first texts are the likeliest, and each may be long in the making
        while batch := list(islice(texts, size)):
            size = min(4 * size, 4096)
            if token_id in self.produced(batch):
                return next(text for text in batch if token_id in self.produced([text]))
        return None

    def instead(self, text: str) -> tuple[bytes, ...]:
        try:
            return tuple(self.tokens[token_id] for token_id in self.tokenizer.encode_ordinary(text))
        except ValueError:
            return ()

    def in_form(self, text: str) -> bool:
        return self.form is None or unicodedata.normalize(self.form, text) == text

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
        spent = 0
        for front, behind in surroundings:
            spent += len(left)
            if not left or spent > BUDGET:
                break
            texts = {token_id: front + text + behind for token_id, text in left.items()}
            for token_id in self.produced(texts.values()) & left.keys():
                if (text := self.first_producing(token_id, texts.values())) is not None:
                    found[token_id] = text
                    del left[token_id]
        return found

    # Tokens that are not whole characters

    def judge_part(self, token_id: int, token: bytes) -> str | Unreachable:
        """A text that gives this token, or the proof that there is none, or what the search came to."""
        split = _split_part(token)
        if split is None:
            return Unreachable(token_id, token, "utf-8")
        _, body, _ = split
        if not self.in_form(body):
            return Unreachable(token_id, token, "normalization")
        merged = tuple(merge_pretoken(token, self.ranks))
        if merged != (token,):
            return Unreachable(token_id, token, "merges", merged)
        walks = self.completions(token)
        first = next(walks, None)
        if first is None:
            return Unreachable(token_id, token, "neighbours")
        text = self.first_producing(token_id, chain([first], islice(walks, _WALKS))) or self.first_producing(token_id, self.all_completions(token))
        return text if text is not None else Unreachable(token_id, token, "pattern")

    def completions(self, token: bytes) -> Iterator[str]:
        """Texts out of which the merges bring the token: walks to the left and to the right of it.

        Empty if and only if there is none.
        """
        inside = len(_head(token)) == len(token)  # all of it lies inside one character, so the two sides depend
        behinds = () if inside else tuple(islice(self.walk_right(token, _tail(token) or b""), _BEHINDS))
        if not inside and not behinds:
            return
        for front, opened in self.walk_left(token, None if inside else b""):
            if inside:
                rest = _open_end(opened + token)
                behinds = () if rest is None else tuple(islice(self.walk_right(token, rest), _BEHINDS))
            for behind in behinds:
                yield (front + token + behind).decode("utf-8")

    def stand_together(self, left: bytes, right: bytes) -> bool:
        """Do two tokens come out as these two from their joined bytes?"""
        known = self.joins.get((left, right))
        if known is None:
            known = self.joins[left, right] = merge_pretoken(left + right, self.ranks) == [left, right]
        return known

    def walk_left(self, token: bytes, opened: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """What can stand in front, up to where a character begins.

        Args:
            token: Where the walk starts.
            opened: None when the token lies inside one character, else anything.

        Yields:
            The bytes in front, and those of them that belong to the character that the token lies in.
        """
        if not _head(token):
            yield b"", b""
            return
        # A state is the leftmost token so far, the continuation bytes at its beginning that want a lead byte, and
        # `opened`, which stays None until the beginning of the character that the token lies in is found.
        queue: deque[tuple[bytes, bytes, bytes | None, bytes]] = deque([(token, _head(token), opened, b"")])
        met = {queue[0][:3]}
        while queue:
            last, wants, opened, front = queue.popleft()
            for before in self.tailed:
                head = _head(before)
                whole = (_tail(before) or b"") + wants
                still: bytes | None = opened
                if len(head) == len(before):
                    if len(whole) > 3:
                        continue
                    head = whole
                elif opened is not None:
                    if not _is_character(whole):
                        continue
                elif _open_end(whole) in (whole, b""):
                    still = whole[: len(whole) - len(token)]
                else:
                    continue
                state = before, head, still
                if state in met or not self.stand_together(before, last):
                    continue
                met.add(state)
                if head:
                    queue.append((*state, before + front))
                else:
                    yield before + front, still or b""

    def walk_right(self, token: bytes, rest: bytes) -> Iterator[bytes]:
        """What can stand behind a token, up to where a character ends; `rest` is what is open at the token's end."""
        if not rest:
            yield b""
            return
        queue = deque([(token, rest, b"")])
        met = {(token, rest)}
        while queue:
            last, rest, behind = queue.popleft()
            for after in self.headed:
                left = _open_end(rest + after)
                if left is None or (after, left) in met or not self.stand_together(last, after):
                    continue
                met.add((after, left))
                if left:
                    queue.append((after, left, behind + after))
                else:
                    yield behind + after

    def all_completions(self, token: bytes) -> Iterator[str]:
        """The token with every character that can complete it at either end, as far as the search may go."""
        split = _split_part(token)
        assert split is not None  # narrowed for the type checker
        head, body, tail = split
        if len(head) == len(token):
            middles = (one for one in self.characters if head in one[1:])
        else:
            fronts = [one for one in self.characters if one.endswith(head)] if head else [b""]
            backs = [one for one in self.characters if one.startswith(tail)] if tail else [b""]
            middles = (front + body.encode() + back for back, front in product(backs, fronts))
        for middle in islice(middles, BUDGET // 8):
            text = middle.decode("utf-8")
            yield from (text, " " + text, "a" + text, text + "a")

    @cached_property
    def characters(self) -> list[bytes]:
        """The UTF-8 of every character that is not ASCII."""
        return [chr(code).encode() for code in range(0x80, 0x110000) if not 0xD800 <= code < 0xE000]


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


# UTF-8, in parts


def _open_end(data: bytes) -> bytes | None:
    """The bytes at the end of some UTF-8 that begin a character and do not end it; None if this is no UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(data)
    except UnicodeDecodeError:
        return None
    return decoder.getstate()[0]


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode("utf-8")) == 1
    except UnicodeDecodeError:
        return False


def _head(token: bytes) -> bytes:
    """The continuation bytes that a token begins with: the end of a character that began before it."""
    at = 0
    while at < len(token) and 0x80 <= token[at] < 0xC0:
        at += 1
    return token[:at]


def _tail(token: bytes) -> bytes | None:
    """The bytes at a token's end that begin a character, or all of it if it is only continuation bytes.

    Empty when the token ends with a whole character; None when its bytes are no part of UTF-8.
    """
    head = _head(token)
    if len(head) > 3:
        return None
    return token if len(head) == len(token) else _open_end(token[len(head) :])


def _split_part(token: bytes) -> tuple[bytes, str, bytes] | None:
    """A token as the end of a character, whole characters, and the beginning of one; None if no UTF-8 holds it."""
    tail = _tail(token)
    if tail is None:
        return None
    head = _head(token)
    if len(head) == len(token):
        return head, "", b""
    return head, token[len(head) : len(token) - len(tail)].decode("utf-8"), tail
