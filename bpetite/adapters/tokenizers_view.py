"""A tokenizer in the shape of ``tokenizers.Tokenizer``, and its Rust twin, a ``tokenizers.Tokenizer``.

bpetite encodes and decodes; the twin does everything else. What people set is set on the twin, and then bpetite reads
the twin's tokenizer.json again. The twin is made when it is first needed.
"""
from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn

from tokenizers import Tokenizer as Twin
from tokenizers import models

from ..atomic import write_file
from ..bytelevel import encode_token
from ..formats import huggingface
from ..steps.template import BARE, TemplatePart
from ..vocabulary.vocab import QUIET_FLAGS
from .agreement import require_agreement
from .tokenizers_encodings import Batch, Call, TwinNeeded

if TYPE_CHECKING:
    from tokenizers import Encoding as TwinEncoding

    from ..tokenizer import Tokenizer

#: Characters that ``\w`` has in Unicode 16.0 or in ``tokenizers``, not in both.
OTHERWISE_IN_WORDS = "\xb2\xb3\xb9\xbc\xbd\xbe\u200c\u200d"


class Snapshot:
    """The content of a ``tokenizers.Tokenizer``, as bpetite reads it; it never changes.

    Args:
        tokenizer: The tokenizer.
        post_processor: The post-processor as tokenizer.json has it.

    Attributes:
        parts: (number of texts, with special tokens) -> the parts of the template; () if it takes no pairs.
        added: The number of special tokens around a single text.
        trims_twice: True if two steps of the post-processor trim offsets.
        skipped: Ids that ``skip_special_tokens`` leaves out.
        has_plain: True if some added tokens are not special.
        spelled: id -> token as the vocabulary spells it, None for unknown ids.
        lengths: id -> length in bytes.
        spelled_otherwise: Ids that a text may spell differently than the vocabulary.
        decoded_otherwise: Ids of added tokens that ``tokenizers`` may decode to another text.
        one_template: False if a second template follows the first, and changes the numbers of the texts.
    """

    def __init__(self, tokenizer: Tokenizer, post_processor: Any) -> None:
        vocab = tokenizer.to_vocab()
        if vocab.dropout:
            raise ValueError("the model leaves out merges at random (dropout)")
        self.tokenizer: Tokenizer = tokenizer
        self.post_processor: Any = post_processor
        ids, flags_of = vocab.special_tokens, vocab.token_flags.items()
        normalized = {ids[word] for word, flags in flags_of if "normalized" in flags}  # decoded to normalized text
        template = tokenizer.template or BARE
        self.parts: dict[tuple[int, bool], tuple[TemplatePart, ...]] = {
            (1, True): template.single, (1, False): template.bare.single,
            (2, True): template.pair, (2, False): template.bare.pair,
        }  # fmt: skip
        self.added: int = sum(len(part.ids) for part in template.single)
        self.trims_twice: bool = len(template.trim_offsets) > 1
        self.skipped: frozenset[int] = vocab.skipped - normalized
        self.has_plain: bool = any("plain" in flags for _, flags in flags_of)
        self.spelled: Callable[[int], Any] = cache(self._spell)
        self.lengths: Callable[[int], int] = cache(lambda token_id: len(vocab.tokens[token_id]))
        self._literals = {token_id: literal for literal, token_id in ids.items()}
        steps = post_processor.get("processors", [post_processor]) if post_processor else []
        named = [pair for step in steps for pair in _named_by(step)]
        self.spelled_otherwise: frozenset[int] = frozenset((
            *(token_id for token, token_id in named if self.spelled(token_id) != token),
            *(ids[word] for word, flags in flags_of if not QUIET_FLAGS.issuperset(flags)),
            *vocab.aliases.values(), *vocab.unreachable,
        ))  # fmt: skip
        odd = {token_id for word, token_id in ids.items() if not word.isascii() or word.startswith("<0x")}
        self.decoded_otherwise: frozenset[int] = frozenset(odd | normalized)
        self.one_template: bool = all(step["type"] == "ByteLevel" for step in steps[:-1])
        self._unlike = OTHERWISE_IN_WORDS if "\\w" in repr(vocab.pattern) else ""

    def _spell(self, token_id: int) -> str | None:
        vocab, literal = self.tokenizer.to_vocab(), self._literals.get(token_id)
        token = vocab.tokens.get(token_id)
        if literal is not None or token is None:
            return literal
        return encode_token(token) if vocab.alphabet is None else vocab.alphabet.spell(token, token_id)

    def reads_alike(self, texts: Iterable[str]) -> bool:
        """True for texts whose characters are in the same classes in bpetite and in ``tokenizers``."""
        return not self._unlike or not any(char in text for text in texts for char in self._unlike)


def _named_by(step: dict[str, Any]) -> list[tuple[str, int]]:
    """(token, id) of the special tokens that a post-processor names."""
    entries = step.get("special_tokens", {}).values()
    pairs = [pair for entry in entries for pair in zip(entry["tokens"], entry["ids"], strict=True)]
    return [*pairs, *(step[key] for key in ("cls", "sep") if key in step)]


