"""tokenizer.json with characters: ids, offsets and texts are those of ``tokenizers``, or the file is refused."""
from __future__ import annotations

import json
import random
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, trainers

from bpetite import Tokenizer
from bpetite.errors import FormatError
from bpetite.formats import dump

LETTERS = "ab cdé▁ 漢字.,1\n\U0001f600 e\u0301"
#: Reasons to refuse a file.
REASONS = (
    "neither normalizer nor pre-tokenizer writes", "take both model.byte_fallback and", "is no token",
    "also how the model spells", "same bytes", "unreachable",
)  # fmt: skip
SCHEMES = ("always", "never", "first")


def text_of(draw: random.Random, letters: str, most: int) -> str:
    return "".join(draw.choice(letters) * draw.choice([1, 1, 1, 2, 4]) for _ in range(draw.randint(0, most)))


def steps_of(draw: random.Random) -> tuple[list[Any], Any, Any]:
    scheme, split = draw.choice(SCHEMES), draw.random() < 0.5
    metaspace = pre_tokenizers.Metaspace("▁", scheme, split)
    write, fuse = normalizers.Replace(" ", "▁"), [decoders.ByteFallback(), decoders.Fuse()]
    read = decoders.Replace("▁", " ")
    behavior = draw.choice(["merged_with_previous", "merged_with_next", "isolated", "contiguous"])
    return draw.choice([
        [], [normalizers.Prepend("▁"), write], [write], [write, normalizers.Prepend("▁")], [normalizers.NFKC(), write],
        [normalizers.Strip(), normalizers.NFC()],
    ]), draw.choice([
        None, None, metaspace, metaspace, pre_tokenizers.Split(" ", behavior),
        pre_tokenizers.Sequence([metaspace, pre_tokenizers.Digits(True)]), pre_tokenizers.Punctuation(),
    ]), draw.choice([
        decoders.Sequence([read, *fuse, decoders.Strip(" ", 1, 0)]), decoders.Sequence([read, *fuse]),
        decoders.Metaspace("▁", scheme), decoders.Sequence(fuse), decoders.Fuse(),
    ])  # fmt: skip


def trained(draw: random.Random) -> tokenizers.Tokenizer:
    """A tokenizer with any of the steps, trained on random text."""
    falls_back = draw.random() < 0.6
    made = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=draw.random() < 0.5, byte_fallback=falls_back))
    normalizer, pre_tokenizer, made.decoder = steps_of(draw)
    if normalizer:
        made.normalizer = normalizers.Sequence(normalizer)
    if pre_tokenizer is not None:
        made.pre_tokenizer = pre_tokenizer
    specials = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256 * falls_back))]
    letters = "".join(draw.sample(LETTERS, 12))
    size = len(specials) + draw.randint(5, 60)
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=specials, show_progress=False)
    made.train_from_iterator([text_of(draw, letters, 60) for _ in range(60)], trainer)
    content = json.loads(made.to_str())
    content["added_tokens"] = [
        token | {"normalized": draw.random() < 0.2} for token in content["added_tokens"] if token["id"] < 2
    ]
    made = tokenizers.Tokenizer.from_str(json.dumps(content))
    if draw.random() < 0.3:
        flags = {flag: draw.random() < 0.2 for flag in ("normalized", "lstrip", "rstrip", "single_word")}
        made.add_tokens([AddedToken(draw.choice(["ab", "▁▁", "a b", "\n", "漢"]), **flags)])
    return tokenizers.Tokenizer.from_str(made.to_str())


@pytest.mark.parametrize("seed", range(40))
def test_equals_tokenizers(seed: int) -> None:
    draw = random.Random(seed)
    theirs = trained(draw)
    try:
        tok = Tokenizer.from_huggingface(theirs)
    except FormatError as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert any(reason in refused for reason in REASONS), refused
        return
    for _ in range(15):
        parts = [text_of(draw, LETTERS, 12), "<s>", "<unk>", " ", "ab", "▁▁"]
        text = "".join(draw.choices(parts, k=draw.randint(0, 5)))
        expected = theirs.encode(text, add_special_tokens=False)
        assert tok.encode_with_offsets(text) == (expected.ids, expected.offsets), text
        assert tok.encode(text) == expected.ids
        cut = draw.randint(0, len(text))
        assert list(tok.encode_iterable([text[:cut], text[cut:]])) == expected.ids
        for ids in (expected.ids, draw.choices(range(theirs.get_vocab_size()), k=4)):
            for skip in (False, True):
                decoded = theirs.decode(ids, skip_special_tokens=skip)
                assert tok.decode(ids, errors="replace", skip_special_tokens=skip) == decoded
    try:
        again = dump(tok.to_vocab(), "huggingface")
    except FormatError:
        return
    assert tokenizers.Tokenizer.from_str(again.decode()).encode(text).ids == tok.encode(text)
    assert Tokenizer.from_huggingface(again).encode(text) == tok.encode(text)


FILE: dict[str, Any] = {
    "decoder": {"type": "Fuse"},
    "model": {"type": "BPE", "unk_token": None, "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]},
}


@pytest.mark.parametrize("behavior", ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"])
@pytest.mark.parametrize("invert", [False, True])
def test_splits_at_spaces_that_the_normalizer_has_replaced(behavior: str, invert: bool) -> None:
    content = FILE | {
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "b"},
        "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": behavior, "invert": invert},
    }
    theirs = tokenizers.Tokenizer.from_str(json.dumps(content))
    tok = Tokenizer.from_huggingface(json.dumps(content).encode())
    for text in ("", " ", "a a", "ab ab  b", " a "):
        assert tok.encode(text) == theirs.encode(text).ids, text


def test_no_steps_at_all() -> None:
    assert Tokenizer.from_huggingface(FILE).encode("abba") == [2, 1, 0]


@pytest.mark.parametrize(("change", "message"), [
    ({"decoder": {"type": "BPEDecoder", "suffix": "</w>"}}, "makes a space of '</w>', and model.end_of_word_suffix"),
    ({"decoder": {"type": "BPEDecoder", "suffix": "b"}, "model": FILE["model"] | {
        "end_of_word_suffix": "b", "vocab": {"a": 0, "b": 1, "ba": 2, "ab": 3}}}, "has the mark 'b' inside"),
    ({"decoder": {"type": "ByteFallback"}, "model": FILE["model"] | {
        "end_of_word_suffix": "</w>", "byte_fallback": True, "vocab": {"a": 0, "b": 1, "ab": 2, "<0x00>": 3}}},
     "suffix is a str, \"\" beside a space or byte tokens"),
    ({"decoder": {"type": "WordPiece"}}, "does not have the decoder"),
    ({"decoder": {"type": "Strip", "content": " ", "start": 1, "stop": 0}}, "does not have the decoder"),
    ({"decoder": {"type": "Metaspace", "replacement": "▁"}}, "neither normalizer nor pre-tokenizer"),
    ({"pre_tokenizer": {"type": "UnicodeScripts"}}, "does not have the pre-tokenizer"),
    ({"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": False}}, "add_prefix_space"),
    ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": ""}}, "no map of SentencePiece"),
    ({"model": FILE["model"] | {"unk_token": "?"}}, "is not in the vocabulary"),
    ({"model": FILE["model"] | {"vocab": {"a": 0, "b": 1, "ab": 2, "<0x00>": 3}, "byte_fallback": True}}, "take both"),
])  # fmt: skip
def test_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        Tokenizer.from_huggingface(FILE | change)
