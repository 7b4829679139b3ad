"""Arrow arrays of text as offsets and bytes, so that no Python object is made for a text.

Anything with Arrow's PyCapsule interface counts: arrays of pyarrow, series of polars and pandas. pyarrow reads it;
without pyarrow, the items are read as Python objects like the items of any iterable.

Source: https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
This is Python code; it is compiled because compiled modules import it.
"""


def chunks_of(texts):
    """The chunks of an Arrow array of text, or None for any other iterable.

    Args:
        texts: An array of str or bytes, also as dictionary, view or fixed-size form; it holds no null.

    Returns:
        A list of (offsets, data): text i of a chunk is ``data[offsets[i]:offsets[i + 1]]``. The offsets are a copy,
        int64[n + 1], ascending and within the data.

    Raises:
        TypeError: An Arrow table, an array that holds no text, or a null; with its index.
        ValueError: The offsets of the array are damaged.
    """
    kind = type(texts)
    if not hasattr(kind, "__arrow_c_stream__") and not hasattr(kind, "__arrow_c_array__"):
        return None
    try:
        import pyarrow as pa                       # not at the top: it is an extra
    except ImportError:
        return None
    if isinstance(texts, (pa.Table, pa.RecordBatch)):
        raise TypeError(f"texts is a {kind.__name__} with the columns {', '.join(texts.schema.names)}: give one of "
                        f"them, texts.column(name)")
    if isinstance(texts, pa.ChunkedArray):
        parts = texts.chunks
    elif isinstance(texts, pa.Array):
        parts = [texts]
    else:
        try:
            parts = pa.chunked_array(texts).chunks if hasattr(kind, "__arrow_c_stream__") else [pa.array(texts)]
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):      # a series of different kinds of objects
            return None
    chunks = []
    first = 0
    for part in parts:
        if len(part):
            chunks.append(_chunk(part, first))
        first += len(part)
    return chunks


def _chunk(part, first):
    import numpy as np
    import pyarrow as pa
    types = pa.types

    if part.null_count:
        at = first + int(part.is_null().to_numpy(zero_copy_only=False).argmax())
        raise TypeError(f"text {at} of the batch: text is str or UTF-8 bytes, not null; texts.drop_null() is without "
                        f"them")
    if types.is_dictionary(part.type):
        part = part.dictionary_decode()
    if types.is_string_view(part.type) or types.is_binary_view(part.type) or types.is_fixed_size_binary(part.type):
        part = part.cast(pa.large_binary())
    large = types.is_large_string(part.type) or types.is_large_binary(part.type)
    if not (large or types.is_string(part.type) or types.is_binary(part.type)):
        raise TypeError(f"texts is an Arrow array of {part.type}, not of text (string or binary)")
    _, offsets, data = part.buffers()
    offsets = np.frombuffer(offsets, np.int64 if large else np.int32, len(part) + 1, part.offset * (8 if large else 4))
    offsets = np.array(offsets, np.int64)
    size = 0 if data is None else data.size
    if offsets[0] < 0 or offsets[len(part)] > size or np.diff(offsets).min() < 0:
        raise ValueError(f"a damaged Arrow array: offsets that do not ascend within its {size} bytes")
    return offsets, np.frombuffer(data, np.uint8) if size else np.empty(0, np.uint8)
