"""AutoTokenizer against its own tokenizer.json."""
import json
from pathlib import Path
from typing import Any

import pytest
from commands import run

from bpetite import Tokenizer
from bpetite.analysis import disagreements

pytest.importorskip("transformers")
TOK = Tokenizer.train(["the quick brown fox, it's naïve 123"] * 3, 300, special_tokens=["<|endoftext|>", "<s>"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    TOK.as_transformers(bos_token="<s>", eos_token="<|endoftext|>").save_pretrained(tmp_path)
    return tmp_path


def change(folder: Path, **parts: Any) -> None:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | parts), encoding="utf-8")


def settings(folder: Path, **values: Any) -> None:
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")


def test_a_folder_that_agrees(folder: Path) -> None:
    assert disagreements(folder, ["the quick"]) == []
    done = run("audit", "-t", folder, "--transformers")
    assert (done.returncode, done.stdout) == (0, "AutoTokenizer gives the ids of its tokenizer.json\n")


def test_a_class_that_builds_its_own_steps(folder: Path) -> None:
    """The class of a family has a pre-tokenizer of its own, whatever the file says."""
    digits = {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ]}  # fmt: skip
    change(folder, pre_tokenizer=digits)
    settings(folder, tokenizer_class="GPT2Tokenizer")
    found = disagreements(folder, most=3)
    assert 1 <= len(found) <= 3
    assert {one.setting for one in found} == {"pre_tokenizer"}
    one = found[0]
    assert one.ids != one.expected
    assert "because of: pre_tokenizer" in str(one)
    done = run("audit", "-t", folder, "--transformers")
    assert done.returncode == 1
    assert "because of: pre_tokenizer" in done.stdout


def test_a_text_of_the_user_shows_it(folder: Path) -> None:
    change(folder, normalizer={"type": "Replace", "pattern": {"String": "qqxz"}, "content": "y"})
    settings(folder, tokenizer_class="GPT2Tokenizer")
    assert disagreements(folder) == []
    (found,) = disagreements(folder, ["a qqxz"])
    assert (found.text, found.setting) == ("a qqxz", "normalizer")
    text = folder / "text.txt"
    text.write_text("a qqxz", encoding="utf-8")
    done = run("audit", "-t", folder, "--transformers", text)
    assert done.returncode == 1
    assert "normalizer" in done.stdout


def test_errors(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        disagreements(tmp_path / "no")
    change(folder, model={"type": "BPE"})
    with pytest.raises(ValueError, match="cannot be loaded"):
        disagreements(folder)
