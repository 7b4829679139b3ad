"""SentencePiece's .model files: ids and texts are those of ``sentencepiece``, or the model is refused by name."""
from __future__ import annotations

import io
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from bpetite import FormatError, Tokenizer
from bpetite.formats import dump, native
from bpetite.formats._json_tokens import members
from bpetite.formats.sentencepiece import BYTE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED, read
from bpetite.serving import encode_segments

WORDS = ["the", "cat", "sat", "on", "a", "mat,", "12", "dogs", "345", "miles.", "éa", "naïve", "漢字", "▁", "😀"]
WORDS += ["e\u0301", "ﬀ", "x\u3000y", "AA", "BB", "b", "c", "<x>", "[y]", ""]
LETTERS = "abc the é▁漢字.,12\n\t😀 e\u0301ﬀ\u3000\u00a0 catAAB<x>[y]\u200b"


def field(number: int, value: bytes | int | float) -> bytes:
    if isinstance(value, float):
        return bytes([number << 3 | 5]) + struct.pack("<f", value)
    if isinstance(value, int):
        return bytes([number << 3 & 0x7F | 0x80, number >> 4, value])
    return bytes([number << 3 | 2]) + varint(len(value)) + value


def varint(size: int) -> bytes:
    return bytes([size]) if size < 0x80 else bytes([size & 0x7F | 0x80]) + varint(size >> 7)


def model(
    pieces: list[tuple[str, float, int]],
    *, model_type: int = 2, suffix: int = 0, normalizer: dict[int, Any] | None = None,
) -> bytes:
    """A model of the unknown piece, the space and these pieces."""
    every = [("<unk>", 0.0, UNKNOWN), ("▁", -100.0, NORMAL), *pieces]
    rows = [field(1, text.encode()) + field(2, score) + field(3, code) for text, score, code in every]
    settings = {3: 0, 4: 0} if normalizer is None else normalizer
    return (
        b"".join(field(1, row) for row in rows)
        + field(2, field(3, model_type) + field(24, suffix))
        + field(3, b"".join(field(key, value) for key, value in settings.items()))
    )


def letters(text: str) -> list[tuple[str, float, int]]:
    return [(letter, -200.0, NORMAL) for letter in text]


def of_pieces(*pieces: tuple[str, float, int], **settings: Any) -> Tokenizer:
    return Tokenizer.from_vocab(read(model(list(pieces), **settings), "m.model", {}))


def spelled(tok: Tokenizer, text: str) -> list[bytes]:
    return [tok.token_bytes(token_id) for token_id in tok.encode(text)]


def text_of(draw: random.Random) -> str:
    if draw.random() < 0.6:
        return "".join(draw.choice(LETTERS) * draw.choice([1, 1, 2, 3]) for _ in range(draw.randint(0, 20)))
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(0, 9)))


def trained(draw: random.Random, **options: Any) -> bytes:
    sentencepiece = pytest.importorskip("sentencepiece")
    falls_back = draw.random() < 0.5
    made = io.BytesIO()
    chosen = {
        "vocab_size": draw.randint(60, 110) + 256 * falls_back, "byte_fallback": falls_back,
        "add_dummy_prefix": draw.random() < 0.6, "remove_extra_whitespaces": draw.random() < 0.4,
        "treat_whitespace_as_suffix": draw.random() < 0.3, "split_digits": draw.random() < 0.5,
        "normalization_rule_name": "identity", "character_coverage": draw.choice([1.0, 0.985]),
        "user_defined_symbols": draw.choice([[], [], ["<x>"], ["▁▁", "<x>"], ["\n", "AA", "AAB", "▁c"], ["a b", "at"]]),
        "control_symbols": draw.choice([[], ["[y]"]]), "split_by_whitespace": draw.random() < 0.7,
        "allow_whitespace_only_pieces": draw.random() < 0.5, "max_sentencepiece_length": draw.choice([4, 8, 16]),
    }  # fmt: skip
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(" ".join(draw.choices(WORDS, k=draw.randint(1, 12))) for _ in range(200)),
        model_writer=made, model_type="bpe", hard_vocab_limit=False, minloglevel=3, **chosen | options,
    )  # fmt: skip
    return made.getvalue()


