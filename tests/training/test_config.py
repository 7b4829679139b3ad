"""What a tokenizer says about its training."""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import bpetite
from bpetite import Tokenizer, Vocab
from bpetite.formats import native

TEXTS = ["ab ab ab", "größer ab"]


def test_it_has_every_option(tmp_path: Path) -> None:
    tok = Tokenizer.train(TEXTS, 258, pattern=(r"\w+", r"\s"), special_tokens={"<a>": 300}, tie_break="bytes")
    assert tok.to_vocab().train_config == {
        "method": "train",
        "bpetite": bpetite.__version__,
        "options": {
            "vocab_size": 258, "special_tokens": {"<a>": 300}, "special_ids": "after", "pattern": [r"\w+", r"\s"],
            "min_frequency": 1, "tie_break": "bytes", "normalization": None, "max_token_bytes": None,
        },
    }
    tok.save(tmp_path / "tok.json")
    again = Tokenizer.load(tmp_path / "tok.json")
    assert again.to_vocab().train_config == tok.to_vocab().train_config
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "tok.json").read_bytes()


def test_it_is_no_content() -> None:
    trained = Tokenizer.train(TEXTS, 258)
    vocab = trained.to_vocab()
    bare = Vocab(vocab.tokens, vocab.merges, vocab.special_tokens)
    assert (bare, bare.fingerprint(), hash(bare)) == (vocab, vocab.fingerprint(), hash(vocab))
    assert bare.train_config is None
    assert b"train_config" not in native.dump(bare)
    with_it, without = json.loads(native.dump(vocab)), json.loads(native.dump(bare))
    assert with_it.pop("train_config") == trained.to_vocab().train_config
    assert with_it == without


def test_what_is_made_of_a_tokenizer_says_of_which() -> None:
    tok = Tokenizer.train(TEXTS, 258)
    for made, method, options in (
        (tok.extend(TEXTS, 1), "extend", {"add": 1, "special_tokens": [], "min_frequency": 1, "tie_break": "ids",
                                         "max_token_bytes": None}),
        (tok.prune(keep=[256]).tokenizer, "prune", {"keep": [256], "vocab_size": None}),
    ):  # fmt: skip
        config = made.to_vocab().train_config
        assert config is not None
        assert (config["method"], config["options"], config["after"]) == (method, options, tok.to_vocab().train_config)
    assert tok.to_ranks().to_vocab().train_config == tok.to_vocab().train_config
    vocab = tok.to_vocab()
    loaded = Tokenizer.from_vocab(Vocab(vocab.tokens, vocab.merges, vocab.special_tokens))
    extended = loaded.extend(TEXTS, 1).to_vocab().train_config
    assert extended is not None
    assert "after" not in extended


def test_what_the_options_were_given_as_can_be_saved(tmp_path: Path) -> None:
    tok = Tokenizer.train(TEXTS, 258, special_tokens=["<a>"])
    one, two, size = np.int64(1), np.int32(2), np.uint16(257)
    given: list[tuple[Tokenizer, Tokenizer]] = [
        (Tokenizer.train(TEXTS, size, special_tokens={"<a>"}, min_frequency=one, max_token_bytes=two),  # type: ignore[arg-type]
         Tokenizer.train(TEXTS, 257, special_tokens=["<a>"], max_token_bytes=2)),
        (tok.extend(TEXTS, one, min_frequency=two), tok.extend(TEXTS, 1, min_frequency=2)),
        (tok.extend(TEXTS, 1, special_tokens=iter(["<b>"])), tok.extend(TEXTS, 1, special_tokens=["<b>"])),  # type: ignore[arg-type]
        (tok.prune(vocab_size=size).tokenizer, tok.prune(vocab_size=257).tokenizer),
        (tok.prune(keep=[size]).tokenizer, tok.prune(keep=[257]).tokenizer),
    ]
    for made, plain in given:
        made.save(tmp_path / "tok.json", overwrite=True)
        again = Tokenizer.load(tmp_path / "tok.json")
        assert again == plain
        assert again.to_vocab().train_config == made.to_vocab().train_config == plain.to_vocab().train_config
