"""Calls, batches and decoding of a fast tokenizer of ``transformers`` that run on bpetite.

What bpetite does not do, and every mistake of a caller, goes to the methods of ``transformers``, which answer as ever.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, cast

from transformers import BatchEncoding
from transformers.tokenization_utils_base import PaddingStrategy, TruncationStrategy, to_py_obj
from transformers.utils import logging

from ..engine.offsets import TokenOrigins, trace_tokens
from ..steps.template import BARE
from .mirror import ALONE, Mirror, references
from .rows import Row, Sample, build_row, join_words, truncate

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase as TokenizersBackend  # its decorator hides its type

    from ..tokenizer import Tokenizer
else:
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

__all__ = ["Calls", "Encodings"]

#: The names in the module whose methods of the backend only read, or are replaced below.
READERS: dict[str, Any] = vars(sys.modules[TokenizersBackend.__module__])
#: Values of TOKENIZERS_PARALLELISM that mean one thread, as ``tokenizers`` reads them.
ONE_THREAD = frozenset(("off", "false", "f", "no", "n", "0"))

_logger = logging.get_logger(__name__)


class Encodings(Sequence[Any]):
    """The encodings of a batch, made when one of them is asked for; pickled, a list of them."""

    def __init__(self, length: int, make: Callable[[], Sequence[Any]]) -> None:
        self._length, self._make = length, make

    @cached_property
    def _made(self) -> list[Any]:
        return list(self._make())

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        return self._made[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._made)

    def __reduce__(self) -> tuple[type, tuple[list[Any]]]:
        return list, (self._made,)


class Calls(TokenizersBackend):
    """Goes in front of a class of fast tokenizers, whose calls and decoding it takes over.

    An instance holds the backend, its :class:`Mirror`, or both; of the two, the backend is what counts.
    """

    # The backend

    @property
    def _tokenizer(self) -> Any:
        # the methods of transformers read it; everybody else may add tokens to it
        backend = self._backend()
        if sys._getframe(1).f_globals is not READERS:
            self._touch()
        return backend

    @_tokenizer.setter
    def _tokenizer(self, backend: Any) -> None:
        self.__dict__["_tokenizer"] = backend
        self.__dict__.pop("_mirror", None)

    @property
    def backend_tokenizer(self) -> Any:
        """The ``tokenizers.Tokenizer``. What is changed in it changes the results of calls."""
        backend = self._backend()
        self._touch()
        return backend

    def _backend(self) -> Any:
        return self.__dict__.get("_tokenizer")

    def _touch(self) -> None:
        if (mirror := self.__dict__.get("_mirror")) is not None:
            mirror.touched = True

    def _add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:
        self._touch()
        added: int = super()._add_tokens(new_tokens, special_tokens)
        return added

    def _current(self, *, decoding: bool = False) -> Mirror | None:
        """What gives the same as the backend does now; None where nothing of bpetite does."""
        own = self.__dict__
        mirror: Mirror | None = own.get("_mirror")
        if "_tokenizer" in own:
            held = references(own) > ALONE
            if mirror is None or not mirror.in_step(own["_tokenizer"], held, decoding):
                mirror = own["_mirror"] = Mirror(own["_tokenizer"])
                mirror.touched = held
                if mirror.reason:
                    _logger.warning(f"calls run on tokenizers, no longer on bpetite: {mirror.reason}")
        return None if mirror is None or mirror.reason else mirror

    # Text to ids

    def _encode_plus(self, text: Any, text_pair: Any = None, **options: Any) -> BatchEncoding:
        def original() -> BatchEncoding:
            return super(Calls, self)._encode_plus(text, text_pair, **options)

        mirror = self._current()
        inputs = None if mirror is None else _inputs(text, text_pair, options.get("is_split_into_words", False))
        if mirror is None or inputs is None:
            return original()
        columns, batched = inputs
        try:
            made = _Call(self, mirror, columns, batched, **options).run(original)
        except (ValueError, TypeError):  # a mistake, which the original finds too, or text that bpetite refuses
            made = None
        return original() if made is None else made

    # Ids to text

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **options: Any) -> Any:
        """As the method of ``transformers``."""
        if type(token_ids) is list and token_ids:
            if type(token_ids[0]) is int:
                return self._decode(token_ids, skip_special_tokens, **options)
            if type(token_ids[0]) is list:
                return [self._decode(ids, skip_special_tokens, **options) for ids in token_ids]
        return super().decode(token_ids, skip_special_tokens, **options)

    def _decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **options: Any,
    ) -> str:
        clean = clean_up_tokenization_spaces
        if clean is None:
            clean = self.clean_up_tokenization_spaces
        mirror = self._current(decoding=True)
        original = super()._decode
        if mirror is not None and mirror.tokenizer is not None and type(token_ids) is list:
            ids = token_ids
            if skip_special_tokens and not mirror.specials.isdisjoint(ids):
                ids = [token_id for token_id in ids if token_id not in mirror.specials]
            cleaned = clean and self.clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output
            if not cleaned and (not mirror.unlike or mirror.unlike.isdisjoint(ids)):
                try:
                    text = mirror.tokenizer.decode(ids, errors="replace")
                except (KeyError, TypeError):  # an unknown id, which the original leaves out; what is no id
                    pass
                else:
                    if clean:
                        original([], clean_up_tokenization_spaces=True)  # says once that this does nothing to BPE
                    return text
        found: str = original(to_py_obj(token_ids), skip_special_tokens, clean_up_tokenization_spaces, **options)
        return found


class _Call:
    """One call, with the options of ``TokenizersBackend._encode_plus``.

    Args:
        owner: The tokenizer that is called.
        mirror: What runs.
        columns: The first texts, and for pairs the second ones.
        batched: Whether they were given as a batch.
    """

    def __init__(
        self,
        owner: Calls,
        mirror: Mirror,
        columns: Sequence[Sequence[Any]],
        batched: bool,
        add_special_tokens: bool = True,
        padding_strategy: Any = PaddingStrategy.DO_NOT_PAD,
        truncation_strategy: Any = TruncationStrategy.DO_NOT_TRUNCATE,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: Any = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        verbose: bool = True,
        split_special_tokens: bool | None = None,
        sanitize_control_tokens: bool = False,
        **_: Any,
    ) -> None:
        self.owner, self.mirror, self.columns = owner, mirror, columns
        self.tokenizer = cast("Tokenizer", mirror.tokenizer)
        self.add_special_tokens = add_special_tokens
        template = self.tokenizer.template or BARE
        self.template = template if add_special_tokens else template.bare
        self.padding, self.max_length, self.multiple = padding_strategy, max_length, pad_to_multiple_of or 1
        self.side = padding_side or owner.padding_side
        self.truncation = TruncationStrategy(truncation_strategy)
        self.limit = None if self.truncation == TruncationStrategy.DO_NOT_TRUNCATE else max_length
        self.stride, self.as_words, self.tensors = stride, is_split_into_words, return_tensors
        names = owner.model_input_names
        self.types = "token_type_ids" in names if return_token_type_ids is None else return_token_type_ids
        self.attention = "attention_mask" in names if return_attention_mask is None else return_attention_mask
        self.overflow, self.special_mask = return_overflowing_tokens, return_special_tokens_mask
        self.offsets, self.length, self.verbose = return_offsets_mapping, return_length, verbose
        self.split_special = owner.split_special_tokens if split_special_tokens is None else split_special_tokens
        self.sanitize = sanitize_control_tokens
        self.one = not (batched or return_tensors is not None or return_overflowing_tokens)
        self.parts = self.template.single if len(columns) == 1 else self.template.pair
        self.room = None if self.limit is None else self.limit - sum(len(part.ids) for part in self.parts)

    def run(self, original: Callable[[], BatchEncoding]) -> BatchEncoding | None:
        """The result; None where the original has to give it."""
        paired, mirror = len(self.columns) > 1, self.mirror
        if self.sanitize or not self.parts or (self.overflow and paired) or (self.offsets and not mirror.reads_offsets):
            return None
        if self.split_special and mirror.plain:  # where these overlap special tokens, it finds others
            return None
        if self.limit is not None and self.room is not None:
            if self.limit < 1 or self.room < 0 or not 0 <= self.stride < max(self.room, 1):
                return None
            if self.stride if paired else self.truncation == TruncationStrategy.ONLY_SECOND:
                return None
        texts = chain.from_iterable(self.columns)
        if not mirror.trusted(chain.from_iterable(texts) if self.as_words else texts):
            return None
        data, encodings = None, None
        if not (self.as_words or self.overflow or self.offsets):
            data = self._lists()
        if data is None:
            rows = self._rows()
            data, encodings = self._data_of(rows), [row for _, row in rows]
        if not mirror.reads_offsets:
            lazy: Any = Encodings(len(data["input_ids"]), lambda: original().encodings)
        else:
            lazy = encodings or Encodings(len(data["input_ids"]), lambda: [row for _, row in self._rows()])
        if self.max_length is None and self.verbose:
            for ids in data["input_ids"]:
                self.owner._eventual_warn_about_too_long_sequence(ids, None, True)
        if self.one:
            data = {key: value[0] if isinstance(value[0], list) else value for key, value in data.items()}
        return BatchEncoding(data, lazy, tensor_type=self.tensors, n_sequences=len(self.columns))

    def _encode(self, texts: Sequence[Any], *, add: bool) -> list[list[int]]:
        options: dict[str, Any] = {"allowed_special": ()} if self.split_special else {}
        if len(texts) == 1:
            return [self.tokenizer.encode(texts[0], add_special_tokens=add, **options)]
        alone = os.environ.get("TOKENIZERS_PARALLELISM", "").lower() in ONE_THREAD
        found: list[list[int]] = self.tokenizer.encode_batch(
            texts, num_threads=1 if alone else None, add_special_tokens=add, **options
        )
        return found

    def _width(self, lengths: Iterable[int]) -> int:
        """How wide rows are padded; 0 for not at all."""
        if self.padding == PaddingStrategy.DO_NOT_PAD:
            return 0
        fixed = self.padding == PaddingStrategy.MAX_LENGTH and self.max_length is not None
        width = self.max_length if fixed and self.max_length is not None else max(lengths, default=0)
        return -(-width // self.multiple) * self.multiple

    def _lists(self) -> dict[str, list[Any]] | None:
        """What rows hold, without rows; None where pairs have to be cut."""
        sizes: list[list[int]] = []  # tokens of each part of the template
        if len(self.columns) == 1:
            ids = self._encode(self.columns[0], add=self.add_special_tokens)
            if self.limit is not None and self.room is not None:
                before, after = self.template.around()
                first, room, limit = len(before), self.room, self.limit
                for number, row in enumerate(ids):
                    if len(row) > limit:
                        body = row[first : len(row) - len(after)]
                        kept = body[:room] if self.owner.truncation_side == "right" else body[len(body) - room :]
                        ids[number] = [*before, *kept, *after]
            if self.types or self.special_mask:
                around = sum(len(part.ids) for part in self.parts)
                sizes = [[len(row) - around if part.text else len(part.ids) for part in self.parts] for row in ids]
        else:
            ids = []
            for texts in zip(*[self._encode(column, add=False) for column in self.columns], strict=True):
                if self.room is not None and sum(map(len, texts)) > self.room:
                    return None
                pieces = [texts["AB".index(part.text)] if part.text else part.ids for part in self.parts]
                ids.append([*chain.from_iterable(pieces)])
                sizes.append([*map(len, pieces)])
        lengths = [len(row) for row in ids]
        width = self._width(lengths)

        def padded(rows: list[list[int]], filler: int) -> list[list[int]]:
            if not width:
                return rows
            if self.side == "left":
                return [[filler] * (width - len(row)) + row for row in rows]
            return [row + [filler] * (width - len(row)) for row in rows]

        def of_parts(values: Sequence[int]) -> list[list[int]]:
            return [[*chain.from_iterable(map(repeat, values, row))] for row in sizes]

        # in the order of the original
        data: dict[str, list[Any]] = {"input_ids": padded(ids, self.owner.pad_token_id if width else 0)}
        if self.types:
            types = of_parts([part.type_id for part in self.parts])
            data["token_type_ids"] = padded(types, self.owner.pad_token_type_id)
        if self.attention:
            data["attention_mask"] = padded([[1] * length for length in lengths], 0)
        if self.special_mask:
            data["special_tokens_mask"] = padded(of_parts([int(not part.text) for part in self.parts]), 1)
        if self.length:
            data["length"] = [max(length, width) for length in lengths]
        return data

    def _rows(self) -> list[tuple[int, Row]]:
        """All rows, each with the number of its text."""
        rows: list[tuple[int, Row]] = []
        for number, sample in enumerate(self._samples()):
            lengths = [len(ids) for ids in sample.ids]
            side = self.owner.truncation_side
            cuts = truncate(lengths, self.room, self.truncation.value, side, self.stride, self.overflow)
            rows += [(number, build_row(sample, spans, self.template)) for spans in cuts]
        if width := self._width(len(row) for _, row in rows):
            for _, row in rows:
                row.pad(width, self.owner.pad_token_id, self.owner.pad_token_type_id, self.side)
        return rows

    def _samples(self) -> list[Sample]:
        """All inputs; the first texts are encoded in one call, the second texts in another."""
        encoded: list[list[list[list[int]]]] = []  # the ids of each word of each text; without words a text is one
        for column in self.columns:
            words = [list(text) if self.as_words else [text] for text in column]
            ids = iter(self._encode([word for text in words for word in text], add=False))
            encoded.append([[next(ids) for _ in text] for text in words])
        options: dict[str, Any] = {"allowed_special": ()} if self.split_special else {}

        def trace(text: str, ids: list[int]) -> TokenOrigins:
            return trace_tokens(self.tokenizer, text, ids, **options)

        def sample(texts: Sequence[Any], found: Sequence[list[list[int]]]) -> Sample:
            def origins(text: int) -> TokenOrigins:
                if self.as_words:
                    return join_words(list(zip(texts[text], found[text], strict=True)), trace)
                return trace(texts[text], found[text][0])

            ids = [words[0] if len(words) == 1 else [*chain.from_iterable(words)] for words in found]
            return Sample(ids, origins, self.owner._convert_id_to_token)

        return [sample(*one) for one in zip(zip(*self.columns, strict=True), zip(*encoded, strict=True), strict=True)]

    def _data_of(self, numbered: Sequence[tuple[int, Row]]) -> dict[str, list[Any]]:
        rows = [row for _, row in numbered]
        data: dict[str, list[Any]] = {"input_ids": [row.ids for row in rows]}
        if self.types:
            data["token_type_ids"] = [row.type_ids for row in rows]
        if self.attention:
            data["attention_mask"] = [row.attention_mask for row in rows]
        if self.special_mask:
            data["special_tokens_mask"] = [row.special_tokens_mask for row in rows]
        if self.offsets:
            data["offset_mapping"] = [row.offsets for row in rows]
        if self.length:
            data["length"] = [len(row) for row in rows]
        if self.overflow:
            data["overflow_to_sample_mapping"] = [number for number, _ in numbered]
        return data


def _inputs(text: Any, text_pair: Any, as_words: bool) -> tuple[list[Sequence[Any]], bool] | None:
    """First texts and second texts if there are any, and whether it is a batch; None for what the original judges."""
    batched = isinstance(text, list | tuple)
    if as_words:
        if not batched:
            return None
        batched = len(text) > 0 and isinstance(text[0], list | tuple)
    if not batched:
        columns: list[Sequence[Any]] = [[text], [text_pair]] if text_pair else [[text]]
    elif not text:
        return None
    elif text_pair is None:
        columns = [text]
        if not as_words and isinstance(text[0], list | tuple):
            if not all(isinstance(one, list | tuple) and len(one) == 2 for one in text):
                return None
            columns = [[one[0] for one in text], [one[1] for one in text]]
    elif isinstance(text_pair, list | tuple) and len(text) == len(text_pair):
        columns = [text, text_pair]
    else:
        return None
    for column in columns:
        if as_words and not all(isinstance(one, list | tuple) for one in column):
            return None
        if not all(isinstance(one, str) for one in (chain.from_iterable(column) if as_words else column)):
            return None
    return columns, batched
