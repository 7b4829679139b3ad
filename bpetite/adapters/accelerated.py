"""A fast tokenizer of ``transformers`` that encodes and decodes with bpetite; all other methods are inherited."""
from __future__ import annotations

import copy
from functools import cache
from typing import TYPE_CHECKING, Any

from transformers import BatchEncoding
from transformers.tokenization_utils_base import PaddingStrategy, TruncationStrategy

from . import tokenizers_view
from .tokenizers_encodings import Batch, Call, TwinNeeded
from .tokenizers_view import TokenizersView

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase as TokenizersBackend  # its decorator hides its type
else:
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

#: Columns that a call may return: the option, the name in the result, and the column.
RETURNED = (
    ("return_token_type_ids", "token_type_ids", "type_ids"),
    ("return_attention_mask", "attention_mask", "attention_mask"),
    ("return_special_tokens_mask", "special_tokens_mask", "special_tokens_mask"),
    ("return_offsets_mapping", "offset_mapping", "offsets"),
)


class Accelerated(TokenizersBackend):
    """Mixin between a tokenizer class and ``TokenizersBackend``; its ``_tokenizer`` is a TokenizersView."""

    _accelerated: type[TokenizersBackend]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _restored, (self._accelerated, vars(self))  # its class exists in this process only

    def _encode_plus(self, text: Any, text_pair: Any = None, **options: Any) -> BatchEncoding:
        """As the method of ``transformers``, which makes an encoding for each text and joins their columns."""
        view, get = self._tokenizer, options.get
        words, batched = get("is_split_into_words"), isinstance(text, list | tuple)
        if words:
            batched = batched and bool(text) and isinstance(text[0], list | tuple)
        overflowing = bool(get("return_overflowing_tokens"))
        try:
            if not isinstance(view, TokenizersView) or get("sanitize_control_tokens"):  # people may set another backend
                raise TwinNeeded
            call = self._call(options)
            batch = Batch(view, _inputs(text, text_pair, batched), call, overflowing=overflowing)
        except TwinNeeded:
            return super()._encode_plus(text, text_pair, **options)
        names = self.model_input_names
        data: dict[str, Any] = {"input_ids": batch.new_column("ids")}
        for option, name, column in RETURNED:
            wanted = get(option)
            if name in names if wanted is None else wanted:
                data[name] = batch.new_column(column)
        if get("return_length"):
            data["length"] = [*map(len, data["input_ids"])]
        if overflowing:
            data["overflow_to_sample_mapping"] = [*batch.sources]
        # transformers saves the settings of the last call with the tokenizer
        view.encode_special_tokens, view.truncation, view.padding = call[2:]
        for ids in data["input_ids"]:
            self._eventual_warn_about_too_long_sequence(ids, get("max_length"), get("verbose", True))
        tensors = get("return_tensors")
        if not (batched or tensors or overflowing):
            data = {key: value[0] if isinstance(value[0], list) else value for key, value in data.items()}
        result = BatchEncoding(encoding=batch, n_sequences=len(batch.texts))
        result.data = data  # not given to the constructor, which copies it item by item
        return result.convert_to_tensors(tensors) if tensors else result

    def _call(self, options: dict[str, Any]) -> Call:
        """The settings that transformers would give to the backend."""
        get = options.get
        longest, truncation, padding, split = get("max_length"), None, None, get("split_special_tokens")
        strategy = get("truncation_strategy", TruncationStrategy.DO_NOT_TRUNCATE)
        if strategy != TruncationStrategy.DO_NOT_TRUNCATE:
            truncation = {"max_length": longest, "stride": get("stride", 0), "strategy": strategy.value,
                          "direction": self.truncation_side}  # fmt: skip
        fill = get("padding_strategy", PaddingStrategy.DO_NOT_PAD)
        if fill != PaddingStrategy.DO_NOT_PAD:
            padding = {"length": longest if fill == PaddingStrategy.MAX_LENGTH else None,
                       "pad_to_multiple_of": get("pad_to_multiple_of"), "pad_id": self.pad_token_id,
                       "pad_token": self.pad_token, "pad_type_id": self.pad_token_type_id,
                       "direction": get("padding_side") or self.padding_side}  # fmt: skip
        return Call(
            get("add_special_tokens", True), bool(get("is_split_into_words")),
            self.split_special_tokens if split is None else split, truncation, padding,
        )  # fmt: skip

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **options: Any) -> Any:
        """As the method of ``transformers``, which looks at the type of each id first."""
        if type(token_ids) is list and token_ids:
            if type(token_ids[0]) is int:
                return self._decode(token_ids, skip_special_tokens, **options)
            if all(type(ids) is list and (not ids or type(ids[0]) is int) for ids in token_ids):
                return [self._decode(ids, skip_special_tokens, **options) for ids in token_ids]
        return super().decode(token_ids, skip_special_tokens, **options)

    def batch_decode(
        self, sequences: Any, skip_special_tokens: bool = False, clean_up_tokenization_spaces: bool | None = None,
        **options: Any,
    ) -> Any:
        """As the method of ``transformers``."""
        if type(sequences) is list and sequences and type(sequences[0]) is list:
            options["clean_up_tokenization_spaces"] = clean_up_tokenization_spaces
            return self.decode(sequences, skip_special_tokens, **options)
        return super().batch_decode(sequences, skip_special_tokens, clean_up_tokenization_spaces, **options)


def _inputs(text: Any, text_pair: Any, batched: bool) -> list[Any]:
    """The inputs of a call as a backend takes them; [] if they have no such form."""
    if not batched:
        return [(text, text_pair)] if text_pair else [text]
    if text_pair is None:
        return [*text]
    matches = isinstance(text_pair, list | tuple) and len(text) == len(text_pair)
    return [*zip(text, text_pair, strict=True)] if matches else []


def _restored(cls: type, state: dict[str, Any]) -> Any:
    tokenizer = object.__new__(_class_for(cls))
    tokenizer.__dict__.update(state)
    return tokenizer


@cache
def _class_for(cls: Any) -> Any:
    # methods of the class itself come first; save_pretrained writes the name of the class
    bases = (Accelerated,) if cls is TokenizersBackend else (cls, Accelerated)
    own = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    return type(cls.__name__, bases, own | {"_accelerated": cls})


def accelerate(tokenizer: Any) -> Any:
    """As :func:`bpetite.accelerate`."""
    if isinstance(tokenizer, Accelerated):
        return tokenizer
    cls = type(tokenizer)
    if not isinstance(tokenizer, TokenizersBackend):
        raise TypeError(
            f"accelerate takes a fast tokenizer of transformers or a tokenizers.Tokenizer, not {cls.__name__}"
        )
    state = {name: copy.copy(value) for name, value in vars(tokenizer).items() if name != "_tokenizer"}
    return _restored(cls, state | {"_tokenizer": tokenizers_view.accelerate(tokenizer._tokenizer)})
