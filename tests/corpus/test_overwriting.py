"""What ``overwrite=True`` deletes: files of the output that it replaces, and none of those that the new one lists."""
import gzip
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import byte_codec, run

from bpetite.cluster import encode_corpus as encode_on_cluster
from bpetite.corpus import RecordError, encode_corpus, merge_outputs
from bpetite.corpus.write import partial as module
from bpetite.corpus.write.manifest import manifest_bytes, read_manifest
from bpetite.corpus.write.partial import PartialFolder
from bpetite.errors import FormatError

DOCUMENTS = "<|endoftext|>".join(f"document {number}" for number in range(60))


@pytest.fixture
def inputs(ram_path: Path) -> list[Path]:
    for name in ("in.txt", "more.txt"):
        (ram_path / name).write_text(DOCUMENTS)
    return [ram_path / "in.txt", ram_path / "more.txt"]


@pytest.fixture
def shards(ram_path: Path, inputs: list[Path]) -> list[Path]:
    """The shards of two ranks of the output "o"."""
    for rank in range(2):
        encode_corpus(inputs, ram_path / "o", byte_codec(), format="llmc", rank=rank, world_size=2)
    return sorted(ram_path.glob("o.rank*.bin"))


def test_shards_that_a_merged_output_lists_stay(ram_path: Path, shards: list[Path]) -> None:
    for _ in range(2):
        manifest = merge_outputs(ram_path / "o", overwrite=True)
        assert [ram_path / file["name"] for file in manifest["files"]] == shards
        assert [path.stat().st_size for path in shards] == [file["bytes"] for file in manifest["files"]]


def test_shards_stay_when_their_list_was_not_published(
    ram_path: Path, inputs: list[Path], shards: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before its last step, a merge leaves a list of files in its folder, which a later run may not delete."""
    with monkeypatch.context() as killed:
        killed.setattr(module, "sync_folder", lambda _: 1 / 0)
        killed.setattr(PartialFolder, "delete", lambda *_, **__: None)
        with pytest.raises(ZeroDivisionError):
            merge_outputs(ram_path / "o")
    assert len([*(ram_path / "o.partial").iterdir()]) > 1
    encode_corpus(inputs[0], ram_path / "o", byte_codec(), format="llmc")
    assert len(shards) == 2
    assert sorted(ram_path.glob("o.rank*.bin")) == shards


def test_shards_of_a_cluster_stay(ram_path: Path, inputs: list[Path]) -> None:
    for _ in range(2):
        made = encode_on_cluster(
            map, inputs, ram_path / "o", byte_codec(), task_bytes=600, format="llmc", overwrite=True
        )
        assert len(made["files"]) == 2  # ranks without text make none
        assert all((ram_path / name).exists() for name in made["files"])


def test_shards_of_another_version_go(ram_path: Path, inputs: list[Path]) -> None:
    run(inputs[0], ram_path / "o", format="nanogpt", shard_tokens=100)
    path = ram_path / "o.manifest.json"
    manifest = read_manifest(path)
    path.write_bytes(manifest_bytes({**manifest, "manifest": manifest["manifest"] - 1}))
    with pytest.raises(FormatError, match="version"):
        run(inputs[0], ram_path / "o", format="nanogpt", shard_tokens=500)
    made = run(inputs[0], ram_path / "o", format="nanogpt", shard_tokens=500, overwrite=True)
    assert {one.name for one in ram_path.glob("o*")} == {"o.manifest.json", *made["files"]}


def test_files_that_a_killed_run_has_moved_go(
    ram_path: Path, inputs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while its shards moved to their place; then the command is given with larger shards."""
    move, moved = PartialFolder._move, []

    def killed(self: PartialFolder, file: dict[str, Any]) -> None:
        if len(moved) == 3:
            raise KeyboardInterrupt
        moved.append(file["name"])
        move(self, file)

    with monkeypatch.context() as patch:
        patch.setattr(PartialFolder, "_move", killed)
        with pytest.raises(KeyboardInterrupt):
            encode_corpus(inputs[0], ram_path / "o", byte_codec(), format="nanogpt", shard_tokens=100)
    made = encode_corpus(inputs[0], ram_path / "o", byte_codec(), format="nanogpt", shard_tokens=500, overwrite=True)
    assert {path.name for path in ram_path.glob("o*")} == {"o.manifest.json", *made["files"]}


def test_a_run_does_not_go_on_behind_damage(ram_path: Path) -> None:
    """A run that ends at damage has taken documents of the damaged member; with skip it begins anew, and says so."""
    data = gzip.compress(("<|endoftext|>".join(map(str, range(700_000)))).encode())
    (ram_path / "in.txt.gz").write_bytes(data[: len(data) * 3 // 4])
    options: dict[str, Any] = {"checkpoint_seconds": 0}
    with pytest.raises(RecordError, match="cut short"):
        encode_corpus(ram_path / "in.txt.gz", ram_path / "o", byte_codec(), **options)
    with pytest.raises(ValueError, match="overwrite=True starts anew"):
        encode_corpus(ram_path / "in.txt.gz", ram_path / "o", byte_codec(), on_error="skip", **options)
    made = encode_corpus(ram_path / "in.txt.gz", ram_path / "o", byte_codec(), on_error="skip", overwrite=True)
    assert (made["documents"], made["problems"]["damaged-file"]["count"]) == (0, 1)