def read(backend: Any, content: str) -> Snapshot:
    """The snapshot of a ``tokenizers.Tokenizer`` with this tokenizer.json.

    Raises:
        ValueError: bpetite cannot reproduce this tokenizer; the message says why.
    """
    from ..tokenizer import Tokenizer

    tokenizer = Tokenizer.from_vocab(huggingface.from_object(content))
    processor = backend.post_processor
    return Snapshot(tokenizer, None if processor is None else json.loads(processor.__getstate__()))


class BPE:
    """The model of a view, to look at; transformers asks for the name of this class."""

    def __init__(self, view: TokenizersView) -> None:
        vars(self)["_view"] = view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view.twin.model, name)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{name} of the model cannot be set alone: change a models.BPE and set view.model to it")


def _copy(name: str, value: Any) -> Any:
    """A copy of a part; not all of them can be pickled."""
    alone = Twin(models.BPE())
    setattr(alone, name, value)
    return getattr(Twin.from_str(alone.to_str()), name)


def _part(name: str) -> Any:
    def copied(view: TokenizersView) -> Any:
        return _copy(name, getattr(view.twin, name))

    return property(copied, lambda view, value: view._set(name, value), doc=f"A copy of the {name}; None for none.")


class TokenizersView:
    """A tokenizer with the methods of ``tokenizers.Tokenizer``, see :meth:`bpetite.Tokenizer.as_tokenizers`.

    A part that is read, such as ``pre_tokenizer``, is a copy: set it to change it. Threads may share a view.

    Args:
        content: Its tokenizer.json.
        snapshot: What bpetite has read of it.
        twin: A ``tokenizers.Tokenizer`` with this content that nobody else has; None to make one when it is needed.
    """

    def __init__(self, content: str, snapshot: Snapshot, twin: Twin | None = None) -> None:
        self._content: str | None = content  # None after a change
        self._snapshot: Snapshot | None = snapshot
        self._twin: Twin | None = twin
        self.lock: Any = RLock()
        self.truncation: dict[str, Any] | None = None
        self.padding: dict[str, Any] | None = None
        self.encode_special_tokens: bool = False

    def __reduce__(self) -> Any:
        snapshot, settings = self.snapshot, (self.truncation, self.padding, self.encode_special_tokens)
        content = self._content or self.twin.to_str()
        return _restored, (content, snapshot.tokenizer, snapshot.post_processor, settings)

    def __repr__(self) -> str:
        return f"<TokenizersView of {self.snapshot.tokenizer!r}>"

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of the twin as it is now.

        Raises:
            ValueError: Tokens were added with which bpetite cannot run.
        """
        snapshot = self._snapshot
        if snapshot is None:
            with self.lock:
                snapshot = self._snapshot = self._snapshot or read(self.twin, self.twin.to_str())
        return snapshot

    @property
    def twin(self) -> Twin:
        """The ``tokenizers.Tokenizer`` that answers what bpetite does not; its settings are those of the last call."""
        if self._twin is None:
            with self.lock:
                if self._twin is None:
                    self._twin = Twin.from_str(self._content or "")
        return self._twin

    def _configured(self, call: Call) -> Twin:
        """The twin with the settings of a call; the caller holds the lock."""
        twin = self.twin
        for name, wanted in (("truncation", call.truncation), ("padding", call.padding)):
            if wanted is None:
                getattr(twin, f"no_{name}")()
            else:
                getattr(twin, f"enable_{name}")(**wanted)
        twin.encode_special_tokens = call.encode_special_tokens
        return twin

    # Text to encodings

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        """The encoding of a text or of a pair."""
        inputs = [sequence if pair is None else (sequence, pair)]
        return self.encode_batch(inputs, is_pretokenized, add_special_tokens)[0]

    def encode_batch(self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True) -> list[Any]:
        """The encodings of texts or of pairs: :class:`.tokenizers_encodings.RowEncoding` or ``tokenizers.Encoding``."""
        call = Call(add_special_tokens, is_pretokenized, self.encode_special_tokens, self.truncation, self.padding)
        inputs, snapshot = [*input], self.snapshot
        try:
            return [*Batch(self, inputs, call)]
        except TwinNeeded:
            return self.encode_on_twin(inputs, call, snapshot)

    encode_batch_fast = encode_batch

    def encode_on_twin(self, inputs: Sequence[Any], call: Call, snapshot: Snapshot) -> list[TwinEncoding]:
        """The encodings that ``tokenizers`` gives.

        Raises:
            RuntimeError: The tokenizer was changed after it was read.
            ValueError: ``tokenizers`` panicked.
        """
        with self.lock:
            if self._snapshot is not snapshot:
                raise RuntimeError("the tokenizer changed after the call; ask for this column before")
            try:
                return self._configured(call).encode_batch(
                    inputs, is_pretokenized=call.is_pretokenized, add_special_tokens=call.add_special_tokens
                )
            except BaseException as error:
                if type(error).__name__ != "PanicException":  # which is no Exception, and stops a server
                    raise
                raise ValueError(f"tokenizers failed: {error}") from None

    # Ids to text

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        """The text of ids; ids without a token give nothing."""
        snapshot = self.snapshot
        try:
            kept = ids
            if skip_special_tokens and not snapshot.skipped.isdisjoint(ids):
                kept = [token_id for token_id in ids if token_id not in snapshot.skipped]
            if not snapshot.decoded_otherwise or snapshot.decoded_otherwise.isdisjoint(kept):
                return snapshot.tokenizer.decode(kept, errors="replace")
        except (LookupError, TypeError, ValueError, OverflowError):
            pass
        return self.twin.decode(ids, skip_special_tokens)

    def decode_batch(self, sequences: Any, skip_special_tokens: bool = True) -> list[str]:
        """:meth:`decode` of many."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    # Tokens: methods of the twin, bound once

    get_added_tokens_decoder: Any = cached_property(lambda view: view.twin.get_added_tokens_decoder)
    get_vocab: Any = cached_property(lambda view: view.twin.get_vocab)
    get_vocab_size: Any = cached_property(lambda view: view.twin.get_vocab_size)
    id_to_token: Any = cached_property(lambda view: view.twin.id_to_token)
    num_special_tokens_to_add: Any = cached_property(lambda view: view.twin.num_special_tokens_to_add)
    token_to_id: Any = cached_property(lambda view: view.twin.token_to_id)

    def add_tokens(self, tokens: list[Any]) -> int:
        """Add tokens; returns the number of new ones."""
        return self._changed(lambda twin: twin.add_tokens(tokens))

    def add_special_tokens(self, tokens: list[Any]) -> int:
        """Add special tokens; returns the number of new ones."""
        return self._changed(lambda twin: twin.add_special_tokens(tokens))

    def _changed(self, change: Callable[[Twin], int]) -> int:
        with self.lock:
            twin = self.twin
            self._content = self._snapshot = None  # read again when it is used: people add tokens one by one
            return change(twin)

    # Settings

    def enable_truncation(self, max_length: int, **options: Any) -> None:
        """Truncate rows from now on."""
        with self.lock:
            self.truncation = self._configured(Call(truncation={"max_length": max_length, **options})).truncation

    def no_truncation(self) -> None:
        """Stop truncating."""
        self.truncation = None

    def enable_padding(self, **options: Any) -> None:
        """Pad rows from now on."""
        with self.lock:
            self.padding = self._configured(Call(padding=options)).padding

    def no_padding(self) -> None:
        """Stop padding."""
        self.padding = None

    def to_str(self, pretty: bool = False) -> str:
        """The tokenizer.json."""
        with self.lock:
            call = Call(truncation=self.truncation, padding=self.padding)
            return self._configured(call).to_str(pretty)

    def save(self, path: str, pretty: bool = True) -> None:
        """Write the tokenizer.json."""
        write_file(path, self.to_str(pretty).encode(), overwrite=True)

    normalizer: Any = _part("normalizer")
    pre_tokenizer: Any = _part("pre_tokenizer")
    post_processor: Any = _part("post_processor")
    decoder: Any = _part("decoder")
    model: Any = property(BPE, lambda view, value: view._set("model", value), doc="The model, to look at or to set.")

    def _set(self, name: str, value: Any) -> None:
        """Set a part, or raise ValueError and leave everything as it was."""
        with self.lock:
            twin = self.twin
            before = getattr(twin, name)
            setattr(twin, name, _copy(name, value))
            try:
                self._snapshot = read(twin, twin.to_str())
            except ValueError:
                setattr(twin, name, before)
                raise
            self._content = None


