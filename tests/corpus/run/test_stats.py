"""Statistics by file, folder and key: exact, and the same however they were counted."""
import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import byte_codec, outputs, run

from bpetite.corpus import Options, make_part, merge_outputs
from bpetite.corpus.run import tally as tally_module

RECORDS = [{"text": "x" * (number * 7 % 90), "lang": ["de", "en", 5, None][number % 4]} for number in range(200)]
FOR_FOLDERS = {"a/one.jsonl": RECORDS[:120], "a/two.jsonl.gz": RECORDS[120:150], "b/one.jsonl": RECORDS[150:]}


@pytest.fixture
def inputs(ram_path: Path) -> Path:
    for name, records in FOR_FOLDERS.items():
        data = b"".join(json.dumps(record).encode() + b"\n" for record in records) + b"{not json\n"
        path = ram_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    return ram_path / "in"


def expected(groups: dict[str, list[str]], rejected: dict[str, int], eot: int) -> dict[str, dict[str, int]]:
    found = {}
    for group, texts in groups.items():
        lengths = [len(text) + eot for text in texts]  # a byte is a token
        found[group] = {
            "bytes": sum(map(len, texts)), "tokens": sum(lengths), "documents": len(texts),
            **({"rejected": rejected[group]} if group in rejected else {}),
            **Counter(f"lengths_{1 << length.bit_length() >> 1}" for length in lengths),
        }  # fmt: skip
    return found


@pytest.mark.parametrize("by", ["file", "folder", "lang"])
@pytest.mark.parametrize("eot", ["append", "none"])
def test_they_are_exact_and_always_the_same(ram_path: Path, inputs: Path, by: str, eot: str) -> None:
    groups: dict[str, list[str]] = {}
    rejected: Counter[str] = Counter()
    for name, records in FOR_FOLDERS.items():
        place = str(inputs / name) if by == "file" else str((inputs / name).parent)
        for record in records:
            label = {"de": "de", "en": "en", 5: "5", None: "(none)"}[record["lang"]]
            groups.setdefault(label if by == "lang" else place, []).append(str(record["text"]))
        rejected["(none)" if by == "lang" else place] += 1
    options: Any = {"stats_by": by, "on_error": "skip", "eot": eot}
    run(inputs, ram_path / "one" / "o", **options)
    one = outputs(ram_path / "one")
    manifest = json.loads(one["o.manifest.json"])
    assert manifest["stats"] == expected(groups, rejected, eot == "append")
    assert list(manifest["stats"]) == sorted(manifest["stats"])
    for name in ("documents", "tokens", "bytes"):
        assert sum(group[name] for group in manifest["stats"].values()) == manifest[name]
    for rank in range(3):
        run(inputs, ram_path / "three" / "o", rank=rank, world_size=3, jobs=2, **options)
    merge_outputs(ram_path / "three" / "o", delete=True)
    assert outputs(ram_path / "three") == one

    def stop(raw: int, tokens: int, documents: int) -> None:
        if documents > 100:
            raise KeyboardInterrupt

    part = make_part(inputs, ram_path / "two" / "o", byte_codec(), options=Options(**options), checkpoint_seconds=0)
    with pytest.raises(KeyboardInterrupt):
        replace(part, block=100).run(progress=stop)
    run(inputs, ram_path / "two" / "o", **options)
    assert outputs(ram_path / "two") == one


def test_text_is_counted_by_file_or_folder(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ram_path / "a.txt").write_text("abc<|endoftext|>abcdefg")
    run(ram_path / "a.txt", ram_path / "o", stats_by="file")
    manifest = json.loads((ram_path / "o.manifest.json").read_bytes())
    assert manifest["stats"] == expected({str(ram_path / "a.txt"): ["abc", "abcdefg"]}, {}, 1)
    with pytest.raises(ValueError, match="text has no records with a key 'lang': stats_by= takes 'file' or"):
        run(ram_path / "a.txt", ram_path / "p", stats_by="lang")
    monkeypatch.setattr(tally_module, "MOST_GROUPS", 0)
    with pytest.raises(ValueError, match="stats_by='file': more than 0 groups"):
        run(ram_path / "a.txt", ram_path / "p", stats_by="file")
    with pytest.raises(ValueError, match="format='dolma' keeps the id"):
        run(ram_path / "a.txt", ram_path / "p", stats_by="lang", format="dolma")
