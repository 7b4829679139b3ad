"""Ids in every form against the reference: the same text, or the same error."""
from __future__ import annotations

import random
from array import array
from functools import cache
from typing import Any

import numpy as np

from bpetite import Tokenizer, patterns, reference

__all__ = ["one", "seeds"]

DTYPES = ("<u4", "<u2", "<i4", "<i8", "<u8", "u1", "i1", ">u4", ">i8", "<f8", "?", "V4", "V1", "O", "S3", "<M8[s]")
FORMS = (
    "list", "tuple", "array", "numpy", "strided", "two rows", "memoryview", "range", "iterator", "floats", "read only",
)  # fmt: skip
SPECIALS = {"<s>": 300, "<far>": 2**32 - 1}


@cache
def _tokenizer() -> tuple[Tokenizer, dict[int, bytes]]:
    tokens, merges = reference.train(["ab ab 的的 é"], 270, pattern=patterns.GPT2)
    tok = Tokenizer(tokens | {299: b""}, merges, SPECIALS)
    return tok, tok.vocab


def _form(kind: str, dtype: np.dtype[Any], data: bytes) -> tuple[Any, list[int] | None]:
    """Ids in one form, and as a list of int; None where only an error can be expected."""
    if dtype.kind == "O" or kind in ("floats", "iterator"):
        numbers = [*data]
        made = {"floats": [float(number) for number in numbers], "iterator": iter(numbers)}
        return made.get(kind, np.array(numbers, object)), None
    ids = np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype)
    # only arrays of the machine's byte order are taken
    listed = [int(number) for number in ids] if dtype.kind in "iu" and dtype.isnative else None
    if kind == "strided":
        return ids[::2], None if listed is None else listed[::2]
    if kind == "two rows":
        return ids[: len(ids) // 2 * 2].reshape(2, -1), None
    if kind == "memoryview":
        return (memoryview(ids), None) if dtype.kind != "M" else (ids, None)
    if kind == "range":
        ids = range(len(data), 3 * len(data), 2)
        return ids, [*ids]
    if listed is None or kind in ("numpy", "read only"):
        writable = ids.copy()
        writable.flags.writeable = kind == "numpy"
        return writable, listed
    if kind == "array":
        ids = [number for number in listed if 0 <= number < 2**32]
        return array("I", ids), ids
    return (tuple(listed) if kind == "tuple" else listed), listed


def one(data: bytes) -> None:
    """A byte for the form, a byte for the dtype, then the ids."""
    tok, tokens = _tokenizer()
    kind, dtype = (data + b"\0\0")[:2]
    made, listed = _form(FORMS[kind % len(FORMS)], np.dtype(DTYPES[dtype % len(DTYPES)]), data[2:2_000])
    if listed is None:
        for call in (tok.decode, tok.decode_bytes):
            try:
                call(made)
            except (TypeError, KeyError, ValueError, OverflowError):
                continue
        return
    unknown = {number for number in listed if number not in tokens}
    for call in (tok.decode_bytes, tok.decode, lambda ids: "".join(tok.decode_iterable(ids))):
        try:
            found = call(made)
        except KeyError as error:
            if error.args[0] not in unknown:
                raise AssertionError(f"KeyError of {error.args}, unknown are {unknown}") from error
            continue
        except UnicodeDecodeError as error:
            if call == tok.decode:
                _check_place(error, listed, tokens)
            continue
        if unknown:
            raise AssertionError(f"{found!r} for the unknown ids {unknown}")
        expected = b"".join(tokens[number] for number in listed)
        if (found if isinstance(found, bytes) else found.encode()) != expected:
            raise AssertionError(f"{found!r}, expected {expected!r}")


def _check_place(error: UnicodeDecodeError, ids: list[int], tokens: dict[int, bytes]) -> None:
    try:
        reference.decode(ids, tokens)
    except UnicodeDecodeError as expected:
        if (error.start, error.reason) != (expected.start, expected.reason):
            raise AssertionError(f"not UTF-8 at {error.start}, expected {expected.start}") from error
        return
    raise AssertionError("not UTF-8, but it is") from error


def seeds() -> list[bytes]:
    source = random.Random(1)
    made = []
    for form in range(len(FORMS)):
        for dtype in range(len(DTYPES)):
            item = np.dtype(DTYPES[dtype])
            if item.kind in "iu":
                known = [n for n in (*range(97, 127), 260, 261, 300, 2**32 - 1) if n <= np.iinfo(item).max]
                made.append(bytes([form, dtype]) + np.array(source.choices(known, k=12), item).tobytes())
            else:
                made.append(bytes([form, dtype]) + source.randbytes(24))
    return made
