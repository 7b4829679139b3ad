"""Mistral's tekken.json, held to what mistral-common does with it: tiktoken over the ranks, ids behind the specials."""
import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bpetite import FormatError, Tokenizer

tiktoken = pytest.importorskip("tiktoken")

PATTERN = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|\p{N}|\s+(?!\S)|\s+"
RANKS = [*(bytes([byte]) for byte in range(256)), b"th", b"the", b" t", b"\xc3\xa9", b"not counted"]


def file(**changes: Any) -> dict[str, Any]:
    config = {
        "pattern": PATTERN,
        "num_vocab_tokens": 300,
        "default_vocab_size": 280,
        "default_num_special_tokens": 20,
        "version": "v3",
    }
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": token.decode("utf-8", "replace")}
        for rank, token in enumerate(RANKS)
    ]
    return {"config": config | changes.pop("config", {}), "vocab": vocab} | changes


def load(folder: Path, found: Any) -> Tokenizer:
    (folder / "tekken.json").write_text(json.dumps(found), encoding="utf-8")
    return Tokenizer.load(folder / "tekken.json")


def test_ids_come_behind_the_special_tokens(tmp_path: Path) -> None:
    tok = load(tmp_path, file())
    theirs = tiktoken.Encoding(
        "t", pat_str=PATTERN, mergeable_ranks={token: rank for rank, token in enumerate(RANKS[:260])}, special_tokens={}
    )
    for text in ("the thé then", "not counted 123", "\n\n  é中文"):
        assert tok.encode_ordinary(text) == [20 + rank for rank in theirs.encode(text)]
    assert tok.vocab_size == 280
    assert tok == Tokenizer.load(tmp_path) == Tokenizer.from_pretrained(tmp_path)


@pytest.mark.parametrize("version", ["v3", "v7"])
def test_files_that_list_no_special_tokens_have_those_of_mistral_common(tmp_path: Path, version: str) -> None:
    """``Tekkenizer.DEPRECATED_SPECIAL_TOKENS`` of mistral-common 1.13."""
    special = load(tmp_path, file(config={"version": version, "default_num_special_tokens": 22})).special_tokens
    listed = (
        "<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] "
        "[TOOL_CALLS] [IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] "
        "[TOOL_CONTENT] <SPECIAL_20> <SPECIAL_21>"
    )
    assert special == {literal: number for number, literal in enumerate(listed.split())}


@pytest.mark.parametrize("name", ["tekken_240718.json", "tekken_240911.json"])
def test_the_files_of_mistral_nemo_and_pixtral(name: str) -> None:
    """mistral-common ships them. It is no part of the extra ``test``: it asks for an older numpy and a newer Python."""
    tekken = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")
    path = Path(tekken.__file__).parents[2] / "data" / name
    ours, theirs = Tokenizer.load(path), tekken.Tekkenizer.from_file(path)
    assert len(ours) == theirs.n_words == 131_072
    literals = [theirs.id_to_piece(number) for number in range(theirs.num_special_tokens)]
    assert ours.special_tokens == {literal: number for number, literal in enumerate(literals)}
    assert ours.encode("[IMG][IMG_BREAK][SUFFIX][TOOL_CONTENT]<SPECIAL_20>") == [10, 12, 16, 19, 20]
    for text in ("Größe, naïve café; x² + y³", "русский 한국어 中文 🙂👍🏽", "def f(x):\n\tx\r\n\n", "[INST] 1234567"):
        ids = theirs.encode(text, bos=False, eos=False)
        assert ours.encode_ordinary(text) == ids
        assert ours.decode(ids) == theirs.decode(ids) == text


def test_later_files_bring_their_own(tmp_path: Path) -> None:
    given = [{"rank": 1, "token_str": "<s>", "is_control": True}, {"rank": 0, "token_str": "<unk>", "is_control": True}]
    tok = load(tmp_path, file(special_tokens=given))
    assert tok.encode("<s>the<SPECIAL_2>") == [1, 277, 2]


