"""Suites of other projects (support/conformance.py): the readers of their cases, and their cases if they are here."""
import json
import os
import shutil
from pathlib import Path

import conformance
import pytest

from bpetite import Tokenizer

#: Folder of the checkouts that docs/conformance.md lists.
SUITES = Path(os.environ.get("BPETITE_SUITES", "absent"))

#: Cases of the newest checkouts at least.
CASES = {
    "jtokkit": 2_113,
    "gpt-tokenizer": 313,
    "kitoken": 2_272,
    "llama.cpp": 276,
    "minbpe": 21,
    "assignment1-basics": 24,
}

TEXT = "Hello world\n\n  été"


@pytest.mark.parametrize("suite", conformance.SUITES)
def test_every_case_is_equal(suite: str) -> None:
    if not (SUITES / suite).exists():
        pytest.skip(f"BPETITE_SUITES={SUITES} has no {suite}: docs/conformance.md says how to get it")
    found = list(conformance.SUITES[suite](SUITES / suite))
    assert [result for result in found if result.equal != result.cases] == []
    assert sum(result.cases for result in found) >= CASES[suite]


@pytest.fixture
def ids(shared) -> list[int]:
    return Tokenizer.load(shared("openai/cl100k_base.tiktoken")).encode(TEXT)


def checked(function, folder: Path, equal: int, cases: int) -> conformance.Result:
    (result,) = function(folder)
    assert (result.equal, result.cases) == (equal, cases)
    assert (result.differs is None) == (equal == cases)
    return result


@pytest.mark.parametrize("wrong", [False, True])
def test_rows_of_jtokkit(tmp_path: Path, ids: list[int], wrong: bool) -> None:
    path = tmp_path / "lib/src/test/resources/cl100k_base_encodings.csv"
    path.parent.mkdir(parents=True)
    path.write_text(f'input,output,outputMaxTokens10\n"{TEXT}","{ids + [0] * wrong}","[]"\n,"[]","[]"\n')
    checked(conformance.jtokkit, tmp_path, 2 - wrong, 2)


@pytest.mark.parametrize("wrong", [False, True])
def test_plans_of_gpt_tokenizer(tmp_path: Path, ids: list[int], wrong: bool) -> None:
    (tmp_path / "data").mkdir()
    plans = [f"EncodingName: cl100k_base\nSample: {text}\nEncoded: {json.dumps(given)}"
             for text, given in (("", []), (TEXT, ids + [0] * wrong))]  # fmt: skip
    (tmp_path / "data/TestPlans.txt").write_text("\n\n".join(plans))
    checked(conformance.gpt_tokenizer, tmp_path, 2 - wrong, 2)


@pytest.mark.parametrize("wrong", [False, True])
def test_lines_of_kitoken(tmp_path: Path, shared, ids: list[int], wrong: bool) -> None:
    models, data = tmp_path / "tests/models/tiktoken", tmp_path / "tests/data/tiktoken"
    models.mkdir(parents=True)
    data.mkdir(parents=True)
    shutil.copy(shared("openai/cl100k_base.tiktoken"), models)
    row = ", ".join(map(str, ids + [0] * wrong)) + "\n"
    for kind, text in (("small", TEXT.replace("\n", "\\n") + "\n"), ("utf8", TEXT)):
        (data.parent / f"{kind}_input.txt").write_text(text)
        (data / f"{kind}_tokens_cl100k_base.txt").write_text(row)
    checked(conformance.kitoken, tmp_path, 0 if wrong else 3, 3)


@pytest.mark.parametrize("wrong", [False, True])
def test_texts_of_llama_cpp(tmp_path: Path, monkeypatch, shared, ids: list[int], wrong: bool) -> None:
    tok = Tokenizer.load(shared("openai/cl100k_base.tiktoken"))
    monkeypatch.setattr(conformance.Tokenizer, "load", lambda path: tok)
    path = tmp_path / "models/ggml-vocab-x.gguf"
    path.parent.mkdir()
    path.touch()
    mark = "\n__ggml_vocab_test__\n"
    path.with_name(f"{path.name}.inp").write_text(f"{TEXT}{mark}{mark}")
    path.with_name(f"{path.name}.out").write_text(f" {' '.join(map(str, ids + [0] * wrong))}\n\n")
    checked(conformance.llama_cpp, tmp_path, 2 - wrong, 2)


@pytest.mark.parametrize("wrong", [False, True])
def test_their_own_tests(tmp_path: Path, wrong: bool) -> None:
    (tmp_path / "minbpe").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_tokenizer.py").write_text(
        "from minbpe import RegexTokenizer\n"
        "def test_it():\n"
        "    tok = RegexTokenizer()\n"
        "    tok.train('ab ab ab', 257)\n"
        f"    assert tok.encode('ab') == [{257 if wrong else 256}]\n"
        "def test_nothing(): pass\n"
    )
    checked(conformance.minbpe, tmp_path, 2 - wrong, 2)
