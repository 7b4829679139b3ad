"""Validation passes on tokenizers that keep their promises and fails on those that break them."""
import pytest

from bpetite import Tokenizer
from bpetite.analysis import ValidationReport, validate

TEXTS = ["the cat's 猫 🙂\n\n  mat", "", "a<|endoftext|>b", "e\u0301 " * 5]
TOK = Tokenizer.train("the cat sat on the mat " * 5, 290)


def failed(report: ValidationReport) -> set[str]:
    return {check.name for check in report.checks if check.failed}


@pytest.mark.parametrize("normalization", [None, "NFC", "NFKD"])
def test_a_good_tokenizer(normalization: str | None) -> None:
    tok = Tokenizer(TOK.vocab, TOK.merges, TOK.special_tokens, normalization=normalization)
    report = validate(tok, TEXTS)
    assert report.ok, str(report)
    assert report.texts == 4
    assert {check.name: check.passed for check in report.checks} == {
        "round trip": 4, "determinism": 4, "one answer": 4, "offsets": 4, "streaming": 4, "special tokens": 1,
        "saving": 1,
    }  # fmt: skip
    assert "all checks passed" in str(report)


@pytest.mark.parametrize("ranks", [False, True])
def test_ranks_aliases_and_tokens_that_only_decode(ranks: bool) -> None:
    specials = TOK.special_tokens | {"<|e|>": TOK.special_tokens["<|endoftext|>"]}
    tok = Tokenizer({**TOK.vocab, 300: b"", 301: b""}, TOK.merges, specials)
    report = validate(tok.to_ranks() if ranks else tok, TEXTS)
    assert report.ok, str(report)
    assert report.checks[-2].passed == 2


class Forgetful(Tokenizer):
    """Gives different ids in every second call, and wrong counts."""

    __slots__ = ("calls",)

    def encode(self, text, **options):  # type: ignore[no-untyped-def]
        self.calls = getattr(self, "calls", 0) + 1
        ids = super().encode(text, **options)
        return ids[:-1] if self.calls % 2 else ids

    def count(self, text, **options):  # type: ignore[no-untyped-def]
        return 0


def test_broken_promises() -> None:
    report = validate(Forgetful.from_vocab(TOK.to_vocab()), TEXTS)
    assert not report.ok
    assert {"determinism", "one answer"} <= failed(report)
    assert "FAILED" in str(report)
    assert "text 0" in str(report)
    assert report.to_dict()["ok"] is False


def test_an_error_counts_as_a_failure() -> None:
    report = validate(Tokenizer({0: b"a"}, []), ["a", "b"])
    (check,) = (one for one in report.checks if one.name == "round trip")
    assert (check.passed, check.failed) == (1, 1)
    assert "ValueError" in check.failures[0]
    assert "text 1" in check.failures[0]


def test_a_special_token_that_text_can_form() -> None:
    tok = Tokenizer({**{byte: bytes([byte]) for byte in range(256)}, 256: b"ab"}, [(b"a", b"b")], ["ab"])
    assert "special tokens" in failed(validate(tok, ["x"]))


def test_only_the_first_failures_are_kept() -> None:
    report = validate(Tokenizer({0: b"a"}, []), ["b"] * 50)
    assert all(len(check.failures) <= 5 for check in report.checks)
    assert max(check.failed for check in report.checks) == 50
