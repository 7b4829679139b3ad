"""Files to a tokenizer: the documents of a corpus, read as for encoding, are what a tokenizer learns from."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..splitting.certain_cuts import certain_cuts
from ..splitting.pretokenizer import pretokenizer
from ..training.counting.count_options import Cutting
from ..training.counting.texts import Progress, Repeated
from ..training.options import TrainOptions, chosen_options
from ..training.train import check_trainable, train
from ..vocabulary.vocab import Vocab
from .api import SourcesLike, as_sources
from .options import Options, ReadingOptions, take_options
from .read.blocks import Reading
from .read.find import Input, refuse_unread
from .read.readers import read_documents, require


class FileTrainOptions(TrainOptions, ReadingOptions, total=False):
    """The options of :meth:`bpetite.Tokenizer.train_from_files`.

    Keys: as in `TrainOptions` and `ReadingOptions`, and
        num_threads, progress: As for :meth:`bpetite.Tokenizer.train`.
        log: Called with messages for people: the first problem of each kind that ``on_error`` passes over.
    """

    num_threads: int | None
    progress: Progress | None
    log: Callable[[str], None] | None


def reading_for(cutting: Cutting, options: Options) -> Reading:
    """The reading of documents whose pre-tokens are counted: a text may be cut where its pattern certainly cuts."""
    reading = options.reading()
    if options.max_document_bytes is not None:
        return reading
    literals = [*cutting.special_tokens, reading.separator.decode()]
    cutter = pretokenizer(cutting.pattern)
    return replace(reading, cuts=certain_cuts(cutter, literals, cutting.normalization is not None))


def not_empty(documents: Iterable[bytes], inputs: Sequence[Input]) -> Iterator[bytes]:
    """The documents; raises ValueError at the end if all were empty, because nothing can be learned then."""
    empty = True
    for document in documents:
        empty = empty and not document
        yield document
    if empty:
        raise ValueError(f"{inputs[0].path}: no text in the inputs; nothing can be learned")


def train_from_files(sources: SourcesLike, vocab_size: int, options: Mapping[str, Any]) -> Vocab:
    """As :meth:`bpetite.Tokenizer.train_from_files`; every option is checked before a file is read."""
    for name in options:
        if name not in FileTrainOptions.__annotations__:
            raise TypeError(f"train_from_files() got an unexpected keyword argument {name!r}")
    reading, others = take_options(options, ReadingOptions)
    learning, how = take_options(others, TrainOptions)
    settings = Options(**reading)
    settings.check()
    chosen = chosen_options(vocab_size, learning)
    located = as_sources(sources, settings)
    refuse_unread(located.left_out, settings.on_error)
    require(located.inputs)
    check_trainable(chosen)
    superwords = chosen.superwords_from is not None  # which span the places where a text would be cut
    start = partial(
        read_documents, located.inputs, settings.reading() if superwords else reading_for(chosen.cutting, settings),
        on_error=settings.on_error, log=how.get("log"),
    )  # fmt: skip
    documents = Repeated(lambda: not_empty(start(), located.inputs))
    return train(documents if superwords else iter(documents), chosen, num_threads=how.get("num_threads"),
                 progress=how.get("progress"))
