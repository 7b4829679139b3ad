"""Reading vocabularies from the bytes of a file: what is accepted is what `json` accepts, in any form, whole or not."""
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
from bpetite.vocabulary.spelling import SpelledIds

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
     '{"a":1e1}', '{"a":4294967296}', '{"a":99999999999999999999999}', '{"a":"1"}', '{"a":1,"b":1}', '{"a b":"1"}',
     '{"a\n":1}', '{"a":1 "b":2}', '{"a":true}', "{'a':1}",
     *(b'{"' + spelled + b'":1}' for spelled in (b"\xff", b"\xc2", b"\xc0\x80", b"\xc4\x41", b"\xe4\xbd"))],
)  # fmt: skip
def test_tokens_not_accepted(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"line 1, column|is not UTF-8|same id 1"):
        read_tokens(text.encode() if isinstance(text, str) else text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n "é": 1.5}', "line 2, column 2: the id of 'é' must be an integer, not 1.5"),
        ('{"a": 1, "b": -1}', "line 1, column 10: the id -1 of 'b' is outside 0..4294967295"),
        ('{"a": 1, "界 \\ud800": 2}', "line 1, column 10: '界 .ud800' holds a lone surrogate at 2"),
        ('{"a": 1, "b": 2 "c": 3}', "not JSON at line 1, column 17: no comma, and no end of an array or object"),
        ('{"a": 1, "\\x": 2}', "not JSON at line 1, column 11: Invalid .escape"),
        ('{"a": NaN}', "line 1, column 2: the id of 'a' must be an integer, not nan"),
        ('{"a": 1, "b": nul}', "not JSON at line 1, column 15: Expecting value"),
        ('{"é": 1, "a": ' + "9" * 5000 + "}", "not JSON at line 1, column 10: Exceeds the limit"),
        ('{"a": 1, "b": 2, "a": 3}', "b'a' occurs twice, with the ids 1 and 3"),
        ('{"a": 1, "a": 1}', "b'a' and b'a' have the same id 1"),
        ('{"": 1, "": 3}', "b'' occurs twice, with the ids 1 and 3"),
        ('{"界": 1, "界": 3}', "line 1, column 10: '界' occurs twice"),
        ("[5]", r"line 1, column 1: must be a JSON object, not \[5\]"),
    ],
)
def test_a_fault_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_tokens(text.encode())


def test_tokens_in_no_printable_form_are_not_found_by_their_bytes() -> None:
    table, odd, hidden = read_tokens('{"Ġ": 7, " ": 3, "a b": 4, "界": 1, "\\ud83d\\ude00\\n": 2, "": 9}'.encode())
    assert dict(table) == {1: "界".encode(), 2: "😀\n".encode(), 3: b" ", 4: b"a b", 7: b" ", 9: b""}
    assert odd == {" ": 3, "a b": 4, "界": 1, "😀\n": 2, "": 9}
    assert hidden == {1, 2, 3, 4, 9}
    assert (table.find_id(b" "), table.find_id("界".encode())) == (7, None)
    listed = '["Ġ Ġ", " Ġ", "界 Ġ"]'.encode()
    merges = read_merge_list(listed, 0, len(listed), table, SpelledIds(table, odd), hidden)
    assert merges == ((7, 7),)


@given(st.lists(st.text('a"\\/\n\x00\x7fé漢🙂', max_size=6), unique=True), st.booleans())
@example(["🙂\U0010ffff"], True)
def test_spelled_tokens_are_read(spelled: list[str], escaped: bool) -> None:
    data = json.dumps({token: number for number, token in enumerate(spelled)}, ensure_ascii=escaped).encode()
    table, _, _, _ = read_characters(data, 0, len(data), "")
    assert dict(table) == {number: token.encode() for number, token in enumerate(spelled)}


