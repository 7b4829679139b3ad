"""A bpetite tokenizer beside a ``tokenizers.Tokenizer``: it gives the same ids and texts, or says why it cannot.

What is compared before it takes over: the ids of :mod:`.hostile_texts`, alone and in pairs, and the text of every id.
Whether the other one has changed since is asked before each call, in a microsecond or two: its normalizer,
pre-tokenizer, post-processor, decoder and the settings of its model are compared as they serialize. Its tokens are
compared only where somebody else has a reference to it, since nobody else can change them.
"""
from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..bytelevel import encode_token
from ..engine.offsets import trace_tokens
from ..steps.template import BARE
from .hostile_texts import hostile_texts
from .rows import Row, Sample, build_row

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer
    from ..vocabulary.vocab import Vocab

__all__ = ["Mirror"]

#: The versions of Unicode of the patterns and of the normal forms of ``tokenizers``, see docs/unicode.md.
PATTERNS, NORMAL_FORMS = "16.0", "11.0"
#: Code points that are in other classes there and in ``regex``, although both know them: in any class, and in \w.
OTHERWISE, OTHERWISE_IN_WORDS = "\u0295", "\xb2\xb3\xb9\xbc\xbd\xbe\u200c\u200d"
#: How many ids are decoded at once in the comparison.
CHUNK = 1000

_PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_SETTINGS = ("dropout", "unk_token", "fuse_unk", "byte_fallback", "ignore_merges")


def references(holder: dict[str, Any]) -> int:
    """How many references there are to the backend that a tokenizer holds, as the interpreter counts."""
    return sys.getrefcount(holder["_tokenizer"])


#: That count where nobody but the tokenizer has it.
ALONE = references({"_tokenizer": object()})


class Mirror:
    """What bpetite makes of a backend.

    Args:
        backend: The ``tokenizers.Tokenizer``.
        given: The tokenizer that it was made from, which then need not be compared.

    Attributes:
        tokenizer: The tokenizer of bpetite; None where there is a ``reason``.
        reason: Why it must not be used; empty where it may.
        unlike: Ids whose text is another one there: added tokens whose characters are taken for printable bytes.
        plain: Added tokens that are not special.
        specials: Ids that decoding skips on demand.
        reads_offsets: Whether offsets and words are those of the backend, too.
        touched: Whether the backend was handed out since its tokens were last looked at.
    """

    def __init__(self, backend: Any, given: Tokenizer | None = None) -> None:
        self.tokenizer: Tokenizer | None = given
        self.reason: str = ""
        self.unlike: frozenset[int] = frozenset()
        self.reads_offsets: bool = given is not None
        self.touched: bool = False
        self._doubtful: tuple[str, str] | None = None
        self._probes: tuple[str, ...] = ()
        self._parts: tuple[Any, ...] | None = None
        self._tokens: Any = None
        if given is None:
            self._read(backend)
        vocab = None if self.tokenizer is None else self.tokenizer.to_vocab()
        flags = {} if vocab is None else vocab.token_flags
        specials = {} if vocab is None else vocab.special_tokens
        self.plain: frozenset[str] = frozenset(literal for literal, found in flags.items() if "plain" in found)
        special_ids = [token_id for literal, token_id in specials.items() if literal not in self.plain]
        self.specials: frozenset[int] = frozenset(special_ids)
        if vocab is not None:
            self._probes = tuple(encode_token(token) for token in sorted(vocab.tokens.values(), key=len)[-8:])
        if backend is not None:
            self._parts, self._tokens = _parts(backend), self._tokens_of(backend)

    def _read(self, backend: Any) -> None:
        from ..formats import huggingface
        from ..tokenizer import Tokenizer

        try:
            vocab = huggingface.from_object(backend)
            if vocab.kept.get("dropout"):
                raise ValueError("its model leaves out merges at random (dropout)")
            tokenizer = Tokenizer.from_vocab(vocab)
            with _plain(backend):
                self.reads_offsets = _compare_ids(backend, tokenizer)
                self.unlike = _compare_texts(backend, tokenizer)
        except ValueError as error:
            self.reason = str(error)
            return
        self.tokenizer, self._doubtful = tokenizer, _doubtful(vocab)

    def in_step(self, backend: Any, held: bool, decoding: bool) -> bool:
        """Whether the backend still is what it was.

        Args:
            backend: The same backend.
            held: Somebody else may change it.
            decoding: Only what decides on decoding counts.
        """
        if self._parts is None or not (decoding or _parts(backend) == self._parts):
            return False
        if decoding and _state(backend.decoder) != self._parts[3]:
            return False
        if held or self.touched:
            self.touched = held
            return bool(self._tokens_of(backend) == self._tokens)
        return True

    def trusted(self, texts: Iterable[str]) -> bool:
        """Whether all characters are in the same classes here and there."""
        return self._doubtful is None or not _holds(*self._doubtful, texts)

    def _tokens_of(self, backend: Any) -> Any:
        model = backend.model
        probes = [[token.id for token in model.tokenize(probe)] for probe in self._probes]
        sizes = backend.get_vocab_size(True), backend.get_vocab_size(False)
        return sizes, backend.get_added_tokens_decoder(), probes


