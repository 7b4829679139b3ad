"""A fast tokenizer of ``transformers`` that runs on bpetite, in place: the same object, with calls of another class.

Calls that ask for offsets, words or overflow, calls that bpetite does not answer, and mistakes of the caller go to the
methods of ``transformers``.
"""
from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

from transformers import BatchEncoding, PreTrainedTokenizerBase
from transformers.tokenization_utils_base import to_py_obj
from transformers.utils import logging

from .input_rows import columns_of, encode_rows
from .mirror import Mirror, changes_of, unwatch

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase as TokenizersBackend  # its decorator hides its type
else:
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

_logger = logging.get_logger(__name__)

#: The attribute of an unpickled tokenizer or a deep copy in place of its backend: its pickle, and how often it changed.
PACKED = "_bpetite_packed"
_unpacking = RLock()


class Encodings(Sequence[Any]):
    """The encodings of a batch, made by ``tokenizers`` when one of them is asked for; pickled, a list of them."""

    def __init__(self, ids: Sequence[Sequence[int]], make: Callable[[], Sequence[Any]]) -> None:
        self._ids, self._make = ids, make

    @cached_property
    def _made(self) -> list[Any]:
        made = list(self._make())
        if [encoding.ids for encoding in made] != self._ids:
            raise RuntimeError("the tokenizer or its texts changed after the call; ask for words and offsets before")
        return made

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, index: Any) -> Any:
        return self._made[index]

    def __reduce__(self) -> tuple[type, tuple[list[Any]]]:
        return list, (self._made,)


class Accelerated(TokenizersBackend):
    """Stands before the class of a fast tokenizer, and takes over its calls and its decoding."""

    _accelerated: type[TokenizersBackend]

    @cached_property
    def _tokenizer(self) -> Any:
        """The backend. A pickle or a deep copy makes its own when asked: encoding and decoding do without."""
        own = self.__dict__
        with _unpacking:
            if PACKED in own:
                data, changes = own[PACKED]
                own["_tokenizer"] = own["_mirror"].stand_beside(pickle.loads(data), changes)
                del own[PACKED]
        return own.get("_tokenizer")

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, tuple[type, dict[str, Any]]]:
        # the class of the object exists in this process only, and a copied backend is not watched
        self._mirror_now()  # what has changed is read now: the copy takes the mirror for true
        own = dict(self.__dict__)
        if "_tokenizer" in own:
            backend = own.pop("_tokenizer")
            own[PACKED] = pickle.dumps(backend), changes_of(backend)
        return _restore, (self._accelerated, own)

    def __copy__(self) -> Any:
        return _restore(self._accelerated, {"_tokenizer": self._tokenizer} | self.__dict__)

    def _mirror_now(self, *, decoding: bool = False) -> Mirror | None:
        """The mirror, read again if the backend has changed; None if bpetite must not answer."""
        own = self.__dict__
        mirror: Mirror | None = own.get("_mirror")
        if mirror is None or ("_tokenizer" in own and not mirror.in_step(self._tokenizer, decoding)):
            mirror = own["_mirror"] = Mirror(self._tokenizer)
            if mirror.reason:
                _logger.warning(f"calls run on tokenizers, no longer on bpetite: {mirror.reason}")
        return None if mirror.reason else mirror

    def _encode_plus(self, text: Any, text_pair: Any = None, **options: Any) -> BatchEncoding:
        def original() -> BatchEncoding:
            return super(Accelerated, self)._encode_plus(text, text_pair, **options)

        mirror = self._mirror_now()
        inputs = None if mirror is None else columns_of(text, text_pair)
        if mirror is None or inputs is None:
            return original()
        columns, batched = inputs
        try:
            data = encode_rows(self, mirror, columns, options)
        except (ValueError, TypeError):  # a mistake, found by the original too, or text that bpetite refuses
            data = None
        if data is None:
            return original()
        if options.get("max_length") is None and options.get("verbose", True):
            limit = self.model_max_length
            for ids in [ids for ids in data["input_ids"] if len(ids) > limit]:
                self._eventual_warn_about_too_long_sequence(ids, None, True)
        encodings: Any = Encodings(data["input_ids"], lambda: original().encodings)
        tensors = options.get("return_tensors")
        if not (batched or tensors):
            data = {key: value[0] if isinstance(value[0], list) else value for key, value in data.items()}
        return BatchEncoding(data, encodings, tensor_type=tensors, n_sequences=len(columns))

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **options: Any) -> Any:
        """As the method of ``transformers``."""
        if type(token_ids) is list and token_ids:
            if type(token_ids[0]) is int:
                return self._decode(token_ids, skip_special_tokens, **options)
            if type(token_ids[0]) is list:
                if type(self)._decode is Accelerated._decode:
                    options["mirror"] = self._mirror_now(decoding=True)
                return [self._decode(ids, skip_special_tokens, **options) for ids in token_ids]
        return super().decode(token_ids, skip_special_tokens, **options)

    def batch_decode(
        self, sequences: Any, skip_special_tokens: bool = False, clean_up_tokenization_spaces: bool | None = None,
        **options: Any,
    ) -> Any:
        """As the method of ``transformers``, which looks at the type of each id first."""
        options["clean_up_tokenization_spaces"] = clean_up_tokenization_spaces
        if type(sequences) is list and sequences and type(sequences[0]) is list:
            return self.decode(sequences, skip_special_tokens, **options)
        return super().batch_decode(sequences, skip_special_tokens, **options)

    def _decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        mirror: Mirror | None = None,
        **options: Any,
    ) -> str:
        clean = clean_up_tokenization_spaces
        if clean is None:
            clean = self.clean_up_tokenization_spaces
        mirror = mirror or self._mirror_now(decoding=True)
        original = super()._decode
        if mirror is not None and mirror.tokenizer is not None and type(token_ids) is list:
            ids = token_ids
            if skip_special_tokens and not mirror.specials.isdisjoint(ids):
                ids = [token_id for token_id in ids if token_id not in mirror.specials]
            cleaned = clean and self.clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output
            if not cleaned and (not mirror.unlike or mirror.unlike.isdisjoint(ids)):
                try:
                    text = mirror.tokenizer.decode(ids, errors="replace")
                except (KeyError, TypeError):  # an unknown id, left out by the original, or a value that is no id
                    pass
                else:
                    if clean:
                        original([], clean_up_tokenization_spaces=True)  # says once that this does nothing to BPE
                    return text
        decoded: str = original(to_py_obj(token_ids), skip_special_tokens, clean_up_tokenization_spaces, **options)
        return decoded


