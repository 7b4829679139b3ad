"""What people get wrong, and what they are told: the argument, what it got, and what to give instead."""
import json
import resource
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from bpetite import FormatError, Tokenizer, UnknownTokenError, Vocab, serving

BYTES = {byte: bytes([byte]) for byte in range(256)}
TOK = Tokenizer(BYTES, [], ["<s>"])

Call = Callable[[], Any]

MISTAKES: list[tuple[Call, type[Exception], str]] = [
    # special tokens
    (lambda: TOK.encode("a", allowed_special=None), TypeError, "allowed_special is .* not None; () is none of them, "),
    (lambda: TOK.encode("a", disallowed_special=None), TypeError, "disallowed_special is .* not None; () is none"),
    (lambda: TOK.encode("a", allowed_special="<s>"), TypeError, "not '<s>'; ['<s>'] is a collection of one"),
    (lambda: TOK.encode("a", allowed_special=5), TypeError, "allowed_special is .* not 5"),
    (lambda: TOK.encode("a", allowed_special=[[]]), TypeError, "allowed_special is .* not [[]]"),
    (lambda: TOK.encode("a", allowed_special=["<x>"]), ValueError, "'<x>' is not .* this tokenizer, which has '<s>'"),
    (lambda: TOK.encode_batch(["a"], disallowed_special=None), TypeError, "disallowed_special is .* not None"),
    # texts
    (lambda: TOK.encode(None), TypeError, "text is str or UTF-8 bytes, not None; leave out what has no text, or give"),
    (lambda: TOK.encode(5), TypeError, "text is str or UTF-8 bytes, not 5"),
    (lambda: TOK.encode(["a"]), TypeError, "not ['a']; encode_batch and count_batch take several texts"),
    (lambda: TOK.encode(bytearray(b"a")), TypeError, "bytes(text) makes bytes of it"),
    (lambda: TOK.encode(Path("a.txt")), TypeError, "text.read_text() reads the file"),
    (lambda: TOK.count(5, disallowed_special="all"), TypeError, "text is str or UTF-8 bytes, not 5"),
    (lambda: TOK.encode_with_offsets(5), TypeError, "text is str or UTF-8 bytes, not 5"),
    (lambda: TOK.encode_batch(None), TypeError, "texts is an iterable of texts, not None"),
    (lambda: TOK.encode_batch(5), TypeError, "texts is an iterable of texts, not 5"),
    (lambda: TOK.encode_batch("a"), TypeError, "texts is an iterable of texts, not one str: use [text]"),
    (lambda: TOK.encode_batch({"id": "a"}), TypeError, "not {'id': 'a'}: use texts.values()"),
    (lambda: TOK.encode_batch(["a", None]), TypeError, "text 1 of the batch: text is str or UTF-8 bytes, not None"),
    (lambda: TOK.encode_padded(None), TypeError, "texts is an iterable of texts, not None"),
    (lambda: TOK.encode_batch_to_arrow(5), TypeError, "texts is an iterable of texts, not 5"),
    (lambda: TOK.encode_iterable(None), TypeError, "chunks is an iterable of str or bytes, not None"),
    (lambda: TOK.encode_iterable(b"ab"), TypeError, "chunks is .* not b'ab'; [chunks] is one of them"),
    (lambda: list(TOK.encode_iterable(["a", 5])), TypeError, "a chunk of text is str or bytes, not 5"),
    # numbers
    (lambda: TOK.encode("a", num_threads=1.0), TypeError, "num_threads is an int or None, not 1.0"),
    (lambda: TOK.encode("a", num_threads=True), TypeError, "num_threads is an int or None, not True"),
    (lambda: TOK.encode("a", num_threads=0), ValueError, "num_threads must be at least 1, not 0"),
    (lambda: TOK.encode_padded(["a"], max_length="5"), TypeError, "max_length is an int, not '5'"),
    (lambda: TOK.encode_padded(["a"], max_length=4, stride=1.5), TypeError, "stride is an int, not 1.5"),
    (lambda: TOK.encode_padded(["a"], pad_to_multiple_of=None), TypeError, "pad_to_multiple_of is an int, not None"),
    (lambda: TOK.encode_padded(["a"], pad_token=[]), TypeError, "pad_token is a special token or an id, not []"),
    (lambda: next(serving.padded_batches(TOK, ["a"], max_tokens="5", pad_token=0)), TypeError, "not '5'"),
    (lambda: TOK.with_cache("5"), TypeError, "cache_bytes is an int, not '5'"),
    (lambda: TOK.with_cache(1 << 80), ValueError, "cache_bytes must be 0 to 4611686018427387903, not"),
    # ids
    (lambda: TOK.decode(None), TypeError, "ids is a sequence of ints or an integer array, not None"),
    (lambda: TOK.decode(97), TypeError, "not 97; put one id into a list, too"),
    (lambda: TOK.decode(b"abc"), TypeError, "not b'abc'; numpy.frombuffer(ids, dtype) makes an array"),
    (lambda: TOK.decode(bytearray(b"abc")), TypeError, "not bytearray(b'abc'); numpy.frombuffer"),
    (lambda: TOK.decode("abc"), TypeError, "not 'abc'; encode gives the ids of a text"),
    (lambda: TOK.decode({"input_ids": [97]}), TypeError, 'give the ids that are in it, ids["input_ids"]'),
    (lambda: TOK.decode([97, "a"]), TypeError, "token ids are ints, and ids[1] is 'a'"),
    (lambda: TOK.decode([97, 1.5]), TypeError, "token ids are ints, and ids[1] is 1.5"),
    (lambda: TOK.decode([[97, 98]]), TypeError, "ids[0] is [97, 98]; decode_batch takes several sequences"),
    (lambda: TOK.decode(np.array([97.0])), TypeError, "type float64; astype makes an array of another type"),
    (lambda: TOK.decode(np.array([[97]])), TypeError, "2 dimensions and type int64; decode_batch takes several rows"),
    (lambda: TOK.decode([97], errors=5), TypeError, "errors is the name of a codec error handler, not 5"),
    (lambda: TOK.decode([97], errors="nope"), LookupError, "errors 'nope' is no codec error handler (strict, "),
    (lambda: TOK.decode([999]), KeyError, "no token has the id 999 (ids[0]): the vocabulary has 257 tokens, with ids"),
    (lambda: TOK.decode_batch(None), TypeError, "batch is an iterable of sequences of token ids, not None"),
    (lambda: TOK.decode_batch([97, 98]), TypeError, "batch[0] is 97, no sequence of token ids; decode takes one"),
    (lambda: TOK.decode_batch([[97], ["a"]]), TypeError, "text 1 of the batch: token ids are ints, and ids[0] is 'a'"),
    (lambda: TOK.decode_batch([[97], [0x80]]), ValueError, "(text 1 of the batch)"),
    (lambda: TOK.decode_iterable(5), TypeError, "ids is an iterable of ints, not 5"),
    (lambda: TOK.decode_iterable("ab"), TypeError, "ids is an iterable of ints, not 'ab'"),
    (lambda: list(TOK.decode_iterable([97, "a"])), TypeError, "token ids are ints, and ids[1] is 'a'"),
    (lambda: list(TOK.decode_iterable([97, 999])), KeyError, "no token has the id 999 (ids[1]): the vocabulary has"),
    # tokens
    (lambda: TOK.token_id(5), TypeError, "not 5; token_bytes gives the bytes of an id"),
    (lambda: TOK.token_id(None), TypeError, "token is the bytes or the text of a token, not None"),
    (lambda: TOK.token_id("zz"), KeyError, "no token of the vocabulary has the bytes of 'zz'"),
    (lambda: TOK.token_bytes("a"), TypeError, "token_id is an int, not 'a'; token_id gives the id of a token"),
    (lambda: TOK.token_bytes(999), KeyError, "no token has the id 999: the vocabulary has 257 tokens, with ids from 0"),
    # making one
    (lambda: Tokenizer("gpt2"), TypeError, "vocab is a dict of id -> bytes, not 'gpt2': Tokenizer.load takes"),
    (lambda: Tokenizer(Path("a.json"), []), TypeError, "vocab is a dict of id -> bytes, not PosixPath"),
    (lambda: Tokenizer(None, []), TypeError, "a vocabulary is a dict of id -> bytes, not None"),
    (lambda: Tokenizer({"a": 0}, []), TypeError, "begins with ('a', 0); {token_id: token for"),
    (lambda: Tokenizer({0: "a"}, []), TypeError, "a vocabulary maps int to bytes, not 0 to 'a'"),
    (lambda: Tokenizer(BYTES, "merges.txt"), TypeError, "merges is an iterable of pairs of bytes, .* not 'merges.txt'"),
    (lambda: Tokenizer(BYTES, 5), TypeError, "merges is an iterable of pairs of bytes, or None for ranks, not 5"),
    (lambda: Tokenizer(BYTES, ["a b"]), ValueError, "merge 0 must be a pair of bytes, not 'a b'"),
    (lambda: Tokenizer(BYTES, [("a", "b")]), ValueError, "merge 0 must be a pair of bytes, not ('a', 'b')"),
    (lambda: Tokenizer(BYTES, [(97, 98)]), ValueError, "merge 0 must be a pair of bytes, not (97, 98)"),
    (lambda: Tokenizer(BYTES, [], "<s>"), TypeError, "special_tokens is a list .* not '<s>': ['<s>'] is a list of one"),
    (lambda: Tokenizer(BYTES, [], 5), TypeError, "special_tokens is a list of str or a dict literal -> id, not 5"),
    (lambda: Tokenizer(BYTES, [], {"<s>": "5"}), TypeError, "special token '<s>': its id is an int, not '5'"),
    (lambda: Tokenizer(BYTES, [], {"<s>": None}), TypeError, "special token '<s>': its id is an int, not None"),
    (lambda: Vocab(BYTES, 5, {}), TypeError, "merges is a tuple of pairs of ids, or None for ranks, not 5"),
    (lambda: Tokenizer.load(5), TypeError, "load takes the path of a file or a folder, or a name, not 5"),
]


