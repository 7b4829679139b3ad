"""Mixtures: what is read how often and in which order, weights, ranks, interruptions, the file."""
import gzip
import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import commands
import pytest
from corpus_tools import byte_codec, outputs, outputs_of_both, texts_in

from bpetite import Tokenizer
from bpetite.corpus import Mixture, MixtureSource, Options, count_corpus, encode_corpus, make_task, merge_outputs
from bpetite.corpus import mixture as mixtures
from bpetite.errors import FormatError

FILE = """
[[source]]
name = "text"
paths = ["text/*.txt"]
separator = "|"
repeats = 2.5

[[source]]
name = "lines"
paths = "lines.jsonl*"
text_key = "content"
repeats = 0.4
min_document_bytes = 4

[[source]]
paths = ["tail.txt"]
whole_files = true
"""


@pytest.fixture
def folder(ram_path: Path) -> Path:
    (ram_path / "text").mkdir()
    for number in range(3):
        (ram_path / "text" / f"{number}.txt").write_text("|".join(f"text {number} {n}" for n in range(90)))
    lines = "".join(json.dumps({"content": f"l {n}"}) + "\n" for n in range(200))
    (ram_path / "lines.jsonl").write_text(lines)
    (ram_path / "lines.jsonl.gz").write_bytes(gzip.compress(lines.replace("l ", "z ").encode()))
    (ram_path / "tail.txt").write_text("all|of|it")
    (ram_path / "mixture.toml").write_text(FILE)
    return ram_path


def in_part(text: str, part: float, seed: int = 0) -> bool:
    key = f"repeat {seed}".encode()
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8, key=key).digest(), "big") < part * 2**64


def test_each_document_as_often_as_its_source_says(folder: Path) -> None:
    summary = encode_corpus(Mixture.load(folder / "mixture.toml"), folder / "o", byte_codec(), jobs=2)
    found = Counter(texts_in(folder / "o.npy"))
    text = [f"text {number} {n}" for number in range(3) for n in range(90)]
    lines = [f"{letter} {n}" for letter in "lz" for n in range(10, 200)]
    assert found == {
        **{one: 2 + in_part(one, 0.5) for one in text},
        **{one: 1 for one in lines if in_part(one, 0.4)},
        "all|of|it": 1,
    }
    short = sum(in_part(f"{letter} {n}", 0.4) for letter in "lz" for n in range(10))
    assert summary["filtered"] == {"short": short}
    documents = {name: source["documents"] for name, source in summary["sources"].items()}
    assert documents["text"] == sum(count for one, count in found.items() if one.startswith("text"))
    assert documents["source 3"] == 1
    manifest = json.loads((folder / "o.manifest.json").read_text())
    assert manifest["sources"] == summary["sources"]
    assert manifest["sources"]["text"]["repeats"] == 2.5
    assert sum(source["tokens"] for source in summary["sources"].values()) == summary["tokens"]
    assert manifest["inputs"]["count"] == 6
    again = encode_corpus(Mixture.load(folder / "mixture.toml"), folder / "o", byte_codec())
    assert again["sources"] == summary["sources"]
    (folder / "mixture.toml").write_text(FILE.replace("2.5", "2.6"))
    with pytest.raises(FileExistsError, match="made with mixture"):
        encode_corpus(Mixture.load(folder / "mixture.toml"), folder / "o", byte_codec())


@pytest.mark.parametrize("format", ["npy", "dolma"])
@pytest.mark.parametrize("unit", [150, 1000, 1 << 20])
def test_interruptions_jobs_and_ranks_change_no_byte(
    folder: Path, monkeypatch: pytest.MonkeyPatch, unit: int, format: Any
) -> None:
    monkeypatch.setattr(mixtures, "UNIT", unit)
    mixture = Mixture.load(folder / "mixture.toml")
    options = Options(format=format, val_fraction=0.2, shard_tokens=2000, seed=3)

    def make(target: Path) -> Any:
        return replace(make_task(mixture, target / "o", byte_codec(), options=options), block=120)

    assert (len(make(folder).pieces) > 20) == (unit == 150 and format == "npy")
    whole = outputs_of_both(make, folder, unit)
    for rank in range(3):
        make_task(mixture, folder / "ranks" / "o", byte_codec(), rank=rank, world_size=3, options=options).run()
    merge_outputs(folder / "ranks" / "o")
    assert outputs(folder / "ranks") == whole


def test_sources_are_interleaved_in_proportion(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixtures, "UNIT", 100)
    sources = MixtureSource("a", (str(folder / "text"),), 1, options={"separator": "|"}), MixtureSource(
        "b", (str(folder / "lines.jsonl"),), 1, options={"text_key": "content"}
    )
    encode_corpus(Mixture(sources), folder / "o", byte_codec())
    texts = texts_in(folder / "o.npy")
    assert len(texts) == 470
    for part in range(1, 10):
        before = Counter(text[0] for text in texts[: 47 * part])
        assert abs(before["t"] - 27 * part) < 20
    for letter in "tl":  # each in its own order
        own = [text for text in texts if text[0] == letter]
        assert own == sorted(own, key=lambda text: [int(n) for n in text.split()[1:]])


