"""The names of other tokenizers that people type: an error says what they are called here."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self

#: Names of tiktoken and transformers that people type -> the name here, and the view that has theirs.
ELSEWHERE = {
    "n_vocab": ("vocab_size", "as_tiktoken()"),
    "name": ("to_vocab().name", "as_tiktoken()"),
    "tokenize": ("encode, and token_bytes of each id", "as_transformers()"),
    "pad_token": ("encode_padded(pad_token=...)", "as_transformers()"),
    "eos_token_id": ("eot_token", "as_transformers()"),
    "get_vocab": ("vocab", "as_transformers()"),
    "batch_decode": ("decode_batch", "as_transformers()"),
    "save_pretrained": ("save(folder, format='huggingface')", "as_transformers()"),
}


class _Elsewhere:
    """An attribute that a tokenizer does not have, whose error names ours. Unlike ``__getattr__``, it costs the other
    attributes nothing: with that, encoding a short text took 1.29 times as long."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, tokenizer: object, owner: type) -> Self:
        ours, view = ELSEWHERE[self.name]
        raise AttributeError(
            f"{owner.__name__!r} object has no attribute {self.name!r}; here it is {ours}, and {view} has "
            f"{self.name!r}", name=self.name, obj=tokenizer,
        )  # fmt: skip


class OwnNames(type):
    """The names of others cannot be got from a tokenizer, and stay out of ``dir`` and ``help``, too."""

    def __init__(cls, *args: Any) -> None:
        super().__init__(*args)
        for name in ELSEWHERE:
            if not hasattr(cls, name):
                setattr(cls, name, _Elsewhere(name))

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if name not in ELSEWHERE]