def check(draw: random.Random, data: bytes, count: int) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    theirs = sentencepiece.SentencePieceProcessor(model_proto=data)
    tok = Tokenizer.from_vocab(read(data, "m.model", {}))
    vocab = tok.to_vocab()
    defined = set(vocab.token_flags)  # control pieces are not read from texts there
    trims = len(vocab.normalization or ()) > 2
    try:
        again = Tokenizer.from_huggingface(dump(vocab, "huggingface"))
    except FormatError:
        again = tok
    for _ in range(count):
        text = text_of(draw)
        ids = theirs.encode(text)
        assert tok.encode(text, allowed_special=defined) == ids, text
        assert tok.encode_with_offsets(text, allowed_special=defined)[0] == ids
        assert again.encode(text, allowed_special=defined) == ids
        cut = draw.randint(0, len(text))
        assert list(tok.encode_iterable([text[:cut], text[cut:]], allowed_special=defined)) == ids
        if 0 not in ids and not (trims and "▁" in text):
            assert tok.decode(ids) == theirs.decode(ids)


@pytest.mark.parametrize("seed", [
    *range(6),
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 30)),
    *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(30, 80)),
])  # fmt: skip
def test_equals_sentencepiece(seed: int) -> None:
    draw = random.Random(seed)
    check(draw, trained(draw), 60 if seed < 6 else 150)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["nmt_nfkc", "nmt_nfkc_cf"])
def test_maps_of_characters_equal_sentencepiece(rule: str) -> None:
    draw = random.Random(rule)
    check(draw, trained(draw, normalization_rule_name=rule, user_defined_symbols=["AA", "<x>"]), 60)


#: What a map changes, joins, drops or makes spaces of, and what trimming looks at.
CHANGED = [
    "the", "cat", "a", " ", " ", "  ", "\u3000", "\x01", "▁", "\n", "e\u0301", "ﬁ", "①", "é", "中", "\u1100\u1161",
]  # fmt: skip
#: Characters around what is held back of a block, and around the ends of blocks.
LENGTHS = [at + place for place in (250, 2**15 - 260, 2**15 - 3, 2**16 - 260, 2**16 - 3) for at in range(4)]


@pytest.mark.parametrize("trims", [True, False])
@pytest.mark.parametrize("prefixed", [True, False])
def test_maps_in_the_core_at_any_length(trims: bool, prefixed: bool) -> None:
    draw = random.Random(trims)
    data = trained(
        draw, normalization_rule_name="nmt_nfkc", user_defined_symbols=[], remove_extra_whitespaces=trims,
        add_dummy_prefix=prefixed, treat_whitespace_as_suffix=False,
    )  # fmt: skip
    theirs = pytest.importorskip("sentencepiece").SentencePieceProcessor(model_proto=data)
    tok = Tokenizer.from_vocab(read(data, "m.model", {}))
    assert tok.scanner == "words"
    texts = ["".join(draw.choices(CHANGED, k=draw.randint(0, 12))) for _ in range(200)]
    for length in LENGTHS:
        around = "".join(draw.choices(CHANGED, k=12))
        texts += ["x" * length + around + " cat  " * 60, around + " " * length + around, "\u3000" * length]
    for text in texts:
        assert tok.encode(text, allowed_special=()) == theirs.encode(text), text
        assert tok.encode(text.encode(), allowed_special=()) == theirs.encode(text), text
    assert [ids.tolist() for ids in map(tok.encode_to_numpy, texts[:9])] == tok.encode_batch(texts[:9], num_threads=2)
    for text in texts[:200]:  # control pieces cut it: the pipeline says how
        text += "<s>" + text + "</s><s> "
        assert tok.encode(text) == encode_segments(tok, [(text, True)])
        assert list(tok.encode_iterable(text)) == tok.encode(text) == tok.encode_with_offsets(text)[0]