def test_weights(folder: Path) -> None:
    options: dict[str, Any] = {"separator": "|", "text_key": "content"}
    one = MixtureSource("text", (str(folder / "text"),), weight=3, options=options)
    two = MixtureSource("lines", (str(folder / "lines.jsonl"),), weight=1.5, options=options)
    counts = count_corpus(Mixture((one, two)), byte_codec())["sources"]
    tokens = {name: source["tokens"] for name, source in counts.items()}
    assert tokens["text"] == 3 * sum(len(f"text 0 {n}") for n in range(90))
    assert tokens["lines"] == sum(len(f"l {n}") for n in range(200))
    assert min(source["repeats"] for source in counts.values()) < 1
    assert max(source["repeats"] for source in counts.values()) == 1
    said: list[str] = []
    summary = encode_corpus(Mixture((one, two), 4500), folder / "o", byte_codec(), eot="none", log=said.append)
    assert [line for line in said if "counting the tokens of source 'text'" in line]
    assert summary["sources"]["text"]["repeats"] == round(3000 / tokens["text"], 9)
    assert summary["sources"]["lines"]["repeats"] == round(1500 / tokens["lines"], 9)
    assert abs(summary["sources"]["text"]["tokens"] - 3000) < 300
    with pytest.raises(ValueError, match="give its tokens, or each rank would count"):
        encode_corpus(Mixture((one, two)), folder / "r", byte_codec(), rank=0, world_size=2)
    known = Mixture(tuple(replace(source, tokens=tokens[source.name]) for source in (one, two)), 4500)
    for rank in range(2):
        encode_corpus(known, folder / "r", byte_codec(), eot="none", rank=rank, world_size=2)
    merge_outputs(folder / "r")
    assert (folder / "r.npy").read_bytes() == (folder / "o.npy").read_bytes()
    with pytest.raises(ValueError, match="has a weight, and its tokens are not known"):
        make_task(Mixture((one, two)), folder / "x", byte_codec(), options=Options())


def test_options_of_a_source_that_cannot_be(folder: Path) -> None:
    source = MixtureSource("a", (str(folder / "tail.txt"),), options={"format": "llmc"})
    with pytest.raises(ValueError, match=r"source 'a': format is no option of a source \(there are: separator, "):
        Mixture((source,))
    with pytest.raises(ValueError, match="source 'a': max_document_tokens 0 is not at least 1"):
        encode_corpus(
            Mixture((replace(source, options={"max_document_tokens": 0}),)), folder / "o", byte_codec()
        )
    with pytest.raises(ValueError, match="source 'a': standard input cannot be part"):
        encode_corpus(Mixture((replace(source, paths=("-",), options={}),)), folder / "o", byte_codec())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[[source", "not TOML"),
        ("x = 1", "unknown key 'x'"),
        ("tokens = 1", r"no \[\[source\]\]"),
        ("[[source]]\nname = 'a'", "source 1: needs paths"),
        ("[[source]]\npaths = 'a'\nrepeat = 2", "unknown key 'repeat'"),
        ("[[source]]\npaths = 'a'\nrepeats = 'two'", "repeats is 'two', not a float"),
        ("[[source]]\npaths = 'a'\nrepeats = 0", "repeats 0.0 is not more than 0"),
        ("[[source]]\npaths = 'a'\nrepeats = nan", "repeats nan is not more than 0"),
        ("[[source]]\npaths = 'a'\nrepeats = 5000", "more than 1000"),
        ("[[source]]\npaths = 'a'\nrepeats = 1\nweight = 1", "repeats and a weight"),
        ("[[source]]\npaths = 'a'\nname='x'\n[[source]]\npaths = 'b'\nname='x'", "two sources are named 'x'"),
        ("[[source]]\npaths = 'a'\nweight = 2\n[[source]]\npaths = 'b'", "1' has a weight and 'source 2' has none"),
        ("tokens = 7\n[[source]]\npaths = 'a'", "tokens is for sources with weights"),
    ],
)
def test_files_that_cannot_be(ram_path: Path, content: str, message: str) -> None:
    (ram_path / "m.toml").write_text(content)
    with pytest.raises(FormatError, match=message) as caught:
        Mixture.load(ram_path / "m.toml")
    assert str(ram_path / "m.toml") in str(caught.value)


def test_commands(folder: Path) -> None:
    Tokenizer.train("text l z" * 9, 260).save(folder / "tok.json")
    common = ["--mixture", str(folder / "mixture.toml"), "-t", str(folder / "tok.json"), "--json"]
    done = commands.run("encode", *common, "-o", folder / "o")
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["sources"]) == {"text", "lines", "source 3"}
    assert "source 3: 1 document" in done.stderr
    done = commands.run("count", *common)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sources"]["text"]["documents"] == 270
    assert "text: 270 documents" in done.stderr
    for wrong in (["x.txt"], ["--tokens", "5"]):
        assert commands.run("encode", *common, "-o", folder / "p", *wrong).returncode == 2
    assert commands.run("encode", "-o", folder / "p").returncode == 2
    weights = FILE.replace("repeats = 2.5", "weight = 2").replace("repeats = 0.4", "weight = 1")
    (folder / "mixture.toml").write_text(weights.replace("whole_files = true", "weight = 1"))
    done = commands.run("encode", *common, "-o", folder / "w", "--tokens", "2k", "--eot", "none")
    assert done.returncode == 0, done.stderr
    assert 900 < json.loads(done.stdout)["sources"]["text"]["tokens"] < 1100
    assert "counting the tokens of source 'lines'" in done.stderr