def test_it_is_saved_in_formats_that_hold_it(tmp_path: Path) -> None:
    tok = load(tmp_path, file())
    tok.save(tmp_path / "native.json")
    assert Tokenizer.load(tmp_path / "native.json") == tok
    merges = tok.to_merges()
    merges.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json") == merges
    with pytest.raises(FormatError, match="read, not written"):
        tok.save(tmp_path / "new.json", format="tekken")


def in_other_order(entry: dict[str, Any]) -> dict[str, Any]:
    return dict(reversed(entry.items()))


@pytest.mark.parametrize(
    "written",
    [
        lambda found: json.dumps(found, indent=2),
        lambda found: json.dumps(found, ensure_ascii=False, separators=(",", ":")),
        lambda found: json.dumps(found | {"vocab": [one | {"token_str": None} for one in found["vocab"]]}),
        lambda found: json.dumps(found | {"vocab": [one | {"more": [1, "]"]} for one in found["vocab"]]}),
        lambda found: json.dumps(found | {"vocab": [*map(in_other_order, found["vocab"])]}),
        lambda found: json.dumps(found).replace('"token_bytes": "YQ=="', '"token_bytes": "YQ\\u003d="'),
        lambda found: json.dumps(dict(reversed(found.items()))),
    ],
    ids=["indented", "compact", "null", "more keys", "other order", "an escape in base64", "vocab first"],
)
def test_however_it_is_written(tmp_path: Path, written: Callable[[Any], str]) -> None:
    (tmp_path / "other.json").write_text(written(file()), encoding="utf-8")
    assert Tokenizer.load(tmp_path / "other.json") == load(tmp_path, file())


@pytest.mark.parametrize("damage", [b'"\\q"', b'"\xff"', b'"\n"', b'"a" "b"', b"nul", b'"', b'"a",'])
@pytest.mark.parametrize("last", [b'"th"', b'"not counted"'])
def test_damage_in_texts_that_nobody_needs(tmp_path: Path, damage: bytes, last: bytes) -> None:
    data = json.dumps(file()).encode().replace(b'"token_str": ' + last, b'"token_str": ' + damage)
    assert damage in data
    (tmp_path / "tekken.json").write_bytes(data)
    with pytest.raises(FormatError, match=r"tekken\.json: "):
        Tokenizer.load(tmp_path / "tekken.json")


def without(found: dict[str, Any], number: int) -> dict[str, Any]:
    del found["vocab"][number]
    return found


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda: file(vocab={}), "no tokenizer in any known format"),
        (lambda: file(config={"pattern": 7}), "config.pattern must be a str, not 7"),
        (lambda: file(config={"default_vocab_size": "280"}), "config.default_vocab_size must be a number"),
        (lambda: file(config={"default_num_special_tokens": -1}), "config.default_num_special_tokens must be"),
        (lambda: file(config={"default_vocab_size": 282}), "282 tokens, 20 of them special, do not fit 261 ranks"),
        (lambda: file(config={"default_num_special_tokens": 3, "default_vocab_size": 200}), "20 special tokens, but"),
        (lambda: file(config={"version": "v11"}), "no special_tokens in it, which version 'v11' has to list"),
        (lambda: file(config={"pattern": "(?<a>b)"}), "split pattern"),
        (lambda: without(file(config={"default_vocab_size": 279}), 5), r"vocab\[5\] must be an object of rank 5, not"),
        (lambda: file(vocab=[{"rank": 0, "token_bytes": "*"}, *file()["vocab"][1:]]), r"vocab\[0\]: .*not base64"),
        (lambda: file(special_tokens=[{"rank": 1, "token_str": "a"}]), "no special token of rank 0"),
        (lambda: file(special_tokens=[{"rank": 0, "token_str": "<SPECIAL_3>"}]), "'<SPECIAL_3>' occurs twice"),
        (lambda: file(special_tokens=7), "special_tokens must be an array"),
        (lambda: file(special_tokens=[{"rank": 0, "token_str": "th"}]), "have the same bytes b'th'"),
    ],
)
def test_damage_is_named(tmp_path: Path, spoil: Callable[[], Any], message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        load(tmp_path, spoil())
    assert "tekken.json: " in str(caught.value)
