"""Texts as callers give them: parts of a document, corpora that are read again, and paths that are no texts."""
from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

Text = str | bytes

#: A text of one word with a suffix that files have.
_FILE_NAME = re.compile(r"\S+\.(txt|text|md|csv|tsv|jsonl?|parquet|gz|zst|bz2|xz)")

WAY_OUT = (
    "the path of a file or folder: train_from_files and bpetite.corpus.read_documents read these. A text with such a "
    "name is given as bytes"
)


class Continued(bytes):
    """A part of a document, cut where its pattern certainly cuts: the document goes on in the next text."""


class Repeated:
    """An iterable that calls a function for its iterator, each time anew."""

    def __init__(self, start: Callable[[], Iterator[Any]]) -> None:
        self.start = start

    def __iter__(self) -> Iterator[Any]:
        return self.start()


def texts_not_paths(corpus: Any) -> Any:
    """The corpus, unless it holds paths instead of texts: it is one, or its first documents all are.

    Raises:
        ValueError: It holds paths; the message names the first, and says what to do.
    """
    if isinstance(corpus, (str, os.PathLike)):
        if _is_path(corpus):
            raise ValueError(f"the corpus is {corpus!r}, {WAY_OUT}")
        if _FILE_NAME.fullmatch(os.fspath(corpus)):
            raise ValueError(f"the corpus is {corpus!r}, and no file has this name; [text] makes a corpus of it")
        return corpus
    if isinstance(corpus, (bytes, Repeated)) or not isinstance(corpus, Iterable):
        return corpus
    first = []
    documents = iter(corpus)
    for document in islice(documents, 100):
        first.append(document)
        if not _is_path(document):
            break
    else:
        if first:
            raise ValueError(f"the corpus begins with {first[0]!r}, {WAY_OUT}")
    return chain(first, documents) if isinstance(corpus, Iterator) else corpus


def _is_path(document: object) -> bool:
    if not isinstance(document, str):
        return isinstance(document, os.PathLike)
    some = len(document) < 4096 and not {"\n", "\0"} & set(document)
    return some and any(map(str.isalnum, document)) and os.path.exists(document)  # "." and "/" are texts
