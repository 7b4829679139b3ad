# pyright: strict
"""What users write, for the type checkers that ``.ci/run`` calls; nothing runs."""
from collections.abc import Iterator
from typing import assert_type

import numpy as np
import numpy.typing as npt

import bpetite
from bpetite import Tokenizer, patterns

tok = bpetite.encoding_for_model("gpt-4o")
assert_type(tok, Tokenizer)
assert_type(bpetite.get_encoding("cl100k_base"), Tokenizer)
assert_type(tok.encode("text", allowed_special={"<|endoftext|>"}), list[int])
assert_type(tok.encode(b"text", disallowed_special="all"), list[int])
assert_type(tok.encode_batch(["a", "b"], num_threads=2), list[list[int]])
assert_type(tok.decode([1, 2], errors="replace"), str)
assert_type(tok.decode_bytes(np.array([1, 2], np.uint32)), bytes)
assert_type(tok.decode_batch([[1], [2]]), list[str])
assert_type(tok.count("text"), int)
assert_type(tok.token_bytes(5), bytes)
assert_type(tok.special_tokens, dict[str, int])
assert_type(tok.eot_token, int | None)


def arrays(texts: list[str]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    return tok.encode_batch_to_numpy(texts)


def stream(chunks: Iterator[str]) -> Iterator[int]:
    yield from tok.encode_iterable(chunks)


trained = Tokenizer.train(["some text"], 300, special_tokens=["<s>"], pattern=patterns.GPT2, tie_break="bytes")
assert_type(trained, Tokenizer)
counts = bpetite.count_pretokens(["some text"], pattern="cl100k")
assert_type(Tokenizer.train_from_counts(counts, 300, min_frequency=2), Tokenizer)
assert_type(Tokenizer.train_from_files(["a.txt"], 300, text_key="body", special_tokens={"<s>": 300}), Tokenizer)
trained.save("tokenizer.json", format="huggingface", overwrite=True)

trained.encode(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
trained.decode("text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
trained.save("x", format="onnx")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Tokenizer.train("text", 300, tie_break="tokenizers")
Tokenizer.train("text", 300, tie_break="first")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
