"""tokenizer.json: what cannot be honoured is refused by name, with the step that it is in."""
import json
from pathlib import Path
from typing import Any

import pytest

from bpetite import FormatError, Tokenizer
from bpetite.formats.dialects import from_oniguruma
from bpetite.formats.huggingface_steps import ALIKE

pytest.importorskip("tokenizers")

from huggingface_zoo import added, tokenizer_json


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": [*steps, tokenizer_json()["pre_tokenizer"]]}


def split(pattern: Any, behavior: str = "Isolated") -> dict[str, Any]:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": False}


SPECIAL_X = {"SpecialToken": {"id": "x", "type_id": 0}}
TEXT_A = {"Sequence": {"id": "A", "type_id": 0}}


def template(single: list[Any], special: dict[str, Any]) -> dict[str, Any]:
    made = {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": special}
    return {"post_processor": made}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "WordPiece": ({"model": {"type": "WordPiece"}}, "the model is 'WordPiece', not byte-level BPE"),
    "byte fallback": (
        {"model": {"byte_fallback": True, "vocab": {"a": 0, "<0x62>": 1}, "merges": []}},
        r"model.byte_fallback: the byte b'b' has no token, and tokenizers writes it as <0x62>",
    ),
    "byte fallback, a number": ({"model": {"byte_fallback": 1}}, "model.byte_fallback must not be 1"),
    "unk, a surrogate": ({"model": {"unk_token": "\ud800"}}, r"model.unk_token: special .* holds a lone surrogate"),
    "prepend, a surrogate": ({"normalizer": {"type": "Prepend", "prepend": "\ud800"}}, "puts in a lone surrogate"),
    "content, a surrogate": (
        {"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "\ud800"}}, "puts in a lone surrogate"
    ),
    "prefix": ({"model": {"continuing_subword_prefix": "##"}}, "model.continuing_subword_prefix '##'"),
    "suffix": ({"model": {"end_of_word_suffix": "é"}}, "model.end_of_word_suffix 'é' is not of visible ASCII"),
    "no pre-tokenizer": ({"pre_tokenizer": None}, "neither pre_tokenizer nor normalizer has a ByteLevel"),
    "Metaspace": ({"pre_tokenizer": {"type": "Metaspace", "replacement": "_"}}, "not have the pre-tokenizer Meta"),
    "scripts": ({"pre_tokenizer": sequence({"type": "UnicodeScripts"})}, r"pre_tokenizer\[0\]: bpe.*pre-tok.* Unicode"),
    "two ByteLevels": ({"pre_tokenizer": sequence(tokenizer_json()["pre_tokenizer"])}, "a second ByteLevel"),
    "ByteLevel in the normalizer, too": (
        {"normalizer": {"type": "ByteLevel"}}, "pre_tokenizer: a second ByteLevel, after that of the normalizer"
    ),
    "steps behind bytes": (
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}, {"type": "NFC"}]}},
        r"normalizer\[1\]: bpetite has no normalizer after ByteLevel",
    ),
    "flags behind bytes": (
        {"normalizer": {"type": "ByteLevel"}, "pre_tokenizer": None, "added_tokens": [
            added("<s>", 260, normalized=True, lstrip=True)]},
        "added token '<s>': lstrip of a normalized token, after the normalizer ByteLevel",
    ),
    "no such normalizer": ({"normalizer": {"type": "Bert"}}, "normalizer: bpetite does not have the normalizer Bert"),
    "pattern of a normalizer": (
        {"normalizer": {"type": "Replace", "pattern": {"Regex": "(a"}, "content": ""}},
        r"normalizer: pattern '\(a': '\(' at 0 is not closed",
    ),
    "pattern of a pre-tokenizer": (
        {"pre_tokenizer": sequence(split({"Regex": r"a|\h"}))}, r"pre_tokenizer\[0\]: pattern 'a\|\\\\h'"
    ),
    "decoder": ({"decoder": {"type": "Metaspace"}}, "decoder: bpetite does not have the decoder Metaspace"),
    **{
        f"{key} of the post-processor": (
            {"post_processor": tokenizer_json()["pre_tokenizer"] | {key: "yes"}}, f"{key} must be a bool, not 'yes'"
        )
        for key in ("trim_offsets", "add_prefix_space")
    },
    "post-processor": ({"post_processor": {"type": "Else"}}, "bpetite does not have the post-processor Else"),
    "behavior": ({"pre_tokenizer": sequence(split({"String": " "}, "Sideways"))}, "behavior 'Sideways'"),
    "removed bytes": (
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            tokenizer_json()["pre_tokenizer"], split({"String": "Ã"}, "Removed")]}},
        "could drop a part of a character",
    ),
    "added id": ({"added_tokens": [added("<s>", 300)]}, "'<s>' has the id 300, and tokenizers gives it 260"),
    "added twice": ({"added_tokens": [added("<s>", 260), added("<s>", 261)]}, "'<s>' is listed already"),
    "added huge id": ({"added_tokens": [added("<s>", 10**30)]}, "outside"),
    "added empty": ({"added_tokens": [added("", 260)]}, r"added_tokens\[0\]: a special token must not be empty"),
    "added flag": ({"added_tokens": [added("<s>", 260) | {"lstrip": 1}]}, r"added_tokens\[0\].lstrip"),
    "added is a byte": ({"added_tokens": [added("é", 233)]}, "also how the model spells b"),
    "unknown merge": ({"model": {"merges": ["a b", "x yz"]}}, r"model.merges: line 1, .*: merge 1 'x yz': 'yz' is"),
    "unknown pair": ({"model": {"merges": [["a", "b"], ["x", "yz"]]}}, r"merge 1 .*'yz' is not in the voc"),
    "merge of three": ({"model": {"merges": [["a", "b", "c"]]}}, r"merge 0 must be a pair"),
    "merge to nothing": ({"model": {"merges": ["x y"]}}, "gives b'xy', which is no token"),
    "merges missing": ({"model": {"merges": None}}, "model.merges: line 1, .* must be a JSON array, not None"),
    "merge of mixed kinds": ({"model": {"merges": [["a", "b"], "b c"]}}, r"merge 1 must be a pair"),
    "template id": (template([SPECIAL_X, TEXT_A], {"x": {"id": "x", "ids": [999], "tokens": ["x"]}}), "puts in id 999"),
    "template name": (template([SPECIAL_X], {}), r"post_processor.single\[0\] is no part of a template"),
    "template with two texts": (template([TEXT_A, TEXT_A], {}), "must have each of the texts A once, not"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_honoured_is_refused_by_name(what: str, tmp_path: Path) -> None:
    changes, message = REFUSED[what]
    place = tmp_path / "tokenizer.json"
    place.write_text(json.dumps(tokenizer_json(**changes)), encoding="utf-8")
    with pytest.raises(FormatError, match=message) as caught:
        Tokenizer.load(place)
    assert str(place) in str(caught.value)


def test_named_patterns_need_no_translation() -> None:
    """So a file with one is read without `regex`."""
    assert len(ALIKE) >= 10
    for pattern in ALIKE:
        assert from_oniguruma(pattern) == pattern


def test_a_split_at_spaces_is_one_step_however_it_is_spelled(tmp_path: Path) -> None:
    """Its fingerprint is one, and what `save` writes loads as equal."""
    made = []
    for pattern in ({"String": " "}, {"Regex": " "}, {"Regex": r"\ "}):
        for behavior in ("Removed", "Isolated"):
            steps = sequence(split(pattern, behavior))
            made.append(Tokenizer.from_huggingface(tokenizer_json(pre_tokenizer=steps)))
            made[-1].save(tmp_path / "tokenizer.json", overwrite=True)
            made[-1].save(tmp_path / "native.json", overwrite=True)
            for name in ("tokenizer.json", "native.json"):
                assert Tokenizer.load(tmp_path / name) == made[-1]
    assert len({tok.fingerprint() for tok in made}) == len({*made}) == 2
