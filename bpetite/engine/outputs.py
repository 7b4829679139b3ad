"""The forms of encoding that are put together in Python: offsets, streams, Arrow, rectangles.

What is done per token is compiled and inherited (:mod:`bpetite.engine._batch`,
:mod:`bpetite.engine._encode`); here its results are laid out.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ..errors import MissingExtraError
from ..splitting.pretokenizer import pretokenizer
from ..vocabulary.vocab import Vocab
from ._special import choose
from ._surface import Surface

if TYPE_CHECKING:  # what only one form needs is imported where that is made, as padding, which takes NumPy
    from ..steps.template import Template
    from .padding import PaddedBatch, Padding, Side
    from .pipeline import Pipeline

__all__ = ["END_OF_TEXT", "Outputs"]

Text = str | bytes
Specials = Literal["all"] | Collection[str]

#: Literals that end a text in published vocabularies, in the order they are looked for.
END_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>", "</s>", "<|im_end|>")


class Outputs(Surface):
    """What :class:`bpetite.Tokenizer` inherits: encoding into other forms than lists and arrays of ids."""

    __slots__ = ("_around", "_vocab")

    _vocab: Vocab
    _around: Pipeline | None  # what is done around the compiled core, if anything

    @property
    def template(self) -> Template | None:
        """The special tokens that ``add_special_tokens=True`` puts around a text; None for none."""
        return self._vocab.template

    @property
    def eot_token(self) -> int | None:
        """The id of the special token that ends a text (``<|endoftext|>`` or what other vocabularies call it), or
        None when there is none."""
        specials = self._vocab.special_tokens
        return next((specials[literal] for literal in END_OF_TEXT if literal in specials), None)

    def encode_with_offsets(
        self, text: Text, *, allowed_special: Specials = "all", disallowed_special: Specials = ()
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Token ids, and where in the text each token stands.

        Args:
            text: As for :meth:`encode`, and so are the other arguments.

        Returns:
            The ids, and for each of them (start, end) in characters of the text. The spans tile the text in order; a
            token that is a part of a character carries that character's span. With normalization they point into
            the text as it was given.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.encode_with_offsets("ab ab")
        ([256, 257], [(0, 2), (2, 5)])
        """
        from . import offsets

        ids = self.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        given = text if isinstance(text, str) else text.decode("utf-8")
        if self._around is not None:
            allowed, _ = choose(self._vocab.special_tokens, allowed_special, disallowed_special)
            origin = self._around.trace(given, tuple(sorted(allowed)))
        elif isinstance(self._vocab.normalization, str):
            specials = self._special_spans(given, allowed_special, disallowed_special)
            origin = offsets.trace(given, specials, self._vocab.normalization)
        else:
            return ids, self._char_spans(ids, given.encode("utf-8"))
        spans = self._char_spans(ids, origin.text.encode("utf-8"))
        return ids, [(origin.starts[start], origin.ends[end - 1]) for start, end in spans]

    def encode_iterable(
        self,
        chunks: Iterable[Text],
        *,
        allowed_special: Specials = "all",
        disallowed_special: Specials = (),
    ) -> Iterator[int]:
        """Token ids of a text that arrives in chunks: exactly those of :meth:`encode` for the chunks joined, wherever
        they are cut, each as soon as it is certain. Only the open pre-token is held, see
        :mod:`bpetite.engine.streaming`.

        Args:
            chunks: ``str``, or ``bytes`` in UTF-8 that may be cut inside a character; an open text file, for one.
            allowed_special: As for :meth:`encode`, and so are ``disallowed_special`` and what is raised.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> list(tok.encode_iterable(["a", "b<|endof", "text|> a", "b"]))
        [256, 258, 257]
        """
        from . import streaming

        cut = pretokenizer(self._vocab.pattern) if self._around is None else None  # type: ignore[arg-type]
        return streaming.encode_iterable(self, self._vocab, cut, chunks, allowed_special, disallowed_special)

    def encode_to_arrow(
        self,
        texts: Iterable[Text],
        *,
        large: bool = False,
        num_threads: int | None = None,
        allowed_special: Specials = "all",
        disallowed_special: Specials = (),
    ) -> Any:
        """Token ids of many texts as an Arrow array of lists of uint32, without a copy of the ids.

        Args:
            texts: The texts.
            large: Make a ``pyarrow.LargeListArray``, whose offsets are 64-bit, instead of a ``pyarrow.ListArray``.
            num_threads: As for :meth:`encode_batch`, and so are the remaining arguments.

        Raises:
            MissingExtraError: pyarrow is not installed.
            OverflowError: There are 2^31 ids or more and ``large`` is false.
        """
        try:
            import pyarrow
        except ImportError:
            raise MissingExtraError("encode_to_arrow", "pyarrow", "arrow") from None
        ids, starts = self.encode_batch_to_numpy(
            texts, num_threads=num_threads, allowed_special=allowed_special, disallowed_special=disallowed_special
        )
        values = pyarrow.array(ids)
        if large:
            return pyarrow.LargeListArray.from_arrays(pyarrow.array(starts), values)
        if len(ids) > 0x7FFFFFFF:
            raise OverflowError(f"{len(ids)} ids are too many for a ListArray: use large=True or fewer texts at a time")
        return pyarrow.ListArray.from_arrays(pyarrow.array(starts.astype("int32")), values)

    def encode_padded(
        self,
        texts: Iterable[Text],
        *,
        max_length: int | None = None,
        padding: Padding = "longest",
        pad_token: str | int | None = None,
        padding_side: Side = "right",
        truncation_side: Side = "right",
        stride: int | None = None,
        pad_to_multiple_of: int = 1,
        num_threads: int | None = None,
        allowed_special: Specials = "all",
        disallowed_special: Specials = (),
        add_special_tokens: bool = False,
    ) -> PaddedBatch:
        """Token ids of many texts as a rectangle with its attention mask.

        Args:
            texts: The texts.
            max_length: Tokens a row keeps at most.
            padding: Fill up to the "longest" row, or to "max_length".
            pad_token: A special token or an id; :attr:`eot_token` when None.
            padding_side: Where padding goes, "left" or "right".
            truncation_side: Where a text that is too long loses tokens.
            stride: None drops what is too long. A number keeps it in further rows of ``max_length`` tokens, each of
                which begins with the last ``stride`` tokens of the row before.
            pad_to_multiple_of: The width is rounded up to a multiple of this.
            num_threads: As for :meth:`encode_batch`, and so are the remaining arguments.
            add_special_tokens: Put special tokens around each row as :attr:`template` says; they count in
                ``max_length`` and are never cut off.

        Returns:
            ``input_ids`` int32[rows, width], ``attention_mask`` int8[rows, width] (it unpacks into these two) and
            ``rows`` int64[rows], which text each row is of.

        Raises:
            ValueError: Arguments that contradict each other, no token to pad with.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> input_ids, attention_mask = tok.encode_padded(["ab", "ab ab"])
        >>> input_ids.tolist(), attention_mask.tolist()
        ([[256, 258], [256, 257]], [[1, 0], [1, 1]])
        """
        from .padding import pad

        ids, starts = self.encode_batch_to_numpy(
            texts, num_threads=num_threads, allowed_special=allowed_special, disallowed_special=disallowed_special
        )
        before: Sequence[int] = ()
        after: Sequence[int] = ()
        if add_special_tokens and self.template is not None:
            before, after = self.template.around()
        return pad(
            ids,
            starts,
            pad_id=self._pad_id(pad_token),
            before=before,
            after=after,
            max_length=max_length,
            padding=padding,
            padding_side=padding_side,
            truncation_side=truncation_side,
            stride=stride,
            pad_to_multiple_of=pad_to_multiple_of,
        )

    def padded_batches(
        self,
        texts: Iterable[Text],
        *,
        max_tokens: int,
        max_length: int | None = None,
        pad_token: str | int | None = None,
        padding_side: Side = "right",
        truncation_side: Side = "right",
        stride: int | None = None,
        pad_to_multiple_of: int = 1,
        num_threads: int | None = None,
        allowed_special: Specials = "all",
        disallowed_special: Specials = (),
    ) -> Iterator[PaddedBatch]:
        """Yield rectangles of texts of like length, each of at most ``max_tokens`` tokens, padding included.

        All texts are encoded first; then come the shortest ones. ``rows`` of each batch says which texts are in it.

        Args:
            texts: The texts.
            max_tokens: Rows times width of a batch, at most.
            max_length: As for :meth:`encode_padded`, and so are the remaining arguments.

        Raises:
            ValueError: A text alone has more than ``max_tokens`` tokens; the message names it.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> [batch.rows.tolist() for batch in tok.padded_batches(["ab ab", "ab", " ab"], max_tokens=3)]
        [[1, 2], [0]]
        """
        from .padding import pad_by_length

        ids, starts = self.encode_batch_to_numpy(
            texts, num_threads=num_threads, allowed_special=allowed_special, disallowed_special=disallowed_special
        )
        return pad_by_length(
            ids,
            starts,
            max_tokens=max_tokens,
            pad_id=self._pad_id(pad_token),
            max_length=max_length,
            padding_side=padding_side,
            truncation_side=truncation_side,
            stride=stride,
            pad_to_multiple_of=pad_to_multiple_of,
        )

    def _pad_id(self, pad_token: str | int | None) -> int | None:
        if pad_token is None:
            return self.eot_token
        if isinstance(pad_token, int):
            if pad_token not in self._vocab.tokens:
                raise ValueError(f"pad_token: no token has the id {pad_token}")
            return pad_token
        try:
            return self._vocab.special_tokens[pad_token]
        except KeyError:
            raise ValueError(f"pad_token: {pad_token!r} is no special token of this tokenizer") from None
