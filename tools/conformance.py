"""Cases that other projects test their tokenizers with, run through bpetite: docs/conformance.md has the results.

    git clone https://github.com/knuddelsgmbh/jtokkit /tmp/suites/jtokkit   # and the others that the page names
    python tools/conformance.py /tmp/suites

Each suite is a folder of its project's name, and is left out where it is absent. A vocabulary comes from the project's
own files, or else from the folder ``models``, as ``models/tokenizers/gemma3.json``.
"""
from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import bpetite
from bpetite import Tokenizer, errors


class Result(NamedTuple):
    """Cases of one vocabulary: how many are equal, and the first that is not."""

    suite: str
    vocabulary: str
    equal: int
    cases: int
    differs: str | None


def compared(suite: str, vocabulary: str, cases: Iterator[tuple[str, object, Callable[[], object]]]) -> Result:
    """Run cases of (name, expected, function)."""
    equal = number = 0
    differs = None
    for name, expected, function in cases:
        number += 1
        try:
            given = function()
        except (ValueError, KeyError) as error:
            given = error
        if given == expected:
            equal += 1
        elif differs is None:
            differs = f"{name}: {str(given)[:120]!r} instead of {str(expected)[:120]!r}"
    return Result(suite, vocabulary, equal, number, differs)


def jtokkit(folder: Path) -> Iterator[Result]:
    """Texts with the ids that tiktoken gives."""
    csv.field_size_limit(10_000_000)
    for path in sorted(folder.glob("lib/src/test/resources/*_encodings.csv")):
        name = path.stem.removesuffix("_encodings")
        tok = encoding(name, folder)
        with path.open(encoding="utf-8", newline="") as file:
            rows = [(row["input"], ast.literal_eval(row["output"])) for row in csv.DictReader(file)]
        yield compared("jtokkit", name, ids_and_text(tok, rows))


def gpt_tokenizer(folder: Path) -> Iterator[Result]:
    """Plans of three lines each: an encoding, a sample, its ids."""
    plans: dict[str, list[tuple[str, list[int]]]] = {}
    text = (folder / "data/TestPlans.txt").read_text(encoding="utf-8")
    for plan in text.removeprefix("EncodingName: ").split("\n\nEncodingName: "):
        name, _, rest = plan.partition("\nSample: ")
        sample, _, ids = rest.rpartition("\nEncoded: ")
        plans.setdefault(name, []).append((sample, json.loads(ids)))
    for name, rows in plans.items():
        yield compared("gpt-tokenizer", name, ids_and_text(encoding(name, folder), rows))


def kitoken(folder: Path) -> Iterator[Result]:
    """Lines, and one text of all kinds of UTF-8, with the ids of the original libraries."""
    data = folder / "tests/data"
    for path in sorted(data.glob("*/small_tokens_*.txt")):
        form, name = path.parent.name, path.stem.removeprefix("small_tokens_")
        suffix = {"sentencepiece": "model", "tiktoken": "tiktoken"}.get(form, "json")
        places = [root / form / f"{name}.{suffix}" for root in (folder / "tests/models", folder.parent / "models")]
        place = next((place for place in places if place.exists()), None)
        if place is None:
            continue
        try:
            pattern = {"kimi_k2": "kimi-k2", "llama4": "llama4"}.get(name) if form == "tiktoken" else None
            tok = Tokenizer.from_tiktoken(place, pattern=pattern) if pattern else Tokenizer.load(place)
        except errors.FormatError as error:
            yield Result("kitoken", f"{name} ({form})", 0, 0, f"refused: {error}")
            continue
        yield compared("kitoken", f"{name} ({form})", kitoken_cases(tok, data, form, name))


def kitoken_cases(
    tok: Tokenizer, data: Path, form: str, name: str
) -> Iterator[tuple[str, object, Callable[[], object]]]:
    # there, sentencepiece and mistral-common find the pieces that its user put in, and no others
    plain = {token for token, flags in tok.to_vocab().token_flags.items() if "plain" in flags}
    special: Any = plain if form in ("sentencepiece", "tekken") else "all"
    for kind in ("small", "mixed", "utf8"):
        ids, output = (data / form / f"{kind}_{what}_{name}.txt" for what in ("tokens", "output"))
        if not ids.exists():
            continue
        texts = (data / f"{kind}_input.txt").read_text("utf-8")
        rows = [[int(number) for number in line.split(",")] for line in ids.read_text().splitlines() if line]
        if kind == "utf8":
            cases = [(texts, [number for row in rows for number in row])]
        else:
            lines = texts.replace("\n\n", "\n").removesuffix("\n").split("\n")
            written = ((line.replace("\\n", "\n").replace("\\s", " ").replace("\\x", "")) for line in lines if line)
            cases = list(zip(written, rows, strict=True))
        for text, expected in cases:
            encode = partial(tok.encode, text, allowed_special=special, disallowed_special=())
            yield f"{kind}: {text[:60]!r}", expected, encode
        if kind == "utf8":
            text = output.read_text("utf-8") if output.exists() else texts
            yield "utf8, decoded", text, partial(tok.decode, cases[0][1])


