"""Pruning against brute force over small vocabularies."""
from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, Vocab, analysis, count_pretokens
from bpetite.steps.template import Template, TemplatePart
from bpetite.vocabulary.pruning import needs

TEXTS = ["".join(letters) for length in range(1, 6) for letters in product("abc", repeat=length)]
pretokens = st.dictionaries(st.text("abc", min_size=1, max_size=7).map(str.encode), st.integers(0, 9), max_size=6)


@st.composite
def vocabularies(draw: st.DrawFn) -> Tokenizer:
    """Any tokens and any merges of them: parts that no merge makes, merges that never apply, specials among them. Where
    a token comes with all that it holds, its own merges often do not make it."""
    parts = draw(st.lists(st.text("abc", min_size=2, max_size=5), unique=True, max_size=8))
    if parts and draw(st.booleans()):
        held = {parts[0][at:end] for at in range(len(parts[0])) for end in range(at + 2, len(parts[0]) + 1)}
        parts = list(dict.fromkeys([*parts, *sorted(held)]))
    tokens = {0: b"a", 1: b"b", 2: b"c", 3: b" "} | {10 + at: part.encode() for at, part in enumerate(parts)}
    ways = [
        (token[:at], token[at:])
        for token in tokens.values()
        for at in range(1, len(token))
        if token[:at] in tokens.values() and token[at:] in tokens.values()
    ]
    merges = draw(st.permutations(ways))[: draw(st.integers(0, len(ways)))]
    return Tokenizer(tokens, draw(st.sampled_from([merges, None])), draw(st.sampled_from([[], ["cab"], ["<s>"]])))


def fixed(vocab: Vocab) -> set[int]:
    return {one for one, token in vocab.tokens.items() if len(token) == 1}.union(vocab.special_tokens.values())


def use(tok: Tokenizer, counts: dict[bytes, int]) -> Counter[int]:
    used = Counter[int]()
    for pretoken, count in counts.items():
        for token_id in tok.encode_ordinary(pretoken):
            used[token_id] += count
    return used


def leaves(vocab: Vocab, left: set[int]) -> list[int]:
    """What no other token that is left needs."""
    needed = {part for token, parts in needs(vocab).items() if token in left for part in parts if part != token}
    return [one for one in left if one not in needed and one not in fixed(vocab)]


def one_by_one(tok: Tokenizer, used: Counter[int], keep: set[int], size: int | None) -> set[int] | None:
    """The plain twin: take a leaf away, and look again."""
    vocab, used = tok.to_vocab(), used.copy()
    left = set(vocab.tokens)
    while size is None or len(left - vocab.special_only) > size:
        found = [one for one in leaves(vocab, left) if one not in keep and (size is not None or not used[one])]
        if not found:
            return left if size is None else None
        gone = min(found, key=lambda one: (used[one], -one))
        left.remove(gone)
        for part in needs(vocab).get(gone, ())[:2]:
            used[part] += used[gone]
    return left


def same_ids(tok: Tokenizer, small: Tokenizer, ids: dict[int, int]) -> None:
    """What had no token that went is encoded as before; everything still decodes."""
    for text in TEXTS:
        old, new = tok.encode_ordinary(text), small.encode_ordinary(text)
        assert small.decode(new) == text
        if all(one in ids for one in old):
            assert new == [ids[one] for one in old]


@settings(deadline=None, max_examples=60)
@given(vocabularies(), pretokens, st.data())
def test_equals_brute_force(tok: Tokenizer, counts: dict[bytes, int], data: st.DataObject) -> None:
    keep = data.draw(st.sets(st.sampled_from(sorted(tok.vocab))))
    size = data.draw(st.one_of(st.none(), st.integers(1, 13)))
    expected = one_by_one(tok, use(tok, counts), keep, size)
    if expected is None:
        with pytest.raises(ValueError, match="tokens can go: the others are kept or needed by those that are"):
            tok.prune(counts, keep=keep, vocab_size=size)
        return
    small, ids = tok.prune(counts, keep=keep, vocab_size=size)
    assert list(ids) == sorted(expected)
    assert list(ids.values()) == list(range(len(expected)))
    assert small.vocab == {new: tok.token_bytes(old) for old, new in ids.items()}
    assert small.special_tokens == {literal: ids[old] for literal, old in tok.special_tokens.items()}
    same_ids(tok, small, ids)