@pytest.mark.parametrize(("defined", "scanner"), [(["<x>", "zz"], "words"), (["<x>", "x"], "pipeline")])
@pytest.mark.parametrize("prefixed", [True, False])
def test_pieces_put_in_by_the_user_are_found_in_the_core(defined: list[str], scanner: str, prefixed: bool) -> None:
    """Those that may overlap with others go through the pipeline."""
    draw = random.Random(1)
    data = trained(
        draw, user_defined_symbols=defined, remove_extra_whitespaces=False, add_dummy_prefix=prefixed,
        treat_whitespace_as_suffix=False, control_symbols=["[y]"] if scanner == "words" else ["<xx>"],
    )  # fmt: skip
    theirs = pytest.importorskip("sentencepiece").SentencePieceProcessor(model_proto=data)
    tok = Tokenizer.from_vocab(read(data, "m.model", {}))
    assert tok.scanner == (scanner if prefixed else "words")
    for _ in range(400):
        text = "".join(draw.choices([*defined, "[y]", "<s>", "<xx>", " ", "▁", "cat", "z"], k=draw.randint(0, 7)))
        assert tok.encode(text, allowed_special=defined) == theirs.encode(text), text
        piped = tok._encode_items(tok._pipeline.items(text, tok._specials("all")[0]))
        assert tok.encode(text) == tok.encode_batch([text, ""])[0] == piped, text
        assert list(tok.encode_iterable(text)) == tok.encode(text) == tok.encode_with_offsets(text)[0]


def test_of_pieces_that_the_map_leaves_the_longest_is_taken() -> None:
    data = trained(random.Random(1), normalization_rule_name="nmt_nfkc", user_defined_symbols=["①", "①②"])
    theirs = pytest.importorskip("sentencepiece").SentencePieceProcessor(model_proto=data)
    tok = Tokenizer.from_vocab(read(data, "m.model", {}))
    for text in ("①②①", "②①②cat"):
        assert tok.encode(text) == theirs.encode(text)


def test_mistral() -> None:
    sentencepiece, package = pytest.importorskip("sentencepiece"), pytest.importorskip("mistral_common")
    draw = random.Random(1)
    for path in sorted(Path(package.__file__).parent.glob("data/*.model*")):
        tok, theirs = Tokenizer.load(path), sentencepiece.SentencePieceProcessor(model_file=str(path))
        for length in range(0, 70, 3):
            assert tok.encode_ordinary(" " * length) == theirs.encode(" " * length)
            text = text_of(draw)
            assert tok.encode_ordinary(text) == theirs.encode(text)
            assert tok.decode(tok.encode_ordinary(text)) == theirs.decode(theirs.encode(text))


def test_the_highest_score_is_joined_first(tmp_path: Path) -> None:
    pieces = [("ab", -2.0, NORMAL), ("bc", -1.0, NORMAL), ("abc", -3.0, NORMAL), *letters("abc")]
    path = tmp_path / "tokenizer.model"
    path.write_bytes(model(pieces))
    tok = Tokenizer.load(path)
    assert spelled(tok, "abcab") == [b"abc", b"ab"]
    assert tok.to_vocab().merges == ((6, 7), (5, 6), (5, 3))
    assert Tokenizer.from_pretrained(tmp_path) == tok
    tok.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json") == tok


@pytest.mark.parametrize("sizes", [range(2, 9), [*range(2, 15), 16]])
def test_runs_of_one_score(sizes: list[int]) -> None:
    tok = of_pieces(*[("▁" * size, -1e9, NORMAL) for size in sizes], *letters("a"))
    for length in range(60):
        parts = [1] * length
        while at := next((at for at in range(1, len(parts)) if parts[at - 1] + parts[at] in sizes), 0):
            parts[at - 1 : at + 1] = [parts[at - 1] + parts[at]]
        assert [len(token) for token in spelled(tok, " " * length)] == parts


def test_the_longest_run_is_no_power_of_two() -> None:
    with pytest.raises(FormatError, match="pieces have one score"):
        of_pieces(*[("▁" * size, -1e9, NORMAL) for size in (2, 3, 4, 5, 6, 7)])


