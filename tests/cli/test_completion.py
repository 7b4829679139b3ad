"""Completion in a shell, as click's script asks for it."""
import pytest
from commands import process


def completed(*words: str) -> list[str]:
    environment = {"COMP_WORDS": " ".join(["bpetite", *words]), "COMP_CWORD": str(len(words))}
    done = process(env={**environment, "_BPETITE_COMPLETE": "bash_complete", "PYTHONWARNINGS": ""})
    assert (done.code, done.err) == (0, "")
    return done.out.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["enc"], ["plain,encode"]),
        (["encode", "-t", "cl"], ["plain,cl100k_base"]),
        (["convert", "o200k_h"], ["plain,o200k_harmony"]),
        (["train", "--pattern", "o2"], ["plain,o200k"]),
        (["encode", "-t", "mine"], ["file,mine"]),
        (["encode", "corp"], ["file,corp"]),
        (["encode", "x", "-o", "out"], ["file,out"]),
        (["encode", "-f", "nano"], ["plain,nanogpt"]),
    ],
)
def test_what_a_shell_is_told(words: list[str], expected: list[str]) -> None:
    assert completed(*words) == expected


def test_all_encodings_where_nothing_is_typed() -> None:
    assert {"plain,bpetite-32k", "plain,cl100k_base"} <= set(completed("count", "-t", "''"))
