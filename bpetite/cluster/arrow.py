"""The callable that dataframe libraries and datasets map over batches.

Ray Data's ``map_batches(..., batch_format="pyarrow")``, Spark's ``mapInArrow``, ``Dataset.map(..., batched=True)`` of
a dataset ``with_format("arrow")`` and others that pass record batches take it as it is. No token becomes a Python int:
the ids come from the encoder as one array and become the values of a list column without a copy. datasets hashes a
callable to find a cached result, so it pickles to the same bytes in every process: a second run hits the cache.
"""
from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ..corpus.encoding.codec import Codec, codec_of
from ..corpus.encoding.rows import EOT, EncodingRules, encode_blocks
from ..corpus.reading.blocks import Block, Position, Reading
from ..corpus.reading.parquet import binary_column
from ..errors import MissingExtraError
from ..formats import native
from ..tokenizer import Tokenizer

__all__ = ["POLICIES", "EncodeBatch"]

Batch = TypeVar("Batch")

#: Treatment of a row whose text cannot be encoded.
POLICIES = ("fail", "null", "replace")

#: Types of ids.
DTYPES = ("uint16", "uint32", "int32", "int64")


@dataclass(eq=False)
class EncodeBatch:
    """Adds a column of token ids to an Arrow table or record batch.

    Args:
        tokenizer: A bpetite.Tokenizer, or a `bpetite.corpus.Codec` whose callables can be pickled.
        column: The text: any of Arrow's string or binary types (UTF-8), or a dictionary of them.
        output: The new column, a list of ids for each row.
        keep: Columns to keep; None keeps all.
        special: Special tokens in the text: "text" (ordinary text), "allow" or "error".
        eot: Place of an end-of-text token: "append", "prepend" or "none".
        on_error: Treatment of a row that cannot be encoded: "fail", "null" (its list is null) or "replace" (U+FFFD
            for bytes that are not UTF-8). A null text always has a null list.
        dtype: Of the ids: "uint32", "uint16", "int32" or "int64".

    Raises:
        ValueError: An option is out of range; ids do not fit ``dtype``.
        MissingExtraError: pyarrow is not installed.

    >>> import pyarrow as pa
    >>> from bpetite import Tokenizer
    >>> encode = EncodeBatch(Tokenizer.train("ab ab ab", 258))
    >>> encode(pa.table({"text": ["ab ab", None, ""]})).column("input_ids").to_pylist()
    [[256, 257], None, []]
    """

    tokenizer: Any
    _: KW_ONLY
    column: str = "text"
    output: str = "input_ids"
    keep: Sequence[str] | None = None
    special: str = "text"
    eot: str = "none"
    on_error: str = "fail"
    dtype: str = "uint32"

    def __post_init__(self) -> None:
        for name, allowed in (("eot", EOT), ("on_error", POLICIES), ("dtype", DTYPES)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} {getattr(self, name)!r} is not one of {', '.join(allowed)}")
        if self.codec.vocab_size - 1 > np.iinfo(self.dtype).max:
            raise ValueError(f"ids up to {self.codec.vocab_size - 1} do not fit dtype {self.dtype!r}")
        if self.eot != "none" and self.codec.eot_id is None:
            raise ValueError(f"the tokenizer has no end-of-text token for eot={self.eot!r}")

    @cached_property
    def codec(self) -> Codec:
        """The tokenizer as corpus code sees it."""
        return codec_of(self.tokenizer, special=self.special)

    @cached_property
    def rules(self) -> EncodingRules:
        """The way from a text to ids."""
        policy = "skip" if self.on_error == "null" else self.on_error
        return EncodingRules(Reading(text_key=self.column), policy, self.eot, self.dtype)

    @cached_property
    def saved(self) -> Any:
        """The tokenizer as the bytes of its saved file, which are the same in every process."""
        return native.dump(self.tokenizer.to_vocab()) if isinstance(self.tokenizer, Tokenizer) else self.tokenizer

    def __reduce__(self) -> tuple[Any, ...]:
        # bytes and one string: caches hash a pickle, and pickles of equal objects can differ
        options = {one.name: getattr(self, one.name) for one in fields(self)[1:]}
        return _restore, (type(self), self.saved, json.dumps(options))

    def __call__(self, batch: Batch) -> Batch:
        """The batch with its new column.

        Args:
            batch: pyarrow.Table or pyarrow.RecordBatch; the result has the same type.

        Raises:
            ValueError: No such column, or no text in it; a text that cannot be encoded, and ``on_error`` is "fail".
            TypeError: It is no batch.
            OverflowError: 2^31 ids or more in a chunk.
        """
        try:
            import pyarrow as pa
        except ImportError:
            raise MissingExtraError("EncodeBatch", "pyarrow", "arrow") from None
        if not isinstance(batch, pa.Table | pa.RecordBatch):
            raise TypeError(f"a batch is a pyarrow.Table or RecordBatch, not {type(batch).__name__}; of datasets: "
                            "dataset.with_format('arrow').map(..., batched=True)")
        kept = batch.schema.names if self.keep is None else self.keep
        if missing := [name for name in (self.column, *kept) if name not in batch.schema.names]:
            raise ValueError(f"no column {missing[0]!r} (columns: {', '.join(batch.schema.names)})")
        if self.output in kept:
            raise ValueError(f"a column {self.output!r} exists already: give another output=, or keep= without it")
        column = batch.column(self.column)
        if isinstance(batch, pa.Table):
            row, chunks = 0, []
            for chunk in column.chunks:
                chunks.append(self.encode(chunk, row))
                row += len(chunk)
            ids = pa.chunked_array(chunks, pa.list_(pa.from_numpy_dtype(np.dtype(self.dtype))))
        else:
            ids = self.encode(column)
        made: Any = type(batch).from_arrays(
            [*(batch.column(name) for name in kept), ids],
            schema=pa.schema([*(batch.schema.field(name) for name in kept), pa.field(self.output, ids.type)]),
        )
        return made  # type: ignore[no-any-return]

    def encode(self, texts: Any, first: int = 0) -> Any:
        """The list array of one array of texts.

        Args:
            texts: pyarrow.Array of text.
            first: The row of the first one, for error messages.
        """
        import pyarrow as pa

        texts = binary_column(texts, "the batch", self.column)
        nulls = texts.null_count > 0
        rows = np.flatnonzero(texts.is_valid().to_numpy(zero_copy_only=False)) if nulls else np.arange(len(texts))
        block = Block("items", (texts.drop_null() if nulls else texts).to_pylist(), 0, 0, Position())
        encoded = encode_blocks([block], self.codec, self.rules)
        if self.on_error == "fail" and encoded.problems:
            problem = encoded.problems[0]
            raise ValueError(f"row {first + int(rows[problem.offset])} of the batch, column {self.column!r}: "
                             f"{problem.detail} (on_error='null' or 'replace' goes on)")
        split = encoded.splits["all"]
        if len(split.tokens) >= 2**31:
            raise OverflowError(f"{len(split.tokens)} ids are too many for one chunk: give smaller batches")
        if encoded.problems and self.on_error == "null":
            rows = np.delete(rows, [problem.offset for problem in encoded.problems])
        offsets = np.zeros(len(texts) + 1, np.int32)
        offsets[rows + 1] = split.lengths
        np.cumsum(offsets, out=offsets)
        missing = np.ones(len(texts), bool)
        missing[rows] = False
        mask = pa.array(missing) if missing.any() else None
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(split.tokens), mask=mask)


def _restore(kind: type[EncodeBatch], saved: Any, options: str) -> EncodeBatch:
    if isinstance(saved, bytes):
        saved = Tokenizer.from_vocab(native.read(saved, "tokenizer"))
    return kind(saved, **json.loads(options))
