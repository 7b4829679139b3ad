"""tokenizer.json in rare shapes of BPE: ids, offsets and texts are those of ``tokenizers``, or the file is refused."""
from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from bpe_shapes import SHAPES, file_of, texts
from huggingface_zoo import added

from bpetite import Tokenizer
from bpetite.bytelevel import encode_token
from bpetite.errors import FormatError
from bpetite.formats import dump, native
from bpetite.formats._json_tokens import members
from bpetite.formats.huggingface_steps import read_pre_tokenizer
from bpetite.splitting.pretokenizer import pretokenizer
from bpetite.steps.normalizers import BertNormalizer, normalizer
from bpetite.steps.simplified import without_removals

#: Reasons to refuse a file.
REASONS = (
    "neither normalizer nor pre-tokenizer writes", "same bytes", "unreachable",
    "also how the model spells", "is no token", "can match nothing, and then",
    "normalized to nothing, and found everywhere",
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
    data = dump(tok.to_vocab(), "native")
    assert Tokenizer.from_vocab(native.read(data, "test", members(data))) == tok == Tokenizer.from_huggingface(theirs)
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
    "byte tokens without fallback": (
        file([*BYTES, *"<0x4>a ", "<0", "<0x", "<0x4"], "< 0", "<0 x", "<0x 4", unk_token="<0x0A>"),
        ["a<0x44>", "<0x4", "\n", "中", "A"],
    ),
    "byte tokens without fallback, taken whole, beside a mark": (
        file([*BYTES, *"ab▁", "▁a", "<unk>"], "▁ a", normalizer=replace(" ", "▁"), ignore_merges=True,
             unk_token="<unk>", pre_tokenizer=split("<0x..>", "Isolated"), decoder=metaspace("▁", "never")),
        ["<0x41>", "a<0x41> <0x0A>b a", "\n"],
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
    "a text that is normalized to nothing before the last step": (
        file(["a", "x"], normalizer={"type": "Sequence", "normalizers": [
            {"type": "Strip", "strip_left": True, "strip_right": True}, replace("a*", "x", "Regex")]}), [" ", "", "b"]
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

CLIP_SPLIT = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
LETTERS = [encode_token(bytes([byte])) for byte in range(256)]
CASES["the steps of CLIP"] = (
    file([*LETTERS, *(letter + "</w>" for letter in LETTERS), "lo", "low</w>", "<|endoftext|>"], "l o", "lo w</w>",
         unk_token="<|endoftext|>", end_of_word_suffix="</w>", decoder=BYTE_LEVEL,
         normalizer={"type": "Sequence", "normalizers": [
             {"type": "NFC"}, replace(r"\s+", " ", "Regex"), {"type": "Lowercase"}]},
         pre_tokenizer=sequence(split(CLIP_SPLIT, "Removed") | {"invert": True}, BYTE_LEVEL | {"use_regex": False}),
         added_tokens=[added("<|endoftext|>", 514, special=True)]),
    ["Low  LOW\n1lOw's", "A photo of É e\u0301 E\u0301", "İstanbul ΟΔΟΣ ΣΑΣ!", "A<|endoftext|>B", " ",
     "ẞ Ǆ ǅ Ⅷ Ꭰ Ა\u2028𐐀"],
)  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    content, given = CASES[name]
    theirs, tok = tokenizers.Tokenizer.from_str(json.dumps(full(content))), Tokenizer.from_huggingface(content)
    for text in given:
        check(theirs, tok, text, random.Random(text))


MAPPED = [{"type": name} for name in ("NFC", "NFD", "Lowercase", "StripAccents")]
NFC, NFD, LOWERCASE, STRIP_ACCENTS = MAPPED


@pytest.mark.parametrize(("steps", "scanner"), [
    ([NFC, replace(r"\s+", " ", "Regex"), LOWERCASE], "vector"), ([NFD, STRIP_ACCENTS, LOWERCASE], "vector"),
    ([LOWERCASE], "vector"), ([STRIP_ACCENTS], "vector"), ([LOWERCASE, NFC], "pipeline"),
    ([replace(r"\s+", "", "Regex")], "pipeline"), ([replace(r"\s+", "x", "Regex"), LOWERCASE], "pipeline"),
    ([replace(r"\p{L}", " ", "Regex")], "pipeline"),
])  # fmt: skip
@pytest.mark.parametrize("name", ["the steps of CLIP", "characters"])
def test_what_is_mapped_runs_compiled(name: str, steps: list[dict[str, Any]], scanner: str) -> None:
    words = file(["<unk>", *"abeé.1\u0301i漢x", "ab"], "a b", unk_token="<unk>", pre_tokenizer={"type": "Whitespace"})
    content = {**CASES.get(name, (words, []))[0], "normalizer": {"type": "Sequence", "normalizers": steps}}
    theirs, tok = tokenizers.Tokenizer.from_str(json.dumps(full(content))), Tokenizer.from_huggingface(content)
    assert tok.scanner == scanner
    for text in texts(random.Random(1), 60):
        check(theirs, tok, text, random.Random(text))
    long = "".join(texts(random.Random(2), 4_000)) * 4 + "A" * 70_000 + "\u0301" * 70_000 + " \n" * 70_000 + "İA"
    assert tok.encode(long) == tok.encode(long.encode(), num_threads=2) == encoding(theirs, long).ids


LETTERS_OR_MARKS = r"'s|'t|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


@pytest.mark.parametrize(("pre_tokenizer", "scanner"), [
    ({"type": "Whitespace"}, "vector"), ({"type": "WhitespaceSplit"}, "vector"),
    ({"type": "BertPreTokenizer"}, "vector"), ({"type": "CharDelimiterSplit", "delimiter": "."}, "vector"),
    ({"type": "FixedLength", "length": 3}, "vector"),
    ({"type": "FixedLength"}, "vector"), (split("[ab]+", "Removed"), "vector"), (split("ab", "Removed"), "pipeline"),
    (split(LETTERS_OR_MARKS, "Removed") | {"invert": True}, "vector"),
    (split(r"\S+|\n", "Removed") | {"invert": True}, "pipeline"),
    (split(r"\w+", "Removed") | {"invert": True}, "pipeline"),
])  # fmt: skip
@pytest.mark.parametrize("as_bytes", [False, True])
def test_what_leaves_text_out_runs_compiled(pre_tokenizer: dict[str, Any], scanner: str, as_bytes: bool) -> None:
    letters = [encode_token(bytes([byte])) for byte in range(256)] if as_bytes else [*"abé.1\n 漢_"]
    content = file(["<unk>", *letters, "ab"], "a b", unk_token="<unk>", pre_tokenizer=pre_tokenizer)
    if as_bytes:
        content |= {"pre_tokenizer": sequence(pre_tokenizer, BYTE_LEVEL | {"use_regex": False}), "decoder": BYTE_LEVEL}
    theirs, tok = tokenizers.Tokenizer.from_str(json.dumps(full(content))), Tokenizer.from_huggingface(content)
    assert tok.scanner == scanner
    for text in texts(random.Random(1), 60):
        check(theirs, tok, text, random.Random(text))
    again = json.loads(dump(tok.to_vocab(), "huggingface"))
    assert Tokenizer.from_huggingface(again) == tok
    if pre_tokenizer["type"].startswith("White") and not as_bytes:
        assert again["pre_tokenizer"] == pre_tokenizer
    long = "ab é. \n漢_1" * 2_000
    assert tok.encode(long, num_threads=2) == theirs.encode(long, add_special_tokens=False).ids
    assert [len(tok.encode(part)) for part in (tok.truncate(long, 5), next(tok.chunks(long, 7)).text)] <= [5, 7]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Whitespace", "WhitespaceSplit", "BertPreTokenizer", "Punctuation", "Digits"])
def test_each_character_is_of_the_class_that_it_has_there(name: str) -> None:
    theirs = getattr(tokenizers.pre_tokenizers, name)()
    cuts, dropped = without_removals(read_pre_tokenizer({"type": name}, "test"))
    ours = pretokenizer(cuts)
    for point in (*range(0xD800), *range(0xE000, 0x30000), *range(0xE0000, 0xE0200)):
        text = f"a{chr(point)}!"
        parts = [part for part in ours.split(text) if part[0] not in dropped]
        assert parts == [part for part, _ in theirs.pre_tokenize_str(text)], hex(point)


def test_trimmed_offsets_of_an_added_token_that_takes_white_space_of_the_normalized_text() -> None:
    """An id of an added token is trimmed as it was found, or as a token if merges gave it."""
    content = file(
        [*LETTERS, "ab", "▁"], "a b", decoder=BYTE_LEVEL, post_processor=BYTE_LEVEL,
        pre_tokenizer=sequence({"type": "Whitespace"}, BYTE_LEVEL), normalizer={"type": "Sequence", "normalizers": [
            replace(" +", "▁", "Regex"), replace("é", ""), {"type": "Prepend", "prepend": " "}]},
        added_tokens=[added("ab", 256, normalized=True, rstrip=True), added("  ", 258, normalized=True, rstrip=True)],
    )  # fmt: skip
    theirs, tok = tokenizers.Tokenizer.from_str(json.dumps(full(content))), Tokenizer.from_huggingface(content)
    for text in ("aé\t  \t</w>", "b.😀ab.a", "ab\n", "éab \n ab", " ab", "  \t", "a  \n\nb"):
        found = theirs.encode(text, add_special_tokens=False)
        assert tok.encode_with_offsets(text) == (found.ids, found.offsets), text


def test_an_added_token_beside_the_vocabulary_is_saved_beside_it() -> None:
    """In the vocabulary, ``ignore_merges`` would find it where the search for added tokens does not."""
    content = file(
        ["<s>", "a", "b", "é"], ignore_merges=True, pre_tokenizer=split("é", "Isolated"),
        added_tokens=[added("<s>", 0, special=True), added("ab", 4, single_word=True)],
    )  # fmt: skip
    again = json.loads(dump(Tokenizer.from_huggingface(content).to_vocab(), "huggingface"))
    assert again["model"]["vocab"] == content["model"]["vocab"]
    for one in (content, again):
        theirs, tok = tokenizers.Tokenizer.from_str(json.dumps(full(one))), Tokenizer.from_huggingface(one)
        for text in ("éab", "ab é ab", "<s>abé"):
            check(theirs, tok, text, random.Random(text))
    assert tok.encode("éab ab") == [3, 1, 2, 4]


def test_an_added_token_that_is_normalized_to_nothing_is_refused() -> None:
    content = file(["a", "b", "ab"], "a b", normalizer=replace("x", ""), added_tokens=[added("x", 3, normalized=True)])
    theirs = tokenizers.Tokenizer.from_str(json.dumps(full(content)))
    assert theirs.encode("ab").tokens == ["a", "b"]
    with pytest.raises(FormatError, match="added token 'x' is normalized to nothing, and found everywhere"):
        Tokenizer.from_huggingface(content)


@pytest.mark.parametrize(("content", "token"), [
    (file(["a", "b</w>"], end_of_word_suffix="</w>", normalizer=replace("<", "x"),
          added_tokens=[added("b</w>", 1, normalized=True)]), "b</w>"),
    (file([*LETTERS, *(letter + "</w>" for letter in LETTERS)], end_of_word_suffix="</w>", pre_tokenizer=BYTE_LEVEL,
          decoder=BYTE_LEVEL, added_tokens=[added("é</w>", 256 + 0xE9, single_word=True)]), "b'\\xe9</w>'"),
])  # fmt: skip
def test_an_added_token_that_is_a_letter_with_a_mark(content: dict[str, Any], token: str) -> None:
    with pytest.raises(FormatError, match="is also how the model spells.*" + re.escape(token)):
        Tokenizer.from_huggingface(content)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clean_text", "handle_chinese_chars", "strip_accents", "lowercase"])
def test_each_character_is_what_the_normalizer_of_bert_makes_of_it(name: str) -> None:
    options = dict.fromkeys(("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"), False) | {name: True}
    theirs, ours = tokenizers.normalizers.BertNormalizer(**options), normalizer(BertNormalizer(**options))
    assert ours is not None
    for point in (*range(0xD800), *range(0xE000, 0x110000)):
        assert ours(chr(point)) == theirs.normalize_str(chr(point)), hex(point)


@pytest.mark.parametrize(("name", "data"), [
    ("codes", b"#version: 0.2\ne s\ns t</w>\n"), ("fast", b"e s 123\ns t</w> 12\n"),
    ("bpe_simple_vocab_16e6.txt.gz", gzip.compress(b"bpe_simple_vocab_16e6.txt#version: 0.2\ni n\n", mtime=0)),
])  # fmt: skip
def test_merges_without_ids_are_refused_with_the_way_to_convert_them(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError, match=r"a list of merges without ids .docs/formats.md says how to make"):
        Tokenizer.load(tmp_path / name)


@pytest.mark.parametrize("mark", ["</w>", "@@"])
def test_a_pair_of_files_with_marks_is_refused(tmp_path: Path, mark: str) -> None:
    tokens = [letter + end for letter in "abcdefghijklmnopqrstuvwxyz" for end in ("", mark)]
    (tmp_path / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(tokens)}))
    (tmp_path / "merges.txt").write_text("")
    with pytest.raises(FormatError, match=f"'a{mark}' carry a mark"):
        Tokenizer.from_files(tmp_path / "vocab.json", tmp_path / "merges.txt")


def full(content: dict[str, Any]) -> dict[str, Any]:
    """A file with the parts that ``tokenizers`` does not do without."""
    return dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor")) | {
        "version": "1.0", "added_tokens": [], **content
    }  # fmt: skip
