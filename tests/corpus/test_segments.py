"""Documents in segments with labels, packed into windows with a mask of the tokens that are trained on."""
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus_tools import EOT, byte_codec, ids, outputs, outputs_of_both, run

from bpetite import Tokenizer
from bpetite.corpus import Mixture, MixtureSource, Options, encode_corpus, make_task, merge_outputs
from bpetite.corpus.segments import TRAINED

#: A document for each: (text, label) of its segments, or a str.
DOCUMENTS: list[Any] = [
    [("user: é", False), ("robot: yes", True)], "plain", [], [("a", True), ("", False), ("b", False)],
    [("one", False), ("two", True), ("three", False), ("four", True)],
]  # fmt: skip


def record(document: Any) -> dict[str, Any]:
    if isinstance(document, str):
        return {"text": document}
    return {"text": [{"text": text, "label": label} for text, label in document]}


def write(path: Path, documents: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record(document)) + "\n" for document in documents))
    return path


def plain(documents: list[Any], *, eot: str = "append", most: int | None = None) -> list[tuple[int, int]]:
    """(token, label) of all documents in a row."""
    row: list[tuple[int, int]] = []
    for document in documents:
        segments = [(document, True)] if isinstance(document, str) else document
        tokens = [(token, int(label)) for text, label in segments for token in ids(text)][:most]
        if eot == "append":
            tokens.append((EOT, tokens[-1][1] if tokens else 0))
        elif eot == "prepend":
            tokens.insert(0, (EOT, 0))
        row += tokens
    return row


def masked(base: Path) -> list[tuple[int, int]]:
    """The same of files, by NumPy alone."""
    tokens, mask = np.load(f"{base}.npy"), np.load(f"{base}.loss_mask.npy")
    assert (tokens.dtype, mask.dtype, mask.shape) == (np.uint32, np.uint8, tokens.shape)
    return list(zip(tokens.ravel().tolist(), mask.ravel().tolist(), strict=True))


@pytest.mark.parametrize("eot", ["append", "prepend", "none"])
@pytest.mark.parametrize("most", [None, 4])
def test_the_mask_is_that_of_the_definition(ram_path: Path, eot: Any, most: int | None) -> None:
    documents = DOCUMENTS * 20
    expected = plain(documents, eot=eot, most=most)
    expected += [(EOT, 0)] * (-len(expected) % 8)
    options: dict[str, Any] = {"pack": 8, "pack_last": "pad", "loss_mask": True, "eot": eot}
    options["max_document_tokens"] = most
    run(write(ram_path / "in.jsonl", documents), ram_path / "lines", **options)
    (ram_path / "in.json").write_text(json.dumps([record(document) for document in documents]))
    run(ram_path / "in.json", ram_path / "array", **options)
    given = [record(document) for document in documents]
    encode_corpus(documents=given, sink=ram_path / "given", tokenizer=byte_codec(), **options)
    for name in ("lines", "array", "given"):
        assert masked(ram_path / name) == expected
        assert (ram_path / f"{name}.cu_seqlens.npy").read_bytes() == (ram_path / "lines.cu_seqlens.npy").read_bytes()


def test_without_segments_the_windows_are_the_same(ram_path: Path) -> None:
    (ram_path / "in.txt").write_text("<|endoftext|>".join(map(str, range(100))))
    run(ram_path / "in.txt", ram_path / "o", pack=8, dtype="uint32")
    run(ram_path / "in.txt", ram_path / "m", pack=8, loss_mask=True)
    for name in ("npy", "cu_seqlens.npy", "windows.npy"):
        assert (ram_path / f"o.{name}").read_bytes() == (ram_path / f"m.{name}").read_bytes()
    assert np.load(ram_path / "m.loss_mask.npy").all()


