"""The tokenizer: a vocabulary and the engine that runs it."""
from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from . import patterns
from .engine.outputs import Outputs
from .errors import MissingExtraError
from .patterns import BY_NAME, Pattern
from .splitting.pretokenizer import pretokenizer
from .vocabulary.vocab import Vocab

if TYPE_CHECKING:
    from .adapters.tiktoken import Encoding
    from .steps.normalizers import Normalization
    from .steps.splits import SplitPattern

__all__ = ["Tokenizer"]

Text = str | bytes
Specials = Literal["all"] | Collection[str]


class Tokenizer(Outputs):
    """Byte-level BPE: text to token ids and back, exactly.

    A tokenizer is immutable, picklable, comparable and hashable by content, and safe to share between threads and
    across fork.

    Args:
        vocab: id -> bytes.
        merges: Pairs of token bytes in rank order. None makes a vocabulary of the ranks kind (tiktoken's): a
            pre-token that is a token is taken whole, and the rank of a pair is the id of the two joined.
        special_tokens: Literals, or literal -> id. A literal that is in ``vocab`` keeps its id; others get the ids
            after the highest one, in the order given.
        pattern: The split pattern, a tuple of them (each applied inside the pieces of the one before), or None for
            no pre-tokenization. Steps beyond patterns are in :mod:`bpetite.steps.splits`.
        normalization: "NFC", "NFD", "NFKC", "NFKD" or None, applied to text between special tokens; or rewritings of
            :mod:`bpetite.steps.normalizers`.
        errors: How :meth:`decode` treats bytes that are not UTF-8: "strict", "replace" or another codec error name.

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

    # Text to ids and back is inherited: encode, encode_ordinary, encode_to_numpy, count, encode_batch,
    # encode_batch_to_numpy, decode, decode_bytes, decode_batch and decode_iterable as they are compiled (a method in
    # Python around each would cost more than a short text takes), the other forms from outputs.py.

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Iterable[tuple[bytes, bytes]] | None,
        special_tokens: Sequence[str] | Mapping[str, int] | None = None,
        *,
        pattern: SplitPattern = patterns.GPT2,
        normalization: Normalization = None,
        errors: str = "strict",
    ) -> None:
        self._set(
            Vocab.build(vocab, merges, special_tokens, pattern=pattern, normalization=normalization, errors=errors)
        )

    def _set(self, vocab: Vocab, cache_bytes: int = 64 << 20) -> None:
        self._vocab = vocab
        self._around = normalize = None
        if vocab.is_rare:
            from .engine.pipeline import Pipeline

            self._around = Pipeline(vocab)
        elif vocab.normalization is not None:
            from .steps.normalizers import normalizer

            normalize = normalizer(vocab.normalization)
        super().__init__(
            vocab.token_table,
            None if vocab.merges is None else vocab.merge_table,
            vocab.special_tokens,
            pretokenizer(vocab.pattern) if self._around is None else self._around.pretokenizer,  # type: ignore[arg-type]
            ignore_merges=vocab.ignore_merges,
            normalize=normalize,
            pipeline=self._around,
            template=vocab.template,
            errors=vocab.errors,
            cache_bytes=cache_bytes,
        )

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

    def with_cache(self, cache_bytes: int) -> Tokenizer:
        """The same tokenizer with another bound of the word cache, 64 MiB at first.

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

    # Making one: training and files. What reads or makes one is imported where it is used: who loads a tokenizer waits
    # neither for the trainer nor for other formats.

    @classmethod
    def train(
        cls,
        corpus: str | Iterable[str | bytes],
        vocab_size: int,
        *,
        special_tokens: Sequence[str] = ("<|endoftext|>",),
        special_ids: Literal["after", "before"] = "after",
        pattern: Pattern = patterns.GPT2,
        min_frequency: int = 1,
        tie_break: Literal["ids", "bytes"] = "ids",
        normalization: str | None = None,
        max_token_bytes: int | None = None,
        initial: Tokenizer | None = None,
        num_threads: int | None = None,
        progress: Callable[..., None] | None = None,
    ) -> Tokenizer:
        """Learn a tokenizer from text.

        Args:
            corpus: One text, or documents (``str`` or UTF-8 ``bytes``); it is read once and never held whole.
            vocab_size: Mergeable tokens: 256 bytes plus learned ones. Special tokens come on top.
            special_tokens: Literals that cut the corpus, take no part in any merge and get ids of their own.
            special_ids: "after" the learned tokens, or "before" the bytes.
            pattern: The split pattern, see :class:`Tokenizer`.
            min_frequency: Pairs that occur less often are not learned.
            tie_break: Among equally frequent pairs, "ids" takes the smallest (left id, right id), "bytes" the
                lexicographically greatest (left bytes, right bytes).
            normalization: Applied to the corpus, and by the tokenizer when it encodes.
            max_token_bytes: Learn no token longer than this many bytes.
            initial: Keep this tokenizer's merges and learn further ones after them.
            num_threads: Threads that count; all cores when None. The result never depends on it.
            progress: Called as training goes on, see :func:`bpetite.training.train.train`.

        Raises:
            ValueError: ``vocab_size`` below 256, or an option out of range.
            UnicodeError: Text with a lone surrogate, bytes that are not UTF-8; with the offset.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.merges
        [(b'a', b'b'), (b' ', b'ab')]
        >>> tok.encode("ab<|endoftext|>ab")
        [256, 258, 256]
        """
        from .training.train import train

        return cls.from_vocab(
            train(
                corpus,
                vocab_size,
                special_tokens=special_tokens,
                special_ids=special_ids,
                pattern=pattern,
                min_frequency=min_frequency,
                tie_break=tie_break,
                normalization=normalization,
                max_token_bytes=max_token_bytes,
                initial=None if initial is None else initial._vocab,
                num_threads=num_threads,
                progress=progress,
            )
        )

    @classmethod
    def train_from_counts(cls, counts: Mapping[bytes, int], vocab_size: int, **options: Any) -> Tokenizer:
        """Learn a tokenizer from pre-token counts, such as :func:`bpetite.count_pretokens` gives; counts of several
        machines add up, and the merges are those of training on all the text at once.

        Args:
            counts: pre-token (UTF-8 bytes) -> how often it occurs.
            vocab_size: As for :meth:`train`, and so are the options ``special_tokens``, ``special_ids``,
                ``pattern``, ``min_frequency``, ``tie_break``, ``normalization``, ``max_token_bytes``, ``initial``
                and ``progress``; pattern and normalization must be those that the counts were made with.

        Raises:
            ValueError: A negative count, ``vocab_size`` below 256.
            OverflowError: A pair occurs 2^63 times or more.

        >>> Tokenizer.train_from_counts({b"ab": 2, b" ab": 3}, 258).merges
        [(b'a', b'b'), (b' ', b'ab')]
        """
        from .training.train import train_from_counts

        initial = options.pop("initial", None)
        return cls.from_vocab(train_from_counts(counts, vocab_size, initial=initial and initial._vocab, **options))

    @classmethod
    def from_files(
        cls,
        vocab_filepath: str | os.PathLike[str],
        merges_filepath: str | os.PathLike[str],
        special_tokens: Sequence[str] | Mapping[str, int] | None = None,
    ) -> Tokenizer:
        """GPT-2's pair of files, ``vocab.json`` and ``merges.txt``, with GPT-2's split pattern.

        Raises:
            FormatError: A file is damaged; the message names file and place.
            OSError: A file cannot be read.
        """
        from .formats import gpt2

        return cls.from_vocab(gpt2.load(vocab_filepath, merges_filepath, special_tokens))

    @classmethod
    def from_tiktoken(
        cls,
        path_or_encoding: str | os.PathLike[str] | Any,
        *,
        pattern: SplitPattern = BY_NAME,
        special_tokens: Sequence[str] | Mapping[str, int] | None = None,
        name: str | None = None,
    ) -> Tokenizer:
        """A ``.tiktoken`` file (base64 token and rank a line) or a ``tiktoken.Encoding``, with the ranks rule.

        Args:
            path_or_encoding: The file, or the encoding.
            pattern: The split pattern, which a file does not hold. When not given, that of the published encoding
                which ``name`` or the file's name names: gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base,
                o200k_base, o200k_harmony.
            special_tokens: The special tokens, which a file does not hold; those of the encoding when neither they
                nor a pattern are given.
            name: The encoding that a file is of, where its own name does not say.

        Raises:
            FormatError: The file is damaged; the message names file and line. No pattern is given and the name is of
                no published encoding.
            OSError: The file cannot be read.
        """
        from .formats import tiktoken

        if isinstance(path_or_encoding, str | os.PathLike):
            return cls.from_vocab(
                tiktoken.load(path_or_encoding, pattern=pattern, special_tokens=special_tokens, name=name)
            )
        if not hasattr(path_or_encoding, "_mergeable_ranks"):
            raise TypeError(f"from_tiktoken takes a path or a tiktoken.Encoding, not {path_or_encoding!r}")
        return cls.from_vocab(tiktoken.from_encoding(path_or_encoding, pattern=pattern, special_tokens=special_tokens))

    @classmethod
    def from_huggingface(cls, source: Any) -> Tokenizer:
        """A byte-level BPE tokenizer of Hugging Face's ``tokenizers``, with the same ids.

        Args:
            source: The path of a ``tokenizer.json`` or of a directory that holds one (or vocab.json and merges.txt),
                the JSON itself, a ``tokenizers.Tokenizer``, or a ``transformers`` tokenizer with one inside.

        Raises:
            FormatError: It is damaged, not byte-level BPE, or in some part cannot be honoured; the message says which.
            OSError: A file cannot be read.
        """
        from .formats import huggingface

        return cls.from_vocab(huggingface.from_object(source))

    @classmethod
    def from_pretrained(cls, name_or_directory: str | os.PathLike[str], *, revision: str | None = None) -> Tokenizer:
        """A tokenizer by name: a local directory or file, one that ships with the package, or one of the Hugging Face
        Hub, which is asked only when the name is neither.

        Args:
            name_or_directory: "bpetite-32k", "./my-model", "openai-community/gpt2".
            revision: A branch, tag or commit of the Hub's repository.

        Raises:
            MissingExtraError: The Hub is needed, and ``huggingface_hub`` is not installed (extra ``hub``).
            OSError: The Hub does not have it or cannot be reached; in offline mode (``HF_HUB_OFFLINE=1``), it is not
                in the cache.
            FormatError: As for :meth:`load`.
        """
        from .formats import hub

        return cls.from_vocab(hub.load(name_or_directory, revision=revision))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, format: str | None = None) -> Tokenizer:
        """A tokenizer from a file in any format that bpetite knows, or by the name of one that ships with it.

        Args:
            path: A file or directory, or "bpetite-32k".
            format: "native", "huggingface", "gpt2", "tiktoken", "tekken"; found from the content when None.

        Raises:
            FormatError: The file is damaged or of no known format.
            OSError: The file cannot be read.
        """
        from . import formats

        return cls.from_vocab(formats.load(path, format=format))

    def save(self, path: str | os.PathLike[str], *, format: str | None = None, overwrite: bool = False) -> None:
        """Write the tokenizer to a file; either the whole file is there afterwards, or nothing has changed.

        Args:
            path: Where to.
            format: "native", "huggingface", "tiktoken", or "gpt2" (a directory). When None, ``tokenizer.json`` is
                huggingface, ``*.tiktoken`` is tiktoken, and any other name native.
            overwrite: Replace an existing file.

        Raises:
            FileExistsError: The file exists and ``overwrite`` is false.
            FormatError: The format cannot hold this tokenizer; the message says what. A merge list is never turned
                into ranks here, nor ranks into a merge list: see :meth:`to_ranks` and :meth:`to_merges`.
            OSError: The file cannot be written.
        """
        from . import formats

        formats.save(self._vocab, path, format=format, overwrite=overwrite)

    def to_ranks(self) -> Tokenizer:
        """The tokenizer of the ranks kind that gives the same ids for every text.

        Raises:
            ValueError: There is none; the message names what stands in the way.
        """
        from .formats import ranks

        return self.from_vocab(ranks.to_ranks(self._vocab))

    def to_merges(self) -> Tokenizer:
        """The tokenizer with a merge list that gives the same ids for every text.

        Raises:
            ValueError: There is none; the message names what stands in the way.
        """
        from .formats import ranks

        return self.from_vocab(ranks.to_merges(self._vocab))

    def as_tiktoken(self, name: str = "bpetite") -> Encoding:
        """This tokenizer in the shape of ``tiktoken.Encoding``, for code that is written against that: its methods,
        its defaults (special tokens in a text raise unless allowed), its errors. See docs/tiktoken.md.

        >>> Tokenizer.train("ab ab ab", 258).as_tiktoken().encode("<|endoftext|>", allowed_special="all")
        [258]
        """
        from .adapters.tiktoken import Encoding

        return Encoding(self, name)

    def as_transformers(self, **options: Any) -> Any:
        """This tokenizer in the shape of a fast tokenizer of ``transformers``: call it, pad, truncate, decode, hand it
        to collators and ``datasets.map``.

        Args:
            options: Those of ``transformers.PreTrainedTokenizerBase``, such as ``pad_token="<|pad|>"``,
                ``model_max_length=1024``, ``padding_side="left"``. ``eos_token`` is :attr:`eot_token` unless given.

        Returns:
            A ``transformers.PreTrainedTokenizerBase``.

        Raises:
            MissingExtraError: ``transformers`` is not installed.
        """
        try:
            from .adapters.transformers import TransformersTokenizer
        except ImportError:
            raise MissingExtraError("as_transformers()", "transformers", "transformers") from None
        return TransformersTokenizer(self, **options)

    # What is in it

    @property
    def vocab(self) -> dict[int, bytes]:
        """id -> bytes of every token, special ones included; a new dict each time."""
        return dict(self._vocab.tokens)

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """Pairs of token bytes in rank order; empty for a vocabulary of the ranks kind."""
        tokens = self._vocab.tokens
        return [(tokens[left], tokens[right]) for left, right in self._vocab.merges or ()]

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
    def errors(self) -> str:
        """How :meth:`decode` treats bytes that are not UTF-8, unless told otherwise."""
        return self._vocab.errors

    @property
    def kind(self) -> str:
        """"merges" (a merge list decides) or "ranks" (tiktoken's rule)."""
        return self._vocab.kind

    @property
    def scanner(self) -> str:
        """How text is split: "vector" or "tables" (compiled), "regex", "none" (no pattern), or "pipeline" where the
        vocabulary asks for what only :mod:`bpetite.engine.pipeline` does."""
        return "pipeline" if self._around is not None else pretokenizer(self._vocab.pattern).scanner_kind  # type: ignore[arg-type]

    @property
    def vocab_size(self) -> int:
        """One more than the highest id: the rows that an embedding table needs. ``len(tok)`` counts tokens, which is
        the same unless ids have gaps."""
        return max(self._vocab.tokens, default=-1) + 1

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token.

        Raises:
            KeyError: No token has this id.
        """
        return self._vocab.tokens[token_id]

    def token_id(self, token: bytes | str) -> int:
        """The id of the token with these bytes, or this UTF-8 text.

        Raises:
            KeyError: There is no such token.
        """
        data = token.encode("utf-8") if isinstance(token, str) else token
        try:
            return self._vocab.id_of[data]
        except KeyError:
            raise KeyError(token) from None

    def fingerprint(self) -> str:
        """SHA-256 of the content, 64 hex digits; the same for equal tokenizers in every process and release."""
        return self._vocab.fingerprint

    def __len__(self) -> int:
        return len(self._vocab.tokens)

    def __eq__(self, other: object) -> bool:
        return self._vocab == other._vocab if isinstance(other, Tokenizer) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._vocab)

    def __reduce__(self) -> tuple[Callable[[Vocab], Tokenizer], tuple[Vocab]]:
        return type(self).from_vocab, (self._vocab,)

    def __copy__(self) -> Tokenizer:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        return self

    def __repr__(self) -> str:
        merges = f"{len(self._vocab.merges)} merges" if self._vocab.merges is not None else "ranks"
        return (
            f"<bpetite.Tokenizer: {len(self)} tokens, {merges}, {len(self._vocab.special_tokens)} special tokens, "
            f"scanner {self.scanner!r}, fingerprint {self.fingerprint()[:8]}>"
        )
