"""The options of corpus functions, once: `Options` documents and checks them, the TypedDicts are signatures of them."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from ..encoding.rows import EOT
from ..limits import LONG_DOCUMENTS
from ..reading.problems import POLICIES
from ..reading.readers import MAX_DOCUMENT

__all__ = [
    "CorpusOptions",
    "EncodeOptions",
    "Format",
    "Options",
    "ReadingOptions",
    "TaskOptions",
    "refuse_unknown",
    "split_options",
]

Format: TypeAlias = Literal["npy", "nanogpt", "llmc", "megatron", "datatrove", "dolma", "parquet", "mds", "litdata"]
Dtype: TypeAlias = Literal["auto", "uint16", "uint32", "int32"]
EotPosition: TypeAlias = Literal["append", "prepend", "none"]
SpecialPolicy: TypeAlias = Literal["text", "allow", "error"]
ErrorPolicy: TypeAlias = Literal["fail", "skip", "replace"]
LongDocuments: TypeAlias = Literal["cut", "split", "skip"]
PackLast: TypeAlias = Literal["drop", "pad"]
InputKind: TypeAlias = Literal["text", "jsonl", "json", "parquet"]


@dataclass(frozen=True)
class Options:
    """Everything that decides what is written, besides inputs and tokenizer.

    Attributes:
        format: npy, nanogpt, llmc, megatron, datatrove, dolma, parquet, mds or litdata.
        dtype: uint16, uint32, int32 or "auto", the rule of the target.
        eot: "append", "prepend" or "none"; None is the default of the target.
        special: Special tokens in documents: "text", "allow" or "error".
        separator: Between the documents of text files; None is the tokenizer's end-of-text literal.
        text_key, id_key: Where records have text and id; "a.b" is b inside a.
        on_error: What happens to a record that has no valid text, or is too long: "fail", "skip" or "replace".
        max_document_bytes: The most bytes of a document as UTF-8, and of its record as it is in the file, decompressed.
        min_document_bytes: Documents with fewer bytes as UTF-8 are left out.
        max_document_tokens: The most tokens of a document, its end-of-text token not counted; None for any number.
        long_documents: What becomes of longer ones: "cut" keeps the first tokens, "split" makes documents of
            ``max_document_tokens`` and a rest, "skip" leaves them out.
        shuffle: A seed; documents are shuffled in blocks that fit in ``memory``. None keeps their order.
        drop_duplicates: Keep only the first of documents that are equal byte for byte.
        memory: Bytes for the blocks of ``shuffle`` or the table of ``drop_duplicates``; of both, half for each.
        rejected: Write a list of the records with problems, ``OUT.rejected.jsonl.gz``.
        shard_tokens: Tokens of a shard; None for one, of llm.c for 10^8, of mds and litdata for 2^25.
        pack: Tokens of a window: documents in a row, cut into the rows of an array; None keeps documents.
        pack_last: What becomes of the last window of an output if it is not full: "drop", or "pad" with end-of-text
            tokens.
        loss_mask: With ``pack``, documents may be lists of segments, ``{"text": ..., "label": true}``, and a mask is
            written of the tokens that are trained on.
        val_fraction: Documents for which a hash of seed and content falls below it go to a second output.
        seed: See ``val_fraction``.
        input_kind: "text", "jsonl", "json" or "parquet" for all inputs; None goes by the names.
        whole_files: One document a text file.
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
    min_document_bytes: int = 0
    max_document_tokens: int | None = None
    long_documents: LongDocuments = "cut"
    shuffle: int | None = None
    drop_duplicates: bool = False
    memory: int = 1 << 30
    rejected: bool = False
    shard_tokens: int | None = None
    pack: int | None = None
    pack_last: PackLast = "drop"
    loss_mask: bool = False
    val_fraction: float = 0.0
    seed: int = 0
    input_kind: InputKind | None = None
    whole_files: bool = False

    def check(self) -> None:
        """Raises ValueError for a value out of range, naming it."""
        for name, allowed in (
            ("eot", (None, *EOT)), ("on_error", POLICIES), ("long_documents", LONG_DOCUMENTS),
            ("pack_last", get_args(PackLast)),
        ):  # fmt: skip
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} {getattr(self, name)!r} is not one of {', '.join(map(str, allowed))}")
        if self.shard_tokens is not None and not 1 <= self.shard_tokens < 2**40:
            raise ValueError(f"shard_tokens {self.shard_tokens} is not in 1..2^40")
        if self.pack is not None and not 2 <= self.pack < 2**31:
            raise ValueError(f"pack {self.pack} is not in 2..2^31")
        if self.max_document_bytes < 1:
            raise ValueError(f"max_document_bytes {self.max_document_bytes} is not at least 1")
        if self.memory < 1:
            raise ValueError(f"memory {self.memory} is not at least 1")
        if self.min_document_bytes < 0:
            raise ValueError(f"min_document_bytes {self.min_document_bytes} is negative")
        if self.min_document_bytes > self.max_document_bytes:
            raise ValueError(f"min_document_bytes {self.min_document_bytes} is more than max_document_bytes "
                             f"{self.max_document_bytes}: no document would be kept")
        if self.max_document_tokens is not None and self.max_document_tokens < 1:
            raise ValueError(f"max_document_tokens {self.max_document_tokens} is not at least 1")
        if not 0 <= self.val_fraction < 1:
            raise ValueError(f"val_fraction {self.val_fraction} is not in 0 <= F < 1")
        if self.rejected and self.on_error == "fail":
            raise ValueError("rejected=True is for on_error='skip' or 'replace': 'fail' ends at the first problem")
        if self.separator == "":
            raise ValueError("the separator must not be empty; whole_files=True reads a file as one document")

    def check_together(self) -> None:
        """Raises ValueError for an option without the one that gives it a meaning, naming both."""
        default = type(self)()
        for name, has_meaning, without in (
            ("pack_last", self.pack is not None, "without pack="),
            ("loss_mask", self.pack is not None, "without pack="),
            ("long_documents", self.max_document_tokens is not None, "without max_document_tokens="),
            ("memory", self.shuffle is not None or self.drop_duplicates, "without shuffle= or drop_duplicates=True"),
            ("seed", self.val_fraction > 0, "without val_fraction= or a mixture"),
            ("separator", not self.whole_files, "with whole_files=True"),
            ("whole_files", self.input_kind in (None, "text"), f"with input_kind={self.input_kind!r}"),
        ):
            if getattr(self, name) != getattr(default, name) and not has_meaning:
                raise ValueError(f"{name}= means nothing {without}")

    def refuse_parts(self, what: str) -> None:
        """Raises ValueError if these options need one process that sees all documents."""
        for name, value in (("shuffle", self.shuffle is not None), ("drop_duplicates", self.drop_duplicates)):
            if value:
                raise ValueError(f"{name} looks at all documents in their order, of which each of {what} sees a part: "
                                 "run one process, with as many jobs as there are cores")


