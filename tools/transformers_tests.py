"""Run the tests that transformers has for its tokenizers on accelerated tokenizers.

    python tools/transformers_tests.py                        downloads the sdist of the installed transformers
    python tools/transformers_tests.py --sdist transformers-5.23.0.tar.gz --vocabulary gpt2
    python tools/transformers_tests.py --keep out             leaves the tests, vocabularies and results there

The mixins TokenizerTesterMixin and TokenizersBackendTesterMixin run twice on each vocabulary: on the class of
transformers as it is, and on `bpetite.accelerate` of it. A test that fails on the first is not counted. Any other
failure has to be in DEVIATIONS, and a test that is there has to fail. Needs the extra `test` and the package
`parameterized`. The files of transformers stay in a temporary folder.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

import made_texts  # noqa: E402
import published  # noqa: E402

from bpetite import Tokenizer, patterns  # noqa: E402

#: (way, test) -> why it fails; docs/transformers.md says so to people.
DEVIATIONS: dict[tuple[str, str], str] = {}
FILES = ("test_tokenization_common.py", "test_tokenizers_backend_mixin.py", "test_sentencepiece_backend_mixin.py")
WAYS = ("transformers", "accelerated")
ENDS = "<|endoftext|>"

MODULE = '''
import unittest
import transformers
from bpetite import accelerate
from transformers.models.auto.tokenization_auto import tokenizer_class_from_name
from .test_tokenization_common import TokenizerTesterMixin
from .test_tokenizers_backend_mixin import TokenizersBackendTesterMixin

KIND = tokenizer_class_from_name({kind!r})


class Accelerating(KIND):
    @classmethod
    def from_pretrained(cls, *arguments, **options):
        return accelerate(KIND.from_pretrained(*arguments, **options))


Accelerating.__name__ = KIND.__name__
CLASS = {{"transformers": KIND, "accelerated": Accelerating}}[{way!r}]


class Common(TokenizerTesterMixin, unittest.TestCase):
    tokenizer_class = CLASS
    from_pretrained_id = {folder!r}
    from_pretrained_kwargs = {{}}


class Backend(TokenizersBackendTesterMixin, unittest.TestCase):
    tokenizer_class = rust_tokenizer_class = CLASS
    from_pretrained_id = {folder!r}
    from_pretrained_kwargs = {{}}
'''


def gpt2(folder: Path, config: dict[str, Any], *, added: tuple[str, ...] = ()) -> dict[str, Any]:
    """GPT-2's vocabulary with more added tokens; returns what was written."""
    content: dict[str, Any] = json.loads(published.gpt2("tokenizer.json"))
    for number, literal in enumerate(added, len(content["model"]["vocab"])):
        flags = dict.fromkeys(("single_word", "rstrip", "normalized"), False) | {"lstrip": literal == "<mask>"}
        content["added_tokens"].append({"id": number, "content": literal, "special": bool(literal.strip()), **flags})
    write(folder, json.dumps(content), config)
    return content


def roberta(folder: Path) -> None:
    """GPT-2's vocabulary with RoBERTa's special tokens, template and trimming of offsets."""
    config = {"tokenizer_class": "RobertaTokenizer", "model_max_length": 512}
    content = gpt2(folder, config, added=("<s>", "</s>", "<pad>", "<unk>", "<mask>"))
    ids = {one["content"]: one["id"] for one in content["added_tokens"]}
    ends = {"cls": ["<s>", ids["<s>"]], "sep": ["</s>", ids["</s>"]]}
    content["post_processor"] = {"type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": False, **ends}
    write(folder, json.dumps(content), config)


def of_ranks(folder: Path, name: str, pattern: str, config: dict[str, Any], normalizer: Any = None) -> None:
    """A vocabulary that is published as ranks, as a tokenizer.json; trained with its settings if that cannot be had."""
    specials = published.special_tokens(published.QUICKTOK[name])
    with tempfile.TemporaryDirectory() as temporary:
        path = published.write(name, Path(temporary))
        tok = Tokenizer.from_tiktoken(path, pattern=pattern, special_tokens=specials)
    try:
        tok = tok.to_merges()
    except ValueError as error:
        print(f"{name}: trained in its place: {error}")
        tok = Tokenizer.train(made_texts.text("english", 300_000), 8000, special_tokens=list(specials), pattern=pattern)
    tok.save(folder / "tokenizer.json", format="huggingface")
    content = json.loads((folder / "tokenizer.json").read_text())
    content["normalizer"] = normalizer
    write(folder, json.dumps(content), config)


def deepseek(folder: Path, config: dict[str, Any]) -> None:
    specials = [config["bos_token"], config["eos_token"], config["pad_token"]]
    tok = Tokenizer.train(
        made_texts.text("english", 300_000), 8000, special_tokens=specials, pattern=patterns.DEEPSEEK_V3
    )
    tok.save(folder / "tokenizer.json", format="huggingface")
    write(folder, (folder / "tokenizer.json").read_text(), config)


def write(folder: Path, content: str, config: dict[str, Any]) -> None:
    (folder / "tokenizer.json").write_text(content)
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