@pytest.mark.parametrize(("call", "error", "message"), MISTAKES, ids=[message[:40] for _, _, message in MISTAKES])
def test_a_mistake_is_explained(call: Call, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        call()
    position = 0
    for part in message.split(".*"):
        found = str(caught.value).find(part.strip(), position)
        assert found >= 0, str(caught.value)
        position = found


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": 1}, "a JSON object of integers is the vocab.json of a tokenizer only with its merges.txt"),
        ({"name": "x", "version": "1"}, "a JSON object with the keys 'name', 'version' is no tokenizer in any known"),
        ({}, "{} is no tokenizer in any known format: native, huggingface"),
        ([1, 2], "a JSON array is no tokenizer in any known format"),
    ],
)
def test_some_other_json(content: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError) as caught:
        Tokenizer.load(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_long_values_are_cut() -> None:
    long = ["x" * 100] * 10**5
    for call in (lambda: TOK.decode("x" * 10**6), lambda: TOK.encode(long), lambda: TOK.decode([long])):
        with pytest.raises(TypeError) as caught:
            call()
        assert len(str(caught.value)) < 250


def test_types_are_checked_before_any_work() -> None:
    """No call makes an object of the size that a wrong argument asks for."""
    huge = 1 << 45
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    none: dict[str, Any] = {"allowed_special": (), "disallowed_special": "all"}
    calls = [
        lambda: TOK.encode(huge, **none), lambda: TOK.encode_to_numpy(huge, **none), lambda: TOK.count(huge, **none),
        lambda: TOK.encode_batch([huge], **none), lambda: TOK.encode_batch(huge), lambda: TOK.decode(huge),
        lambda: TOK.encode_with_offsets(huge, **none), lambda: list(TOK.encode_iterable([huge], **none)),
        lambda: TOK.decode_iterable(huge), lambda: TOK.token_id(huge), lambda: TOK.as_tiktoken().encode(huge),
        lambda: TOK.as_tiktoken().decode(huge),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(TypeError):
            call()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 16  # KiB


# Containers that are not what they say


class Long(tuple):
    def __len__(self) -> int:
        return 10_000


class Short(tuple):
    def __len__(self) -> int:
        return 0


class Pairs(list):
    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Any:
        return iter([(0, 1), (2, 0), (2, 1)])


@pytest.mark.parametrize("kind", [Long, Short, Pairs, list])
def test_merges_that_lie_about_their_number(kind: type) -> None:
    merges = [(0, 1), (2, 0), (2, 1)]
    tokens = {0: b"a", 1: b"b", 2: b"ab", 3: b"aba", 4: b"abb"}
    tok = Tokenizer.from_vocab(Vocab(tokens, kind(merges), {}))
    assert tok == Tokenizer.from_vocab(Vocab(tokens, tuple(merges), {}))
    assert len(tok.to_vocab().merges or ()) == 3
    assert tok.encode("ababb") == [2, 4]
    named = kind([(b"a", b"b"), (b"ab", b"a"), (b"ab", b"b")]) if kind is not Pairs else [(b"a", b"b")]
    assert Tokenizer(tokens, named).encode("ab") == [2]


def test_texts_that_lie_about_their_number() -> None:
    class Texts(list):
        def __len__(self) -> int:
            return 10**6

    assert TOK.encode_batch(Texts(["a", "b"])) == [[97], [98]]
    assert TOK.encode_batch(Long(["a", "b"])) == [[97], [98]]
    assert TOK.encode_batch_to_numpy(Short(["a", "b"]))[0].tolist() == [97, 98]
    assert TOK.decode_batch(Long([[97], [98]])) == ["a", "b"]
    assert TOK.decode(namedtuple("Ids", "a b")(97, 98)) == "ab"
    assert Vocab(OrderedDict({0: b"a"}), None, {}).tokens == {0: b"a"}
    with pytest.raises(TypeError, match="is a dict of id -> bytes"):
        Vocab(cast("Any", [b"a"]), None, {})
    assert Tokenizer(OrderedDict({0: b"a"}), None).encode("a") == [0]


class Text(str):
    def encode(self, *_: Any) -> bytes:
        return b"\xff" * 100

    def __len__(self) -> int:
        return 10**6


class Bytes(bytes):
    def __len__(self) -> int:
        return 10**6


@pytest.mark.parametrize("pattern", [r"\w|\s", r"(?<=a)b|\w"])
@pytest.mark.parametrize("kind", [Text, np.str_, lambda s: Bytes(s.encode()), lambda s: np.bytes_(s.encode())])
def test_subclasses_of_str_and_bytes_are_what_they_hold(pattern: str, kind: Any) -> None:
    text = kind("aé<s>")
    tok = Tokenizer(BYTES, [], ["<s>"], pattern=pattern)
    expected = tok.encode("aé<s>")
    assert tok.encode(text) == tok.encode_batch([text])[0] == tok.encode_to_numpy(text).tolist() == expected
    assert tok.encode_ordinary(text) == tok.encode_ordinary("aé<s>")
    with pytest.raises(ValueError, match="'<s>' at offset"):
        tok.encode(text, disallowed_special=["<s>"])
    with pytest.raises(ValueError, match="byte 0xc3, at offset 1 "):
        Tokenizer({97: b"a"}, [], pattern=pattern).encode_ordinary(text)


def test_an_unknown_token_is_a_key_error_that_pickles() -> None:
    import pickle

    with pytest.raises(UnknownTokenError) as caught:
        TOK.decode([999])
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.args, str(again)) == (caught.value.args, str(caught.value)) == ((999,), str(caught.value))
    assert isinstance(again, KeyError)
