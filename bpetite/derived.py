"""Tokenizers made from a tokenizer. Each function is a method of :class:`bpetite.Tokenizer`."""
from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from .errors import show
from .not_given import NOT_GIVEN, NotGiven

if TYPE_CHECKING:
    from .patterns import PatternLike
    from .tokenizer import Tokenizer
    from .training.options import Specials
    from .training.spilled import CountFile
    from .vocabulary.vocab import Vocab

__all__ = ["Pruned", "extend", "prune", "to_merges", "to_ranks", "token_origins", "with_words"]


def extend(
    tokenizer: Tokenizer,
    corpus: str | Iterable[str | bytes] | Mapping[bytes, int] | CountFile,
    n: int,
    *,
    special_tokens: Specials = (),
    superword_pattern: PatternLike | NotGiven = NOT_GIVEN,
    min_frequency: int = 1,
    tie_break: Literal["ids", "bytes", "tokenizers"] = "ids",
    max_token_bytes: int | None = None,
    num_threads: int | None = None,
    progress: Callable[..., None] | None = None,
) -> Tokenizer:
    """This tokenizer with ``n`` more tokens, learned from text after those that it has.

    No id changes: new tokens have the ids after the highest one, new special tokens follow. Everything else is kept,
    with all steps that a tokenizer.json declares, which cut the corpus too; a text without new tokens keeps its ids:
    where a list has a token that its merges do not make of its bytes, no merge is learned that would. A merge list gets
    further merges. A vocabulary of the ranks kind stays one: it is extended as the merge list that gives its ids
    (:meth:`to_merges`).

    Args:
        corpus: One text, or documents, as for :meth:`train`; or counts of pre-tokens, see :meth:`train_from_counts`.
        n: How many tokens to learn.
        special_tokens: Further ones, as for :meth:`train`. They cut the corpus, as those of the tokenizer do.
        superword_pattern: Learn superwords, tokens that span up to four words (SuperBPE), from text that this pattern
            cuts; it becomes the tokenizer's, so that texts without superwords may get other ids, too. For a plain merge
            list; the corpus is then read several times.
        min_frequency, tie_break, max_token_bytes, num_threads, progress: As for :meth:`train`.

    Raises:
        ValueError: A byte has no token; a merge takes what no byte or earlier merge gives; an option out of range;
            counts that were made with another pattern, normalization or version of Unicode.
        UnicodeError: As for :meth:`train`.
        TrainingWarning: Only a warning: too few pairs for ``n``; fewer tokens are learned.

    >>> tok = Tokenizer.train("ab ab", 257)
    >>> longer = tok.extend("ab ab ab", 1)
    >>> longer.encode("ab ab<|endoftext|>"), longer.token_bytes(258)
    ([256, 258, 257], b' ab')
    """
    from .training.extending import extend

    return tokenizer.from_vocab(extend(
        tokenizer.to_vocab(), corpus, n, special_tokens=special_tokens, min_frequency=min_frequency,
        superword_pattern=superword_pattern, tie_break=tie_break, max_token_bytes=max_token_bytes,
        num_threads=num_threads, progress=progress,
    ))  # fmt: skip


def with_words(tokenizer: Tokenizer, words: Iterable[str]) -> Tokenizer:
    """This tokenizer with a token for each of some words, where it is a whole pre-token.

    A word is taken as it stands, so that " dose" and "dose" are two. The tokens have the ids after the highest one, in
    the order of the words, with ranks in that of their lengths; a word that is one token already gets none. Ids of
    texts in which no word is a whole pre-token do not change, with one exception: in a vocabulary of the ranks kind any
    two tokens that join to a word do, inside longer pre-tokens too. A merge list gets the flag ``ignore_merges``, which
    tokenizer.json has.

    The added tokens of ``transformers`` are another thing, what is called special tokens here: they are found in the
    raw text before it is cut, in the middle of a word too (unless ``single_word``), and what stands around them is cut
    as if the text began and ended there.

    Raises:
        ValueError: Not one pre-token here, as "two words" is not; a special token.
        TypeError: A word is no str.

    >>> tok = Tokenizer.train("ab ab ab", 258).with_words([" dose", "dose"])
    >>> tok.encode(" dose dose"), tok.encode("dose"), tok.encode("doses")
    ([259, 259], [260], [100, 111, 115, 101, 115])
    """
    from .engine.pretokens import pretokens
    from .training.config import config_of
    from .vocabulary.whole_words import add_words

    if isinstance(words, str | bytes) or not isinstance(words, Iterable):
        raise TypeError(f"words is a list of str, not {show(words)}")
    vocab = tokenizer.to_vocab()
    found: list[bytes] = []
    words = list(words)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"a word is a str, not {show(word)}")
        parts = pretokens(vocab, word)
        if len(parts) != 1 or not isinstance(parts[0], bytes):
            cut = [part.decode() if isinstance(part, bytes) else vocab.tokens[part].decode() for part in parts]
            raise ValueError(f"{word!r} is not one pre-token: this tokenizer cuts it into {cut}")
        found.append(parts[0])
    return tokenizer.from_vocab(add_words(vocab, found, config_of("with_words", {"words": words}, None, vocab)))


