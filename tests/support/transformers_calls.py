"""Calls of a fast tokenizer of ``transformers`` whose results are compared."""
from __future__ import annotations

from typing import Any

import numpy as np
from huggingface_zoo import HARD

TEXTS = ["hello world", "", "The quick brown fox, doesn't it? We'll see 1234567", "naïve café 中文 🙂", "a"]
TEXTS += ["<mask> foo </s>"]
PAIRS = ["another text", "b", "", "longer than the first one, 12345 67", "x y z", "end"]
NAMES = ["gpt2", "roberta", "bert ends", "template", "cl100k", "added words"]


def plain(found: Any) -> Any:
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in found.items()}


CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "one text": (("hello world",), {}),
    "one text, no special tokens": (("hello world",), {"add_special_tokens": False}),
    "batch": ((TEXTS,), {}),
    "tuple": ((tuple(TEXTS),), {}),
    "pairs": ((TEXTS, PAIRS), {"return_token_type_ids": True}),
    "a pair": (("hello", "world"), {"return_token_type_ids": True}),
    "pairs in tuples": (([("a b", "c"), ("d", "e f g")],), {}),
    "padding": ((TEXTS,), {"padding": True}),
    "padding left": ((TEXTS,), {"padding": True, "padding_side": "left", "return_special_tokens_mask": True}),
    "padding to a length": ((TEXTS,), {"padding": "max_length", "max_length": 40, "return_token_type_ids": True}),
    "padding to a multiple": ((TEXTS,), {"padding": True, "pad_to_multiple_of": 8}),
    "truncation": ((TEXTS,), {"truncation": True, "max_length": 7}),
    "truncation and padding": ((TEXTS,), {"truncation": True, "max_length": 9, "padding": "max_length"}),
    "pairs, longest first": ((TEXTS, PAIRS), {"truncation": True, "max_length": 11}),
    "pairs, odd room": ((TEXTS, PAIRS), {"truncation": "longest_first", "max_length": 12, "padding": True}),
    "pairs, only second": (
        (["a", "b"], [HARD[9] * 3, "c"]),
        {"truncation": "only_second", "max_length": 12, "stride": 2, "return_overflowing_tokens": True}
        | {"padding": True},
    ),
    "overflow": (
        (TEXTS,),
        {"truncation": True, "max_length": 9, "stride": 3, "return_overflowing_tokens": True, "return_length": True},
    ),
    "overflow of one": (
        ("a b c d e f g h i j k",),
        {"truncation": True, "max_length": 6, "return_overflowing_tokens": True},
    ),
    "arrays": ((TEXTS,), {"padding": True, "return_tensors": "np"}),
    "array of one": (("hello world",), {"return_tensors": "np"}),
    "masks": ((TEXTS,), {"return_special_tokens_mask": True, "return_attention_mask": False}),
    "words": ((["hello", "world", "12345"],), {"is_split_into_words": True}),
    "batches of words": (([["a", "b c"], [], ["foo"]],), {"is_split_into_words": True, "padding": True}),
    "special tokens as text": (("<s>a</s><|endoftext|>",), {"split_special_tokens": True}),
    "targets": (("a",), {"text_target": "b c"}),
}
