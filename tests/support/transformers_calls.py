"""Calls of a fast tokenizer of ``transformers`` whose results are compared."""
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from huggingface_zoo import HARD, build
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

TEXTS = ["hello world", "", "The quick brown fox, doesn't it? We'll see 1234567", "naïve café 中文 🙂", "a"]
TEXTS += ["<mask> foo </s>"]
PAIRS = ["another text", "b", "", "longer than the first one, 12345 67", "x y z", "end"]
NAMES = ["gpt2", "roberta", "bert ends", "template", "cl100k", "added words", "neox", "llama 3, trimmed"]


def plain(found: Any) -> Any:
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in found.items()}


#: What is given to a call, right or wrong.
INPUTS: list[tuple[Any, ...]] = [
    ("hello world",), ("hello", "world"), (TEXTS,), (tuple(TEXTS),), (TEXTS, PAIRS), (HARD, HARD[::-1]), ("a b c", ""),
    ([("a b", "c"), ("d", "e f g")],), (["a", "b"], [HARD[9] * 3, "c"]), ("<s>a</s><|endoftext|>",),
    ([["a", "b c"], [], ["foo"]],), (["hello", " <mask> world", "", "é🙂"], ["a", " b"]), ([[["a"], ["b"]]],), ([[]],),
    (7,), ([7],), ([],), ("\ud800",), (["a", "b"], ["c"]), (["a", "b"], "c"), ([("a", "b"), "c"],), ("a b", ["c"]),
]
FLAGS = ("add_special_tokens", "is_split_into_words", "split_special_tokens", "return_token_type_ids", "return_length",
         "return_attention_mask", "return_special_tokens_mask", "return_offsets_mapping", "return_overflowing_tokens")
OPTIONS = st.fixed_dictionaries({}, optional={
    "padding": st.sampled_from([True, False, "max_length"]), "padding_side": st.sampled_from(["left", "right"]),
    "truncation": st.sampled_from([True, False, "only_first", "only_second", "longest_first"]),
    "max_length": st.integers(0, 40), "stride": st.integers(-1, 4), "pad_to_multiple_of": st.sampled_from([7, 8]),
    "return_tensors": st.just("np"), "text_target": st.just("b c"), "no_such_option": st.just(1),
    **{name: st.booleans() for name in FLAGS},
})  # fmt: skip


def outcome(tokenizer: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What a call gives, or the class and message of what it raises; panics of Rust are errors in bpetite."""
    try:
        return plain(tokenizer(*arguments, **options))
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            return ValueError, f"tokenizers failed: {error}"
        return type(error), str(error)


def changed_part(backend: Any, **settings: Any) -> None:
    """Change the pre-tokenizer, and set it."""
    step = backend.pre_tokenizer
    for name, value in settings.items():
        setattr(step, name, value)
    backend.pre_tokenizer = step


def changed_model(backend: Any, **settings: Any) -> None:
    """Set a model with other settings."""
    content = json.loads(backend.to_str())
    content["model"] |= settings
    backend.model = Tokenizer.from_str(json.dumps(content)).model


#: What people change in a tokenizer that they hold.
CHANGES: dict[str, Callable[[Any], Any]] = {
    "add_tokens": lambda tok: tok.add_tokens(["foo", "hello"]),
    "add_special_tokens": lambda tok: tok.add_special_tokens({"pad_token": "<pad>", "extra_special_tokens": ["wor"]}),
    "token of the backend": lambda tok: tok.backend_tokenizer.add_tokens(["foo"]),
    "token of the vocabulary": lambda tok: tok._tokenizer.add_special_tokens(["he"]),
    "flags of a token": lambda tok: tok._tokenizer.add_tokens([AddedToken("hello", lstrip=True, rstrip=True)]),
    "normalizer": lambda tok: setattr(tok._tokenizer, "normalizer", normalizers.Replace("o", "0")),
    "pre-tokenizer": lambda tok: setattr(
        tok._tokenizer, "pre_tokenizer", pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)
    ),
    "part of the pre-tokenizer": lambda tok: changed_part(tok._tokenizer, add_prefix_space=True),
    "post-processor": lambda tok: setattr(
        tok._tokenizer,
        "post_processor",
        processors.TemplateProcessing(single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", 420)]),
    ),
    "add_bos_token": lambda tok: [setattr(tok, "bos_token", "<|endoftext|>"), setattr(tok, "add_bos_token", True)],
    "merges": lambda tok: setattr(
        tok._tokenizer, "model", models.BPE(tok._tokenizer.get_vocab(with_added_tokens=False), [])
    ),
    "ignore_merges": lambda tok: changed_model(tok._tokenizer, ignore_merges=True),
    "another backend": lambda tok: setattr(tok, "_tokenizer", build("cl100k")),
    "split_special_tokens": lambda tok: setattr(tok, "split_special_tokens", True),
    "sides": lambda tok: [setattr(tok, "truncation_side", "left"), setattr(tok, "padding_side", "left")],
    "clean-up": lambda tok: setattr(tok, "clean_up_tokenization_spaces", True),
    "its types": lambda tok: setattr(tok, "model_input_names", ["input_ids", "token_type_ids"]),
}
