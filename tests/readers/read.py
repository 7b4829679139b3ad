"""What a trainer's own reader finds in an output of bpetite: ``read.py FORMAT PATH`` prints it as JSON.

Runs in the environment of `environment.py`, where bpetite is not installed.
"""
import json
import os
import sys
from collections.abc import Callable, Iterable
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

#: Tokens of a window, where a reader cuts the tokens into windows.
WINDOW = 16


def rows(samples: Iterable[Any]) -> list[list[int]]:
    """Arrays or tensors as lists."""
    return [[int(token) for token in sample] for sample in samples]


def megatron(path: Path) -> Any:
    from megatron.core.datasets.indexed_dataset import IndexedDataset

    found = IndexedDataset(str(path))
    ends = found.document_indices.tolist()
    sequences = rows(found[number] for number in range(len(found)))
    return [list(chain.from_iterable(sequences[start:stop])) for start, stop in pairwise(ends)]


def datatrove(path: Path) -> Any:
    from datatrove.utils.dataset import DatatroveFolderDataset

    found = DatatroveFolderDataset(str(path), WINDOW - 1, recursive=False, token_size=2)  # takes one more, for labels
    return rows(found[number]["input_ids"] for number in range(len(found)))


def dolma(path: Path) -> Any:
    import numpy as np
    from olmo_core.data import NumpyFSLDataset
    from olmo_core.data.utils import iter_document_indices, load_array_slice

    windows = NumpyFSLDataset(
        path, sequence_length=WINDOW, pad_token_id=0, eos_token_id=256, vocab_size=257, dtype=np.uint16
    )
    windows.prepare()
    places = iter_document_indices(path, use_array_if_local=False)  # by the table
    return {
        "windows": rows(windows[number]["input_ids"] for number in range(len(windows))),
        "documents": rows(load_array_slice(path, start, stop, np.uint16) for start, stop in places),
    }


def parquet(path: Path) -> Any:
    from datasets import load_dataset

    return load_dataset("parquet", data_files=str(path), split="train").to_dict()


READERS: dict[str, Callable[[Path], Any]] = {
    "megatron": megatron, "datatrove": datatrove, "dolma": dolma, "parquet": parquet,
}  # fmt: skip


if __name__ == "__main__":
    out = os.dup(1)
    os.dup2(2, 1)  # what readers print
    found = READERS[sys.argv[1]](Path(sys.argv[2]))
    os.write(out, json.dumps(found).encode())
