"""Tokens that no text reaches, as files spell them: empty, or not in printable form; held to Hugging Face's library."""
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import FormatError, Tokenizer, Vocab, patterns
from bpetite.bytelevel import ALPHABET, encode_token
from bpetite.formats import huggingface, native
from bpetite.formats._json_tokens import members

tokenizers = pytest.importorskip("tokenizers")
library = pytest.importorskip("tiktoken")

from huggingface_zoo import added, tokenizer_json  # noqa: E402

BYTES = {byte: bytes([byte]) for byte in range(256)}
SPECIALS = {"<|endoftext|>": 260, "<|startoftranscript|>": 261}

#: As a multilingual Whisper has it: an empty token between the merges and the special tokens.
WHISPER = Vocab.build(
    BYTES | {256: b" t", 257: b"he", 258: b" the", 259: b""},
    [(b" ", b"t"), (b"h", b"e"), (b" t", b"he")],
    SPECIALS,
)
TEXTS = ["", " ", "the the", " the<|endoftext|>then 中 é", "<|startoftranscript|>\n\n  x"]


def test_a_whisper_vocabulary_is_kept_in_every_form(tmp_path: Path) -> None:
    ranks = Tokenizer.from_vocab(WHISPER).to_ranks()
    ranks.save(tmp_path / "multilingual.tiktoken")
    assert (tmp_path / "multilingual.tiktoken").read_bytes().endswith(b"\n= 259\n")
    made = [Tokenizer.from_tiktoken(tmp_path / "multilingual.tiktoken", pattern=patterns.GPT2, special_tokens=SPECIALS)]
    encoding = library.Encoding(
        "multilingual", explicit_n_vocab=262, pat_str=patterns.GPT2, special_tokens=SPECIALS,
        mergeable_ranks={token: token_id for token_id, token in WHISPER.tokens.items() if token_id < 260},
    )  # fmt: skip
    made.append(Tokenizer.from_tiktoken(encoding))
    assert made[0] == made[1] == ranks == Tokenizer.from_tiktoken(ranks.as_tiktoken())
    for name in ("native.json", "tokenizer.json", "pair"):
        for tok in (Tokenizer.from_vocab(WHISPER), ranks.to_merges()):
            tok.save(tmp_path / name, format="gpt2" if name == "pair" else None, overwrite=True)
            assert Tokenizer.load(tmp_path / name) == tok
        made.append(tok)
    assert json.loads((tmp_path / "pair/vocab.json").read_bytes())[""] == 259
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    content = json.loads((tmp_path / "tokenizer.json").read_bytes())
    content["model"]["vocab"]["<|endoftext|>"] = 260  # as the published file has it
    made += [Tokenizer.from_huggingface(it) for it in (theirs, tokenizers.Tokenizer.from_str(json.dumps(content)))]
    assert made[-1] == made[-2] == Tokenizer.from_vocab(WHISPER)
    for tok in made:
        assert tok.to_vocab().unreachable == {259}
        assert tok.token_id(b"") == 259
        assert tok.decode([259]) == theirs.decode([259]) == encoding.decode([259]) == ""
        assert tok.decode([258, 259, 256, 259]) == " the t"
        for text in TEXTS:
            ids = theirs.encode(text).ids
            assert tok.encode(text) == tok.encode_batch([text])[0] == list(tok.encode_iterable(text)) == ids
            assert tok.as_tiktoken().encode(text, allowed_special="all") == ids
            assert encoding.encode(text, allowed_special="all") == ids


def file_of(spelled: list[str], merges: list[list[str]], ignore_merges: bool) -> dict[str, Any]:
    """A tokenizer.json whose ids are the places of its tokens."""
    vocab = {token: at for at, token in enumerate(spelled)}
    model = {"vocab": vocab, "merges": merges, "ignore_merges": ignore_merges}
    return tokenizer_json(model=model, added_tokens=[added("<s>", len(vocab), special=True)])