def _state(part: Any) -> Any:
    return None if part is None else part.__getstate__()


def _parts(backend: Any) -> tuple[Any, ...]:
    model = backend.model
    parts = [_state(getattr(backend, name)) for name in _PARTS]
    return (*parts, *[getattr(model, name, None) for name in _SETTINGS])


@contextmanager
def _plain(backend: Any) -> Iterator[None]:
    """Without truncation and padding."""
    truncation, padding, split = backend.truncation, backend.padding, backend.encode_special_tokens
    backend.no_truncation()
    backend.no_padding()
    backend.encode_special_tokens = False
    try:
        yield
    finally:
        backend.encode_special_tokens = split
        if truncation is not None:
            backend.enable_truncation(**truncation)
        if padding is not None:
            backend.enable_padding(**padding)


def _compare_ids(backend: Any, tokenizer: Tokenizer) -> bool:
    """Whether offsets and words are the same, too; ValueError if ids are not."""
    texts = hostile_texts(tokenizer.special_tokens)
    doubtful = _doubtful(tokenizer.to_vocab())
    texts = [text for text in texts if not _holds(*doubtful, [text])]
    exact = True
    for added in (False, True):
        inputs = [*texts, *pairwise(texts)]
        for given, encoding in zip(inputs, backend.encode_batch(inputs, add_special_tokens=added)):
            row = _row(tokenizer, (given,) if isinstance(given, str) else given, added)
            if (row.ids, row.type_ids) != (encoding.ids, encoding.type_ids):
                ours, theirs = row.ids[:16], encoding.ids[:16]
                raise ValueError(f"bpetite gives other ids for {given!r}: {ours} in place of {theirs}")
            exact = exact and (row.offsets, row.word_ids) == (encoding.offsets, encoding.word_ids)
            exact = exact and row.tokens == encoding.tokens
    return exact


def _row(tokenizer: Tokenizer, texts: Sequence[str], added: bool) -> Row:
    ids = [tokenizer.encode(text) for text in texts]
    template = tokenizer.template or BARE
    vocab = tokenizer.to_vocab()
    special = {token_id: literal for literal, token_id in vocab.special_tokens.items()}

    def spell(token_id: int) -> str:
        return special.get(token_id) or encode_token(vocab.tokens[token_id])

    sample = Sample(ids, lambda text: trace_tokens(tokenizer, texts[text], ids[text]), spell)
    return build_row(sample, [(0, len(one)) for one in ids], template if added else template.bare)


def _compare_texts(backend: Any, tokenizer: Tokenizer) -> frozenset[int]:
    """The ids whose text is another one there; ValueError if one of these is no added token."""
    ids = sorted(tokenizer.to_vocab().tokens)
    added = set(tokenizer.special_tokens.values())
    unlike = set()
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        if _text(backend, chunk) != tokenizer.decode(chunk, errors="replace"):
            for token_id in chunk:
                ours, theirs = tokenizer.decode([token_id], errors="replace"), _text(backend, [token_id])
                if ours != theirs:
                    if token_id not in added:
                        raise ValueError(f"bpetite decodes id {token_id} to {ours!r} in place of {theirs!r}")
                    unlike.add(token_id)
    return frozenset(unlike)


def _text(backend: Any, ids: Sequence[int]) -> str:
    text: str = backend.decode(ids, skip_special_tokens=False)
    return text


def _holds(version: str, characters: str, texts: Iterable[str]) -> bool:
    """Whether a text has a character that a version of Unicode lacks, or one of those given."""
    rest = "".join([text for text in texts if not text.isascii()])
    if not rest:
        return False
    return bool(_marked(version, characters)[np.frombuffer(rest.encode("utf-32-le"), np.uint32)].any())


def _doubtful(vocab: Vocab) -> tuple[str, str]:
    """What may be read in another way there: the version of Unicode whose characters may not, but for those given."""
    from ..steps import splits

    in_words = "\\w" in repr(splits.to_json(vocab.pattern))
    return NORMAL_FORMS if vocab.normalization is not None else PATTERNS, OTHERWISE + OTHERWISE_IN_WORDS * in_words


@cache
def _marked(version: str, characters: str) -> npt.NDArray[np.bool_]:
    """bool[0x110000], true for these characters."""
    from ..splitting.pattern.unicode_ages import ASSIGNED
    from ..splitting.pattern.unicode_version import unassigned, unicode_version

    versions = list(ASSIGNED)
    newest = versions.index(unicode_version()) if unicode_version() in versions else 0
    table = np.zeros(sys.maxunicode + 1, np.bool_)
    for start, stop in unassigned(versions[min(versions.index(version), newest)]):
        table[start:stop] = True
    table[[ord(character) for character in characters]] = True
    return table
