"""Finding the format, saving so that nothing half-written remains, damaged files of every kind."""
import base64
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bpetite import formats
from bpetite.errors import FormatError
from bpetite.vocabulary.vocab import Vocab

BYTES = {byte: bytes([byte]) for byte in range(256)}
MERGES = [(b"t", b"h"), (b" ", b"c"), (b"\xc3", b"\xa9"), (b"th", b"e")]
SMALL = Vocab.build(
    BYTES | {256: b"th", 257: b" c", 258: b"\xc3\xa9", 259: b"the"}, MERGES, {"<|endoftext|>": 300, "<｜世界｜>": 260}
)
PLAIN = Vocab.build(BYTES | {256: b"th", 257: b" c", 258: b"\xc3\xa9", 259: b"the"}, MERGES)
RANKS = Vocab(PLAIN.tokens, None, {}, pattern=PLAIN.pattern)


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_format_is_found_by_the_name_and_by_the_content(tmp_path: Path) -> None:
    for name, format in (("tok", "native"), ("pair", "gpt2")):
        formats.save(SMALL, tmp_path / name, format=format)
        for loaded in (formats.load(tmp_path / name), formats.load(tmp_path / name, format=format)):
            assert loaded == SMALL
            assert loaded.fingerprint() == SMALL.fingerprint()
    formats.save(PLAIN, tmp_path / "plain", format="gpt2")
    assert listing(tmp_path / "plain") == ["merges.txt", "vocab.json"]
    assert formats.load(tmp_path / "plain" / "vocab.json") == PLAIN
    formats.save(RANKS, tmp_path / "small.tiktoken")
    assert (tmp_path / "small.tiktoken").read_bytes().startswith(base64.b64encode(b"\0") + b" 0\n")
    formats.save(SMALL, tmp_path / "small")
    assert json.loads((tmp_path / "small").read_bytes())["format"] == "bpetite"
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbf" + formats.native.dump(SMALL))
    assert formats.load(tmp_path / "marked") == SMALL
    with pytest.raises(FormatError, match="pattern"):
        formats.load(tmp_path / "small.tiktoken")
    for given, meant in (("hf", "huggingface"), ("Native", "native"), ("TikToken", "tiktoken")):
        for use in (lambda format: formats.load(tmp_path / "small", format=format),
                    lambda format: formats.save(SMALL, tmp_path / "new", format=format)):  # fmt: skip
            with pytest.raises(ValueError, match=f"format '{given}' is not one of .*; did you mean '{meant}'"):
                use(given)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit((tmp_path / "pipe").write_bytes, formats.native.dump(SMALL))
        assert formats.load(tmp_path / "pipe") == SMALL
        writing.result()


@pytest.mark.parametrize("format", ["native", "tiktoken", "gpt2"])
def test_saving_refuses_to_overwrite_unless_told(tmp_path: Path, format: str) -> None:
    vocab = RANKS if format == "tiktoken" else SMALL
    place = tmp_path / "tok"
    formats.save(vocab, place, format=format)
    before = {path.name: path.read_bytes() for path in ([*place.iterdir()] if place.is_dir() else [place])}
    with pytest.raises(FileExistsError):
        formats.save(vocab, place, format=format)
    formats.save(vocab, place, format=format, overwrite=True)
    after = {path.name: path.read_bytes() for path in ([*place.iterdir()] if place.is_dir() else [place])}
    assert before == after
    assert listing(tmp_path) == ["tok"]
    with pytest.raises(IsADirectoryError):
        formats.save(vocab, tmp_path, format="native", overwrite=True)


def test_files_are_readable_by_the_group_as_the_umask_says(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        formats.save(SMALL, tmp_path / "tok.json")
    finally:
        os.umask(old)
    assert (tmp_path / "tok.json").stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    formats.save(PLAIN, tmp_path / "real.json")
    (tmp_path / "link.json").symlink_to("real.json")
    formats.save(SMALL, tmp_path / "link.json", overwrite=True)
    assert (tmp_path / "link.json").is_symlink()
    assert formats.load(tmp_path / "real.json") == SMALL


@pytest.mark.parametrize("format", ["native", "gpt2"])
@pytest.mark.parametrize("existing", [False, True])
def test_nothing_half_written_remains_after_a_failed_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, existing: bool
) -> None:
    place = tmp_path / "tok"
    if existing:
        formats.save(PLAIN, place, format=format)

    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        formats.save(SMALL, place, format=format, overwrite=existing)
    if existing:
        assert formats.load(place) == PLAIN
    assert listing(tmp_path) == (["tok"] if existing else [])


# Damaged files


def native_text() -> str:
    return formats.native.dump(SMALL).decode()


Damage = Callable[[str], str]

