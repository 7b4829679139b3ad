"""Every target by name.

A target is a function that takes bytes and returns None. It reads the bytes as input of one kind, does what a user
would do with them, and raises whenever the package does something that it does not promise: an exception outside of
those that the target names, or a result other than the reference's.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import counting, decoding, encoding, json_lines, loading, manifests, splitting, states, token_files, training

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """A target with what a fuzzer starts from.

    Attributes:
        one: The function under test.
        seeds: Makes well-formed inputs, the same on every machine.
        words: Stretches of bytes that the format or the code knows.
    """

    one: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    words: tuple[bytes, ...] = ()


TARGETS = {
    "native": Target(loading.native, loading.native_seeds, loading.JSON_WORDS),
    "huggingface": Target(loading.huggingface, loading.huggingface_seeds, loading.JSON_WORDS),
    "tekken": Target(loading.tekken, loading.tekken_seeds, loading.JSON_WORDS),
    "tiktoken": Target(loading.tiktoken, loading.tiktoken_seeds, (b" ", b"\n", b"YQ==", b"=", b" 0\n", b"4294967296")),
    "gpt2": Target(loading.gpt2, loading.gpt2_seeds, (*loading.JSON_WORDS, b"#version: 0.2\n", b"\0", "Ġ".encode())),
    "sentencepiece": Target(loading.sentencepiece, loading.sentencepiece_seeds, ("▁".encode(), b"<0x41>", b"\x18\x04")),
    "gguf": Target(loading.gguf, loading.gguf_seeds, (b"tokenizer.ggml.", b"merges", "▁".encode(), b"<0x41>")),
    "encode": Target(encoding.one, encoding.seeds, encoding.WORDS),
    "vocabulary": Target(encoding.vocabulary, encoding.vocabulary_seeds),
    "split": Target(splitting.one, splitting.seeds, splitting.WORDS),
    "decode": Target(decoding.one, decoding.seeds),
    "train": Target(training.one, training.seeds, encoding.WORDS),
    "counts": Target(counting.one, counting.seeds),
    "lines": Target(json_lines.one, json_lines.seeds, json_lines.WORDS),
    "tokens": Target(token_files.one, token_files.seeds, token_files.WORDS),
    "state": Target(states.one, states.seeds, states.WORDS),
    "manifest": Target(manifests.one, manifests.seeds, manifests.WORDS),
}