def test_texts_are_counted_as_the_tokenizer_cuts() -> None:
    texts = ["ab ab ab cd cd", "the cd<|endoftext|>"]
    tok = Tokenizer.train([*texts, "never used before"], 275)
    counts = count_pretokens(texts, special_tokens=["<|endoftext|>"])
    assert tok.prune(texts) == tok.prune(counts) == tok.prune(dict(counts))
    with count_pretokens(texts, memory="1MB") as on_disk:
        assert tok.prune(on_disk) == tok.prune(texts)
    small, ids = tok.prune(texts)
    assert 256 < len(small) < len(tok)
    assert [small.encode(text) for text in texts] == [[ids[one] for one in tok.encode(text)] for text in texts]
    ranks, again = tok.to_ranks().prune(texts)
    assert (ranks.kind, ranks.vocab, again) == ("ranks", small.vocab, ids)
    found = next(one for one in analysis.audit(tok, texts).findings if one.code == "unused")
    assert found.count == len(tok) - len(small)
    assert found.examples[0]["id"] == min(tok.vocab.keys() - ids.keys())
    assert "unused" not in {one.code for one in analysis.audit(small, texts).findings}


def test_everything_that_names_ids_has_the_new_ones(tmp_path: Path) -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)}
    tokens |= {300: b"ab", 400: b"cd", 500: b"<s>", 501: b"", 502: b"abab"}
    around = Template((TemplatePart((500,)), TemplatePart(text="A")), ())
    vocab = Vocab(tokens, ((97, 98), (99, 100), (300, 300)), {"<s>": 500, "<t>": 500}, template=around,
                  token_flags={"<s>": ("lstrip",)}, unreachable=frozenset({501}))  # fmt: skip
    object.__setattr__(vocab, "beside", {
        "tokenizer_config.json": '{"added_tokens_decoder": {"500": {"content": "<s>"}, "400": {}}, "x": 1}',
        "added_tokens.json": '{"<s>": 500, "cd": 400}', "config.json": '{"model_type": "gpt2"}',
    })  # fmt: skip
    small, ids = Tokenizer.from_vocab(vocab).prune(["ab"])
    assert (ids[300], ids[500], 400 in ids, 501 in ids) == (256, 257, False, False)
    assert small.encode("ab <s><t>", add_special_tokens=True) == [257, 256, 257, 257]
    assert small.to_vocab().beside == {
        "tokenizer_config.json": '{\n  "added_tokens_decoder": {\n    "257": {\n      "content": "<s>"\n    }\n  },\n'
        '  "x": 1\n}',
        "added_tokens.json": '{\n  "<s>": 257\n}', "config.json": '{"model_type": "gpt2"}',
    }  # fmt: skip
    small.save(tmp_path / "small.json")
    assert Tokenizer.load(tmp_path / "small.json") == small


def test_a_token_that_texts_use_may_go() -> None:
    small, ids = Tokenizer.train("ab ab ab", 258).prune({b"xab": 9}, vocab_size=256)
    assert small.encode("xab") == [ids[byte] for byte in b"xab"]


def test_what_cannot_be() -> None:
    tok = Tokenizer.train("ab ab ab", 258)
    with pytest.raises(ValueError, match="prune needs texts or counts, vocab_size or keep"):
        tok.prune()
    with pytest.raises(ValueError, match="only 2 of 3 tokens can go"):
        tok.prune(vocab_size=255)
    with pytest.raises(ValueError, match="keep: there is no token 'zz'"):
        tok.prune(keep=["zz"])
    with pytest.raises(ValueError, match="keep: there is no token 999"):
        tok.prune(keep=[999])
    for keep in ("ab", [1.5]):
        with pytest.raises(TypeError, match="keep"):
            tok.prune(keep=keep)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is negative"):
        tok.prune({b"ab": -1})


def test_counting_takes_threads_and_tells_its_progress() -> None:
    tok = Tokenizer.train("ab ab ab cd", 260)
    calls: list[tuple[object, ...]] = []
    pruned = tok.prune(["ab ab"], num_threads=2, progress=lambda *call: calls.append(call))
    assert pruned == tok.prune(["ab ab"])
    assert calls == [("count", 5, 5)]
