from collections.abc import Iterable, Iterator
from typing import Self, SupportsIndex, final

from ..engine.options import Ids
from ..vocabulary.vocab import ErrorHandler
from ._tokenizer_base import TokenizerBase

@final
class StreamDecoder:
    """Text of token ids that arrive one at a time; made by :meth:`bpetite.Tokenizer.decoder`.

    Each id is read once and then forgotten: a token costs the same however long the answer is, and a stream takes some
    150 bytes. A stream is not shared between threads.

    >>> from bpetite import Tokenizer
    >>> stream = Tokenizer.train("ab ab ab", 258).decoder()
    >>> stream.feed(256), stream.feed(0xC3), stream.pending, stream.feed([0xA9, 257])
    ('ab', '', b'\\xc3', 'é ab')
    """
    def __new__(
        cls,
        tokenizer: TokenizerBase,
        *,
        errors: ErrorHandler | None = None,
        skip_special_tokens: bool = False,
        context: Ids = (),
    ) -> Self: ...
    def feed(self, ids: SupportsIndex | Ids) -> str:
        """The text that these ids complete: whole characters, "" where there is none yet.

        Args:
            ids: The next token id; or several, as for :meth:`bpetite.Tokenizer.decode`.

        Raises:
            UnknownTokenError: A KeyError: an id is not in the vocabulary.
            UnicodeDecodeError: The bytes are not UTF-8, and errors is "strict".
            TypeError: ids are neither an int nor a sequence or array of ints.

        After an error the stream is as it was before the call.

        >>> from bpetite import Tokenizer
        >>> stream = Tokenizer.train("ab ab ab", 258).decoder()
        >>> [stream.feed(token_id) for token_id in [256, 0xE4, 0xBD, 0xA0]]
        ['ab', '', '', '你']
        """
    def flush(self) -> str:
        """The text of what is pending, when no id follows; the stream is then as new.

        Raises:
            UnicodeDecodeError: A character is not complete, and errors is "strict".

        >>> from bpetite import Tokenizer
        >>> stream = Tokenizer.train("ab ab ab", 258).decoder(errors="replace")
        >>> stream.feed([256, 0xE4, 0xBD]), stream.flush()
        ('ab', '�')
        """
    @property
    def pending(self) -> bytes:
        """The bytes of a character that is not complete yet, three at most."""
    def copy(self) -> StreamDecoder:
        """A stream of its own that goes on from here, for a second answer to the same beginning.

        >>> from bpetite import Tokenizer
        >>> stream = Tokenizer.train("ab ab ab", 258).decoder(context=[0xC3])
        >>> stream.copy().feed(0xA9), stream.feed(0xA8)
        ('é', 'è')
        """
    def __copy__(self) -> StreamDecoder: ...

def decoder(
    tokenizer: TokenizerBase,
    *,
    errors: ErrorHandler | None = None,
    skip_special_tokens: bool = False,
    context: Ids = (),
) -> StreamDecoder:
    """A decoder of token ids that arrive one at a time, as a server streams them.

    The texts that it gives, joined, are :meth:`bpetite.Tokenizer.decode` of all ids, as whole characters.

    Args:
        errors: What becomes of bytes that are not UTF-8, as for :meth:`bpetite.Tokenizer.decode`.
        skip_special_tokens: Special tokens give no text; but those that their file keeps, and marks as "plain" ones.
        context: Ids whose text is shown already; where they end inside a character, the first ids complete it.

    Raises:
        LookupError: No codec error handler has the name ``errors``.
        UnknownTokenError: A KeyError: an id of the context is not in the vocabulary.

    >>> from bpetite import Tokenizer
    >>> stream = Tokenizer.train("ab ab ab", 258).decoder(skip_special_tokens=True)
    >>> stream.feed([256, 257, 258]) + stream.flush()
    'ab ab'
    """

def texts_of(tokenizer: TokenizerBase, ids: Iterable[SupportsIndex], errors: ErrorHandler | None) -> Iterator[str]:
    """The texts that ``decode_iterable`` yields; what is no iterable of ids is refused here and now."""
