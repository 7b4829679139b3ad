"""Reading vocabularies from the bytes of a file: what is accepted is what the way through `json` gives."""
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, Vocab, formats
from bpetite.bytelevel import decode_token_bytes, decode_tokens_bytes, encode_token
from bpetite.errors import FormatError
from bpetite.formats import gpt2, huggingface, native
from bpetite.formats._json_tokens import members, read_characters, read_merge_list, read_merges, read_tokens
from bpetite.formats.files import parse_json
from bpetite.vocabulary._tokens import TokenTable

TEXTS = ["the cat sat on the mat, é \t\n", "的的 的的", '"\\"']
TRAINED = Tokenizer.train(TEXTS, 290, special_tokens=["<|endoftext|>", "<é>"])
VOCAB = TRAINED.to_vocab()
FILES = gpt2.dump(VOCAB)
NATIVE = native.dump(VOCAB)
TOKENIZER_JSON = huggingface.dump(VOCAB)

#: What a change of a byte is likely to break, or not to.
pieces = st.sampled_from(
    [b"", b'"', b"\\", b"\\\\", b"\\u0120", b"\\u0100", b"\\n", b"\\ud800", b"{", b"}", b"[", b"]", b",", b":", b" ",
     b"\n", b"\r\n", b"\t", b"0", b"7", b"-", b".", b"e1", b"4294967295", b"4294967296", "Ġ".encode(), "Ń".encode(),
     "ń".encode(), "é".encode(), "界".encode(), b"\xc2", b"\xff", b"\xc0\x80", b"\x00", b"a", b"a b", b"\xef\xbb\xbf",
     b"#version", b"null"]
)  # fmt: skip


def changed(data: Any, whole: bytes) -> bytes:
    """The file with some of its bytes replaced."""
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(whole)))
        whole = whole[:at] + data.draw(pieces) + whole[at + data.draw(st.integers(0, 3)) :]
    return whole


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"a"}', '{"a":}', '{"a":1', '{"a":1,}', '{"a":1}}', '{"a":01}', '{"a":-1}', '{"a":1.0}',
     '{"a":1e1}', '{"a":4294967296}', '{"a":99999999999999999999999}', '{"a":"1"}', '{"a":1,"b":1}', '{"a b":1}',
     '{"a\\n":1}', '{"界":1}',
     '{"\\ud83d\\ude00":1}', '{"\\u00ad":1}', '{"a\n":1}', '{"\x7f":1}', '{"a":1 "b":2}', '{"a":true}', "{'a':1}",
     *(b'{"' + spelled + b'":1}' for spelled in (b"\xff", b"\xc2", b"\xc0\x80", b"\xc4\x41", b"\xe4\xbd"))],
)  # fmt: skip
def test_tokens_not_accepted(text: str | bytes) -> None:
    assert read_tokens(text.encode() if isinstance(text, str) else text) is None


@given(st.lists(st.text('a"\\/\n\x00\x7fé漢🙂', max_size=6), unique=True), st.booleans())
@example(["🙂\U0010ffff"], True)
def test_spelled_tokens_are_read(spelled: list[str], escaped: bool) -> None:
    data = json.dumps({token: number for number, token in enumerate(spelled)}, ensure_ascii=escaped).encode()
    table, _, _ = read_characters(data, 0, len(data), "")
    assert dict(table) == {number: token.encode() for number, token in enumerate(spelled)}


@pytest.mark.parametrize(
    "escape",
    ["\\ud800", "\\udc00\\ud800", "\\ud83d\\n", "\\ud83d\\ud83d\\ude00", "\\ud83d\\ude0", "\\u12", "\\x", "\\"],
)  # fmt: skip
def test_spelled_tokens_not_accepted(escape: str) -> None:
    text = f'{{"{escape}":1}}'.encode()
    assert read_characters(text, 0, len(text), "") is None


def test_no_merges() -> None:
    table = TokenTable(VOCAB.tokens)
    assert read_merges(b"#version: 0.2\n", table) == read_merge_list(b"[ ]", 0, 3, table) == ()
    for text in (b"#version", b"a", b"a b", b"a b\n\n", b"a  b\n", b"a b c\n", b" b\n", b"\n", b"a b\r", b"zz a\n"):
        assert read_merges(text, table) is None
    for text in (b"", b"[", b"[,]", b'["a b"', b'["a b",]', b'["ab"]', b'[["a", "b"]]', b'["a b"]]'):
        assert read_merge_list(text, 0, len(text), table) is None


def test_places_outside_the_file_are_refused() -> None:
    table = TokenTable(VOCAB.tokens)
    for start, stop in ((-1, 2), (0, 3), (2, 1), (3, -1)):
        with pytest.raises(ValueError, match="of 2 bytes"):
            read_merge_list(b"[]", start, stop, table)
        if (start, stop) != (0, -1):
            with pytest.raises(ValueError, match="of 2 bytes"):
                read_tokens(b"{}", start, stop)


