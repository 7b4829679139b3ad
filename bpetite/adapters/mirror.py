"""A bpetite tokenizer beside a ``tokenizers.Tokenizer``: it gives the same ids and texts, or says why it cannot.

Before it takes over, the ids of :mod:`.hostile_texts`, alone and in pairs, and the text of every id are compared.

Before each call the mirror asks, in a few microseconds, whether the backend has changed. Seen are a new normalizer,
pre-tokenizer, post-processor, decoder or setting of the model, and changes inside these parts, as they serialize; and
all calls of the methods that add tokens or train, through any reference, because the backend gets counting ones of its
own. A new model is seen when text is encoded, by its size and by the ids of one token.
"""
from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache, wraps
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from ..bytelevel import encode_token
from .hostile_texts import hostile_texts
from .input_rows import ids_of_parts, joined, parts_of

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer
    from ..vocabulary.vocab import Vocab

#: Code points that are in another class there and in Unicode 16.0, in \w.
OTHERWISE_IN_WORDS = "\xb2\xb3\xb9\xbc\xbd\xbe\u200c\u200d"
#: The longest token that is compared, in bytes.
PROBE = 12
#: Methods of a backend that change its tokens, and the name of the count of their calls in it.
CHANGERS, COUNT = ("add_tokens", "add_special_tokens", "train", "train_from_iterator"), "_bpetite_changes"

_PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
DECODER = 3
_SETTINGS = ("dropout", "unk_token", "fuse_unk", "byte_fallback", "ignore_merges")


def watch(backend: Any, changes: int = 0) -> None:
    """Count the calls of the backend's methods that change its tokens, from a number on, unless they are counted."""
    own = vars(backend)
    own.setdefault(COUNT, changes)
    for name in CHANGERS:
        own.setdefault(name, _counted(backend, name))


def _counted(backend: Any, name: str) -> Callable[..., Any]:
    change, own = getattr(type(backend), name), vars(backend)

    @wraps(change)
    def counted(*arguments: Any, **options: Any) -> Any:
        own[COUNT] += 1
        return change(backend, *arguments, **options)

    return counted


def unwatch(backend: Any) -> None:
    """Undo :func:`watch`."""
    for name in (COUNT, *CHANGERS):
        vars(backend).pop(name, None)


def changes_of(backend: Any) -> int:
    """The number of changes that were counted; -1 if nobody counts."""
    changes: int = vars(backend).get(COUNT, -1)
    return changes


class Mirror:
    """A tokenizer of bpetite that was compared with a backend, and the state that the backend had.

    Args:
        backend: The ``tokenizers.Tokenizer``, which is watched from now on.

    Attributes:
        tokenizer: The tokenizer of bpetite; None if there is a ``reason``.
        reason: Why it must not be used; empty if it may.
        backend: The backend.
        unlike: Ids whose text is another one there: added tokens whose characters are taken for printable bytes.
        plain: Added tokens that are not special.
        specials: Ids that decoding skips on demand.
    """

    def __init__(self, backend: Any) -> None:
        self.tokenizer: Tokenizer | None = None
        self.reason: str = ""
        self.unlike: frozenset[int] = frozenset()
        self.plain: frozenset[str] = frozenset()
        self.specials: frozenset[int] = frozenset()
        self._doubtful: npt.NDArray[np.bool_] | None = None
        self._probe: str = ""
        self.backend: Any = self.stand_beside(backend)
        self._read(backend)
        self._parts, self._model, self._changes = _parts(backend), self._model_of(backend), changes_of(backend)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"backend": None}

    def stand_beside(self, backend: Any, changes: int = 0) -> Any:
        """Take the backend as it is now for the one that was read."""
        watch(backend, changes)
        _known[id(backend)] = self
        self.backend = backend
        return backend

    def _read(self, backend: Any) -> None:
        from ..formats import huggingface
        from ..tokenizer import Tokenizer

        try:
            vocab = huggingface.from_object(backend)
            if vocab.kept.get("dropout"):
                raise ValueError("its model leaves out merges at random (dropout)")
            tokenizer = Tokenizer.from_vocab(vocab)
            plain = type(backend).from_str(backend.to_str())  # others may call the backend meanwhile
            plain.no_truncation()
            plain.no_padding()
            _compare_ids(plain, tokenizer)
            self.unlike = _compare_texts(plain, tokenizer)
        except ValueError as error:
            self.reason = str(error)
            return
        self.tokenizer, self._doubtful = tokenizer, _doubtful(vocab)
        self.plain = frozenset(literal for literal, flags in vocab.token_flags.items() if "plain" in flags)
        self.specials = vocab.skipped
        short = [token_id for token_id, token in vocab.tokens.items() if len(token) <= PROBE]
        probe = max(short, key=lambda token_id: len(vocab.tokens[token_id]), default=None)
        if probe is not None:
            token, alphabet = vocab.tokens[probe], vocab.alphabet
            self._probe = encode_token(token) if alphabet is None else alphabet.spell(token, probe)

    def in_step(self, backend: Any, decoding: bool) -> bool:
        """True while the backend is unchanged since it was read, or its ``decoding`` is."""
        if backend is not self.backend or changes_of(backend) != self._changes:
            return False
        if decoding:
            return bool(_state(backend.decoder) == self._parts[DECODER])
        return _parts(backend) == self._parts and self._model_of(backend) == self._model

    def trusted(self, texts: Iterable[str]) -> bool:
        """True for texts whose characters are in the same classes here and there."""
        return self._doubtful is None or not _holds(self._doubtful, texts)

    def _model_of(self, backend: Any) -> tuple[int, list[int]]:
        """A new model shows in its size, or in the ids of one token: without its merges, that takes several."""
        return backend.get_vocab_size(False), [token.id for token in backend.model.tokenize(self._probe)]


