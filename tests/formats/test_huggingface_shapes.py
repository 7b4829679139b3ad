"""tokenizer.json in rare shapes of BPE: ids, offsets and texts are those of ``tokenizers``, or the file is refused."""
from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest
import tokenizers
from bpe_shapes import SHAPES, file_of, texts
from huggingface_zoo import added

from bpetite import Tokenizer
from bpetite.errors import FormatError
from bpetite.formats import dump

#: Reasons to refuse a file.
REASONS = (
    "neither normalizer nor pre-tokenizer writes", "a token of the model, too", "same bytes", "unreachable",
    "also how the model spells the byte", "is no token", "can match nothing, and then",
    "normalized to nothing, and strips",
)  # fmt: skip


def encoding(theirs: tokenizers.Tokenizer, text: str) -> Any:
    """Their encoding of a text; None where the library itself fails, after some empty matches."""
    try:
        return theirs.encode(text, add_special_tokens=False)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None


def check(theirs: tokenizers.Tokenizer, tok: Tokenizer, text: str, draw: random.Random) -> None:
    found = encoding(theirs, text)
    if found is None:
        return
    assert tok.encode_with_offsets(text) == (found.ids, found.offsets), (text, found.tokens)
    assert tok.encode(text) == found.ids, text
    assert tok.count(text, limit=2) == min(len(found.ids), 3)
    cut = draw.randint(0, len(text))
    assert list(tok.encode_iterable([text[:cut], text[cut:]])) == found.ids
    for ids in (found.ids, draw.choices(range(theirs.get_vocab_size()), k=3)):
        check_decoding(theirs, tok, ids)


def check_decoding(theirs: tokenizers.Tokenizer, tok: Tokenizer, ids: Sequence[int]) -> None:
    for skip in (False, True):
        decoded = theirs.decode(ids, skip_special_tokens=skip)
        assert tok.decode(ids, errors="replace", skip_special_tokens=skip) == decoded, ids
    stream = tok.decode_stream(errors="replace")
    assert "".join(map(stream.feed, ids)) + stream.flush() == "".join(tok.decode_iterable(ids, errors="replace"))


def equals_tokenizers(shape: str, seed: int, count: int) -> bool:
    """Compare them on texts; False if the file is refused."""
    draw = random.Random(f"{shape} {seed}")
    content = file_of(draw, shape)
    theirs = tokenizers.Tokenizer.from_str(json.dumps(content))
    refused = ""
    try:
        tok = Tokenizer.from_huggingface(content)
    except FormatError as error:
        refused = str(error)
    if refused:
        assert any(reason in refused for reason in REASONS), refused
        return False
    for text in texts(draw, count):
        check(theirs, tok, text, draw)
    joined = "\n".join(texts(draw, 100))
    found = encoding(theirs, joined)
    assert found is None or tok.encode(joined, num_threads=2) == found.ids
    assert Tokenizer.from_vocab(tok.to_vocab()) == tok == Tokenizer.from_huggingface(theirs)
    try:
        again = dump(tok.to_vocab(), "huggingface")
    except FormatError:
        return True
    assert Tokenizer.from_huggingface(again).encode(joined) == tok.encode(joined)
    found = encoding(tokenizers.Tokenizer.from_str(again.decode()), joined)
    assert found is None or found.ids == tok.encode(joined)
    return True


@pytest.mark.parametrize("shape", SHAPES)
def test_equals_tokenizers(shape: str) -> None:
    assert sum(equals_tokenizers(shape, seed, 8) for seed in range(12)) > 6


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_tokenizers_in_many_files(shape: str) -> None:
    assert sum(equals_tokenizers(shape, seed, 200) for seed in range(300)) > 180


def file(vocab: Sequence[str], *merges: str, **parts: Any) -> dict[str, Any]:
    """A tokenizer.json of characters with these tokens."""
    of_model = {key: parts.pop(key) for key in MODEL & parts.keys()}
    ids = {token: number for number, token in enumerate(vocab)}
    model = {"type": "BPE", "vocab": ids, "merges": [merge.split() for merge in merges], **of_model}
    return {"model": model, "decoder": {"type": "Fuse"}, **parts}


MODEL = {"unk_token", "fuse_unk", "byte_fallback", "ignore_merges", "end_of_word_suffix"}
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def replace(old: str, new: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: old}, "content": new}


