"""AutoTokenizer against its own tokenizer.json."""
import json
from pathlib import Path

import pytest
from commands import run

from bpetite import Tokenizer
from bpetite.analysis import disagreements

pytest.importorskip("transformers")


def test_a_class_that_builds_its_own_steps(tmp_path: Path) -> None:
    tok = Tokenizer.train(["the quick brown fox, it's naïve 123"] * 3, 300, special_tokens=["<|endoftext|>"])
    tok.as_transformers(eos_token="<|endoftext|>").save_pretrained(tmp_path)
    assert disagreements(tmp_path, ["the quick"]) == []
    for name, values in (
        ("tokenizer.json", {"normalizer": {"type": "Replace", "pattern": {"String": "q"}, "content": "y"}}),
        ("tokenizer_config.json", {"tokenizer_class": "GPT2Tokenizer"}),
    ):
        path = tmp_path / name
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")
    (found,) = disagreements(tmp_path, ["a qx"], most=1)
    assert (found.setting, found.ids == found.expected) == ("normalizer", False)
    done = run("audit", "-t", tmp_path, "--transformers")
    assert done.returncode == 1
    assert "because of: normalizer" in done.stdout