@pytest.mark.parametrize(
    "escape",
    ["\\ud800", "\\udc00\\ud800", "\\ud83d\\n", "\\ud83d\\ud83d\\ude00", "\\ud83d\\ude0", "\\u12", "\\x", "\\"],
)  # fmt: skip
def test_spelled_tokens_not_accepted(escape: str) -> None:
    text = f'{{"{escape}":1}}'.encode()
    with pytest.raises(ValueError, match=r"lone surrogate|not JSON at line 1, column"):
        read_characters(text, 0, len(text), "")


def test_spaces_in_spelled_tokens() -> None:
    data = '{"▁": 0, "a b": 1, "<0x20>": 2, "<0x0A>": 3, "▁b": 4}'.encode()
    table, byte_ids, odd, hidden = read_characters(data, 0, len(data), "▁")
    assert dict(table) == {0: b" ", 1: b"a b", 2: b" ", 3: b"\n", 4: b" b"}
    assert ({2, 3} <= {*byte_ids}, odd, hidden) == (True, {"a b": 1}, {1, 2})
    table, _, odd, hidden = read_characters(data, 0, len(data), "")
    assert (table[0], odd, hidden) == ("▁".encode(), {}, set())


def test_no_merges() -> None:
    table = TokenTable(VOCAB.tokens)
    ids = SpelledIds(table, {})
    assert read_merges(b"#version: 0.2\n", table, ids) == read_merge_list(b"[ ]", 0, 3, table, ids) == ()
    for text in (b"#version", b"a", b"a b", b"a b\n\n", b"a  b\n", b"a b c\n", b" b\n", b"\n", b"a b\r", b"zz a\n"):
        with pytest.raises(ValueError, match=r"line [12], column 1: "):
            read_merges(text, table, ids)
    for text in (b"", b"[", b"[,]", b'["a b"', b'["a b",]', b'["ab"]', b'[["a", "b", ""]]', b'["a b"]]', b'["\xff b"]'):
        with pytest.raises(ValueError, match=r"line 1, column \d+: |is not UTF-8"):
            read_merge_list(text, 0, len(text), table, ids)


def test_faults_far_behind_are_told_with_their_rank() -> None:
    """Merges are looked up many at a time."""
    table = TokenTable(VOCAB.tokens)
    for at in (0, 5, 15, 16, 40):
        for bad, fault in (("zz a", "'zz a': 'zz' is not in the vocabulary"), ("a", "must be two tokens")):
            lines = ["a b"] * at + [bad] + ["a b"] * 20
            with pytest.raises(ValueError, match=f"line {at + 1}, column 1: merge {at} {fault}"):
                read_merges("".join(f"{line}\n" for line in lines).encode(), table, SpelledIds(table, {}))
            listed = json.dumps(lines, indent=0).encode()
            with pytest.raises(ValueError, match=f"line {at + 2}, column 1: merge {at} {fault}"):
                read_merge_list(listed, 0, len(listed), table, SpelledIds(table, {}))


def test_places_outside_the_file_are_refused() -> None:
    table = TokenTable(VOCAB.tokens)
    for start, stop in ((-1, 2), (0, 3), (2, 1), (3, -1)):
        with pytest.raises(ValueError, match="of 2 bytes"):
            read_merge_list(b"[]", start, stop, table, {})
        if (start, stop) != (0, -1):
            with pytest.raises(ValueError, match="of 2 bytes"):
                read_tokens(b"{}", start, stop)


def test_the_members_of_a_model_are_found_too() -> None:
    text = b' {"model": {"vocab": {"a": 1}, "n": null} , "model.m": [2]} '
    assert {key: text[start:stop].strip() for key, (start, stop) in members(text).items()} == {
        ("model", "vocab"): b'{"a": 1}', ("model", "n"): b"null", "model": b'{"vocab": {"a": 1}, "n": null}',
        "model.m": b"[2]",
    }  # fmt: skip
    assert members(b'{"model": {}}') == {"model": (10, 12)}
    assert members(b"{}") == {}
    assert [*members('{"\\u0061": 1, "é": {"model": {}}, "\\"": 2}'.encode())] == ["a", "é", '"']