def metaspace(mark: str, scheme: str = "always", split: bool = True) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": mark, "prepend_scheme": scheme, "split": split}


def split(pattern: str, behavior: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False}


def decoder(mark: str) -> dict[str, Any]:
    return {"type": "Sequence", "decoders": [replace(mark, " "), {"type": "ByteFallback"}, {"type": "Fuse"}]}


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(steps)}


#: Files that gave wrong ids, or none, with texts that show it.
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "an ASCII mark": (
        file(["a", "_", "_a"], "_ a", pre_tokenizer=metaspace("_", "never"), decoder=metaspace("_", "never")),
        ["a_a", "_a", "a _a", " _"],
    ),
    "an ASCII mark written by Replace": (
        file(["a", "_", "_a"], "_ a", normalizer=replace(" ", "_"), decoder=decoder("_")), ["a_a", "a a"]
    ),
    "an ASCII mark beside byte tokens, taken whole": (
        file([*BYTES, "a", "_"], normalizer=replace(" ", "_"), decoder=decoder("_"), byte_fallback=True,
             ignore_merges=True), [" ", "_", "a_a"]
    ),
    "a whole pre-token with a mark": (
        file(["a", "▁", "▁a"], pre_tokenizer=metaspace("▁"), decoder=metaspace("▁"), ignore_merges=True), ["a", " a a"]
    ),
    "a whole pre-token that is spelled as a byte token": (
        file([*BYTES, "a", "b"], normalizer=replace(" ", "b"), pre_tokenizer=split("<0x..>", "Isolated"),
             decoder=decoder("b"), byte_fallback=True, ignore_merges=True), ["<0x41>", "a<0x41><0x0A>b"]
    ),
    "Metaspace before the first part that is left": (
        file(["a", "b", "▁", "▁a"], "▁ a", normalizer={"type": "Prepend", "prepend": "▁"},
             pre_tokenizer=sequence(split("▁", "Removed"), metaspace("▁", "first")), decoder=metaspace("▁", "first")),
        ["a a", "ab", "b a"],
    ),
    "a pattern for which a mark is no space": (
        file(["<unk>", "a", "▁", "▁a"], "▁ a", normalizer=replace(" ", "▁"), decoder=decoder("▁"),
             pre_tokenizer=split(r"\s+(?!\S)|\s+|\S+", "Isolated"), unk_token="<unk>", fuse_unk=True),
        ["\n\n ", "\n\n a"],
    ),
    "spaces that are an added token": (
        file(["<unk>", "a", "▁"], normalizer=replace(" ", "▁"), pre_tokenizer=metaspace("▁"), decoder=metaspace("▁"),
             added_tokens=[added("  ", 3, normalized=True)], unk_token="<unk>"), ["  ", "a  a", "  a"]
    ),
    "an expression that matches nothing": (
        file(["a", "b", "x"], normalizer=replace("a*", "x", "Regex")), ["a", "ba", "aab", "bb"]
    ),
    "added tokens that normalize to nothing": (
        file(["a", "x"], normalizer=replace("x", ""), added_tokens=[
            added("xx", 2, normalized=True), added("xxx", 3, normalized=True)]), ["axxa", "xx", "xxx"]
    ),
    "a mark in the text": (
        file([*"low<>/", "w</w>", "></w>", "lo", "low</w>"], "l o", "lo w</w>", end_of_word_suffix="</w>",
             decoder={"type": "BPEDecoder", "suffix": "</w>"}, pre_tokenizer={"type": "WhitespaceSplit"}),
        ["low", "low</w>", "low low", "lo w</w> low>"],
    ),
    "bytes that have no token": (
        file(["a", "b", "ab", "Ġ"], "a b", pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL), ["ab", "aéb", "é ab中", "中"]
    ),
    "unknown bytes": (
        file(["<unk>", "a", "b", "ab", "Ã"], "a b", pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL, unk_token="<unk>",
             fuse_unk=True), ["ab", "aéb", "é ab中", "中"]
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    content, given = CASES[name]
    theirs, tok = tokenizers.Tokenizer.from_str(json.dumps(full(content))), Tokenizer.from_huggingface(content)
    for text in given:
        check(theirs, tok, text, random.Random(text))


def full(content: dict[str, Any]) -> dict[str, Any]:
    """A file with the parts that ``tokenizers`` does not do without."""
    return dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor")) | {
        "version": "1.0", "added_tokens": [], **content
    }  # fmt: skip