VOCABULARIES = {
    "gpt2": lambda folder: gpt2(
        folder, {"tokenizer_class": "GPT2Tokenizer", "pad_token": ENDS, "model_max_length": 1024}
    ),
    "roberta": roberta,
    "phi-2": lambda folder: gpt2(
        folder,
        {"tokenizer_class": "CodeGenTokenizer", "pad_token": ENDS, "model_max_length": 2048},
        added=tuple(" " * n for n in range(31, 1, -1)) + tuple("\t" * n for n in range(9, 1, -1)),
    ),
    "qwen": lambda folder: of_ranks(
        folder,
        "qwen/qwen.tiktoken",
        "qwen2",
        {"tokenizer_class": "Qwen2Tokenizer", "pad_token": ENDS, "eos_token": "<|im_end|>", "model_max_length": 32768},
        {"type": "NFC"},
    ),
    "llama 3": lambda folder: of_ranks(
        folder,
        "meta/llama3.tiktoken",
        "llama3",
        {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|begin_of_text|>", "model_max_length": 131072,
         "eos_token": "<|end_of_text|>", "pad_token": "<|end_of_text|>"},
    ),
    "deepseek": lambda folder: deepseek(
        folder,
        {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<｜begin▁of▁sentence｜>",
         "eos_token": "<｜end▁of▁sentence｜>", "pad_token": "<｜▁pad▁｜>", "model_max_length": 16384},
    ),
}  # fmt: skip


def unpack(sdist: Path | None, folder: Path) -> None:
    """The test files of transformers in ``folder/tests``."""
    if sdist is None:
        version = metadata.version("transformers")
        command = [sys.executable, "-m", "pip", "download", "--no-binary", ":all:", "--no-deps", "--no-build-isolation"]
        subprocess.run([*command, "-d", str(folder), f"transformers=={version}"], check=True)
        sdist = next(folder.glob("transformers-*.tar.gz"))
    tests = folder / "tests"
    (tests / "fixtures").mkdir(parents=True)
    (tests / "__init__.py").touch()
    (tests / "fixtures" / "sample_text.txt").write_text(made_texts.text("english", 2000))
    with tarfile.open(sdist) as archive:
        for member in archive:
            if member.isfile() and Path(member.name).name in FILES:
                source = archive.extractfile(member)
                if source is not None:
                    (tests / Path(member.name).name).write_bytes(source.read())


def run(folder: Path, name: str, way: str) -> dict[str, str]:
    """test -> "passed", "failed" or "skipped"."""
    vocabulary = folder / "vocabularies" / name
    kind = json.loads((vocabulary / "tokenizer_config.json").read_text())["tokenizer_class"]
    module = folder / "tests" / f"test_{way}_{name.replace(' ', '_').replace('-', '_')}.py"
    module.write_text(MODULE.format(kind=kind.replace("PreTrainedTokenizerFast", "TokenizersBackend"), way=way,
                                    folder=str(vocabulary)))  # fmt: skip
    results = module.with_suffix(".xml")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", "-c", os.devnull]
    with (folder / f"{module.stem}.txt").open("w") as log:
        command += [f"--junitxml={results}", str(module)]
        subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=log, check=False)
    found = {}
    for case in ElementTree.parse(results).iter("testcase"):
        bad = case.find("failure") is not None or case.find("error") is not None
        state = "failed" if bad else "skipped" if case.find("skipped") is not None else "passed"
        found[f"{case.get('classname', '').rpartition('.')[2]}.{case.get('name')}"] = state
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sdist", type=Path, help="the sdist of the installed transformers, where it is here already")
    parser.add_argument("--vocabulary", action="append", choices=VOCABULARIES, help="only this one; may be repeated")
    parser.add_argument("--keep", type=Path, help="an empty or new folder to work in, which stays")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp())
    folder = folder.resolve()
    unexpected: list[str] = []
    seen: set[tuple[str, str]] = set()
    try:
        unpack(options.sdist, folder)
        for name in options.vocabulary or VOCABULARIES:
            (folder / "vocabularies" / name).mkdir(parents=True)
            VOCABULARIES[name](folder / "vocabularies" / name)
            results = {way: run(folder, name, way) for way in WAYS}
            original = results["transformers"]
            for way in WAYS:
                states = list(results[way].values())
                counts = ", ".join(f"{states.count(state)} {state}" for state in ("passed", "failed", "skipped"))
                print(f"{name}, {way}: {counts}", flush=True)
                for test, state in results[way].items():
                    if state == "failed" and original.get(test) != "failed":
                        seen.add((way, test))
                        if (way, test) not in DEVIATIONS:
                            unexpected.append(f"{name}, {way}: {test}")
            for test, state in original.items():
                if state == "failed":
                    print(f"    fails in transformers: {test}")
    finally:
        if options.keep is None:
            shutil.rmtree(folder)
    if options.vocabulary is None:
        unexpected += [f"{way}: {test} no longer fails" for way, test in DEVIATIONS.keys() - seen]
    print("\n".join(unexpected) or "nothing but what is listed differs")
    return bool(unexpected)


if __name__ == "__main__":
    sys.exit(main())
