"""Files made to do harm: bounded work, clear errors, no code run, no network."""
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bpetite import FormatError, Tokenizer
from bpetite.formats.dialects import from_oniguruma, from_rust

pytest.importorskip("tokenizers")

from huggingface_zoo import tokenizer_json


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "message"),
    [(b"", b"", "a JSON array is no tokenizer"), (b'{"a": ', b"", "a value without an end"),
     (b'{"format": "bpetite", "a": ', b"]" * 50_000_000 + b"}", "nested too deep")],
)  # fmt: skip
def test_nesting_of_100_megabytes_takes_no_more_memory_than_copies_of_the_text(
    before: bytes, after: bytes, message: str, tmp_path: Path
) -> None:
    place = tmp_path / "tokenizer.json"
    place.write_bytes(before + b"[" * (50_000_000 if after else 100_000_000) + after)
    tracemalloc.start()
    with pytest.raises(FormatError, match=message):
        Tokenizer.load(place)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 350_000_000


def test_sequences_in_sequences_are_refused() -> None:
    step: dict[str, Any] = tokenizer_json()["pre_tokenizer"]
    for _ in range(100):
        step = {"type": "Sequence", "pretokenizers": [step]}
    with pytest.raises(FormatError, match="pre_tokenizer: sequences nested too deep"):
        Tokenizer.from_huggingface(tokenizer_json(pre_tokenizer=step))


@pytest.mark.parametrize("translate", [from_oniguruma, from_rust])
@pytest.mark.parametrize(
    "pattern", ["(" * 50_000, "(?:" * 50_000 + ")" * 50_000, "[" * 50_000, "[^" * 9_000, "a" * 70 + "{9}" * 9_000]
)
def test_patterns_of_brackets_are_refused(translate: Callable[[str], str], pattern: str) -> None:
    with pytest.raises(FormatError, match="pattern "):
        translate(pattern)


def test_added_tokens_by_the_thousand_and_long_ones() -> None:
    plain = [{"id": 260 + n, "content": f"<extra_{n}>", "special": True} for n in range(100_000)]
    tok = Tokenizer.from_huggingface(tokenizer_json(added_tokens=plain))
    assert tok.encode("a<extra_0><extra_99999>b<extra_100000>")[:4] == [97, 260, 100_259, 98]
    assert tok.scanner != "pipeline"
    with_flags = [
        {"id": 260 + n, "content": f"<x{n}>", "special": n % 2 == 0, "lstrip": n % 3 == 0, "normalized": n % 5 == 0}
        for n in range(20_000)
    ]
    tok = Tokenizer.from_huggingface(tokenizer_json(added_tokens=with_flags))
    assert tok.encode("a <x0><x19999> <x1>b") == [97, 260, 20_259, 32, 261, 98]
    alike = [{"id": 260 + n, "content": "a" * 2_000 + str(n), "special": True, "normalized": n > 1} for n in range(4)]
    assert Tokenizer.from_huggingface(tokenizer_json(added_tokens=alike)).encode("a" * 2_000 + "3b") == [263, 98]


def test_an_error_about_something_huge_is_short() -> None:
    for changes in (
        {"model": {"merges": ["x" * 10**6]}},
        {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(" * 10**6}, "behavior": "Isolated"}},
        {"pre_tokenizer": {"type": "x" * 10**6}},
    ):
        with pytest.raises(FormatError) as caught:
            Tokenizer.from_huggingface(tokenizer_json(**changes))
        assert len(str(caught.value)) < 1_000


def test_loading_runs_no_code_and_asks_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    watching = True

    def watch(event: str, _: object) -> None:
        if watching and event.split(".")[0] in ("exec", "compile", "socket", "subprocess", "os", "pickle"):
            seen.append(event)

    Tokenizer.train(["ab ab"], 258).save(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer_config.json").write_text('{"auto_map": {"AutoTokenizer": "evil.Evil"}}')
    (tmp_path / "evil.py").write_text("raise SystemExit")
    Tokenizer.from_pretrained(tmp_path)  # what is imported at first use is imported now
    sys.addaudithook(watch)
    try:
        Tokenizer.load(tmp_path)
        Tokenizer.from_pretrained(tmp_path)
    finally:
        watching = False
    assert set(seen) <= {"os.listdir", "os.scandir"}