def test_types_of_pieces() -> None:
    tok = of_pieces(("<s>", 0.0, CONTROL), ("ab", 0.0, USER_DEFINED), ("abb", 0.0, USER_DEFINED),
                    ("bb", -1.0, NORMAL), *letters("ab"))  # fmt: skip
    assert spelled(tok, "<s>aabbabb b") == [b"<s>", b"a", b"abb", b"abb", b" ", b"b"]
    assert tok.decode(tok.encode("<s>ab"), skip_special_tokens=True) == "ab"
    assert tok.encode("aéé") == [6, 0]
    falls_back = of_pieces(*((f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)), *letters("a"))
    assert spelled(falls_back, "a é") == [b"a", b" ", b"\xc3", b"\xa9"]
    assert falls_back.encode("a") == [258]


def test_a_piece_put_in_by_hand_is_found_behind_the_space_before_a_text() -> None:
    tok = of_pieces(("▁x", 0.0, USER_DEFINED), *letters("ax"), normalizer={3: 1, 4: 0})
    assert spelled(tok, "x xax") == [b" x", b" x", b"a", b"x"]
    with pytest.raises(FormatError, match="tokenizers would normalize it"):
        dump(tok.to_vocab(), "huggingface")


def test_settings_that_are_repeated_are_merged() -> None:
    again = field(3, field(3, 1)) + field(2, field(24, 1))
    data = model([*letters("a"), ("<s>", 0.0, CONTROL)]) + again
    tok = Tokenizer.from_vocab(read(data, "m.model", {}))
    theirs = pytest.importorskip("sentencepiece").SentencePieceProcessor(model_proto=data)
    for text in ("a", "a  a", " "):
        assert tok.encode(text) == theirs.encode(text)
    assert spelled(tok, "a") == [b"a", b" "]


@pytest.mark.parametrize("trims", [False, True])
@pytest.mark.parametrize("defined", [[], ["AA", "\u3000\u3000", "\x01\x01"]])
def test_a_text_that_the_map_empties_gets_its_space_behind_it_too(trims: bool, defined: list[str]) -> None:
    data = trained(
        random.Random(3), normalization_rule_name="nmt_nfkc", treat_whitespace_as_suffix=True, add_dummy_prefix=True,
        remove_extra_whitespaces=trims, user_defined_symbols=defined,
    )  # fmt: skip
    theirs = pytest.importorskip("sentencepiece").SentencePieceProcessor(model_proto=data)
    tok = Tokenizer.from_vocab(read(data, "m.model", {}))
    draw, pieces = random.Random(4), ["\x01", "\x01", " ", "\u3000", "▁", "a", "the cat", "\u200b", "AA"]
    for text in ["", *("".join(draw.choices(pieces, k=draw.randint(1, 4))) for _ in range(400))]:
        assert tok.encode(text, allowed_special=defined) == theirs.encode(text), text
    again = native.read(dump(tok.to_vocab(), "native"), "m", members(dump(tok.to_vocab(), "native")))
    assert again == tok.to_vocab()


@pytest.mark.parametrize(("data", "message"), [
    (model([("a  b", 0.0, USER_DEFINED)], normalizer={3: 0, 4: 1}), "keeps spaces, and remove_extra_whitespaces"),
    (model([], model_type=1), "of the type UNIGRAM"), (model([], model_type=3), "of the type WORD"),
    (model([], model_type=4), "of the type CHAR"), (model([], normalizer={5: 0}), "escape_whitespaces"),
    (model([], normalizer={2: b"xyz"}), "no map of SentencePiece"), (model([("", 0.0, NORMAL)]), "is empty"),
    (model([("a", 0.0, NORMAL)] * 2), "there already"), (model([("a", float("nan"), NORMAL)]), "has no score"),
    (model([("a", 0.0, 5)]), "of type 5"), (model([("u", 0.0, UNKNOWN)]), r"unknown characters \(it has 2\)"),
    (model([("<0x41>", 0.0, BYTE)]), r"or none \(it has 1\)"), (model([("ab", 0.0, NORMAL)]), "that is no piece"),
    (model([("ab", -1.0, NORMAL), ("ba", -1.0, NORMAL), *letters("ab")]), "pieces have one score, -1.0"),
    (model([])[:-3], "damaged, or no model"), (model([]) + b"\xff" * 12, "damaged, or no model"),
    (model([]) + field(1, field(1, b"\xff")), "utf-8"), (model([]) + field(2, b"\x1a\x00"), "field 3 is b''"),
])  # fmt: skip
def test_refused_by_name(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(data, "m.model", {})
