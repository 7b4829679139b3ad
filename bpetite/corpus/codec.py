"""A tokenizer as corpus code sees it, so that any tokenizer can write token files."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..engine.choice import engine_parts
from ..splitting.certain_cuts import CertainCuts, certain_cuts

Ids: TypeAlias = "npt.NDArray[np.uint16] | npt.NDArray[np.uint32]"
Offsets: TypeAlias = "npt.NDArray[np.int64]"
EncodeTexts: TypeAlias = Callable[[Sequence[bytes]], tuple[Ids, Offsets]]

#: Meaning of a special token's literal in a document: ordinary text, the special token, or an error; each with the
#: special tokens that are allowed and disallowed then.
SPECIAL: dict[str, tuple[Any, Any]] = {"text": ((), ()), "allow": ("all", ()), "error": ((), "all")}


@dataclass(frozen=True)
class Codec:
    """A tokenizer as a corpus sees it. Picklable when its callables are.

    Attributes:
        encode: Documents as UTF-8 bytes -> (ids uint16[n] or uint32[n], offsets int64[documents + 1]), releasing the
            interpreter lock; several threads may call it at once. Raises UnicodeError for bytes that are not UTF-8 and
            another ValueError for a document that cannot be encoded.
        encode_ordinary: The same with no special token recognised.
        decode: ids -> bytes.
        vocab_size: One more than the highest id.
        eot_id: The id of the end-of-text token, if there is one.
        eot_text: Its literal.
        tokenizer_digest: The fingerprint of the tokenizer, or what else identifies its content.
        name: For people.
        special: What `encode` does with special tokens in documents, see `SPECIAL`.
        cuts: Places inside a document where it can be cut, and its parts encoded one by one, with the same ids in all.
            None if there are none.
        encode_separated: Documents with the literal ``eot_text`` between them, as one text -> the ids of all, with
            ``eot_id`` between them. None where that would give other ids than encoding one by one.
    """

    encode: EncodeTexts
    encode_ordinary: EncodeTexts
    decode: Callable[[npt.NDArray[Any]], bytes]
    vocab_size: int
    eot_id: int | None
    eot_text: str | None
    tokenizer_digest: str
    name: str
    special: str = "text"
    cuts: CertainCuts | None = None
    encode_separated: Callable[[bytes], Ids] | None = None


def codec_of(tokenizer: Any, *, special: str = "text", name: str | None = None) -> Codec:
    """A bpetite.Tokenizer as a Codec; a Codec is returned as it is.

    Args:
        special: "text" reads special tokens in documents as ordinary text; "allow" recognises them; "error" makes a
            document that has one a problem.
        name: What to call the tokenizer in manifests.

    Raises:
        ValueError: ``special`` is none of these.
    """
    if isinstance(tokenizer, Codec):
        return tokenizer
    if special not in SPECIAL:
        raise ValueError(f"special {special!r} is not one of {', '.join(SPECIAL)}")

    dtype = np.uint16 if tokenizer.vocab_size <= 1 << 16 else np.uint32

    def encoder(special: str) -> EncodeTexts:
        allowed, disallowed = SPECIAL[special]
        # one thread: the documents of a corpus are spread over threads already
        encode = tokenizer.encode_batch_to_numpy
        return partial(encode, dtype=dtype, allowed_special=allowed, disallowed_special=disallowed, num_threads=1)

    encode, ordinary = encoder(special), encoder("text")
    eot_id = tokenizer.eot_token
    eot_text = None if eot_id is None else tokenizer.token_bytes(eot_id).decode("utf-8")
    separated = cuts = None
    vocab = tokenizer.to_vocab()
    flags = vocab.token_flags
    pretokenizer, _, pipeline = engine_parts(vocab)
    if pipeline is None:  # the steps of one may look at a text as a whole
        literals = [] if special == "text" else list(tokenizer.special_tokens)
        cuts = certain_cuts(pretokenizer, literals, vocab.normalization is not None)
    # found in normalized text, the token may be where its literal is not
    if eot_text is not None and special == "text" and "normalized" not in flags.get(eot_text, ()):
        allowed = frozenset([eot_text])
        separated = partial(tokenizer.encode_to_numpy, dtype=dtype, allowed_special=allowed, num_threads=1)
        if not _agree(separated, ordinary, eot_text, eot_id):
            separated = None
    return Codec(
        encode=encode,
        encode_ordinary=ordinary,
        decode=tokenizer.decode_bytes,
        vocab_size=tokenizer.vocab_size,
        eot_id=eot_id,
        eot_text=eot_text,
        tokenizer_digest=tokenizer.fingerprint(),
        name=name or "tokenizer",
        special=special,
        cuts=cuts,
        encode_separated=separated,
    )


def _agree(separated: Callable[[bytes], Ids], ordinary: EncodeTexts, eot_text: str, eot_id: int) -> bool:
    """True if samples have the same ids encoded together as alone. They show an end-of-text token that takes in spaces
    next to it, and text that is treated differently at the start of an input."""
    texts = ["", "a", " a ", "\n", " \n a\n ", "", "", "'s", "s'", "1 ", " 2", "É", ".", "\ta\t", "a b", " "]
    try:
        as_one_text = separated(eot_text.join(texts).encode()).tolist()
        alone, offsets = ordinary([text.encode() for text in texts])
    except ValueError:
        return False
    rows = [[*alone[start:stop].tolist(), eot_id] for start, stop in itertools.pairwise(offsets)]
    return [*as_one_text, eot_id] == [token for row in rows for token in row]
