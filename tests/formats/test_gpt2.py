"""vocab.json and merges.txt."""
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bpetite import formats
from bpetite.errors import FormatError
from bpetite.formats import gpt2
from bpetite.steps.template import BARE
from bpetite.vocabulary.vocab import Vocab

BYTES = {byte: bytes([byte]) for byte in range(256)}
SMALL = Vocab.build(
    BYTES | {256: b"th", 257: b"# #", 258: b"# "}, [(b"t", b"h"), (b"#", b" "), (b"# ", b"#")], ["<|endoftext|>"]
)


def write(folder: Path, vocab: str, merges: str) -> tuple[Path, Path]:
    (folder / "vocab.json").write_text(vocab, encoding="utf-8")
    (folder / "merges.txt").write_bytes(merges.encode())
    return folder / "vocab.json", folder / "merges.txt"


def small_files() -> tuple[str, str]:
    files = gpt2.dump(SMALL)
    return files["vocab.json"].decode(), files["merges.txt"].decode()


def test_gpt2_itself(shared: Callable[[str], Path]) -> None:
    vocab = gpt2.load(shared("gpt2/vocab.json"), shared("gpt2/merges.txt"))
    assert (len(vocab.tokens), len(vocab.merges or ())) == (50257, 50000)
    assert vocab.special_tokens == {"<|endoftext|>": 50256}
    assert vocab.tokens[vocab.id_of[b" the"]] == b" the"
    files = gpt2.dump(vocab)
    assert json.loads(files["vocab.json"]) == json.loads(shared("gpt2/vocab.json").read_bytes())
    assert files["merges.txt"] == b"#version: 0.2\n" + shared("gpt2/merges.txt").read_bytes()


def test_special_tokens_when_none_are_given(tmp_path: Path) -> None:
    pair = write(tmp_path, *small_files())
    assert gpt2.load(*pair).special_tokens == {"<|endoftext|>": 259}
    assert gpt2.load(*pair, []).special_tokens == {}
    assert gpt2.load(*pair, ["<a>", "<|endoftext|>", "<b>"]).special_tokens == {
        "<a>": 260,
        "<|endoftext|>": 259,
        "<b>": 261,
    }
    assert gpt2.load(*pair, {"<a>": 999}).special_tokens == {"<a>": 999}


@pytest.mark.parametrize(
    ("tokens", "specials"),
    [
        ({259: b"<|endoftext|>"}, {}),
        ({259: b"<|endoftext|>"}, {"th": 256, "<|endoftext|>": 259}),
        ({}, {}),
        ({}, {"<|endoftext|>": 300}),
        ({}, {"<a>": 300, "<世 界>": 259}),
        ({}, {"th": 256}),
    ],
)
def test_other_special_tokens_go_into_a_file_beside(
    tmp_path: Path, tokens: dict[int, bytes], specials: dict[str, int]
) -> None:
    vocab = Vocab.build(BYTES | {256: b"th"} | tokens, [(b"t", b"h")], specials)
    formats.save(vocab, tmp_path / "pair", format="gpt2")
    assert formats.load(tmp_path / "pair") == vocab
    added = tmp_path / "pair" / "added_tokens.json"
    ids = list(json.loads(added.read_bytes()).values()) if added.exists() else []
    assert ids == sorted(ids)


def test_a_special_token_that_older_writers_left_as_it_is(tmp_path: Path) -> None:
    vocab, merges = small_files()
    pair = write(tmp_path, vocab.replace('"<|endoftext|>"', '"<世 界>"'), merges)
    with pytest.raises(FormatError, match="U\\+4E16"):
        gpt2.load(*pair)
    assert gpt2.load(*pair, ["<世 界>"]).special_tokens == {"<世 界>": 259}


def test_line_ends_and_the_version_line(tmp_path: Path) -> None:
    vocab, merges = small_files()
    assert merges == "#version: 0.2\nt h\n# Ġ\n#Ġ #\n"
    assert gpt2.load(*write(tmp_path, vocab, merges.replace("\n", "\r\n"))) == SMALL
    assert gpt2.load(*write(tmp_path, vocab, merges.partition("\n")[2])) == SMALL


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda v, m: (v[:50], m), r"vocab\.json: not JSON at line 1"),
        (lambda v, m: ("{}", m), r"vocab\.json: no tokens"),
        (lambda v, m: ("[1]", m), r"vocab\.json: line 1, column 1: must be a JSON object, not \[1\]"),
        (lambda v, m: (v.replace('"th"', '"t界h"'), m), r"vocab\.json: 't界h': '界' \(U\+754C\) at 1 stands"),
        (lambda v, m: (v, ""), r"merges\.txt: the file is empty"),
        (lambda v, m: (v, m[:-1]), r"merges\.txt: line 4, column 1: '#Ġ #' does not end in a newline"),
        (lambda v, m: (v, m.replace("# Ġ", "# x Ġ")), r"merges\.txt: line 3, .*: merge 1 must be .* not '# x Ġ'"),
        (lambda v, m: (v, m.replace("# Ġ", "zz Ġ")), r"merges\.txt: line 3, .*: merge 1 'zz Ġ': 'zz' is not in the"),
        (lambda v, m: (v, m.replace("# Ġ", "x Ġ")), r"merges\.txt: merge 1 \(b'x', b' '\) gives b'x ', which is no"),
        (lambda v, m: (v, m + "t h\n"), r"merges\.txt: merges 0 and 3 are the same pair"),
    ],
)
def test_damage_is_named_with_its_place(
    tmp_path: Path, spoil: Callable[[str, str], tuple[str, str]], message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        gpt2.load(*write(tmp_path, *spoil(*small_files())))


def test_a_missing_half_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(small_files()[0])
    with pytest.raises(FileNotFoundError):
        formats.load(tmp_path)
    (tmp_path / "merges.txt").mkdir()
    with pytest.raises(FormatError, match=r"merges\.txt: a directory"):
        formats.load(tmp_path)


@pytest.mark.parametrize(
    ("vocab", "message"),
    [
        (Vocab(BYTES, None, {}), "ranks kind"),
        (Vocab(BYTES, (), {}, pattern=None), "pattern None"),
        (Vocab(BYTES, (), {}, normalization="NFC"), "normalization 'NFC'"),
        (Vocab(BYTES, (), {}, ignore_merges=True), "ignore_merges True"),
        (Vocab(BYTES, (), {}, errors="replace"), "errors 'replace'"),
        (Vocab(BYTES, (), {}, template=BARE), "template Template"),
        (Vocab(BYTES, (), {}, kept={"dropout": 0.5}), "kept {'dropout': 0.5}"),
        (Vocab(BYTES, (), {"a": 97}, token_flags={"a": ("lstrip",)}), "token_flags {'a': .*lstrip"),
    ],
)
def test_what_the_pair_cannot_hold_is_named(tmp_path: Path, vocab: Vocab, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        formats.save(vocab, tmp_path / "pair", format="gpt2")
    assert list(tmp_path.iterdir()) == []


def test_special_token_of_a_byte_without_token_is_refused() -> None:
    """Read from these files, it would be found in ordinary text."""
    with pytest.raises(FormatError, match=r"token_flags {'a': .*added"):
        gpt2.dump(Vocab.build({98: b"b"}, [], {"a": 300}))
