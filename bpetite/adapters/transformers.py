"""A tokenizer as a fast tokenizer of ``transformers``: its own class, on the tokenizer.json of bpetite, accelerated."""
from __future__ import annotations

import inspect
import json
import os
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from transformers import AddedToken, PreTrainedTokenizerBase
from transformers.models.auto.tokenization_auto import (
    MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS,
    TOKENIZER_MAPPING_NAMES,
    tokenizer_class_from_name,
)
from transformers.tokenization_utils_tokenizers import TokenizersBackend

from ..formats import huggingface
from ..formats.files import settings_in
from ..patterns import GPT2
from ..steps.splits import PrefixSpace, SplitPattern
from .accelerated import accelerate

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

#: Settings with a default in a class of tokenizers, beside its special tokens.
SETTINGS = ("padding_side", "truncation_side", "model_input_names")


def as_transformers(tokenizer: Tokenizer, options: dict[str, Any]) -> Any:
    """As :meth:`bpetite.Tokenizer.as_transformers`."""
    beside = tokenizer.to_vocab().beside
    defaults = _defaults(beside)
    settings = defaults | settings_in(beside) if defaults else {}
    if (prefix_space := options.get("add_prefix_space", settings.get("add_prefix_space"))) is not None:
        tokenizer = _with_prefix_space(tokenizer, prefix_space)
    # errors= says nothing to a backend, and tokenizer.json has no place for it
    vocab = replace(tokenizer.to_merges().to_vocab(), errors="strict")
    files = beside | {"tokenizer.json": huggingface.dump(vocab).decode("utf-8")}
    if not beside and tokenizer.eot_token is not None:
        options.setdefault("eos_token", tokenizer.token_bytes(tokenizer.eot_token).decode("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        backed: Any = TokenizersBackend.from_pretrained(folder, **(defaults | options))
    backed.name_or_path = backed.init_kwargs["name_or_path"] = options.get("name_or_path", "")
    return accelerate(backed)


def _defaults(beside: dict[str, str]) -> dict[str, Any]:
    """Defaults of the tokenizer class of a directory or of its model type, without settings that its files have."""
    config = settings_in(beside)
    model_type = json.loads(beside.get("config.json", "{}")).get("model_type")
    name = config.get("tokenizer_class") or TOKENIZER_MAPPING_NAMES.get(model_type)
    # for byte-level BPE, AutoTokenizer takes the general class in place of these
    if not isinstance(name, str) or model_type in MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS or "Llama" in name:
        return {}
    cls = tokenizer_class_from_name(name)
    if not isinstance(cls, type) or not issubclass(cls, PreTrainedTokenizerBase):
        return {}
    defaults: dict[str, Any] = {key: getattr(cls, key) for key in SETTINGS}
    for key, parameter in inspect.signature(cls).parameters.items():
        named = key in PreTrainedTokenizerBase.SPECIAL_TOKENS_ATTRIBUTES
        if (named and isinstance(parameter.default, str | AddedToken)) or key == "add_prefix_space":
            defaults[key] = parameter.default
    return {key: value for key, value in defaults.items() if key not in config}


def _with_prefix_space(tokenizer: Tokenizer, wanted: bool) -> Tokenizer:
    """A tokenizer with GPT-2's pattern that puts a space before a text, or does not, as the classes of
    ``transformers`` that have this option set it in ``ByteLevel``."""
    vocab = tokenizer.to_vocab()
    patterns_of: dict[bool, SplitPattern] = {False: GPT2, True: (PrefixSpace(), GPT2)}
    if vocab.pattern not in patterns_of.values() or vocab.pattern == patterns_of[wanted]:
        return tokenizer
    return type(tokenizer).from_vocab(replace(vocab, pattern=patterns_of[wanted]))
