"""Manifests that are damaged or forged, as `inspect`, `decode` and `merge` find them.

They refuse it with FormatError or OSError, and touch nothing but their output.
"""
from __future__ import annotations

from bpetite import FormatError, Tokenizer
from bpetite.corpus import encode_corpus, merge_outputs, open_token_file
from bpetite.corpus.merge import find_manifest
from bpetite.corpus.write.manifest import shards_in

from .scratch import fresh, scratch

__all__ = ["WORDS", "one", "seeds"]

WORDS = (
    b'"files"', b'"name"', b'"../keep"', b'"/keep"', b'"format"', b'"dtype"', b'"uint8"', b'"rank"', b'"options"',
    b'"shard_tokens"', b"null", b"[]", b"{}", b"-1", b'"xxh3_128"', b'"continues"', b'"goes_on"',
    b'"split"', b'"tokens"', b'"documents"', b'"bytes"',
)  # fmt: skip

TOK = Tokenizer.train("ab ab ab", 258)


def _output() -> bytes:
    """The outputs of a run of two ranks in a folder of their own; returns the first manifest."""
    folder = fresh("manifest")
    (folder / "keep").write_text("keep")
    sources = []
    for number in range(2):
        (folder / f"in{number}.txt").write_text("ab<|endoftext|>ab ab" * (1 + number))
        sources.append(folder / f"in{number}.txt")
    for rank in range(2):
        encode_corpus(sources, folder / "out.npy", TOK, rank=rank, world_size=2)
    return next(path for path in sorted(folder.iterdir()) if path.name.endswith("manifest.json")).read_bytes()


def one(data: bytes) -> None:
    _output()
    folder = scratch("manifest")
    path = next(path for path in sorted(folder.iterdir()) if path.name.endswith("manifest.json"))
    before = {entry.name for entry in folder.iterdir()}
    path.write_bytes(data)
    try:
        found = find_manifest(path)
        if found is not None:
            manifest = found[1]
            for shard in shards_in(manifest):
                path = folder / shard[0]["name"]
                for _ in open_token_file(path, format=manifest["format"], dtype=manifest["dtype"]).spans():
                    pass
    except (FormatError, OSError):
        pass
    try:
        merge_outputs(folder / "out.npy", overwrite=True)
    except (FormatError, OSError):
        pass
    if (folder / "keep").read_text() != "keep":
        raise AssertionError("a file outside of the output was touched")
    after = {entry.name for entry in folder.iterdir()}
    if not before <= after or any(not name.startswith("out") for name in after - before):
        raise AssertionError(f"files made or deleted: {sorted(before ^ after)}")


def seeds() -> list[bytes]:
    return [_output()]