def test_a_key_with_a_dot_is_no_member_of_the_model() -> None:
    content = json.loads(TOKENIZER_JSON)
    content["model.merges"] = content["model"].pop("merges")
    with pytest.raises(FormatError, match='model has no "merges"'):
        huggingface.read(json.dumps(content).encode(), "x")
    content["model"]["merges"] = content.pop("model.merges")[:1]
    content["model.vocab"], content["model.merges"] = {}, [1]
    assert len(huggingface.read(json.dumps(content).encode(), "x").merges or ()) == 1


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"a":1,"a":2}', '{"a":1', '{"a":[}', '{"a":"}', '{"a', '{"a":1}x',
     '{"a":1]}', '{"a":"\\', '{"model": {"a"}}', '{"model": {"a": 1}', '{"model": {"a": 1, "a": 2}}', '{"model": {,}}',
     '{"\\x": 1}', '{"a": }'],
)  # fmt: skip
def test_members_not_found(text: str) -> None:
    with pytest.raises(ValueError, match=r"not JSON at line 1, column \d+: |the key 'a' occurs twice"):
        members(text.encode())


@given(st.lists(st.text(st.characters(max_codepoint=0x150)) | st.text("abĠĊ"), max_size=4))
def test_printable_forms_are_decoded(printables: list[str]) -> None:
    def decoded(decode: Callable[[list[str]], list[bytes]]) -> list[bytes] | str:
        try:
            return decode(printables)
        except ValueError as error:
            return str(error)

    assert decoded(decode_tokens_bytes) == decoded(lambda each: [*map(decode_token_bytes, each)])


def load(path: Path) -> Vocab | None:
    """The vocabulary in a file, None where it is refused."""
    try:
        return gpt2.load(path, path.with_name("merges.txt")) if path.name == gpt2.VOCAB else formats.load(path)
    except FormatError:
        return None


tokens = st.dictionaries(st.integers(0, 2**32 - 1), st.binary(max_size=6), max_size=8)


@settings(max_examples=200)
@given(st.data(), tokens, st.booleans(), st.sampled_from([None, 1]))
def test_files_load_as_what_json_makes_of_them(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, tokens: dict[int, bytes], escaped: bool, indent: int
) -> None:
    """In any form, whole or damaged: what `json` reads loads as what it writes of it, and nothing else loads."""
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
    damaged = {name: changed(data, written) or b"{}" for name, written in whole.items()}
    for name, written in damaged.items():
        (folder / name).write_bytes(written)
    for name in (gpt2.VOCAB, "native.json", "tokenizer.json"):
        read = load(folder / name)
        try:
            again = json.dumps(parse_json(damaged[name], "x")).encode()
        except FormatError:
            assert read is None
        else:
            (folder / name).write_bytes(again)
            assert load(folder / name) == read


def test_all_forms_of_a_file(tmp_path: Path) -> None:
    for name, whole in FILES.items():
        (tmp_path / name).write_bytes(whole)
    for strings in (False, True):
        content = json.loads(TOKENIZER_JSON)
        if not strings:
            content["model"]["merges"] = [merge.split(" ") for merge in content["model"]["merges"]]
        (tmp_path / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=strings), encoding="utf-8")
        assert formats.load(tmp_path / "tokenizer.json") == VOCAB
    assert gpt2.load_directory(tmp_path) == VOCAB


@pytest.mark.parametrize("indent", [None, 1])
def test_a_fault_beside_tokens_and_merges_has_its_line_and_column(indent: int | None, tmp_path: Path) -> None:
    content = json.loads(TOKENIZER_JSON)
    content["é"] = content["é\n"] = {}
    content["last"] = "here"
    text = json.dumps(content, ensure_ascii=False, indent=indent).replace('"here"', "nul")
    line, column = text[: text.index("nul}" if indent is None else "nul\n")].count("\n") + 1, 0
    column = len(text.split("\n")[line - 1].partition("nul")[0]) if indent else text.index("nul}")
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=f"not JSON at line {line}, column {column + 1}: Expecting value"):
        formats.load(tmp_path / "tokenizer.json")