class Pruned(NamedTuple):
    """What :meth:`prune` gives.

    Attributes:
        tokenizer: The smaller tokenizer.
        ids: old id -> new id of the tokens that it has, in order: ``embedding[list(ids)]`` are the rows of its model.
    """

    tokenizer: Tokenizer
    ids: dict[int, int]


def prune(
    tokenizer: Tokenizer,
    *,
    keep: Iterable[int | str | bytes] = (),
    counts: str | Iterable[str | bytes] | Mapping[bytes, int] | CountFile | None = None,
    vocab_size: int | None = None,
) -> Pruned:
    """This tokenizer without tokens that are not used, renumbered from 0 in the order of the ids.

    A token goes only when no token that stays needs it, leaves first. Special tokens and single bytes always stay.
    Text in which no token went is encoded as before; every pre-token of ``counts`` is encoded again to prove it. A
    token that went is encoded as its parts.

    Args:
        keep: Tokens that stay, as ids, ``str`` or ``bytes``.
        counts: Counts of pre-tokens, as for :meth:`train_from_counts`, or texts: what is used.
        vocab_size: How many tokens are to be left, special tokens not counted, as for :meth:`train`: those of least use
            go, of several the highest id first. The use of one that went counts for its parts. When None, all go that
            neither ``keep`` nor ``counts`` need.

    Raises:
        ValueError: Nothing to go by; ``vocab_size`` is less than what has to stay; an unknown token in ``keep``; counts
            that were made with another pattern, normalization or version of Unicode.

    >>> tok = Tokenizer.train("ab ab ab cd", 260)
    >>> smaller, ids = tok.prune(counts=["ab ab"])
    >>> smaller.merges, ids[260], smaller.encode("ab<|endoftext|>")
    ([(b'a', b'b'), (b' ', b'ab')], 258, [256, 258])
    >>> tok.prune(vocab_size=258, counts={b" cd": 9}).tokenizer.merges
    [(b' ', b'c'), (b' c', b'd')]
    """
    from .training.pruning import prove, prune

    def encode(pretoken: bytes) -> list[int]:
        return tokenizer.encode_pretokens(pretoken, array("q", [len(pretoken)]))

    vocab, ids, used = prune(tokenizer.to_vocab(), encode, keep, counts, vocab_size)
    pruned = tokenizer.from_vocab(vocab)
    prove(used, ids, encode, lambda pretoken: pruned.encode_pretokens(pretoken, array("q", [len(pretoken)])))
    return Pruned(pruned, ids)


def token_origins(tokenizer: Tokenizer, old: Tokenizer) -> list[tuple[int, list[int]]]:
    """For each token that ``old`` lacks, the tokens of ``old`` that its bytes were: what its embedding may begin with.

    Args:
        old: The tokenizer of the model, such as the one that :meth:`extend` was called on.

    Returns:
        (id, ids of ``old``) in the order of the ids, of all tokens that have no id in ``old`` or another one.

    Raises:
        ValueError: A byte of a token has no token in ``old``.

    >>> old = Tokenizer.train("ab ab", 257)
    >>> old.extend("ab ab ab", 1).token_origins(old)
    [(258, [32, 256])]
    """
    known: Vocab = old.to_vocab()
    return [
        (token_id, old.encode_pretokens(token, array("q", [len(token)])) if token else [])
        for token_id, token in sorted(tokenizer.to_vocab().tokens.items())
        if known.tokens.get(token_id) != token
    ]


def to_ranks(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer of the ranks kind that gives the same ids for every text; ValueError if there is none."""
    from .formats import ranks

    return tokenizer.from_vocab(ranks.to_ranks(tokenizer.to_vocab()))


def to_merges(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer with a merge list that gives the same ids for every text; every vocabulary of ranks has one."""
    from .formats import ranks

    return tokenizer.from_vocab(ranks.to_merges(tokenizer.to_vocab()))