def _restored(content: str, tokenizer: Tokenizer, post_processor: Any, settings: tuple[Any, ...]) -> TokenizersView:
    view = TokenizersView(content, Snapshot(tokenizer, post_processor))
    view.truncation, view.padding, view.encode_special_tokens = settings
    return view


def as_tokenizers(tokenizer: Tokenizer) -> TokenizersView:
    """As :meth:`bpetite.Tokenizer.as_tokenizers`."""
    vocab = replace(tokenizer.to_merges().to_vocab(), errors="strict")  # tokenizer.json has no place for errors
    content = huggingface.dump(vocab).decode("utf-8")
    twin = Twin.from_str(content)
    return TokenizersView(content, read(twin, content), twin)


def accelerate(backend: Twin | TokenizersView) -> TokenizersView:
    """As :func:`bpetite.accelerate`, of a ``tokenizers.Tokenizer`` with its settings."""
    if isinstance(backend, TokenizersView):
        return backend
    plain, content = backend, backend.to_str()
    try:
        view = TokenizersView(content, read(backend, content))
        if backend.truncation is not None or backend.padding is not None or backend.encode_special_tokens:
            plain = view._configured(Call())
        require_agreement(plain, view)
    except ValueError as error:
        raise ValueError(f"accelerate: {error}") from None
    view.truncation, view.padding = backend.truncation, backend.padding
    view.encode_special_tokens = backend.encode_special_tokens
    return view
