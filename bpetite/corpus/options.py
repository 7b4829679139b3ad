"""The options of corpus functions, once: `Options` documents and checks them; commands derive theirs from it."""
from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, TypeAlias, TypedDict, get_args, get_origin, get_type_hints

from .read.pieces import MAX_DOCUMENT, Reading

Format: TypeAlias = Literal["npy", "nanogpt", "llmc", "megatron", "datatrove", "dolma", "parquet"]
Dtype: TypeAlias = Literal["auto", "uint16", "uint32", "int32"]
EotPosition: TypeAlias = Literal["append", "prepend", "none"]
SpecialPolicy: TypeAlias = Literal["text", "allow", "error"]
ErrorPolicy: TypeAlias = Literal["fail", "skip", "replace"]
InputKind: TypeAlias = Literal["text", "jsonl", "json", "parquet"]

#: Options that change no byte of the output.
NOT_IN_OUTPUT = ("overwrite", "tokenizer_name", "checkpoint_seconds", "max_errors", "rank", "world_size")


@dataclass(frozen=True, kw_only=True)
class Options:
    """Everything that decides a run, besides inputs, output and tokenizer.

    Attributes:
        format: Format of the token files.
        dtype: Type of the tokens; auto is the rule of the format.
        eot: Place of the end-of-text token; by default the format's.
        special: How special tokens in documents are read: as text, as tokens, or as an error.
        separator: Between the documents of text files; by default the tokenizer's end-of-text literal.
        text_key: Key of the text in records; a.b is b in a.
        id_key: Key of the id in records (dolma, parquet).
        on_error: Treatment of records that have no valid text, or are too long.
        max_document_bytes: The most bytes of a document as UTF-8, and of its record in the file, decompressed. By
            default text has no limit where it can be cut inside a document, and anything else 1 GiB.
        rejected: Write a list of the records with problems, OUT.rejected.jsonl.gz.
        shard_tokens: Tokens of a shard; by default one shard, of llmc 10^8 tokens.
        val_fraction: Part of the documents that goes to a second output, by a hash of seed and content.
        seed: Chooses the documents of the second output.
        input_kind: Content of all inputs, text, jsonl, json or parquet; by default by their names.
        whole_files: One document a text file.
        overwrite: Replace an existing output instead of refusing, and start anew even if a run is unfinished.
        tokenizer_name: Name of the tokenizer in the manifest.
        checkpoint_seconds: Time between two records of progress; a crash costs at most this much work.
        max_errors: The run ends at more problems than this; by default at any number.
        rank: Number of this process, 0 to world_size - 1; it encodes that share of the inputs.
        world_size: Number of ranks; each writes shards of its own, and merge makes one output of them.
    """

    format: Format = "npy"
    dtype: Dtype = "auto"
    eot: EotPosition | None = None
    special: SpecialPolicy = "text"
    separator: str | None = None
    text_key: str = "text"
    id_key: str | None = "id"
    on_error: ErrorPolicy = "fail"
    max_document_bytes: int | None = None
    rejected: bool = False
    shard_tokens: int | None = None
    val_fraction: float = 0.0
    seed: int = 0
    input_kind: InputKind | None = None
    whole_files: bool = False
    overwrite: bool = False
    tokenizer_name: str | None = None
    checkpoint_seconds: float = 10.0
    max_errors: int | None = None
    rank: int = 0
    world_size: int = 1

    def check(self) -> None:
        """Raises ValueError for a value out of range, and for an option without the one that gives it a meaning."""
        for name in ("eot", "on_error"):
            allowed = choices_of(name)
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} {getattr(self, name)!r} is not one of {', '.join(map(str, allowed))}")
        if self.shard_tokens is not None and not 1 <= self.shard_tokens < 2**40:
            raise ValueError(f"shard_tokens {self.shard_tokens} is not in 1..2^40")
        for name, least in (("max_document_bytes", 1), ("max_errors", 0), ("world_size", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name} {value} is not at least {least}")
        if not 0 <= self.rank < self.world_size:
            raise ValueError(f"rank {self.rank} is not in 0..{self.world_size - 1}; world_size is {self.world_size}")
        if not 0 <= self.val_fraction < 1:
            raise ValueError(f"val_fraction {self.val_fraction} is not in 0 <= F < 1")
        if self.separator == "":
            raise ValueError("the separator must not be empty; whole_files=True reads a file as one document")
        default = type(self)()
        for name, has_meaning, without in (
            ("rejected", self.on_error != "fail", "with on_error='fail', which ends at the first problem"),
            ("max_errors", self.on_error != "fail", "with on_error='fail', which ends at the first problem"),
            ("seed", self.val_fraction > 0, "without val_fraction="),
            ("separator", not self.whole_files, "with whole_files=True"),
            ("whole_files", self.input_kind in (None, "text"), f"with input_kind={self.input_kind!r}"),
        ):
            if getattr(self, name) != getattr(default, name) and not has_meaning:
                raise ValueError(f"{name}= means nothing {without}")

    def content(self) -> dict[str, Any]:
        """The options that decide what is written, as JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in NOT_IN_OUTPUT}

    def reading(self) -> Reading:
        """The reading of documents for training: of text, between "<|endoftext|>" unless told otherwise."""
        separator = Reading.separator if self.separator is None else self.separator.encode()
        return Reading(separator, self.text_key, max_document=self.max_document_bytes or MAX_DOCUMENT)


@cache
def choices_of(name: str, options: type = Options) -> tuple[Any, ...]:
    """The values that an option of a few values may have, a field of a class; () for any other option.

    >>> choices_of("eot"), choices_of("seed")
    ((None, 'append', 'prepend', 'none'), ())
    """
    hint = get_type_hints(options)[name]
    values = tuple(value for one in (hint, *get_args(hint)) if get_origin(one) is Literal for value in get_args(one))
    return (None, *values) if values and type(None) in get_args(hint) else values


class ReadingOptions(TypedDict, total=False):
    """The options of reading, for functions that also have others. Keys: fields of `Options`."""

    separator: str | None
    text_key: str
    on_error: ErrorPolicy
    max_document_bytes: int | None
    input_kind: InputKind | None
    whole_files: bool