def llama_cpp(folder: Path) -> Iterator[Result]:
    """Texts of ``ggml-vocab-*.gguf.inp`` and the ids beside them."""
    for path in sorted(folder.glob("models/ggml-vocab-*.gguf")):
        name = path.stem.removeprefix("ggml-vocab-")
        texts, ids = path.with_name(f"{path.name}.inp"), path.with_name(f"{path.name}.out")
        if not texts.exists():
            continue
        try:
            tok = Tokenizer.load(path)
        except errors.FormatError as error:
            yield Result("llama.cpp", name, 0, 0, f"refused: {error}")
            continue
        mark = "\n__ggml_vocab_test__\n"
        expected = [[int(number) for number in line.split()] for line in ids.read_text().splitlines()]
        rows = list(zip(texts.read_text("utf-8").removesuffix(mark).split(mark), expected, strict=True))
        yield compared("llama.cpp", name, ids_of(tok, rows))


def minbpe(folder: Path) -> Iterator[Result]:
    """minbpe's own tests, its three classes made of bpetite."""
    yield own_tests("minbpe", folder, "minbpe/__init__.py", "minbpe_classes.py", "tests/test_tokenizer.py")


def assignment1_basics(folder: Path) -> Iterator[Result]:
    """Tests of Stanford's CS336 on training and encoding, their adapters made of bpetite."""
    tests = ("tests/test_tokenizer.py", "tests/test_train_bpe.py")
    yield own_tests("assignment1-basics", folder, "tests/adapters.py", "cs336_adapters.py", *tests)


def own_tests(suite: str, folder: Path, replaced: str, by: str, *tests: str) -> Result:
    with tempfile.TemporaryDirectory() as made:
        copy = Path(made) / folder.name
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".git"))
        shutil.copyfile(Path(__file__).parent / "suites" / by, copy / replaced)
        paths = os.pathsep.join([str(copy), str(Path(bpetite.__file__).parents[1])])
        command = f"-m pytest -q -p no:cacheprovider --tb=line --noconftest -c {os.devnull} --rootdir".split()
        done = subprocess.run(
            [sys.executable, *command, copy, *tests],
            cwd=copy, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths},
        )  # fmt: skip
    last = (done.stdout or done.stderr).strip().rpartition("\n")[2]
    passed, *wrong = (sum(map(int, re.findall(rf"(\d+) {what}", last))) for what in ("passed", "failed", "error"))
    return Result(suite, "its own tests", passed, passed + sum(wrong), None if done.returncode == 0 else last)


def ids_and_text(
    tok: Tokenizer, rows: list[tuple[str, list[int]]]
) -> Iterator[tuple[str, object, Callable[[], object]]]:
    """Cases of ids, and of the text that they give back."""
    for text, expected in rows:

        def run(text: str = text) -> object:
            ids = tok.encode(text, disallowed_special=())
            return ids, tok.decode(ids)

        yield repr(text[:60]), (expected, text), run


def ids_of(tok: Tokenizer, rows: list[tuple[str, list[int]]]) -> Iterator[tuple[str, object, Callable[[], object]]]:
    for text, expected in rows:
        yield repr(text[:60]), expected, partial(tok.encode, text, disallowed_special=())


def encoding(name: str, folder: Path) -> Tokenizer:
    """An encoding of OpenAI, from the ranks in gpt-tokenizer's checkout beside a folder if it is there."""
    place = folder.parent / "gpt-tokenizer/data" / f"{name.replace('_edit', '_base')}.tiktoken"
    return Tokenizer.from_tiktoken(place, name=name) if place.exists() else bpetite.get_encoding(name)


SUITES = {
    "jtokkit": jtokkit,
    "gpt-tokenizer": gpt_tokenizer,
    "kitoken": kitoken,
    "llama.cpp": llama_cpp,
    "minbpe": minbpe,
    "assignment1-basics": assignment1_basics,
}


def results(suites: Path) -> Iterator[Result]:
    """Results of each suite that is there."""
    for name, suite in SUITES.items():
        if (suites / name).exists():
            yield from suite(suites / name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suites", type=Path, help="folder that holds checkouts of the suites")
    options = parser.parse_args()
    wrong = 0
    for result in results(options.suites):
        counts = f"{result.suite:20} {result.vocabulary:32} {result.equal:5} of {result.cases}"
        print(counts, result.differs or "", flush=True)
        wrong += result.equal != result.cases
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
