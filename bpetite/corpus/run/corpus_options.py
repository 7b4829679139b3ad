"""The options of corpus functions, once: `Options` documents and checks them; commands derive theirs from it."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypedDict, get_args, get_type_hints

from ..reading.blocks import MAX_DOCUMENT, Reading

__all__ = [
    "CorpusOptions",
    "EncodeOptions",
    "ErrorPolicy",
    "Format",
    "Options",
    "ReadingOptions",
    "TaskOptions",
    "choices_of",
    "parted",
    "refuse_unknown",
    "split_options",
]

Format: TypeAlias = Literal["npy", "nanogpt", "llmc", "megatron", "datatrove", "dolma", "parquet", "mds", "litdata"]
Dtype: TypeAlias = Literal["auto", "uint16", "uint32", "int32"]
EotPosition: TypeAlias = Literal["append", "prepend", "none"]
SpecialPolicy: TypeAlias = Literal["text", "allow", "error"]
ErrorPolicy: TypeAlias = Literal["fail", "skip", "replace"]
InputKind: TypeAlias = Literal["text", "jsonl", "json", "parquet"]


@dataclass(frozen=True)
class Options:
    """Everything that decides the output, besides inputs and tokenizer.

    Attributes:
        format: Format of the token files.
        dtype: Type of the tokens; auto is the rule of the format.
        eot: Place of the end-of-text token; by default the format's.
        special: How special tokens in documents are read: as text, as tokens, or as an error.
        separator: Between the documents of text files; by default the tokenizer's end-of-text literal.
        text_key: Key of the text in records; a.b is b in a.
        id_key: Key of the id in records (dolma, parquet).
        on_error: Treatment of records that have no valid text, or are too long.
        max_document_bytes: The most bytes of a document as UTF-8, and of its record in the file, decompressed.
        shuffle: A seed; documents are shuffled in blocks that fit in memory. By default they keep their order.
        memory: Bytes of a block that is shuffled.
        rejected: Write a list of the records with problems, OUT.rejected.jsonl.gz.
        shard_tokens: Tokens of a shard; by default one shard, of llmc 10^8 tokens, of mds and litdata 2^25.
        val_fraction: Part of the documents that goes to a second output, by a hash of seed and content.
        seed: Chooses the documents of the second output.
        input_kind: Content of all inputs, text, jsonl, json or parquet; by default by their names.
        whole_files: One document a text file.
        stats_by: Statistics in the manifest, by file, folder or a key of records.
    """

    format: Format = "npy"
    dtype: Dtype = "auto"
    eot: EotPosition | None = None
    special: SpecialPolicy = "text"
    separator: str | None = None
    text_key: str = "text"
    id_key: str | None = "id"
    on_error: ErrorPolicy = "fail"
    max_document_bytes: int = MAX_DOCUMENT
    shuffle: int | None = None
    memory: int = 1 << 30
    rejected: bool = False
    shard_tokens: int | None = None
    val_fraction: float = 0.0
    seed: int = 0
    input_kind: InputKind | None = None
    whole_files: bool = False
    stats_by: str | None = None

    def check(self) -> None:
        """Raises ValueError for a value out of range, and for an option without the one that gives it a meaning."""
        for name in ("eot", "on_error"):
            allowed = choices_of(name)
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} {getattr(self, name)!r} is not one of {', '.join(map(str, allowed))}")
        if self.shard_tokens is not None and not 1 <= self.shard_tokens < 2**40:
            raise ValueError(f"shard_tokens {self.shard_tokens} is not in 1..2^40")
        for name in ("max_document_bytes", "memory"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)} is not at least 1")
        if not 0 <= self.val_fraction < 1:
            raise ValueError(f"val_fraction {self.val_fraction} is not in 0 <= F < 1")
        if self.rejected and self.on_error == "fail":
            raise ValueError("rejected=True is for on_error='skip' or 'replace': 'fail' ends at the first problem")
        if self.separator == "":
            raise ValueError("the separator must not be empty; whole_files=True reads a file as one document")
        default = type(self)()
        for name, has_meaning, without in (
            ("memory", self.shuffle is not None, "without shuffle="),
            ("seed", self.val_fraction > 0, "without val_fraction="),
            ("separator", not self.whole_files, "with whole_files=True"),
            ("whole_files", self.input_kind in (None, "text"), f"with input_kind={self.input_kind!r}"),
        ):
            if getattr(self, name) != getattr(default, name) and not has_meaning:
                raise ValueError(f"{name}= means nothing {without}")

    def reading(self) -> Reading:
        """The reading of documents for training: of text, between "<|endoftext|>" unless told otherwise."""
        separator = Reading.separator if self.separator is None else self.separator.encode()
        return Reading(separator, self.text_key, max_document=self.max_document_bytes)


def choices_of(name: str) -> tuple[Any, ...]:
    """The values that an option of a few values may have; () for any other option.

    >>> choices_of("eot"), choices_of("seed")
    ((None, 'append', 'prepend', 'none'), ())
    """
    hint = get_type_hints(Options)[name]
    literals = [one for one in (hint, *get_args(hint)) if get_args(one) and type(None) not in get_args(one)]
    values = tuple(value for one in literals for value in get_args(one))
    return (None, *values) if values and type(None) in get_args(hint) else values


class ReadingOptions(TypedDict, total=False):
    """The options of reading. Keys: fields of `Options`."""

    separator: str | None
    text_key: str
    on_error: ErrorPolicy
    max_document_bytes: int
    input_kind: InputKind | None
    whole_files: bool


class CorpusOptions(ReadingOptions, total=False):
    """The output. Keys: all fields of `Options`."""

    format: Format
    dtype: Dtype
    eot: EotPosition | None
    special: SpecialPolicy
    id_key: str | None
    shuffle: int | None
    memory: int
    rejected: bool
    shard_tokens: int | None
    val_fraction: float
    seed: int
    stats_by: str | None


class TaskOptions(TypedDict, total=False):
    """The course of a run, which does not change the tokens that it writes.

    Keys:
        overwrite: Replace an existing output instead of refusing, and start anew even if there is a journal.
        tokenizer_name: Name of the tokenizer in the manifest.
        checkpoint_seconds: Time between two records of progress, 10 by default; a crash costs at most this much work.
        max_errors: The run ends at more problems than this, 100, or "0.1%" of the records; None for any number.
    """

    overwrite: bool
    tokenizer_name: str | None
    checkpoint_seconds: float
    max_errors: str | int | None


class EncodeOptions(CorpusOptions, TaskOptions, total=False):
    """The options of `bpetite.corpus.encode_corpus`. Keys: as in `CorpusOptions` and `TaskOptions`."""


def split_options(function: str, options: Mapping[str, Any]) -> tuple[Options, TaskOptions]:
    """The options of the output and of its course, from the keyword arguments of a function.

    Raises:
        TypeError: An option that is not in `EncodeOptions`.
    """
    refuse_unknown(function, options, EncodeOptions)
    chosen, task = parted(options, CorpusOptions)
    return Options(**chosen), task


def parted(options: Mapping[str, Any], kind: type) -> tuple[Any, Any]:
    """The options that are keys of a TypedDict, and the others."""
    names = kind.__annotations__
    named = {name: value for name, value in options.items() if name in names}
    return named, {name: value for name, value in options.items() if name not in names}


def refuse_unknown(function: str, options: Mapping[str, Any], known: type) -> None:
    """Raises TypeError for an option that is not a key of a TypedDict, as Python does for a parameter."""
    for name in options:
        if name not in known.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
