"""A stream of texts in the shape of ``tokenizers.decoders.DecodeStream``, which servers drive an id at a time."""
from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..core._stream_decoder import StreamDecoder, WholeTexts
from ..core._tokenizer_base import TokenizerBase

if TYPE_CHECKING:
    from .mirror import Mirror

__all__ = ["DecodeStream"]

#: The mirror of the last backend, which lives until another one is used: one stream after another has the same.
_last: list[Mirror] = []


class DecodeStream(WholeTexts):
    """The text of ids that arrive one at a time, in place of ``tokenizers.decoders.DecodeStream``.

    ``step`` gives the same texts, faster; on ``tokenizers`` itself for a backend that :func:`bpetite.accelerate`
    refuses. The first step with a backend that is not accelerated compares the two, which takes a second.

    Args:
        ids: Ids whose text is out already.
        skip_special_tokens: Special tokens give no text.

    >>> from bpetite import Tokenizer
    >>> tok, stream = Tokenizer.train("ab ab ab", 258), DecodeStream(skip_special_tokens=True)
    >>> [stream.step(tok, token_id) for token_id in (256, 0xC3, 0xA9, 258, 257)]
    ['ab', None, 'é', None, ' ab']
    """

    def __init__(self, ids: Sequence[int] | None = None, skip_special_tokens: bool = False) -> None:
        self._ids, self._skip = [*(ids or ())], skip_special_tokens

    def attach(self, tokenizer: Any) -> Any:
        """The stream for a tokenizer."""
        backend = getattr(tokenizer, "_tokenizer", tokenizer)
        own: Any = backend
        if not isinstance(backend, TokenizerBase):
            from .mirror import mirror_of

            mirror = mirror_of(backend)
            _last[:] = [mirror]
            if mirror.tokenizer is None or mirror.unlike:
                from tokenizers.tokenizers import decoders  # not the name servers replace

                original = decoders.DecodeStream(self._ids, self._skip)
                return SimpleNamespace(step=lambda _, id: original.step(backend, id))
            own = mirror.tokenizer
        return self.begin(StreamDecoder(own, errors="replace", skip_special_tokens=self._skip), self._ids)