DAMAGED: dict[str, tuple[Damage, str]] = {
    "cut by one byte": (lambda text: text[:-3], r"not JSON at line \d+, column \d+"),
    "something behind it": (lambda text: text + "{}", "not JSON at line"),
    "another version": (lambda text: text.replace('"version": 2', '"version": 99'), "version 99"),
    "a version that is no integer": (lambda text: text.replace('"version": 2', '"version": true'), "version True"),
    "another kind": (lambda text: text.replace('"kind": "merges"', '"kind": "wordpiece"'), "kind 'wordpiece'"),
    "ranks with merges": (lambda text: text.replace('"kind": "merges"', '"kind": "ranks"'), "kind 'ranks' with"),
    "an unknown key": (lambda text: text.replace('"errors"', '"surprise": 1, "errors"'), "unknown key 'surprise'"),
    "a missing key": (lambda text: text.replace('"errors": "strict",', ""), "no 'errors'"),
    "a key twice": (lambda text: text.replace('"errors"', '"kind": "merges", "errors"'), "'kind' occurs twice"),
    "a token twice": (lambda text: text.replace('"th": 256', '"th": 256, "th": 999'), "'th' occurs twice"),
    "an id that is no integer": (lambda text: text.replace('"the": 259', '"the": 259.0'), "'the' must be an integer"),
    "a special of an id above 2^32-1": (lambda text: text.replace(": 260", ": 4294967296"), "4294967296 is outside"),
    "a byte out of range": (lambda text: text.replace('"the": 259', '"the界": 259'), "U\\+754C.* at 3 stands for no"),
    "a token that was not encoded": (lambda text: text.replace('"the": 259', '"the ": 259'), "U\\+0020.* at 3"),
    "an empty token": (lambda text: text.replace('"the": 259', '"": 259'), "merge 3 .*b'the', which is no"),
    "a merge of an unknown token": (lambda text: text.replace('"th e"', '"xh e"'), "merge 3 'xh e': 'xh' is not in"),
    "a merge that gives no token": (lambda text: text.replace('"th e"', '"th a"'), "merge 3 .*b'tha'"),
    "a merge of three": (lambda text: text.replace('"th e"', '"t h e"'), "merge 3 must be two tokens"),
    "a merge twice": (lambda text: text.replace('"th e"', '"t h"'), "merges 0 and 3 are the same pair"),
    "merges that are no list": (lambda text: text.replace('"merges": [', '"merges": 1, "x": ['), "unknown key 'x'"),
    "a special of a taken id": (lambda text: text.replace(": 260", ": 256"), "256.*b'th'"),
    "a special that is a later token": (
        lambda text: text.replace('"<｜世界｜>"', '"the"').replace('"the": 259', '"the": 999'),
        "ids 260 and 999 have the same bytes b'the'",
    ),
    "a lone surrogate": (lambda text: text.replace('"<｜世界｜>"', r'"\ud800"'), "lone surrogate"),
    "an unknown normalization": (
        lambda text: text.replace('"normalization": null', '"normalization": "NFX"'),
        "normalization 'NFX'",
    ),
    "an unknown error handler": (lambda text: text.replace('"strict"', '"lenient"'), "errors 'lenient'"),
    "a record of training that is none": (
        lambda text: text.replace('"errors"', '"train_config": null, "errors"'), "train_config must be an object, not"
    ),
    "another format's claim": (lambda text: text.replace('"bpetite"', '"tokenpiece"'), "no tokenizer in any"),
    "a bare number": (lambda text: "17", "no tokenizer in any known format"),
    **{
        f"nested deep, {opening}": (lambda text, opening=opening: opening * 1_000_000, message)
        for opening, message in (
            ("[", "JSON array is no tokenizer"), ("[[{}],", "JSON array is no tokenizer"),
            ('{"a":', "line 1, column 6: a value without an end"),
            ('{"model":', "line 1, column 19: a value without an end"),
        )
    },
    **{
        f"nested deep in {part}": (
            lambda text, part=part, value=value: text.replace(part, part + value.format("[" * 9**5 + "]" * 9**5)),
            "nested too deep|maximum recursion",
        )
        for part, value in (('"errors": ', '{}, "x": '), ('"tokens": {', '"x":{},'), ('"merges": [', "{},"))
    },
    "no text at all": (lambda text: "\0" * 100, "no tokenizer in any known format"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_native_file_is_refused_by_name_and_place(tmp_path: Path, damage: str) -> None:
    spoil, message = DAMAGED[damage]
    text = native_text()
    assert spoil(text) != text
    place = tmp_path / "tok.json"
    place.write_text(spoil(text), encoding="utf-8")
    with pytest.raises(FormatError, match=message) as caught:
        formats.load(place)
    assert str(place) in str(caught.value)


@pytest.mark.parametrize("format", [None, "native", "gpt2", "tiktoken", "gguf"])
def test_an_empty_file_is_refused(tmp_path: Path, format: str | None) -> None:
    place = tmp_path / "tok.json"
    place.touch()
    with pytest.raises(FormatError, match=r"tok\.json: the file is empty \(0 bytes\)"):
        formats.load(place, format=format)


@pytest.mark.parametrize("format", [None, "native", "gpt2", "tiktoken"])
def test_a_directory_with_no_tokenizer_is_refused(tmp_path: Path, format: str | None) -> None:
    (tmp_path / "config.json").touch()
    with pytest.raises(FormatError, match=r"it holds config\.json"):
        formats.load(tmp_path, format=format)


def test_bytes_that_are_no_utf8_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "tok.json"
    place.write_bytes(formats.native.dump(SMALL).replace(b'"the"', b'"\xff"'))
    with pytest.raises(FormatError, match=r"tok\.json: tokens: byte \d+ \(0xff\) is not UTF-8"):
        formats.load(place)
    for data in (b"\x80\x04\x95" + bytes(100), b"PK\x03\x04" + bytes(50), bytes(range(256))):
        place.write_bytes(data)
        with pytest.raises(FormatError, match="no tokenizer in any known format"):
            formats.load(place)


def test_a_directory_of_another_format_says_what_it_holds(tmp_path: Path) -> None:
    formats.save(SMALL, tmp_path / "hf", format="huggingface")
    with pytest.raises(FormatError, match=r"hf: a directory with no gpt2 files; it holds huggingface$"):
        formats.load(tmp_path / "hf", format="gpt2")


@pytest.mark.parametrize(
    ("name", "said"), [("x.model", "are not written"), ("x.gguf", "are not written"), ("new/", "a folder")]
)
def test_names_of_formats_that_are_not_written(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        formats.save(SMALL, f"{tmp_path}/{name}")
    assert not list(tmp_path.iterdir())
