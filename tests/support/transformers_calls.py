"""Calls of a fast tokenizer of ``transformers`` whose results are compared."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from huggingface_zoo import HARD, build
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors

TEXTS = ["hello world", "", "The quick brown fox, doesn't it? We'll see 1234567", "naïve café 中文 🙂", "a"]
TEXTS += ["<mask> foo </s>"]
PAIRS = ["another text", "b", "", "longer than the first one, 12345 67", "x y z", "end"]
NAMES = ["gpt2", "roberta", "bert ends", "template", "cl100k", "added words", "neox", "llama 3, trimmed"]


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

#: Calls that are wrong, or odd.
MISTAKES: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((7,), {}),
    ((["a", "b"], ["c"]), {}),
    ((["a", "b"], "c"), {}),
    (([],), {}),
    (([7],), {}),
    (("\ud800",), {}),
    (([("a", "b"), "c"],), {}),
    (("a b c", ""), {}),
    (("a b", ["c"]), {}),
    (("a b",), {"is_split_into_words": True}),
    (([],), {"is_split_into_words": True}),
    (([[]],), {"is_split_into_words": True}),
    (([[["a"], ["b"]]],), {"is_split_into_words": True}),
    ((["a", "b"], ["c", "d e"]), {"is_split_into_words": True}),
    (("a b c d e",), {"truncation": True, "max_length": 1}),
    (("a b c d e",), {"truncation": True, "max_length": 0}),
    (("a b c d e",), {"truncation": True, "max_length": 4, "stride": 4}),
    (("a b c d e",), {"truncation": True, "max_length": 4, "stride": -1}),
    (("a b c d e",), {"truncation": "only_second", "max_length": 4}),
    (("a b c d", "e f g h i j k"), {"truncation": "only_first", "max_length": 6}),
    (("a b c d", "e f g h i j k"), {"truncation": True, "max_length": 9, "stride": 3}),
    ((HARD, HARD[::-1]), {"truncation": True, "max_length": 9, "return_overflowing_tokens": True}),
    ((HARD, HARD[::-1]), {"truncation": "only_first", "max_length": 90, "return_overflowing_tokens": True}),
    ((HARD,), {"padding": "max_length", "max_length": 9}),
    ((HARD,), {"padding": "max_length", "max_length": 9, "pad_to_multiple_of": 7, "return_length": True}),
    (("a",), {"padding": "max_length", "max_length": 9, "return_length": True, "return_tensors": "np"}),
    ((HARD, HARD[::-1]), {"add_special_tokens": False, "return_token_type_ids": True}),
    ((HARD,), {"return_offsets_mapping": True, "return_special_tokens_mask": True}),
    ((HARD,), {"no_such_option": 1}),
]


def outcome(tokenizer: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What a call gives, or the class and message of what it raises."""
    try:
        return plain(tokenizer(*arguments, **options))
    except BaseException as error:  # a panic of Rust is no Exception
        return type(error), str(error)


#: What people change in a tokenizer that they hold.
CHANGES: dict[str, Callable[[Any], Any]] = {
    "add_tokens": lambda tok: tok.add_tokens(["foo", "hello"]),
    "add_special_tokens": lambda tok: tok.add_special_tokens({"pad_token": "<pad>", "extra_special_tokens": ["wor"]}),
    "token of the backend": lambda tok: tok.backend_tokenizer.add_tokens(["foo"]),
    "token of the vocabulary": lambda tok: tok._tokenizer.add_special_tokens(["he"]),
    "flags of a token": lambda tok: tok._tokenizer.add_tokens([AddedToken("hello", lstrip=True, rstrip=True)]),
    "normalizer": lambda tok: setattr(tok.backend_tokenizer, "normalizer", normalizers.Lowercase()),
    "normalizer, known": lambda tok: setattr(tok._tokenizer, "normalizer", normalizers.Replace("o", "0")),
    "pre-tokenizer": lambda tok: setattr(
        tok._tokenizer, "pre_tokenizer", pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)
    ),
    "part of the pre-tokenizer": lambda tok: setattr(tok._tokenizer.pre_tokenizer, "add_prefix_space", True),
    "post-processor": lambda tok: setattr(
        tok._tokenizer,
        "post_processor",
        processors.TemplateProcessing(single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", 420)]),
    ),
    "add_bos_token": lambda tok: [setattr(tok, "bos_token", "<|endoftext|>"), setattr(tok, "add_bos_token", True)],
    "decoder": lambda tok: setattr(tok._tokenizer, "decoder", decoders.Fuse()),
    "merges": lambda tok: setattr(
        tok._tokenizer, "model", models.BPE(tok._tokenizer.get_vocab(with_added_tokens=False), [])
    ),
    "ignore_merges": lambda tok: setattr(tok._tokenizer.model, "ignore_merges", True),
    "another backend": lambda tok: setattr(tok, "_tokenizer", build("cl100k")),
    "split_special_tokens": lambda tok: setattr(tok, "split_special_tokens", True),
    "sides": lambda tok: [setattr(tok, "truncation_side", "left"), setattr(tok, "padding_side", "left")],
    "clean-up": lambda tok: setattr(tok, "clean_up_tokenization_spaces", True),
    "its types": lambda tok: setattr(tok, "model_input_names", ["input_ids", "token_type_ids"]),
}
