"""Parity-aware BPE: each language is learned from in its turn."""
import pytest

from bpetite import Tokenizer, count_pretokens
from bpetite.training import train_parity

pytestmark = pytest.mark.filterwarnings("ignore:no pair is left to learn")

TEXT = "the cat sat on the mat, the dog sat on the log " * 3
BOTH = {"en": TEXT, "de": "der Hund saß auf dem Dach"}


def test_one_language_is_ordinary_training() -> None:
    for options in ({}, {"tie_break": "bytes"}, {"tie_break": "tokenizers", "special_ids": "before"}):
        assert train_parity({"en": TEXT}, 290, **options) == Tokenizer.train(TEXT, 290, **options)
    every = Tokenizer.train(BOTH.values(), 290)
    assert train_parity(BOTH, 290, global_merges=34) == every
    assert train_parity(BOTH, 290) != every


def test_texts_counts_and_pairs_give_the_same() -> None:
    tok = train_parity(BOTH, 290)
    assert train_parity(BOTH, 270).count(BOTH["de"]) < Tokenizer.train(BOTH.values(), 270).count(BOTH["de"])
    for corpora in ({name: count_pretokens(text) for name, text in BOTH.items()}, iter(BOTH.items())):
        assert train_parity(corpora, 290, num_threads=2) == tok
    config = tok.to_vocab().train_config
    assert config is not None
    assert (config["method"], config["options"]["languages"]) == ("train_parity", ["en", "de"])
    # of the texts that judge, the costs
    assert train_parity({"de": "cd", "fr": "ef"}, 257, dev={"de": "a", "fr": "ab"}).merges == [(b"e", b"f")]


@pytest.mark.parametrize(("corpora", "dev", "message"), [
    ({}, None, "takes one language at least"), ("a", None, "languages to texts or counts, or pairs"),
    ({"fr": "a", "de": "b"}, {"de": "b"}, r"dev has the languages \['de'\]"),
])  # fmt: skip
def test_errors(corpora: object, dev: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        train_parity(corpora, 300, dev=dev)  # type: ignore[arg-type]