ODD = ["", " ", "  ", "你", "你a", "a你", " a", "\n", "\x00", "Ġ a", "☃é", "\u00ad", "\u0144"]


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    """A tokenizer.json with tokens that are not in printable form, some beside one with the same bytes."""
    missing = draw(st.sets(st.sampled_from("Ġab"), max_size=1))
    spelled = [character for character in ALPHABET if character not in missing]
    merges: list[list[str]] = []
    for _ in range(draw(st.integers(0, 12))):
        pair = [draw(st.sampled_from(["Ġ", "a", "b", "ä", "½", "ł", *spelled[256 - len(missing) :]])) for _ in "ab"]
        if pair not in merges and not missing.intersection(pair):
            merges.append(pair)
            spelled.append("".join(pair))
    odd = draw(st.lists(st.sampled_from(ODD), unique=True))
    if {"你", "a", "你a"} <= {*odd, *spelled} and draw(st.booleans()):
        merges.insert(draw(st.integers(0, len(merges))), ["你", "a"])
    spelled = draw(st.permutations(list(dict.fromkeys([*spelled, *odd, encode_token("你a"), encode_token(" 你")]))))
    return file_of(spelled, merges, draw(st.booleans()))


@given(files(), st.lists(st.sampled_from([" ", "a", "b", "你", "\n", "é", "<s>"]), max_size=8).map("".join), st.data())
def test_ids_and_text_are_those_of_the_library(content: dict[str, Any], text: str, data: st.DataObject) -> None:
    theirs = tokenizers.Tokenizer.from_str(json.dumps(content))
    ours = Tokenizer.from_huggingface(content)
    vocab = ours.to_vocab()
    ids = theirs.encode(text).ids
    try:
        found = ours.encode(text)
    except ValueError:  # a byte has no token; there it is dropped
        assert not all(character in content["model"]["vocab"] for character in "Ġab")
        found = ids
    assert found == ids
    assert vocab.unreachable.isdisjoint(found)
    some = data.draw(st.lists(st.sampled_from(sorted(vocab.tokens)), max_size=6))
    assert ours.decode(some, errors="replace") == theirs.decode(some, skip_special_tokens=False)


@given(files())
def test_what_is_written_comes_back(content: dict[str, Any]) -> None:
    ours = Tokenizer.from_huggingface(content)
    written = json.loads(huggingface.dump(ours.to_vocab()))
    assert Tokenizer.from_huggingface(written) == ours
    assert written["model"]["vocab"] == content["model"]["vocab"]
    native_file = native.dump(ours.to_vocab())
    assert native.read(native_file, "x", members(native_file)) == ours.to_vocab()


def test_a_space_as_it_is_beside_one_in_printable_form() -> None:
    spelled = [*ALPHABET, " ", "你", encode_token("你")]
    tok = Tokenizer.from_huggingface(file_of(spelled, [], True))
    assert tok.to_vocab().unreachable == {256, 257}
    assert tok.encode("你 ") == [258, spelled.index("Ġ")]
    assert (tok.token_id(" "), tok.token_id("你")) == (spelled.index("Ġ"), 258)
    assert tok.decode([256, 257]) == " 你"


@pytest.mark.parametrize(
    ("format", "token", "message"),
    [
        ("huggingface", b"ab", "tokenizer.json cannot hold token 300 b'ab' as one that no text reaches"),
        ("huggingface", b"\xff", r"tokenizer.json cannot hold token 300 b'\\xff' as one that no text reaches"),
        ("gpt2", b"ab", "vocab.json cannot hold token 300 b'ab' as one that no text reaches"),
        ("gpt2", "你".encode(), "printable form alone, and '你' is not"),
    ],
)
def test_what_a_format_cannot_hold_is_named(format: Any, token: bytes, message: str, tmp_path: Path) -> None:
    vocab = Vocab(BYTES | {300: token}, (), {}, unreachable=frozenset({300}))
    with pytest.raises(FormatError, match=message):
        Tokenizer.from_vocab(vocab).save(tmp_path / "x", format=format)
    twice = Vocab(BYTES | {300: b"", 301: b""}, (), {})
    with pytest.raises(FormatError, match=r"cannot hold token 30[01] b''"):
        Tokenizer.from_vocab(twice).save(tmp_path / "x", format=format)


@pytest.mark.parametrize("format", ["huggingface", "gpt2"])
def test_an_alias_cannot_be_written(format: Any, tmp_path: Path) -> None:
    tok = Tokenizer(BYTES, [], {"<a>": 300, "<b>": 300})
    with pytest.raises(FormatError, match="cannot hold the special token '<b>', which has the id 300 of '<a>'"):
        tok.save(tmp_path / "x", format=format)
