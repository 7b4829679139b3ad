"""An output beside, or in the place of, its inputs: its own files are no inputs, and inputs are not replaced."""
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash
from corpus_tools import EOT, FORMATS, byte_codec, ids, outputs, plan_of, run, run_plan, some_documents, texts_in

from bpetite import Tokenizer
from bpetite.corpus import count_corpus, encode_corpus, merge_outputs
from bpetite.corpus.write.growing import HASH


@pytest.mark.parametrize("sink", ["in/", "in/o"])
@pytest.mark.parametrize("format", ["npy", "parquet"])
def test_a_run_into_the_folder_that_it_reads(ram_path: Path, sink: str, format: str) -> None:
    """Nothing of its own is an input, also where it has the suffix of one, finished or not."""
    folder, out = ram_path / "in", f"{ram_path}/{sink}"
    folder.mkdir()
    (folder / "a.txt").write_text("<|endoftext|>".join(map(str, range(200))))
    options: dict[str, Any] = {"format": format, "shard_tokens": 200, "checkpoint_seconds": 0}

    def stop(raw: int, tokens: int, documents: int) -> None:
        if documents > 150:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(folder, out, progress=stop, block=100, **options)
    assert [*folder.glob(f"*partial/*.{format}")]
    first = run(folder, out, **options)
    assert first["documents"] == 200
    before = outputs(folder)
    log: list[str] = []
    again = run(folder, out, log=log.append, **options)
    assert {**first, "seconds": 0, "tokens_before": 0} == {**again, "seconds": 0, "tokens_before": 0}
    assert "files of this output" in log[0]
    assert log[1:] == [f"{first['manifest']}: complete already, nothing was done"]
    assert run(folder, out, overwrite=True, **options)["documents"] == 200
    assert outputs(folder) == before
    if format == "parquet":
        with pytest.raises(ValueError, match="all inputs are files of the output itself"):
            run(next(folder.glob("*.parquet")), out, overwrite=True, **options)
        assert outputs(folder) == before


@pytest.mark.parametrize("output", ["in/o", "in/"])
def test_the_files_of_ranks_that_have_been_merged(ram_path: Path, output: str) -> None:
    folder = ram_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
    (folder / "x.rank00000of00002.jsonl").write_text('{"text": "three"}\n')  # of no output that is here

    def encode(rank: int) -> dict[str, object]:
        made = run(folder, f"{ram_path}/{output}", format="parquet", rank=rank, world_size=2)
        return {**made, "seconds": 0, "tokens_before": 0}

    first = [encode(rank) for rank in range(2)]
    manifest = merge_outputs(f"{ram_path}/{output}")
    assert manifest["documents"] == 3
    assert [encode(rank) for rank in range(2)] == first
    assert merge_outputs(f"{ram_path}/{output}") == manifest


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["train.parquet", "val.parquet"])
def test_an_input_with_the_name_of_an_output(ram_path: Path, name: str, overwrite: bool) -> None:
    (ram_path / "a.jsonl").write_text('{"text": "one"}\n')
    (ram_path / name).write_text('{"text": "mine"}\n')
    with pytest.raises(ValueError, match=f"{name}: the input has the name of a file of the output"):
        run(ram_path, f"{ram_path}/", format="parquet", val_fraction=0.1, overwrite=overwrite)
    assert (ram_path / name).read_text() == '{"text": "mine"}\n'
    assert len(list(ram_path.iterdir())) == 2


@pytest.mark.parametrize("content", ['{"no": 1}\n', '{"text": "\\ud800"}\n', None])
def test_overwriting_deletes_nothing_before_it_can_start(ram_path: Path, content: str | None) -> None:
    (ram_path / "a.jsonl").write_text('{"text": "one"}\n')
    run(ram_path / "a.jsonl", ram_path / "o")
    before = outputs(ram_path)
    if content is None:
        plan = plan_of(ram_path / "a.jsonl", ram_path / "o", overwrite=True)
        (ram_path / "a.jsonl").unlink()
        del before["a.jsonl"]
        with pytest.raises(FileNotFoundError):
            run_plan(plan)
    else:
        (ram_path / "a.jsonl").write_text(content)
        before["a.jsonl"] = content.encode()
        with pytest.raises(ValueError, match=r"a\.jsonl:1"):
            run(ram_path / "a.jsonl", ram_path / "o", overwrite=True)
    assert outputs(ram_path) == before
    assert texts_in(ram_path / "o.npy") == ["one"]