_known: WeakValueDictionary[int, Mirror] = WeakValueDictionary()


def mirror_of(backend: Any) -> Mirror:
    """The mirror of a backend that decodes as it did; a new one if there is none."""
    known = _known.get(id(backend))
    return known if known is not None and known.in_step(backend, True) else Mirror(backend)


def _state(part: Any) -> Any:
    return None if part is None else part.__getstate__()


def _parts(backend: Any) -> tuple[Any, ...]:
    model = backend.model
    parts = [_state(getattr(backend, name)) for name in _PARTS]
    return (*parts, *[getattr(model, name, None) for name in _SETTINGS])


def _compare_ids(backend: Any, tokenizer: Tokenizer) -> None:
    """Raise ValueError if ids or types differ."""
    doubtful = _doubtful(tokenizer.to_vocab())
    texts = [text for text in hostile_texts(tokenizer.special_tokens) if not _holds(doubtful, [text])]
    inputs = [*texts, *pairwise(texts)]
    for added in (False, True):
        for given, encoding in zip(inputs, backend.encode_batch(inputs, add_special_tokens=added)):
            row = [given] if isinstance(given, str) else given
            parts = parts_of(tokenizer, len(row), added)
            by_part = ids_of_parts(parts, [[tokenizer.encode(text)] for text in row])
            (ids,) = joined(by_part)
            types = [part.type_id for part, (own,) in zip(parts, by_part, strict=True) for _ in own]
            if (ids, types) != (encoding.ids, encoding.type_ids):
                ours, theirs = ids[:16], encoding.ids[:16]
                raise ValueError(f"bpetite gives other ids for {given!r}: {ours} in place of {theirs}")


def _compare_texts(backend: Any, tokenizer: Tokenizer) -> frozenset[int]:
    """The added tokens whose text differs there. Raises ValueError for any other token that differs."""
    rows = [[token_id] for token_id in sorted(tokenizer.to_vocab().tokens)]
    ours, theirs = tokenizer.decode_batch(rows, errors="replace"), backend.decode_batch(rows, skip_special_tokens=False)
    unlike = {token_id: pair for (token_id,), *pair in zip(rows, ours, theirs, strict=True) if pair[0] != pair[1]}
    for token_id in unlike.keys() - set(tokenizer.special_tokens.values()):
        our, their = unlike[token_id]
        raise ValueError(f"bpetite decodes id {token_id} to {our!r} in place of {their!r}")
    return frozenset(unlike)


def _holds(doubtful: npt.NDArray[np.bool_], texts: Iterable[str]) -> bool:
    """True if a text has one of these characters."""
    rest = "".join([text for text in texts if not text.isascii()])
    return bool(rest) and bool(doubtful[np.frombuffer(rest.encode("utf-32-le"), np.uint32)].any())


def _doubtful(vocab: Vocab) -> npt.NDArray[np.bool_]:
    """bool[0x110000], true for the characters that are not read alike there."""
    return _marked("\\w" in repr(vocab.pattern), vocab.normalization is not None)


@cache
def _marked(in_words: bool, normalized: bool) -> npt.NDArray[np.bool_]:
    from ..splitting.pattern.unicode_data import class_ranges

    table = np.zeros(sys.maxunicode + 1, np.bool_)
    table[[ord(character) for character in OTHERWISE_IN_WORDS]] = in_words
    if normalized:  # there by Unicode 9.0, which leaves newer characters as they are
        known = np.zeros(sys.maxunicode + 1, np.bool_)
        for start, stop in class_ranges("Age=9.0") or ():
            known[start:stop] = True
        for point in np.flatnonzero(~known[:0x40000]).tolist():
            parts = unicodedata.decomposition(chr(point)).split()
            if parts or unicodedata.combining(chr(point)):
                points = [point, *(int(part, 16) for part in parts if part[0] != "<")]
                table[[one for one in points if not known[one]]] = True
    return table
