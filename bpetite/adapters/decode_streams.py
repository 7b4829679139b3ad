"""A stream of texts in the shape of ``tokenizers.decoders.DecodeStream``, which servers drive an id at a time."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..core._decode import StreamDecoder
from ..core._tokenizer_base import TokenizerBase
from ..errors import UnknownTokenError


class DecodeStream:
    """The text of ids that arrive one at a time, in place of ``tokenizers.decoders.DecodeStream``.

    ``step`` gives the same texts, faster; for a ``tokenizers.Tokenizer`` it runs on ``tokenizers``.

    Args:
        ids: Ids whose text was given out before.
        skip_special_tokens: Special tokens give no text.

    >>> from bpetite import Tokenizer
    >>> tok, stream = Tokenizer.train("ab ab ab", 258), DecodeStream(skip_special_tokens=True)
    >>> [stream.step(tok, token_id) for token_id in (256, 0xC3, 0xA9, 258, 257)]
    ['ab', None, 'é', None, ' ab']
    """

    def __init__(self, ids: Sequence[int] | None = None, skip_special_tokens: bool = False) -> None:
        self._ids, self._skip = [*(ids or ())], skip_special_tokens
        self._tokenizer: Any = None  # the one of the last step
        self._step: Callable[[Any], str | None]
        self._stream: StreamDecoder
        self._waiting = ""  # text that ends with U+FFFD waits for more

    def step(self, tokenizer: Any, id: int | Sequence[int]) -> str | None:
        """The text that an id, or a list of ids, completes; None as long as there is none.

        Args:
            tokenizer: A tokenizer of bpetite, an accelerated one, its view, or a ``tokenizers.Tokenizer``.
            id: The next id; one that no token has gives no text.

        Raises:
            TypeError: An id is not in 0..2^32-1.
        """
        if tokenizer is not self._tokenizer:
            self._attach(tokenizer)
            self._tokenizer = tokenizer
        return self._step(id)

    def _attach(self, tokenizer: Any) -> None:
        """Begin a stream for a tokenizer."""
        backend = getattr(tokenizer, "_tokenizer", tokenizer)
        snapshot = getattr(backend, "snapshot", None)
        own: Any = backend if snapshot is None else snapshot.tokenizer
        if not isinstance(own, TokenizerBase) or (snapshot is not None and snapshot.decoded_otherwise):
            from tokenizers.tokenizers import decoders  # not the name servers replace

            twin = backend if snapshot is None else backend.twin
            self._step = partial(decoders.DecodeStream(self._ids, self._skip).step, twin)
            return
        self._stream = StreamDecoder(own, errors="replace", skip_special_tokens=self._skip)
        self._step = self._own_step
        self._waiting = ""
        self._own_step(self._ids)

    def _own_step(self, id: int | Sequence[int]) -> str | None:
        text = self._waiting + (self._text(id) if isinstance(id, int) else "".join(map(self._text, id)))
        if self._stream._held or text.endswith("\ufffd"):
            self._waiting = text
            return None
        self._waiting = ""
        return text or None

    def _text(self, token_id: int) -> str:
        try:
            return self._stream.feed(token_id)
        except UnknownTokenError:
            if not 0 <= token_id <= 0xFFFFFFFF:
                raise TypeError(f"an id is in 0..2^32-1, not {token_id}") from None
            return ""
