"""A fast tokenizer of ``transformers`` that runs on bpetite, in place: the same object, with calls of another class."""
from __future__ import annotations

from functools import cache
from typing import Any

from transformers import PreTrainedTokenizerBase
from transformers.tokenization_utils_tokenizers import TokenizersBackend

from .calls import Calls
from .mirror import Mirror

__all__ = ["accelerate", "decelerate"]

#: What a class that overrides it does in its own way.
OVERRIDABLE = ("decode", "_decode", "batch_decode")


class Accelerated(Calls):
    """What the class of an accelerated tokenizer derives from, before its own class."""

    _accelerated: type[TokenizersBackend]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, tuple[type, dict[str, Any]]]:
        # the class of the object exists in this process only
        return _restore, (self._accelerated, dict(self.__dict__))


def _restore(kind: type, state: dict[str, Any]) -> Any:
    tokenizer = object.__new__(_class_for(kind))
    tokenizer.__dict__.update(state)
    return tokenizer


@cache
def _class_for(kind: Any) -> Any:
    own: dict[str, Any] = {
        name: getattr(kind, name)
        for name in OVERRIDABLE
        if getattr(kind, name) not in (getattr(TokenizersBackend, name), getattr(PreTrainedTokenizerBase, name))
    }
    # save_pretrained writes the name of the class
    own |= {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return type(kind.__name__, (Accelerated, kind), own | {"_accelerated": kind})


def accelerate(tokenizer: Any) -> None:
    """As :func:`bpetite.accelerate`."""
    kind: Any = type(tokenizer)
    if isinstance(tokenizer, Calls):
        return
    if not isinstance(tokenizer, TokenizersBackend):
        raise TypeError(f"accelerate takes a fast tokenizer of transformers, not {kind.__name__}")
    if kind._encode_plus is not TokenizersBackend._encode_plus:
        raise ValueError(f"accelerate: {kind.__name__} encodes in a way of its own")
    own = tokenizer.__dict__
    mirror = Mirror(own["_tokenizer"])
    if mirror.reason:
        raise ValueError(f"accelerate: {mirror.reason}")
    tokenizer.__class__ = _class_for(kind)
    own["_mirror"] = mirror


def decelerate(tokenizer: Any) -> None:
    """As :func:`bpetite.decelerate`."""
    if isinstance(tokenizer, Accelerated):
        tokenizer.__dict__.pop("_mirror", None)
        tokenizer.__class__ = tokenizer._accelerated
