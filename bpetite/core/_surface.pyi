from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer, disjoint_base

from ..engine.options import Ids, SpecialSelection, Text
from ..engine.pipeline import Pipeline
from ..splitting.pretokenizer import Pretokenizer, ScannerKind
from ..steps.normalizers import Normalization
from ..steps.splits import SplitPattern
from ..steps.template import Template
from ..vocabulary.vocab import ErrorHandler, Vocab

@disjoint_base
class Surface:
    """What is in a tokenizer, text to token ids, and back."""

    @property
    def _vocab(self) -> Vocab: ...
    @property
    def _pretokenizer(self) -> Pretokenizer: ...
    @property
    def _encoder(self) -> Any: ...
    @property
    def _lists(self) -> Any: ...
    @property
    def _pipeline(self) -> Pipeline | None: ...
    def _set_up(
        self,
        vocab: Vocab,
        cache_bytes: int,
        pretokenizer: Pretokenizer,
        normalize: Callable[[str], str] | None = None,
        pipeline: Pipeline | None = None,
    ) -> None:
        """Set a new instance up, once.

        Args:
            vocab: The :class:`bpetite.Vocab` that it runs.
            cache_bytes: Bound of the word cache of each thread that encodes; 0 for none.
            pretokenizer: What cuts text into pre-tokens: `scanner` and `byte_splits`, or None, and `ends(bytes)`.
            normalize: Applied to the text between special tokens; must leave ASCII as it is.
            pipeline: What cuts the text instead, in the rare cases where special tokens, splits or normalization are
                not plain: `items(text, literals)` yields the ids of special tokens, bytes for the pretokenizer to
                cut, and pairs of bytes and the ends of the pre-tokens in them. Not if it `is_compiled`.
        """
    @property
    def vocab(self) -> dict[int, bytes]:
        """id -> bytes of every token, special ones included; a new dict each time."""
    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """Pairs of token bytes in rank order; empty for a vocabulary of the ranks kind."""
    @property
    def special_tokens(self) -> dict[str, int]:
        """literal -> id of the special tokens; a new dict each time."""
    @property
    def pattern(self) -> SplitPattern:
        """The split pattern."""
    @property
    def normalization(self) -> Normalization:
        """"NFC", "NFD", "NFKC", "NFKD", None, or rewritings of :mod:`bpetite.steps.normalizers`."""
    @property
    def unicode(self) -> str | None:
        """The version of Unicode, such as "16.0", that says what letters, digits and spaces are; None for the version
        of ``regex`` and, in normalization, of Python."""
    @property
    def template(self) -> Template | None:
        """The special tokens that ``add_special_tokens=True`` puts around a text; None for none."""
    @property
    def errors(self) -> ErrorHandler:
        """How :meth:`decode` treats bytes that are not UTF-8, unless told otherwise."""
    @property
    def kind(self) -> Literal["merges", "ranks"]:
        """"merges" (a merge list decides) or "ranks" (tiktoken's rule)."""
    @property
    def scanner(self) -> ScannerKind | Literal["pipeline"]:
        """How text is split: "vector" or "tables" (compiled), "regex", "none" (no pattern), or "pipeline" where the
        vocabulary asks for what only :mod:`bpetite.engine.pipeline` does."""
    @property
    def eot_token(self) -> int | None:
        """The id of the special token that ends a text (``<|endoftext|>`` or what other vocabularies call it), or
        None when there is none."""
    @property
    def vocab_size(self) -> int:
        """One more than the highest id: the rows that an embedding table needs. ``len(tok)`` counts tokens, which is
        the same unless ids have gaps."""
    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token.

        Raises:
            UnknownTokenError: A KeyError: no token has this id.
            TypeError: It is no int.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).token_bytes(257)
        b' ab'
        """
    def token_id(self, token: bytes | str) -> int:
        """The id of the token with these bytes, or this UTF-8 text.

        Raises:
            UnknownTokenError: A KeyError: there is no such token.
            TypeError: It is neither bytes nor str.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).token_id(" ab")
        257
        """
    def fingerprint(self) -> str:
        """SHA-256 of the content, 64 hex digits; the same for equal tokenizers in every process and release."""
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Callable[[Vocab], Any], tuple[Vocab]]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> Self: ...
    def encode(
        self,
        text: Text,
        *,
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
        num_threads: int | None = 1,
        add_special_tokens: bool = False,
        dropout: float | None = None,
        seed: SupportsIndex | None = None,
    ) -> list[int]:
        """Token ids of a text, with special tokens recognised.

        Use :meth:`encode_ordinary` for text that you do not trust: here a user who writes ``<|endoftext|>`` gets the
        special token.

        Args:
            text: str, or bytes in UTF-8.
            allowed_special: Special tokens to recognise: "all" or a collection of literals. What is not recognised
                is ordinary text.
            disallowed_special: Special tokens that must not be in the text: a collection of literals, or "all" for
                those that are not allowed.
            num_threads: Threads that share a long text; one for each usable processor when None, and never more. The
                ids never depend on it.
            add_special_tokens: Put the special tokens around it that the tokenizer's template says.
            dropout: Leave out merges at random (BPE-dropout), each occurrence with this probability at each step; True
                for the probability that the tokenizer's file declares. 0 is plain encoding, 1 gives bytes.
            seed: With dropout, an int from 0 to 2**64 - 1 that decides what is left out; None draws one for this call.

        Raises:
            ValueError: A disallowed special token is in the text, with its offset; a byte of it has no token.
            UnicodeEncodeError: The str holds a lone surrogate, with its position.
            UnicodeDecodeError: The bytes are not UTF-8, with the offset.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).encode("ab<|endoftext|>ab")
        [256, 258, 256]
        """
    def encode_ordinary(self, text: Text, *, num_threads: int | None = 1) -> list[int]:
        """Token ids of a text in which no special token is recognised, and none is added; see :meth:`encode`.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).encode_ordinary("<|endoftext|>")[:5]
        [60, 124, 101, 110, 100]
        """
    def encode_to_numpy(
        self,
        text: Text,
        *,
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
        num_threads: int | None = 1,
        add_special_tokens: bool = False,
        dropout: float | None = None,
        seed: SupportsIndex | None = None,
    ) -> NDArray[np.uint32]:
        """Token ids of a text as an array of uint32; see :meth:`encode`.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).encode_to_numpy("ab ab")
        array([256, 257], dtype=uint32)
        """
    def encode_pretokens(self, data: bytes, ends: Buffer) -> list[int]:
        """Token ids of ordinary text that is cut into pre-tokens already.

        Args:
            data: Valid UTF-8.
            ends: int64[n], such as an ``array("q")``: where its pre-tokens end, in bytes, ascending; the last is its
                length.

        Raises:
            ValueError: A byte has no token; the ends do not ascend, or go past the data.

        >>> from array import array
        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).encode_pretokens(b"ab ab", array("q", [2, 5]))
        [256, 257]
        """
    def count(
        self,
        text: Text,
        *,
        limit: SupportsIndex | None = None,
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
        num_threads: int | None = 1,
        add_special_tokens: bool = False,
    ) -> int:
        """How many tokens :meth:`encode` gives for a text; no ids are handed to Python.

        Args:
            text: As for :meth:`encode`, and so are the other arguments.
            limit: Stop when more tokens than this are certain, and return ``limit + 1``. Of a long text only the
                beginning is read then, on one thread, and what is not read is not checked either.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).count("ab ab")
        2
        """
    def count_batch(
        self,
        texts: Iterable[Text],
        *,
        num_threads: int | None = None,
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
    ) -> NDArray[np.int64]:
        """How many tokens each text has; no ids are made of them.

        Args:
            texts: As for :meth:`encode_batch`, and so are the other arguments and what is raised.

        Returns:
            int64[n].

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).count_batch(["ab", "ab ab", ""])
        array([1, 2, 0])
        """
    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        num_threads: int | None = None,
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
        add_special_tokens: bool = False,
        dropout: float | None = None,
        seed: SupportsIndex | None = None,
    ) -> list[list[int]]:
        """A list of token ids for each text; see :meth:`encode`.

        Args:
            texts: An iterable of str or UTF-8 bytes; or an Arrow array of them (of pyarrow, polars or pandas), of which
                no Python objects are made.
            num_threads: Threads to use; one for each usable processor when None, never more. No id depends on it.
            allowed_special: As for :meth:`encode`, and so are the other arguments. Dropout is another for each text.

        Raises:
            ValueError: As for :meth:`encode`; of several texts with an error the first one counts, and the message
                says which it is.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).encode_batch(["ab", "ab ab"])
        [[256], [256, 257]]
        """
    def encode_ordinary_batch(self, texts: Iterable[Text], *, num_threads: int | None = None) -> list[list[int]]:
        """A list of token ids for each text, with no special token recognised or added; see :meth:`encode_batch`.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).encode_ordinary_batch(["ab", "<s>"])
        [[256], [60, 115, 62]]
        """
    def encode_batch_to_numpy(
        self,
        texts: Iterable[Text],
        *,
        num_threads: int | None = None,
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
        add_special_tokens: bool = False,
        dropout: float | None = None,
        seed: SupportsIndex | None = None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """All token ids in one array, and where each text's begin.

        Args:
            texts: An iterable of str or UTF-8 bytes; or an Arrow array of them (of pyarrow, polars or pandas), of which
                no Python objects are made.
            num_threads: As for :meth:`encode_batch`.
            allowed_special: As for :meth:`encode`, and so are the other arguments. Dropout is another for each text.

        Returns:
            ids uint32[n] and offsets int64[len(texts) + 1]: the ids of text i are ``ids[offsets[i]:offsets[i + 1]]``.

        >>> from bpetite import Tokenizer
        >>> ids, offsets = Tokenizer.train("ab ab ab", 258).encode_batch_to_numpy(["ab", "ab ab"])
        >>> ids.tolist(), offsets.tolist()
        ([256, 256, 257], [0, 1, 3])
        """
    def decode_bytes(self, ids: Ids) -> bytes:
        """The bytes of token ids, joined; special tokens give their literals.

        Args:
            ids: A list or other sequence of ints, or a one-dimensional integer array.

        Raises:
            UnknownTokenError: A KeyError: an id is not in the vocabulary; the argument is the id.
            TypeError: ids are no sequence or array of ints; text and bytes are not taken for one.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).decode_bytes([256, 257])
        b'ab ab'
        """
    def decode(self, ids: Ids, *, errors: ErrorHandler | None = None) -> str:
        """The text of token ids; special tokens give their literals.

        Args:
            ids: A list or other sequence of ints, or a one-dimensional integer array.
            errors: What becomes of bytes that are not UTF-8, as for ``bytes.decode``; the tokenizer's own setting
                (by default "strict") when None.

        Raises:
            UnknownTokenError: A KeyError: an id is not in the vocabulary; the argument is the id.
            TypeError: ids are no sequence or array of ints; text and bytes are not taken for one.
            LookupError: No codec error handler has the name ``errors``.
            UnicodeDecodeError: The joined bytes are not UTF-8 and errors is "strict".

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).decode([256, 257])
        'ab ab'
        """
    def decode_batch(self, batch: Iterable[Ids], *, errors: ErrorHandler | None = None) -> list[str]:
        """The texts of several sequences of token ids, in order; see :meth:`decode`. Errors name the sequence.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).decode_batch([[256], [256, 257]])
        ['ab', 'ab ab']
        """
    def decode_iterable(self, ids: Iterable[SupportsIndex], *, errors: ErrorHandler | None = None) -> Iterator[str]:
        """Yield the text of token ids in parts: whole characters, as soon as they are complete.

        The parts joined are :meth:`decode` of all ids. What the last ids leave incomplete is treated as ``errors``
        says, so "strict" raises UnicodeDecodeError at the end.

        Args:
            ids: An iterable of ints; it may be endless.
            errors: As for :meth:`decode`.

        Raises:
            UnknownTokenError: A KeyError: an id is not in the vocabulary; the argument is the id.
            UnicodeDecodeError: The bytes are not UTF-8 and errors is "strict".

        >>> from bpetite import Tokenizer
        >>> list(Tokenizer.train("ab ab ab", 258).decode_iterable([0xE4, 0xBD, 0xA0, 256]))
        ['你', 'ab']
        """
    def _special_spans(
        self, text: str, allowed_special: SpecialSelection, disallowed_special: SpecialSelection
    ) -> list[tuple[int, int, int]]:
        """(start, end, id) of the special tokens that :meth:`encode` recognises in a text, in characters."""
    def _first_ids(
        self, text: str, limit: int, allowed_special: SpecialSelection, disallowed_special: SpecialSelection
    ) -> tuple[NDArray[np.uint32], bytes]:
        """(ids, the text in UTF-8): uint32[n], the ids of a text from its beginning on until more than `limit` are
        certain, all of them where there are no more; and what has been read for that."""
    def _token_ends(self, ids: NDArray[np.uint32]) -> array[int]:
        """int64[n]: how many bytes these tokens and those before them have; uint32[n], of this vocabulary."""
    def _encode_items(self, items: Iterable[int | bytes | tuple[bytes, Buffer]]) -> list[int]:
        """The ids of what a pipeline yields: ids, text in UTF-8, pairs of text and the ends of its pre-tokens."""
    def _char_spans(self, ids: Sequence[int], text: bytes) -> list[tuple[int, int]]:
        """(start, end) in characters of each token of a text whose UTF-8 is the bytes of the tokens joined."""
