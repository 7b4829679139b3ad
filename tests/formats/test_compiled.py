"""The compiled file: the same tokenizer as its source, refused where anything is wrong, kept beside named sources."""
import hashlib
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bpetite import FormatError, Tokenizer, Vocab, formats
from bpetite.formats import compiled
from bpetite.formats.published_ranks import load
from bpetite.vocabulary import _compiled

WHOLE = {byte: bytes([byte]) for byte in range(256)} | {256: b"th", 257: b" c", 258: b"\xc3\xa9", 259: b"the"}
MERGES = [(b"t", b"h"), (b" ", b"c"), (b"\xc3", b"\xa9"), (b"th", b"e")]
SMALL = Vocab.build(WHOLE, MERGES, {"<|endoftext|>": 300, "<｜世界｜>": 260})
RANKS = Vocab(WHOLE, None, {})
WORDS = {0: b"a", 7: b"b", 900_000: b"ab", 4_000_000_000: b"c"}
VOCABS = {
    "merges": SMALL,
    "ranks": RANKS,
    "sparse ids": Vocab.build(WORDS, [(b"a", b"b")], {"<s>": 2**32 - 1}, pattern=r"\w+|\s"),
    "aliases, unreachable ones": Vocab.build(
        WORDS | {8: b"", 9: b"a"}, None, {"<s>": 260, "<t>": 260}, unreachable=frozenset({9}), normalization="NFC"
    ),
    "nothing": Vocab({}, None, {}, pattern=None),
    "no merges": Vocab({0: b"a"}, (), {}, errors="replace"),
}
TEXT = "the théâtre <|endoftext|> ab<s>"


@pytest.mark.parametrize("vocab", VOCABS.values(), ids=VOCABS)
def test_a_compiled_file_is_the_same_tokenizer(tmp_path: Path, vocab: Vocab) -> None:
    place = tmp_path / "tok.bpetite"
    formats.save(vocab, place)
    for loaded in (formats.load(place), formats.load(place, format="compiled")):
        assert loaded == vocab
        assert loaded.fingerprint() == vocab.fingerprint()
        assert loaded.unreachable == vocab.unreachable
        assert loaded.tokens.with_tokens({5: b"x"}) == dict(vocab.tokens) | {5: b"x"}
    assert compiled.dump(loaded) == place.read_bytes()
    compiled.verify(place)
    ids = [*vocab.tokens]
    assert Tokenizer.from_vocab(loaded).decode_bytes(ids) == Tokenizer.from_vocab(vocab).decode_bytes(ids)


@pytest.mark.parametrize("vocab", [SMALL, RANKS], ids=["merges", "ranks"])
def test_its_ids_are_those_of_its_source(tmp_path: Path, vocab: Vocab) -> None:
    Tokenizer.from_vocab(vocab).save(tmp_path / "tok.bpetite")
    assert Tokenizer.load(tmp_path / "tok.bpetite").encode(TEXT * 9) == Tokenizer.from_vocab(vocab).encode(TEXT * 9)


def test_the_file_may_be_replaced_and_deleted_while_it_is_used(tmp_path: Path) -> None:
    place = tmp_path / "tok.bpetite"
    Tokenizer.from_vocab(SMALL).save(place)
    tok = Tokenizer.load(place)
    Tokenizer.from_vocab(RANKS).save(place, overwrite=True)
    ids = tok.encode(TEXT)
    place.unlink()
    assert tok.encode(TEXT) == ids == Tokenizer.from_vocab(SMALL).encode(TEXT)


def test_every_damaged_byte_is_noticed(tmp_path: Path) -> None:
    data = compiled.dump(VOCABS["sparse ids"])
    place = tmp_path / "tok.bpetite"
    step = len(data) // 400
    for at in [*range(32), *range(64, 800), *range(800, len(data), step), len(data) - 1]:
        place.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        with pytest.raises(FormatError, match=r"tok\.bpetite: "):
            formats.load(place)


@pytest.mark.parametrize("length", [1, 7, 8, 63, 64, 79, 80, 1_000, -1])
def test_a_cut_file_is_refused(tmp_path: Path, length: int) -> None:
    place = tmp_path / "tok.bpetite"
    place.write_bytes(compiled.dump(SMALL)[:length])
    with pytest.raises(FormatError, match=r"tok\.bpetite: .*(Tokenizer\.save|no tokenizer in any known format)"):
        formats.load(place)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tok.bpetite").touch()
    for format in (None, "compiled"):
        with pytest.raises(FormatError, match="0 bytes"):
            formats.load(tmp_path / "tok.bpetite", format=format)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("at", "new", "said"),
    [(8, b"\3\0\0\0", "version 3 of compiled files, and this release reads 2; make it again from its source"),
     (12, compiled.ORDER[::-1], "another order of bytes; make it again from its source"),
     (32, b"\0", "another SHA-256"), (16, b"\0", "bytes, and its header says")],
)  # fmt: skip
def test_headers_of_others(tmp_path: Path, at: int, new: bytes, said: str) -> None:
    data = compiled.dump(SMALL)
    (tmp_path / "tok.bpetite").write_bytes(data[:at] + new + data[at + len(new) :])
    with pytest.raises(FormatError, match=said):
        compiled.verify(tmp_path / "tok.bpetite")


def test_another_tokenizer_under_its_fingerprint_is_found_by_verify(tmp_path: Path) -> None:
    body = compiled.dump(SMALL)[64:].replace(b'"errors": "strict"', b'"errors": "ignore"')
    (tmp_path / "tok.bpetite").write_bytes(compiled.seal(body))
    assert formats.load(tmp_path / "tok.bpetite").errors == "ignore"
    with pytest.raises(FormatError, match="not that of its fingerprint"):
        compiled.verify(tmp_path / "tok.bpetite")