class ReadingOptions(TypedDict, total=False):
    """How sources become documents. Keys: those fields of `Options`."""

    separator: str | None
    text_key: str
    on_error: ErrorPolicy
    max_document_bytes: int
    input_kind: InputKind | None
    whole_files: bool


class CorpusOptions(ReadingOptions, total=False):
    """What is written. Keys: all fields of `Options`."""

    format: Format
    dtype: Dtype
    eot: EotPosition | None
    special: SpecialPolicy
    id_key: str | None
    min_document_bytes: int
    max_document_tokens: int | None
    long_documents: LongDocuments
    shuffle: int | None
    drop_duplicates: bool
    memory: int
    rejected: bool
    shard_tokens: int | None
    pack: int | None
    pack_last: PackLast
    loss_mask: bool
    val_fraction: float
    seed: int


class TaskOptions(TypedDict, total=False):
    """How a run goes, which does not change the tokens that it writes.

    Keys:
        overwrite: Replace an existing output instead of refusing, and start anew even if there is a journal.
        tokenizer_name: What the manifest calls the tokenizer.
        checkpoint_seconds: How often progress is made durable, 10 by default; a crash costs at most this much work.
        max_errors: The run ends at more problems than this, 100, or "0.1%" of the records; None for any number.
        staging: A local folder where token files grow that go to a URL; None is one for temporary files.
    """

    overwrite: bool
    tokenizer_name: str | None
    checkpoint_seconds: float
    max_errors: str | int | None
    staging: str | None


class EncodeOptions(CorpusOptions, TaskOptions, total=False):
    """The options of `bpetite.corpus.encode_corpus`. Keys: those of `CorpusOptions` and of `TaskOptions`."""


def split_options(function: str, options: Mapping[str, Any]) -> tuple[Options, TaskOptions]:
    """What to write and how, out of the keyword arguments of a function.

    Raises:
        TypeError: An option that is not in `EncodeOptions`.
    """
    refuse_unknown(function, options, EncodeOptions)
    names = {field.name for field in fields(Options)}
    task: Any = {name: value for name, value in options.items() if name not in names}
    return Options(**{name: value for name, value in options.items() if name in names}), task


def refuse_unknown(function: str, options: Mapping[str, Any], known: type) -> None:
    """Raises TypeError for an option that is not a key of a TypedDict, as Python does for a parameter."""
    for name in options:
        if name not in known.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
