"""Files to a tokenizer: the documents of a corpus, read as for encoding, are what a tokenizer learns from."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from ..splitting.certain_cuts import certain_cuts
from ..splitting.pretokenizer import pretokenizer
from ..training.counting.cutting import Cutting
from ..training.counting.documents import Repeated
from ..training.counting.jobs import Progress
from ..training.options import TrainingOptions
from ..training.train import check_trainable, train
from ..vocabulary.vocab import Vocab
from .api import SourcesLike, checked_inputs
from .options import Options, ReadingOptions
from .read.find import Input
from .read.pieces import Reading
from .read.readers import read_documents


def reading_options(given: ReadingOptions) -> Options:
    """Check options of reading; TypeError for another option."""
    if unknown := given.keys() - ReadingOptions.__annotations__.keys():
        raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}")
    options = Options(**given)
    options.check()
    return options


def reading_for(cutting: Cutting, options: Options) -> Reading:
    """The reading of documents whose pre-tokens are counted: a text may be cut where its pattern certainly cuts."""
    reading = options.reading()
    if options.max_document_bytes is not None:
        return reading
    literals = [*cutting.special_tokens, reading.separator.decode()]
    cutter = pretokenizer(cutting.pattern)
    return replace(reading, cuts=certain_cuts(cutter, literals, cutting.normalization is not None))


def documents_for(
    options: TrainingOptions, settings: Options, inputs: Sequence[Input], read: Callable[[Reading], Iterable[bytes]]
) -> Iterable[bytes]:
    """The documents that a training learns from: once, or as often as it asks for superwords, which span the places
    where a text would be cut."""
    if options.superwords_from is None:
        return _not_empty(read(reading_for(options.cutting, settings)), inputs)
    return Repeated(lambda: _not_empty(read(settings.reading()), inputs))


def _not_empty(documents: Iterable[bytes], inputs: Sequence[Input]) -> Iterator[bytes]:
    """The documents; raises ValueError at the end if all were empty, because nothing can be learned then."""
    empty = True
    for document in documents:
        empty = empty and not document
        yield document
    if empty:
        raise ValueError(f"{inputs[0].path}: no text in the inputs; nothing can be learned")


def train_from_files(
    sources: SourcesLike,
    options: TrainingOptions,
    reading: ReadingOptions,
    *,
    num_threads: int | None,
    progress: Progress | None,
    log: Callable[[str], None] | None,
) -> Vocab:
    """The vocabulary of :meth:`bpetite.Tokenizer.train_from_files`; every option is checked before a file is read."""
    settings = reading_options(reading)
    inputs = checked_inputs(sources, settings)
    check_trainable(options)
    read = partial(read_documents, inputs, on_error=settings.on_error, log=log)
    documents = documents_for(options, settings, inputs, read)
    return train(documents, options, num_threads=num_threads, progress=progress)
