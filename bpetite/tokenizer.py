"""The tokenizer: a vocabulary, and the engine that runs it.

Thin methods: work per token is compiled and inherited (core/_tokenizer_base.pyx), everything else is a function of the
room that its import names, imported where it is used: loading a tokenizer waits for no trainer and no other format.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import index
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from . import patterns
from .core import _decode
from .core._threads import thread_count
from .core._tokenizer_base import TokenizerBase
from .engine import arrow, limits
from .engine.choice import engine_parts
from .engine.foreign_names import ELSEWHERE, OwnNames
from .errors import UnknownTokenError, short_repr
from .patterns import BY_NAME
from .vocabulary import pickling
from .vocabulary.vocab import BytePairs, Vocab

if TYPE_CHECKING:
    from typing import Literal, Self, SupportsIndex

    import numpy as np
    from numpy.typing import NDArray
    from transformers import PreTrainedTokenizerFast
    from typing_extensions import Unpack

    from .adapters.tiktoken_view import Encoding
    from .adapters.tokenizers_view import TokenizersView
    from .corpus.api import SourcesLike
    from .corpus.options import ReadingOptions
    from .engine.call_options import Padding, RowOptions, SpecialSelection, Text
    from .engine.padding import PaddedBatch
    from .formats import Format, WritableFormat
    from .patterns import PatternLike
    from .splitting.pretokenizer import ScannerName
    from .steps.normalizers import Normalization
    from .steps.splits import SplitPattern, SplitPatternLike
    from .steps.template import Template
    from .training.counting.count_pretokens import Corpus
    from .training.counting.counts import CountFile
    from .training.counting.cutting import CountOptions, SpecialLiterals
    from .training.counting.jobs import Progress
    from .training.options import SpecialIds, TieBreak
    from .vocabulary.special_literals import SpecialTokens
    from .vocabulary.vocab import ErrorHandler

Path = str | os.PathLike[str]


class Tokenizer(TokenizerBase, metaclass=OwnNames):
    """BPE over bytes or characters: text to token ids and back, exactly.

    A tokenizer is immutable, picklable, comparable and hashable by content, and safe to share between threads and
    across fork.

    Args:
        vocab: id -> bytes.
        merges: Pairs of token bytes in rank order. None makes a vocabulary of the ranks kind (tiktoken's): a
            pre-token that is a token is taken whole, and the rank of a pair is the id of the joined token.
        special_tokens: Literals, or literal -> id. A literal that is in ``vocab`` keeps its id; others get the ids
            after the highest one, in the order given.
        pattern: The split pattern: a name ("cl100k"), a regular expression, a compiled one, a tuple of them or None,
            see :func:`bpetite.patterns.resolve`. Steps beyond patterns are in :mod:`bpetite.steps.splits`.
        normalization: "NFC", "NFD", "NFKC", "NFKD" or None, applied to text between special tokens; or rewritings of
            :mod:`bpetite.steps.normalizers`.
        errors: The handler of :meth:`decode` for bytes that are not UTF-8: "strict", "replace" or another codec error.

    Raises:
        ValueError: The vocabulary contradicts itself; the message names the value.
        TypeError: A value of the wrong type.

    >>> tok = Tokenizer({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")], ["<|endoftext|>"])
    >>> tok.encode("abba<|endoftext|>")
    [2, 1, 0, 3]
    >>> tok.decode([2, 1, 0, 3])
    'abba<|endoftext|>'
    """

    __slots__ = ("__weakref__",)

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Iterable[tuple[bytes, bytes]] | None,
        special_tokens: SpecialTokens = None,
        *,
        pattern: SplitPatternLike = patterns.GPT2,
        normalization: Normalization = None,
        errors: ErrorHandler = "strict",
    ) -> None:
        self._set(Vocab.build(
            vocab, merges, special_tokens, pattern=pattern, normalization=normalization, errors=errors
        ))  # fmt: skip

    def _set(self, vocab: Vocab, cache_bytes: int = 64 << 20) -> None:
        self._set_up(vocab, cache_bytes, *engine_parts(vocab))
        pickling.LIVE[id(self)] = self

    @classmethod
    def from_vocab(cls, vocab: Vocab) -> Tokenizer:
        """A tokenizer that runs a :class:`bpetite.Vocab`."""
        if not isinstance(vocab, Vocab):
            raise TypeError(f"from_vocab takes a bpetite.Vocab, not {type(vocab).__name__}")
        tokenizer = cls.__new__(cls)
        tokenizer._set(vocab)
        return tokenizer

    def to_vocab(self) -> Vocab:
        """The :class:`bpetite.Vocab` that this tokenizer runs: the inverse of :meth:`from_vocab`."""
        return self._vocab

    @classmethod
    def train(
        cls,
        corpus: Text | Iterable[Text],
        vocab_size: int,
        *,
        special_tokens: SpecialLiterals = ("<|endoftext|>",),
        special_ids: SpecialIds = "after",
        pattern: PatternLike = "gpt2",
        min_frequency: int = 1,
        tie_break: TieBreak = "ids",
        normalization: str | None = None,
        max_token_bytes: int | None = None,
        superwords_from: int | None = None,
        superword_pattern: PatternLike = "superbpe",
        num_threads: int | None = None,
        progress: Progress | None = None,
    ) -> Tokenizer:
        """Learn a tokenizer from text.

        Args:
            corpus: One text or documents, ``str`` or UTF-8 ``bytes``; it is read once and never held whole. Files are
                for :meth:`train_from_files`.
            vocab_size: Mergeable tokens: 256 bytes plus learned ones. Special tokens come on top.
            special_tokens: Literals that cut the corpus and are in no merge. They get ids of their own, or the ids of a
                dict literal -> id, which no byte and no learned token may have.
            special_ids: "after" the learned tokens, or "before" the bytes.
            pattern: The split pattern, see :class:`Tokenizer`.
            min_frequency: Pairs that occur less often are not learned.
            tie_break: Among equally frequent pairs, "ids" takes the smallest (left id, right id), "bytes" the greatest
                (left bytes, right bytes), "tokenizers" the one that Hugging Face's trainer takes.
            normalization: Applied to the corpus, and by the tokenizer when it encodes.
            max_token_bytes: Learn no token longer than this many bytes.
            superwords_from: SuperBPE (Liu et al. 2025): learn so many of the tokens within words, then tokens that span
                up to four words. The corpus is read twice, so it cannot be an iterator.
            superword_pattern: The pattern that cuts text when superwords are learned, and when the tokenizer encodes.
            num_threads: Threads that count; one for each usable processor when None, and never more. The result never
                depends on it.
            progress: Called as ``progress("count", done, total)``, then as ``progress("merge", done, total)``, now and
                then; the total of texts is None where it is not known. What it raises ends the training.

        Raises:
            ValueError: ``vocab_size`` below 256, an option out of range, paths in place of texts, a ``pattern`` that
                leaves the documents whole.
            UnicodeError: Text with a lone surrogate, bytes that are not UTF-8; with the offset.
            TrainingWarning: Only a warning: too few pairs for ``vocab_size``; the tokenizer is smaller.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.merges
        [(b'a', b'b'), (b' ', b'ab')]
        >>> tok.encode("ab<|endoftext|>ab")
        [256, 258, 256]
        """
        from .training.options import TrainingOptions
        from .training.train import train

        options = TrainingOptions(
            vocab_size, special_tokens, special_ids, pattern, min_frequency, tie_break, normalization, max_token_bytes,
            superwords_from, superword_pattern,
        )  # fmt: skip
        return cls.from_vocab(train(corpus, options, num_threads=num_threads, progress=progress))

    @classmethod
    def train_from_files(
        cls,
        paths: SourcesLike,
        vocab_size: int,
        *,
        special_tokens: SpecialLiterals = ("<|endoftext|>",),
        special_ids: SpecialIds = "after",
        pattern: PatternLike = "gpt2",
        min_frequency: int = 1,
        tie_break: TieBreak = "ids",
        normalization: str | None = None,
        max_token_bytes: int | None = None,
        superwords_from: int | None = None,
        superword_pattern: PatternLike = "superbpe",
        num_threads: int | None = None,
        progress: Progress | None = None,
        log: Callable[[str], None] | None = None,
        **reading: Unpack[ReadingOptions],
    ) -> Tokenizer:
        """Learn a tokenizer from files. Every option is checked before a byte is read.

        Args:
            paths: Files (text, JSON lines, JSON, Parquet; also .gz, .zst, .bz2, .xz), folders, glob patterns; or one of
                them.
            vocab_size: And all up to ``progress``, as for :meth:`train`.
            log: Called with messages for people: the first problem of each kind that ``on_error`` passes over.
            reading: ``separator`` of the documents in text files ("<|endoftext|>"), ``text_key`` of records ("text"),
                ``whole_files``, ``input_kind``, ``on_error``, ``max_document_bytes``: see
                :class:`bpetite.corpus.Options`.

        Raises:
            ValueError: As for :meth:`train`; a file that no reader knows, a record with a problem.
            OSError, MissingExtraError: A file cannot be read; Parquet and .zst need the extra ``corpus``.

        >>> with open("corpus.jsonl", "w") as file:
        ...     _ = file.write('{"text": "ab ab"}\\n{"text": "ab"}')
        >>> Tokenizer.train_from_files("corpus.jsonl", 258).merges
        [(b'a', b'b'), (b' ', b'ab')]
        """
        from .corpus.training import train_from_files
        from .training.options import TrainingOptions

        options = TrainingOptions(
            vocab_size, special_tokens, special_ids, pattern, min_frequency, tie_break, normalization, max_token_bytes,
            superwords_from, superword_pattern,
        )  # fmt: skip
        return cls.from_vocab(train_from_files(
            paths, options, reading, num_threads=num_threads, progress=progress, log=log
        ))  # fmt: skip

    @classmethod
    def train_from_counts(
        cls,
        counts: Mapping[bytes, int] | CountFile,
        vocab_size: int,
        *,
        special_ids: SpecialIds = "after",
        min_frequency: int = 1,
        tie_break: TieBreak = "ids",
        max_token_bytes: int | None = None,
        progress: Progress | None = None,
        **counting: Unpack[CountOptions],
    ) -> Tokenizer:
        """Learn a tokenizer from pre-token counts, such as :func:`bpetite.count_pretokens` gives. Counts of several
        machines add up, and give the merges of all the text.

        Args:
            counts: pre-token (UTF-8 bytes) -> its number; or counts on disk, see :class:`bpetite.CountFile`.
            vocab_size: And all up to ``progress``, as for :meth:`train`.
            counting: ``pattern``, ``special_tokens`` and ``normalization``; they come from the counts unless given.

        Raises:
            ValueError: A negative count; an option out of range, or one that contradicts the counts.
            OverflowError: A pair occurs 2^63 times or more.

        >>> Tokenizer.train_from_counts({b"ab": 2, b" ab": 3}, 258).merges
        [(b'a', b'b'), (b' ', b'ab')]
        """
        from .training.train import train_from_counts

        return cls.from_vocab(train_from_counts(
            counts, vocab_size, counting, special_ids=special_ids, min_frequency=min_frequency, tie_break=tie_break,
            max_token_bytes=max_token_bytes, progress=progress,
        ))  # fmt: skip

    @classmethod
    def from_files(cls, vocab_filepath: Path, merges_filepath: Path, special_tokens: SpecialTokens = None) -> Tokenizer:
        """GPT-2's pair of files, ``vocab.json`` and ``merges.txt``, with GPT-2's split pattern.

        Raises:
            FormatError, OSError: A file is damaged or cannot be read; the message names file and offset.
        """
        from .formats import gpt2

        return cls.from_vocab(gpt2.load(vocab_filepath, merges_filepath, special_tokens))

    @classmethod
    def from_tiktoken(
        cls,
        path_or_encoding: Path | Any,
        *,
        pattern: SplitPatternLike = BY_NAME,
        special_tokens: SpecialTokens = None,
        name: str | None = None,
    ) -> Tokenizer:
        """A ``.tiktoken`` file (base64 token and rank a line) or a ``tiktoken.Encoding``, with the ranks rule.

        Args:
            path_or_encoding: The file, or the encoding.
            pattern: The split pattern, which a file does not hold; by default that of the published encoding with the
                name ``name``, or the file's name, see :func:`bpetite.get_encoding`.
            special_tokens: A file does not hold these either; without a pattern, the encoding's by default.
            name: The encoding of a file whose name does not tell.

        Raises:
            FormatError, OSError: The file is damaged or cannot be read. No pattern is given, and the name is of no
                published encoding.
        """
        from .formats import tiktoken

        return cls.from_vocab(tiktoken.load(
            path_or_encoding, pattern=pattern, special_tokens=special_tokens, name=name
        ))  # fmt: skip

    @classmethod
    def from_huggingface(cls, source: Any, *, missing: Literal["drop", "refuse"] = "drop") -> Tokenizer:
        """A BPE tokenizer of Hugging Face's ``tokenizers``, with its ids for characters known to both.

        Args:
            source: The path of a ``tokenizer.json`` or of a directory that holds one (or vocab.json and merges.txt),
                the JSON itself, a ``tokenizers.Tokenizer``, or a ``transformers`` tokenizer with one inside.
            missing: A character or byte for which a file has neither a token nor an ``unk_token`` gives nothing
                ("drop"), as in ``tokenizers``, or is an error of the text ("refuse").

        Raises:
            ValueError: ``missing`` is another value.
            FormatError: It is damaged, not BPE, or has a part that cannot be honoured; the message names it.
            OSError: A file cannot be read.
        """
        from .formats import huggingface

        vocab = huggingface.from_object(source)
        if missing not in ("drop", "refuse"):
            raise ValueError(f'missing is "drop" or "refuse", not {missing!r}')
        return cls.from_vocab(huggingface.refusing_missing(vocab) if missing == "refuse" else vocab)

    @classmethod
    def from_pretrained(cls, name_or_directory: Path, *, revision: str | None = None) -> Tokenizer:
        """A tokenizer by name: any name of :meth:`load`, else one of the Hugging Face Hub.

        Args:
            name_or_directory: "bpetite-32k", "gpt-4o", "./my-model", "openai-community/gpt2".
            revision: A branch, tag or commit of the Hub's repository.

        Raises:
            MissingExtraError: The Hub is needed, and ``huggingface_hub`` is not installed (extra ``hub``).
            OSError: The Hub does not have it; or it does not answer within 10 seconds (``HF_HUB_OFFLINE=1``: is not
                asked), and its cache does not have it. Nothing is tried twice.
            FormatError: As for :meth:`load`.
        """
        from .formats import hub

        return cls.from_vocab(hub.load(name_or_directory, revision=revision))

    @classmethod
    def load(cls, path: Path, *, format: Format | None = None) -> Tokenizer:
        """A tokenizer from a file in any format that bpetite knows, or by name.

        Args:
            path: A file or directory; if there is none, the name of the packaged tokenizer ("bpetite-32k"), of an
                encoding or a model ("o200k_base", "gpt-4o"); see :func:`bpetite.get_encoding`.
            format: The format; found from the content when None.

        Raises:
            FormatError: The file is damaged or of no known format.
            OSError: The file cannot be read; there is none, and no tokenizer has the name.
        """
        from . import formats

        return cls.from_vocab(formats.load(path, format=format))

    def save(self, path: Path, *, format: WritableFormat | None = None, overwrite: bool = False) -> None:
        """Write the tokenizer to a file; either the whole file is there afterwards, or nothing has changed.

        Args:
            path: The file or directory.
            format: "native", "huggingface" (a ``.json`` file, else a directory for ``AutoTokenizer``), "tiktoken",
                or "gpt2" (a directory). None: ``tokenizer.json`` is huggingface, ``*.tiktoken`` tiktoken, others
                native.
            overwrite: Replace an existing file.

        Raises:
            FileExistsError: The file exists and ``overwrite`` is false.
            FormatError: The format cannot hold a part of this tokenizer, or its kind: see :meth:`to_ranks` and
                :meth:`to_merges`.
            OSError: The file cannot be written.
        """
        from . import formats

        formats.save(self._vocab, path, format=format, overwrite=overwrite)

    def extend(
        self,
        corpus: Corpus,
        add: int,
        *,
        special_tokens: SpecialLiterals = (),
        min_frequency: int = 1,
        tie_break: TieBreak = "ids",
        max_token_bytes: int | None = None,
        superword_pattern: PatternLike = None,
        num_threads: int | None = None,
        progress: Progress | None = None,
    ) -> Tokenizer:
        """This tokenizer with ``add`` more tokens, learned from text after its own.

        No id changes: new tokens have the ids after the highest one, new special tokens follow. Everything else is
        kept, and cuts the corpus as it cuts texts. A text without new tokens keeps its ids: no merge is learned for an
        existing token that the merges of its list do not make. A vocabulary of the ranks kind stays one: it is extended
        as the merge list with its ids (:meth:`to_merges`).

        Args:
            corpus: One text or documents, as for :meth:`train`; or counts of pre-tokens, see :meth:`train_from_counts`.
            add: The number of tokens to learn.
            special_tokens: Further ones, as for :meth:`train`. They cut the corpus, as those of the tokenizer do.
            min_frequency, tie_break, max_token_bytes, num_threads, progress: As for :meth:`train`.
            superword_pattern: Unless None, learn superwords, tokens that span up to four words (SuperBPE), from text
                that this pattern cuts. It becomes the tokenizer's, so texts without superwords may get other ids. For a
                plain merge list.

        Raises:
            ValueError: A byte has no token; a merge takes what no byte or earlier merge gives; an option out of range;
                counts that were made with another pattern, normalization, version of Unicode or other special tokens.
            UnicodeError: As for :meth:`train`.
            TrainingWarning: Only a warning: too few pairs for ``add``; fewer tokens are learned.

        >>> tok = Tokenizer.train("ab ab", 257)
        >>> longer = tok.extend("ab ab ab", 1)
        >>> longer.encode("ab ab<|endoftext|>"), longer.token_bytes(258)
        ([256, 258, 257], b' ab')
        """
        from .training.extend import extend

        vocab = extend(
            self._vocab, corpus, add, num_threads=num_threads, progress=progress, special_tokens=special_tokens,
            superword_pattern=superword_pattern, min_frequency=min_frequency, tie_break=tie_break,
            max_token_bytes=max_token_bytes,
        )  # fmt: skip
        return self.from_vocab(vocab)

    def prune(
        self,
        corpus: Corpus | None = None,
        *,
        vocab_size: int | None = None,
        keep: Iterable[int | str | bytes] = (),
        num_threads: int | None = None,
        progress: Progress | None = None,
    ) -> Pruned:
        """This tokenizer without unused tokens, renumbered from 0 in the order of the ids.

        A token goes only when no token that stays needs it, leaves first. Special tokens and single bytes always stay.
        Text without a removed token is encoded as before, and a removed token as its parts.

        Args:
            corpus: The texts, or counts of their pre-tokens, in which tokens are used; as for :meth:`extend`.
            vocab_size: The number of tokens that are left, as for :meth:`train`. The least used tokens go, among
                equally used ones the highest id first. The use of one that went counts for its parts. When None, all
                go that neither ``keep`` nor ``corpus`` need.
            keep: Tokens that stay, as ids, ``str`` or ``bytes``.
            num_threads: Threads that count, as for :meth:`train`.
            progress: Called as ``progress("count", done, total)``, as for :meth:`train`.

        Raises:
            ValueError: No argument at all; ``vocab_size`` is less than the tokens that have to stay; an unknown token
                in ``keep``; counts that were made in another way, as for :meth:`extend`.

        >>> tok = Tokenizer.train("ab ab ab cd", 260)
        >>> smaller, ids = tok.prune(["ab ab"])
        >>> smaller.merges, ids[260], smaller.encode("ab<|endoftext|>")
        ([(b'a', b'b'), (b' ', b'ab')], 258, [256, 258])
        >>> tok.prune({b" cd": 9}, vocab_size=258).tokenizer.merges
        [(b' ', b'c'), (b' c', b'd')]
        """
        from .training.prune import prune

        vocab, ids = prune(
            self._vocab, self._encode_pretoken, corpus, vocab_size=vocab_size, keep=keep, num_threads=num_threads,
            progress=progress,
        )  # fmt: skip
        return Pruned(self.from_vocab(vocab), ids)

    def to_ranks(self) -> Tokenizer:
        """The tokenizer of the ranks kind that gives the same ids for every text; ValueError if there is none."""
        from .vocabulary import kinds

        return self.from_vocab(kinds.to_ranks(self._vocab))

    def to_merges(self) -> Tokenizer:
        """The tokenizer with a merge list that gives the same ids for every text; every vocabulary of ranks has one."""
        from .vocabulary import kinds

        return self.from_vocab(kinds.to_merges(self._vocab))

    def with_cache(self, cache_bytes: int) -> Tokenizer:
        """The same tokenizer with another bound of the word cache; by default it has 64 MiB.

        Each thread that encodes holds one cache; it fills with the words of the text and forgets when it is full. Ids
        never depend on it, so the tokenizer is equal to this one; pickling does not keep the bound.

        Args:
            cache_bytes: The bound in bytes; 0 for no cache.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.with_cache(0).encode("ab ab") == tok.encode("ab ab")
        True
        """
        tokenizer = type(self).__new__(type(self))
        tokenizer._set(self._vocab, cache_bytes)
        return tokenizer

    def as_tiktoken(self, name: str | None = None) -> Encoding:
        """This tokenizer in the shape of ``tiktoken.Encoding``, with its methods, defaults and errors, see
        docs/tiktoken.md; a published encoding has its name.

        >>> Tokenizer.train("ab ab ab", 258).as_tiktoken().encode("<|endoftext|>", allowed_special="all")
        [258]
        """
        from .adapters.tiktoken_view import Encoding

        return Encoding(self, name or self._vocab.name or "bpetite")

    def as_tokenizers(self) -> TokenizersView:
        """This tokenizer in the shape of ``tokenizers.Tokenizer``, with its methods and its encodings, see
        docs/transformers.md. Raises as :meth:`as_transformers` does, without the package ``tokenizers``.

        >>> Tokenizer.train("ab ab ab", 258).as_tokenizers().encode("ab ab").tokens
        ['ab', 'Ġab']
        """
        from .adapters import adapter

        view: TokenizersView = adapter("tokenizers_view", "as_tokenizers()", "tokenizers").as_tokenizers(self)
        return view

    def as_transformers(self, **options: Any) -> PreTrainedTokenizerFast:
        """A ``transformers.PreTrainedTokenizerFast`` made from this tokenizer's tokenizer.json, accelerated (see
        :func:`bpetite.accelerate`), with the settings of the directory or object that this tokenizer comes from.

        Args:
            options: Those of that class, such as ``pad_token="<|pad|>"``, ``model_max_length=1024``,
                ``padding_side="left"``. Without such settings, ``eos_token`` is :attr:`eot_token` unless given.

        Raises:
            FormatError: tokenizer.json cannot hold this tokenizer; the message says why.
            MissingExtraError: ``transformers`` is not installed.
        """
        from .adapters import adapter

        fast: PreTrainedTokenizerFast = adapter("transformers", "as_transformers()").as_transformers(self, options)
        return fast

    def encode_with_offsets(
        self,
        text: Text,
        *,
        unit: Literal["characters", "bytes"] = "characters",
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
        num_threads: int | None = 1,
        add_special_tokens: bool = False,
        dropout: float | bool | None = None,
        seed: SupportsIndex | None = None,
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Token ids, and the part of the text that each token covers.

        Args:
            text: As for :meth:`encode`, and so are the arguments after ``unit``.
            unit: Count "characters", or "bytes" of the text in UTF-8.

        Returns:
            The ids, and for each of them (start, end) in the text. Spans ascend. In characters, a token that holds a
            part of a character has the whole character in its span, so neighbours may overlap. In bytes, it has its own
            bytes, except in characters that were rewritten. Inserted and rewritten text has the span that
            ``tokenizers`` gives it: a composed character has its first part's, a token of the template has (0, 0).
            White space is left out if the file says so (``trim_offsets``).

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.encode_with_offsets("ab ab")
        ([256, 257], [(0, 2), (2, 5)])
        >>> tok.encode_with_offsets("é", unit="bytes")
        ([195, 169], [(0, 1), (1, 2)])
        """
        from .engine.offsets import trimmed_offsets

        if unit not in ("characters", "bytes"):
            raise ValueError(f'unit is "characters" or "bytes", not {short_repr(unit)}')

        before, after = self._vocab.around if add_special_tokens else ((), ())
        ids = self.encode(
            text, allowed_special=allowed_special, disallowed_special=disallowed_special, num_threads=num_threads,
            dropout=dropout, seed=seed,
        )  # fmt: skip
        spans = trimmed_offsets(self, text, ids, allowed_special, unit)
        return [*before, *ids, *after], [(0, 0)] * len(before) + spans + [(0, 0)] * len(after)

    def encode_iterable(
        self,
        chunks: Iterable[Text],
        *,
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
        num_threads: int | None = 1,
        add_special_tokens: bool = False,
        dropout: float | bool | None = None,
        seed: SupportsIndex | None = None,
    ) -> Iterator[int]:
        """Yield the token ids of a text that arrives in chunks, cut anywhere: exactly the ids of :meth:`encode` for the
        joined chunks. All ids that are certain come before the next chunk is asked for, so a chunk may depend on them.
        Beside the chunk, at most twice the open pre-token is held, see :mod:`bpetite.engine.streaming`.

        Args:
            chunks: ``str``, or ``bytes`` in UTF-8 that may be cut inside a character; an open text file, for one.
            num_threads: As for the other methods; the parts of a stream are encoded on this thread alone.
            allowed_special: As for :meth:`encode`, and so are the remaining arguments and the errors.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> list(tok.encode_iterable(["a", "b<|endof", "text|> a", "b"]))
        [256, 258, 257]
        """
        from .engine import streaming

        before, after = self._vocab.around if add_special_tokens else ((), ())
        thread_count(num_threads)  # checks it
        ids = streaming.encode_iterable(
            self, chunks, allowed_special, disallowed_special, self._dropout(dropout, seed)
        )
        return chain(before, ids, after)

    def encode_padded(
        self,
        texts: Iterable[Text],
        *,
        padding: Padding = "longest",
        pad_token: str | int | None = None,
        **options: Unpack[RowOptions],
    ) -> PaddedBatch:
        """Token ids of many texts as a rectangle with its attention mask.

        Args:
            texts: The texts.
            padding: Fill up to the "longest" row, or to "max_length".
            pad_token: A special token or an id; :attr:`eot_token` when None.
            options: See :class:`bpetite.engine.call_options.RowOptions`. Tokens of ``add_special_tokens`` count in
                ``max_length`` and are never cut off.

        Returns:
            ``input_ids`` int32[rows, width], ``attention_mask`` int8[rows, width] (it unpacks into these two) and
            ``rows`` int64[rows], the index of the text that each row comes from.

        Raises:
            ValueError: Arguments that contradict each other, no token to pad with.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> input_ids, attention_mask = tok.encode_padded(["ab", "ab ab"])
        >>> input_ids.tolist(), attention_mask.tolist()
        ([[256, 258], [256, 257]], [[1, 0], [1, 1]])
        """
        from .engine.padding import Rows

        return Rows(self, texts, pad_token, options).padded(padding)

    @property
    def vocab(self) -> Mapping[int, bytes]:
        """id -> bytes of every token, special ones included; equal to the dict of the same content, and read-only."""
        return self._vocab.tokens

    @property
    def merges(self) -> Sequence[tuple[bytes, bytes]]:
        """Pairs of token bytes in rank order; empty for a vocabulary of the ranks kind. Equal to the list of the same
        content, and read-only."""
        return BytePairs(self._vocab.tokens, self._vocab.merges or ())

    @property
    def special_tokens(self) -> dict[str, int]:
        """literal -> id of the special tokens; a new dict each time."""
        return dict(self._vocab.special_tokens)

    @property
    def pattern(self) -> SplitPattern:
        """The split pattern."""
        return self._vocab.pattern

    @property
    def normalization(self) -> Normalization:
        """"NFC", "NFD", "NFKC", "NFKD", None, or rewritings of :mod:`bpetite.steps.normalizers`."""
        return self._vocab.normalization

    @property
    def template(self) -> Template | None:
        """The special tokens that ``add_special_tokens=True`` puts around a text; None for none."""
        return self._vocab.template

    @property
    def errors(self) -> ErrorHandler:
        """The codec error handler of :meth:`decode` for bytes that are not UTF-8."""
        return self._vocab.errors

    @property
    def kind(self) -> Literal["merges", "ranks"]:
        """"merges" (a merge list decides) or "ranks" (tiktoken's rule)."""
        return self._vocab.kind

    @property
    def scanner(self) -> ScannerName | Literal["pipeline"]:
        """The engine that splits text: "vector" (compiled), "regex", "none" (no pattern), "words" (none, either: cut
        where no merge joins), or "pipeline" for steps that only :mod:`bpetite.engine.pipeline` has."""
        alone = self._pipeline is None or self._pipeline.scanned_alone
        return self._pretokenizer.scanner_name if alone else "pipeline"

    @property
    def eot_token(self) -> int | None:
        """The id of the special token that ends a text, such as ``<|endoftext|>``; None when there is none."""
        return self._vocab.eot_token

    @property
    def vocab_size(self) -> int:
        """The highest id plus one: the rows that an embedding table needs. ``len(tok)`` is the number of tokens, which
        is lower where ids have gaps."""
        return self._vocab.next_id

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token.

        Raises:
            UnknownTokenError: A KeyError: no token has this id.
            TypeError: It is no int.

        >>> Tokenizer.train("ab ab ab", 258).token_bytes(257)
        b' ab'
        """
        try:
            return self._vocab.tokens[index(token_id)]
        except TypeError:
            given: object = token_id
            hint = "; token_id gives the id of a token" if isinstance(given, (str, bytes)) else ""
            raise TypeError(f"token_id is an int, not {short_repr(token_id)}{hint}") from None
        except KeyError:
            raise self._unknown(index(token_id)) from None

    def token_id(self, token: bytes | str) -> int:
        """The id of the token with these bytes, or this UTF-8 text.

        Raises:
            UnknownTokenError: A KeyError: there is no such token.
            TypeError: It is neither bytes nor str.
            UnicodeEncodeError: The text holds a lone surrogate.

        >>> Tokenizer.train("ab ab ab", 258).token_id(" ab")
        257
        """
        given: object = token
        if not isinstance(given, (str, bytes)):
            hint = "; token_bytes gives the bytes of an id" if isinstance(given, int) else ""
            raise TypeError(f"token is the bytes or the text of a token, not {short_repr(token)}{hint}")
        token_id = self._vocab.find(str.encode(token, "utf-8") if isinstance(token, str) else bytes(token))
        if token_id is None:
            raise UnknownTokenError(token, f"no token of the vocabulary has the bytes of {short_repr(token)}; encode "
                                    f"gives the ids of any text")
        return token_id

    def id_map(self, other: Tokenizer) -> NDArray[np.int64]:
        """For each id, the id in another tokenizer of the token with the same bytes.

        Args:
            other: The other tokenizer.

        Returns:
            int64[vocab_size]; -1 where there is no such token, or none that a text gives.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.id_map(Tokenizer.train("ba ab ba", 257))[[97, 256, 257, 258]].tolist()
        [97, -1, -1, 257]
        """
        import numpy as np

        if not isinstance(other, Tokenizer):
            raise TypeError(f"id_map takes the other Tokenizer, not {short_repr(other)}")
        found = np.full(self.vocab_size, -1, np.int64)
        for token_id, token in self.vocab.items():
            there = other._vocab.token_table.find_id(token)
            if there is not None:
                found[token_id] = there
        return found

    def fingerprint(self) -> str:
        """SHA-256 of the content, 64 hex digits; the same for equal tokenizers in every process and release."""
        return self._vocab.fingerprint()

    def __len__(self) -> int:
        return len(self._vocab.tokens)

    def __eq__(self, other: object) -> bool:
        return self._vocab == other._vocab if isinstance(other, Tokenizer) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._vocab)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._vocab is None:
            raise TypeError("this tokenizer has not been set up")
        return pickling.reduced(self)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        if self._vocab is None:
            raise TypeError("this tokenizer has not been set up")
        merges = f"{len(self._vocab.merges)} merges" if self._vocab.merges is not None else "ranks"
        return (f"<bpetite.Tokenizer: {len(self)} tokens, {merges}, {len(self._vocab.special_tokens)} special tokens, "
                f"scanner {self.scanner!r}>")

    if not TYPE_CHECKING:

        def __call__(self, *_: Any, **__: Any) -> Any:
            raise TypeError("a Tokenizer is not called: encode(text) gives ids, and as_transformers() an object that "
                            "is called")  # fmt: skip

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in ELSEWHERE]

    # Functions of other modules as methods; Final gives them the functions' types.
    decode_stream: Final = _decode.decode_stream
    truncate: Final = limits.truncate
    chunks: Final = limits.chunks
    encode_batch_to_arrow: Final = arrow.encode_batch_to_arrow


class Pruned(NamedTuple):
    """The result of :meth:`Tokenizer.prune`.

    Attributes:
        tokenizer: The smaller tokenizer.
        ids: old id -> new id of its tokens, in order: ``embedding[list(ids)]`` are the rows of its model.
    """

    tokenizer: Tokenizer
    ids: dict[int, int]
