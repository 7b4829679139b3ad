"""Texts that begin the same are encoded from where they differ, and have the ids of encode."""
import random
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bpetite
from bpetite import PrefixCache, Tokenizer, patterns
from bpetite.serving import prefix_cache

END = "<|endoftext|>"
CORPUS = "I'll say the cat's naïve: don't été  12345 的的的 <end>\n\n  x = 1\n" * 3


def tokenizer(pattern: patterns.Pattern = patterns.GPT2, normalization: str | None = None) -> Tokenizer:
    return Tokenizer.train(CORPUS, 280, special_tokens=[END, "<"], pattern=pattern, normalization=normalization)


TOKENIZERS = {
    "gpt2": tokenizer(), "cl100k": tokenizer(patterns.CL100K), "NFC": tokenizer(normalization="NFC"),
    "regex": tokenizer(r"\b\w+|\s+"), "none": tokenizer(None), "ranks": tokenizer(patterns.O200K).to_ranks(),
}  # fmt: skip

parts = st.sampled_from([END, "<|endo", "ftext|>", "the ", " ", "   ", "\n", "12", "'", "ll", "的", "e", "\u0301"])


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("step", [1, 3, 8])
@settings(max_examples=25)
@given(st.data())
def test_any_texts(name: str, step: int, data: st.DataObject) -> None:
    tok = TOKENIZERS[name]
    cache = PrefixCache(tok, data.draw(st.sampled_from([0, 1000, 5000, 1 << 20])))
    texts = [""]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefix_cache, "STEP", step)
        for _ in range(data.draw(st.integers(1, 8))):
            old = data.draw(st.sampled_from(texts))
            text = old[: data.draw(st.integers(0, len(old)))] + "".join(data.draw(st.lists(parts, max_size=8)))
            texts.append(text)
            allowed: Any = data.draw(st.sampled_from(["all", (), ["<"]]))
            ids = cache.encode(text, allowed_special=allowed)
            assert ids == tok.encode(text, allowed_special=allowed)
            ids.clear()
            assert cache.size <= cache.max_bytes
    assert cache.hits + cache.misses == len(texts) - 1


def test_a_chat_is_encoded_from_where_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    tok = TOKENIZERS["cl100k"]
    cache = bpetite.PrefixCache(tok)
    chat = CORPUS * 50
    cache.encode(chat)
    assert (cache.hits, cache.misses, cache.reused) == (0, 1, 0)
    for turn in range(1, 6):
        chat += f"turn {turn} " * 30
        before = cache.reused
        assert cache.encode(chat) == tok.encode(chat)
        assert cache.hits == turn
        assert cache.reused - before > len(chat) - 2 * prefix_cache.STEP - 400
    cache.clear()
    assert cache.size == 0
    cache.encode(chat)
    assert cache.misses == 2


def test_what_is_used_stays() -> None:
    tok = TOKENIZERS["gpt2"]
    cache = PrefixCache(tok, 200_000)
    system = CORPUS * 50
    cache.encode(system)
    for number in range(60):
        cache.encode(f"{number} " + CORPUS * 20)
        hits = cache.hits
        cache.encode(system + str(number))
        assert cache.hits == hits + 1
        assert 0 < cache.size <= 200_000


@pytest.mark.parametrize("name", ["gpt2", "none"])
def test_one_long_pretoken_is_read_a_few_times(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from bpetite.serving import edges

    tok = TOKENIZERS[name]
    read: list[int] = []
    plain = edges.Edges.read
    monkeypatch.setattr(edges.Edges, "read", lambda self, data: (read.append(len(data)), plain(self, data))[1])
    text = "x" * 200_000
    assert PrefixCache(tok).encode(text) == tok.encode(text)
    assert sum(read) < 5 * len(text)


def test_threads() -> None:
    tok = TOKENIZERS["gpt2"]
    cache = PrefixCache(tok, 300_000)
    wrong: list[str] = []

    def work(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(40):
            text = CORPUS * draw.choice([20, 40]) + draw.choice(["", CORPUS * 11 + END, "x" * 5000])
            if cache.encode(text) != tok.encode(text):
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert cache.hits + cache.misses == 160
    assert cache.hits > 100


def test_errors() -> None:
    tok = TOKENIZERS["gpt2"]
    cache = PrefixCache(tok)
    long = CORPUS * 50
    for text in ("a" + END, long + END):
        with pytest.raises(ValueError, match=f"disallowed special token .* at offset {len(text) - len(END)};"):
            cache.encode(text, disallowed_special=[END])
    with pytest.raises(UnicodeEncodeError):
        cache.encode(long + "\ud800")
    with pytest.raises(TypeError, match="text is str or UTF-8 bytes, not 5"):
        cache.encode(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"max_bytes is an int, not 1\.5"):
        PrefixCache(tok, 1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_bytes must be at least 0, not -1"):
        PrefixCache(tok, -1)
    known = Tokenizer({97: b"a"}, [], pattern=None)
    with pytest.raises(ValueError, match="has no token"):
        PrefixCache(known).encode("a" * 5000 + "b")
    assert cache.encode(long.encode()) == tok.encode(long)