def _restore(kind: type, state: dict[str, Any]) -> Any:
    tokenizer = object.__new__(_class_for(kind))
    tokenizer.__dict__.update(state)
    return tokenizer


@cache
def _class_for(kind: Any) -> Any:
    own: dict[str, Any] = {  # a class that overrides a method of decoding keeps it
        name: getattr(kind, name)
        for name in ("decode", "_decode", "batch_decode")
        if getattr(kind, name) not in (getattr(TokenizersBackend, name), getattr(PreTrainedTokenizerBase, name))
    }
    # save_pretrained writes the name of the class
    own |= {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return type(kind.__name__, (Accelerated, kind), own | {"_accelerated": kind})


def accelerate(tokenizer: Any) -> None:
    """As :func:`bpetite.accelerate`."""
    kind: Any = type(tokenizer)
    if isinstance(tokenizer, Accelerated):
        return
    if not isinstance(tokenizer, TokenizersBackend):
        raise TypeError(f"accelerate takes a fast tokenizer of transformers, not {kind.__name__}")
    if kind._encode_plus is not TokenizersBackend._encode_plus:
        raise ValueError(f"accelerate: {kind.__name__} encodes in a way of its own")
    own = tokenizer.__dict__
    mirror = Mirror(own["_tokenizer"])
    if mirror.reason:
        unwatch(own["_tokenizer"])
        raise ValueError(f"accelerate: {mirror.reason}")
    tokenizer.__class__ = _class_for(kind)
    own["_mirror"] = mirror


def decelerate(tokenizer: Any) -> None:
    """As :func:`bpetite.decelerate`."""
    if isinstance(tokenizer, Accelerated):
        tokenizer.__dict__.pop("_mirror", None)
        unwatch(tokenizer._tokenizer)
        tokenizer.__class__ = tokenizer._accelerated
