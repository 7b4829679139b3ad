"""Arrow in, Arrow out: the callable that dataframe libraries map over batches.

Ray Data's ``map_batches(..., batch_format="pyarrow")``, Spark's ``mapInArrow`` and others that pass record batches take
it as it is. No token becomes a Python int: the ids come from the encoder as one array and become the values of a list
column without a copy.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..corpus.encoding.codec import Codec, codec_of, join_rows
from ..corpus.encoding.rows import EOT, place_eot
from ..corpus.reading.parquet import binary_column
from ..errors import MissingExtraError
from .parcel import Parcel

__all__ = ["POLICIES", "EncodeBatch"]

Batch = TypeVar("Batch")

#: What happens to a row whose text cannot be encoded.
POLICIES = ("fail", "null", "replace")


class EncodeBatch:
    """Adds a column of token ids to an Arrow table or record batch.

    A pickle of it has the bytes of the tokenizer once; unpickling it again in the same process takes almost no time.

    Args:
        tokenizer: A bpetite.Tokenizer, or a `bpetite.corpus.Codec` whose callables can be pickled.
        column: The text: any of Arrow's string or binary types (UTF-8), or a dictionary of them.
        output: The new column, a list of ids for each row.
        keep: Columns to keep in the result; None keeps all.
        special: Special tokens in the text: "text" (ordinary text), "allow" or "error".
        eot: Where an end-of-text token goes: "append", "prepend" or "none".
        on_error: What happens to a row that cannot be encoded: "fail", "null" (its list is null) or "replace" (U+FFFD
            for bytes that are not UTF-8). A null text always has a null list.
        dtype: Of the ids: "uint32", "uint16", "int32" or "int64".
        large: Lists with 64-bit offsets, for 2^31 ids or more in one chunk.

    Raises:
        ValueError: An option is out of range; ids do not fit ``dtype``.
        MissingExtraError: pyarrow is not installed.

    >>> import pyarrow as pa
    >>> from bpetite import Tokenizer
    >>> encode = EncodeBatch(Tokenizer.train("ab ab ab", 258))
    >>> encode(pa.table({"text": ["ab ab", None, ""]})).column("input_ids").to_pylist()
    [[256, 257], None, []]
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
        large: bool = False,
    ) -> None:
        if eot not in EOT:
            raise ValueError(f"eot {eot!r} is not one of {', '.join(EOT)}")
        if on_error not in POLICIES:
            raise ValueError(f"on_error {on_error!r} is not one of {', '.join(POLICIES)}")
        if dtype not in ("uint16", "uint32", "int32", "int64"):
            raise ValueError(f"dtype {dtype!r} is not one of uint16, uint32, int32, int64")
        self.column = column
        self.output = output
        self.keep: tuple[str, ...] | None = None if keep is None else tuple(keep)
        self.special = special
        self.eot = eot
        self.on_error = on_error
        self.dtype = dtype
        self.large = large
        self._parcel = tokenizer if isinstance(tokenizer, Parcel) else Parcel(tokenizer)
        self._codec: Codec | None = None
        self._check(self.codec)

    def _check(self, codec: Codec) -> None:
        if codec.vocab_size - 1 > np.iinfo(self.dtype).max:
            raise ValueError(f"ids up to {codec.vocab_size - 1} do not fit dtype {self.dtype!r}")
        if self.eot != "none" and codec.eot_id is None:
            raise ValueError(f"the tokenizer has no end-of-text token for eot={self.eot!r}")

    @property
    def codec(self) -> Codec:
        """The tokenizer as corpus code sees it."""
        if self._codec is None:
            self._codec = codec_of(self._parcel.get(), special=self.special)
        return self._codec

    def __reduce__(self) -> tuple[Callable[..., EncodeBatch], tuple[Any, ...]]:
        state = {name: value for name, value in self.__dict__.items() if not name.startswith("_")}
        return _restore, (type(self), self._parcel, state)

    def schema(self, schema: Any) -> Any:
        """The pyarrow.Schema of the result for the schema of a batch.

        Raises:
            ValueError: There is no such column, or the new one exists already.
            TypeError: The column has no text.
        """
        import pyarrow as pa

        self._text_type(schema)
        ids = pa.from_numpy_dtype(np.dtype(self.dtype))
        kept = [schema.field(name) for name in self._kept(schema)]
        return pa.schema([*kept, pa.field(self.output, pa.large_list(ids) if self.large else pa.list_(ids))])

    def __call__(self, batch: Batch) -> Batch:
        """The batch with its new column.

        Args:
            batch: pyarrow.Table or pyarrow.RecordBatch; the result has the same type.

        Raises:
            ValueError: No such column; a text that cannot be encoded, with its row, and ``on_error`` is "fail".
            OverflowError: 2^31 ids or more in a chunk, and not ``large``.
        """
        try:
            import pyarrow as pa
        except ImportError:
            raise MissingExtraError("EncodeBatch", "pyarrow", "arrow") from None
        if not isinstance(batch, pa.Table | pa.RecordBatch):
            raise TypeError(f"a batch is a pyarrow.Table or RecordBatch, not {type(batch).__name__}")
        schema = self.schema(batch.schema)
        column = batch.column(self.column)
        whole: Any
        if isinstance(batch, pa.Table):
            row, chunks = 0, []
            for chunk in column.chunks:
                chunks.append(self.encode(chunk, row))
                row += len(chunk)
            whole = pa.chunked_array(chunks, schema.field(self.output).type)
        else:
            whole = self.encode(column)
        kept = [batch.column(name) for name in schema.names[:-1]]
        made: Batch = type(batch).from_arrays([*kept, whole], schema=schema)
        return made

    def encode(self, texts: Any, first: int = 0) -> Any:
        """The list array of one array of texts.

        Args:
            texts: pyarrow.Array of text.
            first: The row of the first one, for error messages.
        """
        import pyarrow as pa

        texts = binary_column(texts, pa, "the batch", self.column)
        nulls = texts.null_count > 0
        rows = np.flatnonzero(texts.is_valid().to_numpy(zero_copy_only=False)) if nulls else np.arange(len(texts))
        ids, lengths, bad = self._ids((texts.drop_null() if nulls else texts).to_pylist(), rows, first)
        offsets = np.zeros(len(texts) + 1, np.int64)
        offsets[rows + 1] = lengths
        np.cumsum(offsets, out=offsets)
        mask = None
        if nulls or bad:
            missing = np.ones(len(texts), bool)
            missing[rows] = False
            missing[rows[bad]] = True
            mask = pa.array(missing)
        if self.large:
            return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(ids), mask=mask)
        if len(ids) >= 2**31:
            raise OverflowError(f"{len(ids)} ids are too many for one chunk: give large=True or smaller batches")
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(ids), mask=mask)

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

    def _kept(self, schema: Any) -> list[str]:
        names = list(schema.names) if self.keep is None else list(self.keep)
        for name in names:
            if name not in schema.names:
                raise ValueError(f"no column {name!r} (columns: {', '.join(schema.names)})")
        if self.output in names:
            raise ValueError(f"a column {self.output!r} exists already: give another output=, or keep= without it")
        return names

    def _text_type(self, schema: Any) -> None:
        """Refuse a column that has no text."""
        import pyarrow as pa

        if self.column not in schema.names:
            raise ValueError(f"no column {self.column!r} (columns: {', '.join(schema.names)})")
        found = schema.field(self.column).type
        inner = found.value_type if pa.types.is_dictionary(found) else found
        tests = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
        if not any(getattr(pa.types, f"is_{test}")(inner) for test in tests):
            raise TypeError(f"column {self.column!r} is {found}, not text")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._parcel.key[:8]}, column={self.column!r}, output={self.output!r})"


def _restore(kind: type[EncodeBatch], parcel: Parcel[Any], state: dict[str, Any]) -> EncodeBatch:
    encode = kind.__new__(kind)
    encode.__dict__.update(state, _parcel=parcel, _codec=None)
    return encode