KEY = bytes(range(48))


def parts_of(vocab: Vocab) -> list[bytes]:
    tokens = vocab.token_table.with_tokens({}, vocab.unreachable, KEY)
    parts: list[bytes] = _compiled.tables_as_bytes(tokens, vocab.keyed_merge_table(tokens, KEY))
    return parts


def prove(parts: list[bytes]) -> object:
    file = b"".join(part + bytes(-len(part) % 64) for part in parts)
    made = _compiled.Parts(file, 0, 0, [len(part) for part in parts])
    tokens = made.tokens(0, KEY)
    made.merges(tokens, KEY)
    assert made.checksum() == _compiled.checksum(file)
    return tokens


@pytest.mark.parametrize("part", range(10))
def test_a_part_that_points_outside_is_refused(part: int) -> None:
    parts = parts_of(RANKS)
    assert prove(parts) == RANKS.tokens
    wrong = {4: parts[4][:-1], 8: parts[8][:-8]}.get(part, b"\xfe" * len(parts[part]))
    for one in (wrong, parts[part][:4]):
        with pytest.raises(ValueError, match="contradict"):
            prove([*parts[:part], one, *parts[part + 1 :]])


def test_parts_outside_the_file_are_refused() -> None:
    for sizes in ([1 << 40] * 10, [-1] * 10, [0] * 9, [True] * 10, [1 << 70] * 10):
        with pytest.raises(ValueError, match="part"):
            _compiled.Parts(bytes(640), 0, 0, sizes)


def test_full_hash_tables_are_refused() -> None:
    parts = parts_of(RANKS)
    for part, used in ((5, b"\1\0\0\0"), (6, bytes(16))):
        with pytest.raises(ValueError, match="contradict"):
            prove([*parts[:part], used * (len(parts[part]) // len(used)), *parts[part + 1 :]])


def with_rank(vocab: Vocab, rank: int, new: int) -> bytes:
    """A file in which the merge of t and h has another rank."""
    before, after = (struct.pack("<QII", ord("t") << 32 | ord("h"), one, 0) for one in (rank, new))
    data = compiled.dump(vocab)[64:]
    assert data.count(before) == 1
    return compiled.seal(data.replace(before, after))


@pytest.mark.parametrize(("vocab", "rank", "special"), [(SMALL, 0, 3), (RANKS, 256, 259)], ids=["merges", "ranks"])
def test_merges_that_give_a_special_token_are_refused(tmp_path: Path, vocab: Vocab, rank: int, special: int) -> None:
    with_the = vocab.replace(special_tokens=vocab.special_tokens | {"the": 259})
    (tmp_path / "tok.bpetite").write_bytes(with_rank(with_the, rank, special))
    with pytest.raises(FormatError, match="its merges contradict"):
        formats.load(tmp_path / "tok.bpetite")


def test_tables_of_other_merges_are_found_by_verify(tmp_path: Path) -> None:
    (tmp_path / "tok.bpetite").write_bytes(with_rank(SMALL, 0, 1))
    assert formats.load(tmp_path / "tok.bpetite") == SMALL
    with pytest.raises(FormatError, match="tables are not those of its tokens and merges"):
        compiled.verify(tmp_path / "tok.bpetite")


# ---- beside named sources


def test_a_named_source_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BPETITE_CACHE", "on")
    monkeypatch.setenv("BPETITE_CACHE_DIR", str(tmp_path / "cache"))
    first = load("gpt2")
    (place,) = (tmp_path / "cache").iterdir()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    again = load("gpt2")
    assert (again, again.name, first.name) == (first, "gpt2", "gpt2")
    place.write_bytes(place.read_bytes()[:-1])
    with pytest.raises(ConnectionError):
        load("gpt2")


def test_a_damaged_compiled_file_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BPETITE_CACHE", "on")
    monkeypatch.setenv("BPETITE_CACHE_DIR", str(tmp_path))
    load("gpt2")
    (place,) = tmp_path.iterdir()
    whole = hashlib.sha256(place.read_bytes()).digest()
    place.write_bytes(b"")
    load("gpt2")
    assert hashlib.sha256(place.read_bytes()).digest() == whole


@pytest.mark.parametrize("why", ["off", "a file in the place of the folder"])
def test_without_a_place_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    monkeypatch.setenv("BPETITE_CACHE_DIR", str(tmp_path / "cache"))
    if why != "off":
        monkeypatch.setenv("BPETITE_CACHE", "on")
        (tmp_path / "cache").write_bytes(b"")
    assert load("gpt2").name == "gpt2"
    assert not (tmp_path / "cache").is_dir()


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="Linux tells the memory of a process")
def test_its_pages_are_no_memory_of_the_process(tmp_path: Path, shared: Callable[[str], Path]) -> None:
    Tokenizer.from_tiktoken(shared("openai/o200k_base.tiktoken")).save(tmp_path / "o200k.bpetite")
    script = (
        "import sys, bpetite.tokenizer, bpetite.formats.compiled\n"
        "def dirty():\n"
        "    rows = dict(line.split()[:2] for line in open('/proc/self/smaps_rollup').readlines()[1:])\n"
        "    return int(rows['Private_Dirty:'])\n"
        "before = dirty()\n"
        "tok = bpetite.Tokenizer.load(sys.argv[1])\n"
        "tok.encode('hello world')\n"
        "print(dirty() - before)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "o200k.bpetite")]
    grown = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert grown < 5_000
