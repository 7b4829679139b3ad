"""datasets: the callable for ``Dataset.map``, with a fingerprint that stays the same.

``dataset.map(Encode(tokenizer), batched=True, num_proc=8)`` adds a column ``input_ids``. To find a cached result,
datasets hashes the options and the bytes of the saved tokenizer, so a second run hits the cache, in any process.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .arrow import EncodeBatch

__all__ = ["Encode"]


class Encode(EncodeBatch):
    """Token ids of a batch of a datasets.Dataset (or IterableDataset); map it with ``batched=True``.

    The ids of a batch are slices of one array, or with ``dataset.with_format("arrow")`` one Arrow column; no token
    becomes a Python int. With Arrow format the function returns whole tables, from which ``remove_columns=`` of ``map``
    removes nothing: use ``keep=`` instead.

    Args: as for :class:`bpetite.cluster.arrow.EncodeBatch`.

    >>> from bpetite import Tokenizer
    >>> encode = Encode(Tokenizer.train("ab ab ab", 258))
    >>> encode({"text": ["ab ab", None, ""]})["input_ids"]
    [array([256, 257], dtype=uint32), None, array([], dtype=uint32)]
    """

    def __call__(self, batch: Any) -> Any:
        """``{output: list of arrays}`` for a mapping of columns, a table for a table.

        Raises:
            ValueError: No such column; a text that cannot be encoded, with its row, and ``on_error`` is "fail".
        """
        if not isinstance(batch, Mapping):
            return super().__call__(batch)
        import pyarrow as pa

        if self.column not in batch:
            raise ValueError(f"no column {self.column!r} (columns: {', '.join(batch)})")
        if self.keep is not None:
            raise ValueError("keep= is for tables; with columns as lists use remove_columns= of map")
        texts = batch[self.column]
        if isinstance(texts, (str, bytes)):
            raise TypeError("one text, not a list of them: use map(..., batched=True)")
        texts = list(texts)
        binary = any(isinstance(text, bytes) for text in texts)
        lists = self.encode(pa.array(texts, pa.large_binary() if binary else pa.large_string()))
        ids, offsets = lists.values.to_numpy(), lists.offsets.to_numpy().tolist()
        valid = lists.is_valid().to_pylist()
        rows = [ids[start:stop] if there else None for start, stop, there in zip(offsets, offsets[1:], valid)]
        return {self.output: rows}
