"""The compiled file: the same tokenizer as its source, refused where anything is wrong, kept beside named sources."""
from pathlib import Path

import pytest

from bpetite import FormatError, Tokenizer, Vocab, formats
from bpetite.formats import compiled
from bpetite.formats.published_ranks import load

WHOLE = {byte: bytes([byte]) for byte in range(256)} | {256: b"th", 257: b" c", 258: b"\xc3\xa9", 259: b"the"}
MERGES = [(b"t", b"h"), (b" ", b"c"), (b"\xc3", b"\xa9"), (b"th", b"e")]
VOCABS = {
    "merges": Vocab.build(WHOLE, MERGES, {"<|endoftext|>": 300, "<｜世界｜>": 260}),
    "ranks": Vocab(WHOLE, None, {}),
    "aliases, unreachable ones": Vocab.build(
        {0: b"a", 7: b"b", 8: b"", 9: b"a", 900_000: b"ab"}, None, {"<s>": 2**32 - 1, "<t>": 2**32 - 1},
        unreachable=frozenset({9}), normalization="NFC",
    ),
    "nothing": Vocab({}, None, {}, pattern=None),
}  # fmt: skip


@pytest.mark.parametrize("vocab", VOCABS.values(), ids=VOCABS)
def test_a_compiled_file_is_the_same_tokenizer(tmp_path: Path, vocab: Vocab) -> None:
    place = tmp_path / "tok.bpetite"
    formats.save(vocab, place)
    for loaded in (formats.load(place), formats.load(place, format="compiled")):
        assert loaded == vocab
        assert loaded.fingerprint() == vocab.fingerprint()
    compiled.verify(place)
    if len(vocab.tokens) > 256:
        text = "the théâtre <|endoftext|> ab<s>" * 9
        assert Tokenizer.load(place).encode(text) == Tokenizer.from_vocab(vocab).encode(text)


def test_damage_is_noticed(tmp_path: Path) -> None:
    data, place = compiled.dump(VOCABS["merges"]), tmp_path / "tok.bpetite"
    for at in (0, 8, 12, 16, 64, 100, len(data) // 2, len(data) - 1):
        for damaged in (data[:at], data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]):
            place.write_bytes(damaged)
            with pytest.raises(FormatError, match=r"tok\.bpetite: "):
                formats.load(place)


def test_a_named_source_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BPETITE_CACHE_DIR", str(tmp_path / "cache"))
    assert load("gpt2").name == "gpt2"
    assert not (tmp_path / "cache").exists()  # BPETITE_CACHE is off in tests
    monkeypatch.setenv("BPETITE_CACHE", "on")
    first = load("gpt2")
    (place,) = (tmp_path / "cache").iterdir()
    whole = place.read_bytes()
    place.write_bytes(whole[:-1])
    assert load("gpt2") == first
    assert place.read_bytes() == whole  # made again
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    again = load("gpt2")
    assert (again, again.name) == (first, "gpt2")
