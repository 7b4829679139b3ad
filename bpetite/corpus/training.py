"""Files to a tokenizer: the documents of a corpus, read as for encoding, are what a tokenizer learns from."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..training.counting.texts import Progress, Repeated
from ..training.options import TrainOptions, chosen_options
from ..training.train import check_trainable, train
from ..vocabulary.vocab import Vocab
from .api import SourcesLike, as_sources
from .reading.documents import read_documents
from .reading.readers import require
from .run.corpus_options import Options, ReadingOptions, parted, refuse_unknown

__all__ = ["FileTrainOptions", "train_from_files"]


class FileTrainOptions(TrainOptions, ReadingOptions, total=False):
    """The options of :meth:`bpetite.Tokenizer.train_from_files`.

    Keys: as in `TrainOptions` and `ReadingOptions`, and
        num_threads, progress: As for :meth:`bpetite.Tokenizer.train`.
        log: Called with messages for people: the first problem of each kind that ``on_error`` passes over.
    """

    num_threads: int | None
    progress: Progress | None
    log: Callable[[str], None] | None


def train_from_files(sources: SourcesLike, vocab_size: int, options: Mapping[str, Any]) -> Vocab:
    """As :meth:`bpetite.Tokenizer.train_from_files`; every option is checked before a file is read."""
    refuse_unknown("train_from_files", options, FileTrainOptions)
    reading, others = parted(options, ReadingOptions)
    learning, how = parted(others, TrainOptions)
    settings = Options(**reading)
    settings.check()
    chosen = chosen_options(vocab_size, learning)
    located = as_sources(sources, settings)
    require(located.pieces)
    check_trainable(chosen)
    start = partial(
        read_documents, located.pieces, settings.reading(), on_error=settings.on_error, log=how.get("log")
    )
    documents = start() if chosen.superwords_from is None else Repeated(start)
    return train(documents, chosen, num_threads=how.get("num_threads"), progress=how.get("progress"))
