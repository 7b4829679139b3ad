"""The callable that dataframe libraries and datasets map over batches.

Ray Data's ``map_batches(..., batch_format="pyarrow")``, Spark's ``mapInArrow``, ``Dataset.map(..., batched=True)`` of
datasets and others that pass record batches take it as it is. No token becomes a Python int: the ids come from the
encoder as one array and become the values of a list column without a copy. datasets hashes a callable to find a cached
result, so it pickles to the same bytes in every process: a second run hits the cache.
"""
from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..corpus.encoding.codec import Codec, codec_of, join_rows
from ..corpus.encoding.rows import EOT, place_eot
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


class EncodeBatch:
    """Adds a column of token ids to an Arrow table or record batch, or makes it of a mapping of columns.

    Args:
        tokenizer: A bpetite.Tokenizer, or a `bpetite.corpus.Codec` whose callables can be pickled.
        column: The text: any of Arrow's string or binary types (UTF-8), or a dictionary of them.
        output: The new column, a list of ids for each row.
        keep: Columns to keep in a table; None keeps all. With columns as lists, ``remove_columns=`` of ``map`` does it.
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
    >>> encode({"text": ["ab ab", None, ""]})["input_ids"]
    [array([256, 257], dtype=uint32), None, array([], dtype=uint32)]
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        column: str = "text",
        output: str = "input_ids",
        keep: Sequence[str] | None = None,
        special: str = "text",
        eot: str = "none",
        on_error: str = "fail",
        dtype: str = "uint32",
    ) -> None:
        for name, value, allowed in (("eot", eot, EOT), ("on_error", on_error, POLICIES), ("dtype", dtype, DTYPES)):
            if value not in allowed:
                raise ValueError(f"{name} {value!r} is not one of {', '.join(allowed)}")
        self.tokenizer = tokenizer
        self.column = column
        self.output = output
        self.keep: tuple[str, ...] | None = None if keep is None else tuple(keep)
        self.special = special
        self.eot = eot
        self.on_error = on_error
        self.dtype = dtype
        if self.codec.vocab_size - 1 > np.iinfo(dtype).max:
            raise ValueError(f"ids up to {self.codec.vocab_size - 1} do not fit dtype {dtype!r}")
        if eot != "none" and self.codec.eot_id is None:
            raise ValueError(f"the tokenizer has no end-of-text token for eot={eot!r}")

    @cached_property
    def codec(self) -> Codec:
        """The tokenizer as corpus code sees it."""
        return codec_of(self.tokenizer, special=self.special)

    @cached_property
    def saved(self) -> Any:
        """The tokenizer as the bytes of its saved file, which are the same in every process."""
        return native.dump(self.tokenizer.to_vocab()) if isinstance(self.tokenizer, Tokenizer) else self.tokenizer

    def __reduce__(self) -> tuple[Any, ...]:
        # bytes and one string: caches hash a pickle, and pickles of equal objects can differ
        names = ("column", "output", "keep", "special", "eot", "on_error", "dtype")
        return _restore, (type(self), self.saved, json.dumps({name: getattr(self, name) for name in names}))

    def __call__(self, batch: Batch) -> Batch:
        """The batch with its new column.

        Args:
            batch: pyarrow.Table or pyarrow.RecordBatch, and the result has the same type; or a mapping of columns, of
                which the result is ``{output: list of arrays}``.

        Raises:
            ValueError: No such column, or no text in it; a text that cannot be encoded, and ``on_error`` is "fail".
            TypeError: It is no batch.
            OverflowError: 2^31 ids or more in a chunk.
        """
        try:
            import pyarrow as pa
        except ImportError:
            raise MissingExtraError("EncodeBatch", "pyarrow", "arrow") from None
        made: Any
        if isinstance(batch, Mapping):
            made = self._of_lists(batch)
        elif isinstance(batch, pa.Table | pa.RecordBatch):
            made = self._of_arrow(batch)
        else:
            raise TypeError(f"a batch is a pyarrow.Table or RecordBatch, or a mapping, not {type(batch).__name__}")
        return made  # type: ignore[no-any-return]

    def _of_arrow(self, batch: Any) -> Any:
        import pyarrow as pa

        kept = batch.schema.names if self.keep is None else self.keep
        for name in (self.column, *kept):
            self._require(name, batch.schema.names)
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
        return type(batch).from_arrays(
            [*(batch.column(name) for name in kept), ids],
            schema=pa.schema([*(batch.schema.field(name) for name in kept), pa.field(self.output, ids.type)]),
        )

    def _of_lists(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        import pyarrow as pa

        self._require(self.column, batch)
        if self.keep is not None:
            raise ValueError("keep= is for tables; with columns as lists use remove_columns= of map")
        texts = batch[self.column]
        if isinstance(texts, (str, bytes)):
            raise TypeError("one text, not a list of them: use map(..., batched=True)")
        texts = list(texts)
        binary = any(isinstance(text, bytes) for text in texts)
        lists = self.encode(pa.array(texts, pa.large_binary() if binary else pa.large_string()))
        ids, offsets = lists.values.to_numpy(), lists.offsets.to_numpy().tolist()
        rows = zip(offsets, offsets[1:], lists.is_valid().to_pylist())
        return {self.output: [ids[start:stop] if valid else None for start, stop, valid in rows]}

    def _require(self, name: str, names: Iterable[str]) -> None:
        if name not in names:
            raise ValueError(f"no column {name!r} (columns: {', '.join(names)})")

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
        ids, lengths, bad = self._ids((texts.drop_null() if nulls else texts).to_pylist(), rows, first)
        if len(ids) >= 2**31:
            raise OverflowError(f"{len(ids)} ids are too many for one chunk: give smaller batches")
        offsets = np.zeros(len(texts) + 1, np.int32)
        offsets[rows + 1] = lengths
        np.cumsum(offsets, out=offsets)
        mask = None
        if nulls or bad:
            missing = np.ones(len(texts), bool)
            missing[rows] = False
            missing[rows[bad]] = True
            mask = pa.array(missing)
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(ids), mask=mask)

    def _ids(
        self, texts: list[bytes], rows: npt.NDArray[np.int64], first: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], list[int]]:
        """(all ids, number of ids of each text, indexes of the texts that become null)."""
        codec = self.codec
        bad: list[int] = []
        try:
            ids, offsets = codec.encode(texts)
        except ValueError:
            parts = []
            for number, text in enumerate(texts):
                try:
                    part = codec.encode([text])[0]
                except ValueError as wrong:
                    if self.on_error == "fail":
                        row = first + int(rows[number])
                        raise ValueError(
                            f"row {row} of the batch, column {self.column!r}: {wrong} "
                            "(on_error='null' or 'replace' goes on)"
                        ) from None
                    part = np.empty(0, np.uint32)
                    if self.on_error == "null":
                        bad.append(number)
                    else:
                        part = codec.encode_ordinary([text.decode("utf-8", "replace").encode()])[0]
                parts.append(part)
            ids, offsets = join_rows(parts)
        if self.eot == "none":
            return ids.astype(self.dtype, copy=False), np.diff(offsets), bad
        return *place_eot(ids, offsets, codec.eot_id, self.eot, self.dtype), bad

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tokenizer!r}, column={self.column!r}, output={self.output!r})"


def _restore(kind: type[EncodeBatch], saved: Any, options: str) -> EncodeBatch:
    if isinstance(saved, bytes):
        saved = Tokenizer.from_vocab(native.read(saved, "tokenizer"))
    return kind(saved, **json.loads(options))