def test_segments_are_encoded_each_for_itself(ram_path: Path) -> None:
    tok = Tokenizer.train("ab ab ab", 258)
    path = write(ram_path / "in.jsonl", [[("a", False), ("b ab", True)]] * 3)
    encode_corpus(path, ram_path / "o", tok, pack=2, eot="none", loss_mask=True)
    row = [*((one, 0) for one in tok.encode("a")), *((one, 1) for one in tok.encode("b ab"))]
    assert masked(ram_path / "o") == (row * 3)[: len(row) * 3 // 2 * 2]


@pytest.mark.parametrize("shuffle", [None, 5])
def test_shuffled_without_duplicates_in_a_mixture_and_killed(ram_path: Path, shuffle: int | None) -> None:
    documents = [[(f"q{n % 70}", False), (f"answer {n % 70}", True)] for n in range(200)]
    mixture = Mixture((MixtureSource("one", (str(write(ram_path / "in.jsonl", documents)),), repeats=1.5),))

    def make(folder: Path) -> Any:
        options = Options(
            pack=16, loss_mask=True, shuffle=shuffle, drop_duplicates=True, memory=40_000, val_fraction=0.2,
            shard_tokens=500,
        )  # fmt: skip
        return replace(make_task(mixture, folder / "o", byte_codec(), options=options), block=300)

    whole = outputs_of_both(make, ram_path, 3)
    for name in (name for name in whole if name.endswith(".loss_mask.npy")):
        base = ram_path / "whole" / name.removesuffix(".loss_mask.npy")
        text, mask = (np.load(f"{base}{ending}").ravel() for ending in (".npy", ".loss_mask.npy"))
        assert set(text[mask == 0].tolist()) <= set(ids("q0123456789"))
        assert set(text[mask == 1].tolist()) <= {*ids("answer 0123456789"), EOT}


def test_ranks(ram_path: Path) -> None:
    path = write(ram_path / "in.jsonl", DOCUMENTS * 40)
    rows = []
    for rank in range(2):
        options = Options(pack=16, loss_mask=True)
        make_task(path, ram_path / "o", byte_codec(), rank=rank, world_size=2, options=options).run()
        rows += masked(ram_path / f"o.rank0000{rank}of00002")
    merge_outputs(ram_path / "o")
    assert masked(ram_path / "o") == rows
    assert run(path, ram_path / "p", pack=16, loss_mask=True, overwrite=True)["files"][3] == "p.loss_mask.npy"
    run(path, ram_path / "p", pack=16, overwrite=True, on_error="skip")
    assert not any(name.startswith("p.loss_mask") for name in outputs(ram_path))


def test_segments_that_are_none(ram_path: Path) -> None:
    wrong: list[Any] = [
        [{"text": "a"}], [{"text": "a", "label": 1}], [{"label": True}], ["a"], {"text": "a"}, 7,
        [{"text": "a\ud800b", "label": True}], [{"text": "no \x07", "label": True}],
    ]  # fmt: skip
    lines = [json.dumps({"text": value}) for value in wrong]
    (ram_path / "in.jsonl").write_text("\n".join(lines))
    options: dict[str, Any] = {"pack": 2, "loss_mask": True, "eot": "none"}
    with pytest.raises(ValueError, match=r"segment 0 of 'text' is \{\"text\": \"a\"\}, without a text or a label"):
        run(ram_path / "in.jsonl", ram_path / "o", **options)
    summary = run(ram_path / "in.jsonl", ram_path / "o", on_error="replace", **options)
    counts = {kind: problem["count"] for kind, problem in summary["problems"].items()}
    assert counts == {"no-text": 6, "lone-surrogate": 1, "unencodable": 1}
    assert masked(ram_path / "o") == [(token, 1) for token in ids("a\ufffdb\0")][:4]


def test_ids_leave_room_for_a_bit(ram_path: Path) -> None:
    with pytest.raises(ValueError, match="leave no room for a mask"):
        run(write(ram_path / "in.jsonl", []), ram_path / "o", pack=8, loss_mask=True, codec=byte_codec(TRAINED + 1))
    with pytest.raises(ValueError, match="loss_mask= means nothing without pack="):
        run(ram_path / "in.jsonl", ram_path / "o", loss_mask=True)