def test_llmc_has_shards_of_its_script_and_checks_its_limit_first(ram_path: Path) -> None:
    (ram_path / "a.txt").write_text("one")
    made = run(ram_path / "a.txt", ram_path / "o", format="llmc")
    assert json.loads(Path(made["manifest"]).read_text())["options"]["shard_tokens"] == 10**8
    most = 2**31 - 2**20
    with pytest.raises(ValueError, match=f"shard_tokens {most + 1} is too many .*llmc.* at most {most}"):
        run(ram_path / "a.txt", ram_path / "x", format="llmc", shard_tokens=most + 1)
    assert not list(ram_path.glob("x*"))
    assert run(ram_path / "a.txt", ram_path / "y", format="llmc", shard_tokens=most)["files"] == ["y_000000.bin"]
    # 1,000 a shard: a last one of 99 is too small, and joins the one before; one of 100 is not
    for tokens, sizes in ((2_099, [1_000, 1_099]), (2_100, [1_000, 1_000, 100]), (999, [999]), (1_099, [1_099])):
        (ram_path / "a.txt").write_text("x" * (tokens - 1))
        run(ram_path / "a.txt", ram_path / str(tokens) / "o", format="llmc", shard_tokens=1_000)
        found = [np.fromfile(path, "<u2", offset=1024) for path in sorted((ram_path / str(tokens)).glob("o_*.bin"))]
        assert [len(shard) for shard in found] == sizes
        assert np.concatenate(found).tolist() == [EOT, *ids("x" * (tokens - 1))]


@pytest.mark.parametrize("call", [encode_corpus, count_corpus])
def test_no_inputs(ram_path: Path, call: Any) -> None:
    arguments = [[], ram_path / "o", byte_codec()] if call is encode_corpus else [[], byte_codec()]
    with pytest.raises(ValueError, match="no inputs are given; name files, folders, patterns or URLs, or -"):
        call(*arguments)
    with pytest.raises(ValueError, match="no inputs are given"):
        Tokenizer.train_from_files([], 300)


def test_inputs_that_cannot_be_read_are_problems(ram_path: Path) -> None:
    """Each with its name in the list of rejected records, and the others are read."""
    (ram_path / "in").mkdir()
    for name, data in (("a.txt.gz", b""), ("b.parquet", b"x"), ("c.json", b"{"), ("d.txt.zst", b"x"), ("e.txt", b"e")):
        (ram_path / "in" / name).write_bytes(data)
    made = run(ram_path / "in", ram_path / "o", on_error="skip", rejected=True)
    assert texts_in(ram_path / "o.npy") == ["e"]
    rejected = gzip.decompress((ram_path / "o.rejected.jsonl.gz").read_bytes()).splitlines()
    names = [Path(json.loads(line)["file"]).name for line in rejected]
    assert names == ["a.txt.gz", "b.parquet", "c.json", "d.txt.zst"]
    assert sum(problem["count"] for problem in made["problems"].values()) == 4


def test_folders_as_output(ram_path: Path) -> None:
    """A trailing / says folder, whether it exists or not."""
    (ram_path / "in.txt").write_text("<|endoftext|>".join(map(str, range(50))))
    (ram_path / "there").mkdir()
    for output in (f"{ram_path}/new/data/", ram_path / "there", f"{ram_path}/there/", ram_path / "one" / "train.bin"):
        if output == ram_path / "there":
            with pytest.raises(ValueError, match=r"there: a folder has this name; .*/there/ writes into it"):
                run(ram_path / "in.txt", output, format="nanogpt", val_fraction=0.5)
        else:
            run(ram_path / "in.txt", output, format="nanogpt", val_fraction=0.5)
    assert set(outputs(ram_path / "new" / "data")) == {"train.bin", "val.bin", "manifest.json"}
    assert outputs(ram_path / "new" / "data") == outputs(ram_path / "there") == outputs(ram_path / "one")


@pytest.mark.parametrize("shard_tokens", [None, 1, 999])
@pytest.mark.parametrize("format", FORMATS)
def test_hashes_are_those_of_the_files(ram_path: Path, format: str, shard_tokens: int | None) -> None:
    documents = some_documents(60 if shard_tokens != 1 else 5)
    (ram_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    made = run(ram_path / "in.jsonl", ram_path / "o", format=format, shard_tokens=shard_tokens)
    files = json.loads(Path(made["manifest"]).read_text())["files"]
    for file in files:
        data = (ram_path / file["name"]).read_bytes()
        assert (file["bytes"], file[HASH]) == (len(data), xxhash.xxh3_128_hexdigest(data))
    assert {path.name for path in ram_path.glob("o*")} == {"o.manifest.json", *(file["name"] for file in files)}