def test_the_members_of_a_model_are_found_too() -> None:
    text = b' {"model": {"vocab": {"a": 1}, "n": null} , "model.m": [2]} '
    assert {key: text[start:stop].strip() for key, (start, stop) in (members(text) or {}).items()} == {
        "model.vocab": b'{"a": 1}', "model.n": b"null", "model": b'{"vocab": {"a": 1}, "n": null}', "model.m": b"[2]",
    }  # fmt: skip
    assert members(b'{"model": {}}') == {"model": (10, 12)}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"a":1,"a":2}', '{"a":1', '{"a":[}', '{"a":"}', '{"a', '{"a":1}x', '{"\\u0061":1}', '{"é":1}',
     '{"a":1]}', '{"a":"\\', '{"model": {"a"}}', '{"model": {"a": 1}', '{"model": {"a": 1, "a": 2}}', '{"model": {,}}',
     '{"model": {"n": 1}, "model.n": 2}'],
)  # fmt: skip
def test_members_not_found(text: str) -> None:
    assert members(text.encode()) is None


@given(st.lists(st.text(st.characters(max_codepoint=0x150)) | st.text("abĠĊ"), max_size=4))
def test_printable_forms_are_decoded(printables: list[str]) -> None:
    def decoded(decode: Callable[[list[str]], list[bytes]]) -> list[bytes] | str:
        try:
            return decode(printables)
        except ValueError as error:
            return str(error)

    assert decoded(decode_tokens_bytes) == decoded(lambda each: [*map(decode_token_bytes, each)])


def load(path: Path, merges: Path | None, plain: bool) -> Vocab | str:
    """The vocabulary in a file, or what is wrong with it."""
    data = path.read_bytes()
    form: Any = huggingface if path.name == "tokenizer.json" else native
    try:
        if merges is not None:
            if plain:
                return gpt2.from_json(parse_json(path.read_bytes(), str(path)), str(path), merges)
            return gpt2.load(path, merges)
        vocab = None if plain else form.from_bytes(data, members(data) or {})
        made: Vocab = form.from_json(parse_json(data, str(path)), str(path)) if vocab is None else vocab
        return made
    except FormatError as bad:
        return str(bad)


tokens = st.dictionaries(st.integers(0, 2**32 - 1), st.binary(max_size=6), max_size=8)


@settings(max_examples=200)
@given(st.data(), tokens, st.booleans(), st.sampled_from([None, 1]))
def test_files_load_as_they_do_through_json(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, tokens: dict[int, bytes], escaped: bool, indent: int
) -> None:
    """In any form, whole or damaged, with the same message."""
    folder = tmp_path_factory.getbasetemp() / "spelled"
    folder.mkdir(exist_ok=True)

    def form(content: object) -> bytes:
        return json.dumps(content, ensure_ascii=escaped, indent=indent).encode()

    spelled = {encode_token(token): token_id for token_id, token in tokens.items()}
    content = json.loads(TOKENIZER_JSON)
    if data.draw(st.booleans()):
        content["model"]["merges"] = [merge.split(" ") for merge in content["model"]["merges"]]
    vocab, merges = data.draw(st.sampled_from([
        (FILES[gpt2.VOCAB], FILES[gpt2.MERGES]), (form(json.loads(FILES[gpt2.VOCAB])), FILES[gpt2.MERGES]),
        (data.draw(st.sampled_from([b"", b"\xef\xbb\xbf", b" \n"])) + form(spelled), b"#version: 0.2\n"),
        (FILES[gpt2.VOCAB], FILES[gpt2.MERGES].replace(b"\n", b"\r\n")),
    ]))  # fmt: skip
    whole = {gpt2.VOCAB: vocab, gpt2.MERGES: merges}
    for name, forms in (("native.json", [NATIVE, form(json.loads(NATIVE))]),
                        ("tokenizer.json", [TOKENIZER_JSON, form(content)])):  # fmt: skip
        whole[name] = data.draw(st.sampled_from(forms))
    for name, written in whole.items():
        (folder / name).write_bytes(changed(data, written) or b"{}")
    for name, pairs in ((gpt2.VOCAB, folder / gpt2.MERGES), ("native.json", None), ("tokenizer.json", None)):
        assert load(folder / name, pairs, plain=False) == load(folder / name, pairs, plain=True)


def test_whole_files_take_the_short_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, whole in FILES.items():
        (tmp_path / name).write_bytes(whole)
    (tmp_path / "native.json").write_bytes(NATIVE)
    ranks = native.dump(TRAINED.to_ranks().to_vocab())
    for module in (gpt2, huggingface, native):
        monkeypatch.setattr(module, "from_json", None)
    for strings in (False, True):
        content = json.loads(TOKENIZER_JSON)
        if not strings:
            content["model"]["merges"] = [merge.split(" ") for merge in content["model"]["merges"]]
        (tmp_path / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=strings), encoding="utf-8")
        assert formats.load(tmp_path / "tokenizer.json") == VOCAB
    assert formats.load(tmp_path / "native.json") == VOCAB
    assert native.from_bytes(ranks, members(ranks) or {}) == TRAINED.to_ranks().to_vocab()
    assert gpt2.load_directory(tmp_path) == VOCAB
    without_specials = gpt2.load(tmp_path / gpt2.VOCAB, tmp_path / gpt2.MERGES, [])
    assert without_specials == Vocab(VOCAB.tokens, VOCAB.merges, {})
    added = gpt2.load(tmp_path / gpt2.VOCAB, tmp_path / gpt2.MERGES, ["<new>"])
    assert added.special_tokens == {"<new>": max(VOCAB.tokens) + 1}
