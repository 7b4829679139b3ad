"""The outputs of ranks made one: their files joined, or listed together; and documents in a random order."""
from __future__ import annotations

import errno
import gzip
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import FormatError, file_exists
from .layouts.layout import Layout, group_by_tokens, meta_line
from .layouts.registry import layout_of
from .read.stores import AnyPath, path_of
from .run import ignore, write_rejected
from .write.growing import CHUNK, check_file
from .write.manifest import entries_in, file_entries, read_manifest, shards_in
from .write.names import REJECTED, Names, names_like, names_of, splits_of
from .write.partial import PartialFolder, clean_up
from .write.shards import ShardWriter

#: (path of a manifest, its content).
Output = tuple[AnyPath, dict[str, Any]]

#: Tokens that are put together at a time.
AT_ONCE = 1 << 21


def find_manifest(path: str | os.PathLike[str]) -> Output | None:
    """The manifest of a finished output by its path, the output's name, its folder, or one of its files."""
    path = path_of(path)
    for names in names_like(path):
        if names.manifest.is_file():
            content = read_manifest(names.manifest)
            own = {names.manifest.name, *(file["name"] for file in entries_in(content))}
            if path.name in own or not path.is_file():
                return names.manifest, content
    return None


def merge_outputs(
    output: str | os.PathLike[str],
    parts: Iterable[str | os.PathLike[str]] = (),
    *,
    shuffle: int | None = None,
    overwrite: bool = False,
    delete: bool = False,
    progress: Callable[[int], object] | None = None,
) -> dict[str, Any]:
    """Make one output of the outputs of a run's ranks, and return its manifest.

    In npy, nanogpt, megatron, datatrove and dolma without ``shard_tokens``, it is one file, with the bytes that a
    single process writes. Otherwise the ranks keep their shards, and the output is a manifest of all of them.

    Args:
        output: The name that the ranks were given, or another.
        parts: The ranks' outputs or manifests, in any order, or any single output to shuffle; by default those beside
            ``output``.
        shuffle: A seed; writes all documents in a random order, in shards of the size that the run was given. For
            layouts that keep the ends of documents: npy, megatron, datatrove, dolma. It takes up to 200 bytes of memory
            for each document.
        overwrite: Replace an existing output.
        delete: Delete the files of the ranks once they are joined.
        progress: Called with the tokens of each file that is joined.

    Raises:
        FormatError: A rank is missing or belongs to another run; a file differs from its hash.
        FileNotFoundError: There are no outputs.
        FileExistsError: The output exists already, and another run made it.
    """
    outputs = _find_ranks(output, [os.fspath(part) for part in parts])
    first = outputs[0][1]
    joined = _joined(outputs)
    if first["rank"] is None and shuffle is None:
        return first  # of a single process
    layout, options = layout_of(first["format"]), first["options"]
    limit = options["shard_tokens"]
    names = names_of(output, layout, shard_tokens=limit, val_fraction=options["val_fraction"])
    cut_documents = sum(one["goes_on"] for _, one in outputs)
    if shuffle is not None:
        if cut_documents:
            raise ValueError("a document goes on from one rank to the next; merge without shuffle=, then shuffle the "
                             "merged output")
        if not layout.lengths or not layout.joins:
            raise ValueError(f"format={layout.name!r} keeps no ends of documents that could be shuffled; npy, "
                             "megatron, datatrove and dolma do")
        joined["options"] = {**options, "merge_shuffle": shuffle}
    if names.manifest.exists() and not overwrite:
        manifest = read_manifest(names.manifest)
        if (manifest["run"], manifest["rank"], manifest["options"]) != (joined["run"], None, joined["options"]):
            raise file_exists(names.manifest, "exists already; overwrite=True replaces it")
        for file in entries_in(manifest) if delete else ():
            check_file(names.place / file["name"], file)
        clean_up(names, manifest["run"])
    else:
        listed_only = shuffle is None and (limit is not None or not layout.joins)
        if not listed_only:
            joined["documents"] -= cut_documents
        if listed_only and any(path.parent != names.place for path, _ in outputs):
            raise ValueError("ranks with shards of their own are listed where they are: name an output in their folder")
        manifest = _merge(names, outputs, joined, shuffle, overwrite, progress or ignore, listed_only=listed_only)
    if delete:
        kept = {str(names.place / file["name"]) for file in entries_in(manifest)} | {str(names.manifest)}
        for path, content in outputs:  # the manifest last: until then the others are found by it
            for name in (*(file["name"] for file in entries_in(content)), path.name):
                if str(path.parent / name) not in kept:
                    (path.parent / name).unlink(missing_ok=True)
    return manifest


def _find_ranks(output: str | os.PathLike[str], parts: Sequence[str]) -> list[Output]:
    """The given outputs, or the outputs of the ranks beside an output, or that output; all of a run, in order."""
    outputs = []
    for part in parts:
        if (found := find_manifest(part)) is None:
            raise FileNotFoundError(errno.ENOENT, "no manifest of a finished rank", part)
        outputs.append(found)
    if not parts:
        beside = (names.ranks(".manifest.json") for names in names_like(path_of(output)))
        outputs = [(rank.manifest, read_manifest(rank.manifest)) for rank in next(filter(None, beside), ())]
    if not outputs:
        if (single := find_manifest(output)) is None:
            what = "no outputs of ranks (NAME.rankNNNNNofNNNNN.manifest.json) beside it"
            raise FileNotFoundError(errno.ENOENT, what, os.fspath(output))
        return [single]
    outputs.sort(key=lambda one: one[1]["rank"] or [0, 1])
    path, first = outputs[0]
    numbers, sizes = zip(*(manifest["rank"] or [0, 1] for _, manifest in outputs))
    for (other, manifest), size in zip(outputs, sizes):
        if manifest["run"] != first["run"]:
            raise FormatError(f"{other}: from another run than {path} (inputs, options or tokenizer differ)")
        if size != sizes[0]:
            raise FormatError(f"{other}: one of {size} ranks, but {path} is one of {sizes[0]}; name those of one run")
    if len({*numbers}) < len(numbers):
        raise FormatError(f"{os.fspath(output)}: a rank is given more than once: {[*numbers[:20]]}")
    if missing := sorted({*range(sizes[0])} - {*numbers}):
        whole = find_manifest(output)
        if whole is not None and (whole[1]["run"], whole[1]["rank"]) == (first["run"], None):
            return outputs  # merged, and killed while the ranks were deleted
        raise FormatError(f"{os.fspath(output)}: ranks {missing[:10]} of {sizes[0]} are missing")
    return outputs


def _joined(outputs: Sequence[Output]) -> dict[str, Any]:
    """The manifest of all ranks, which still lists the files of the first."""
    manifests = [manifest for _, manifest in outputs]
    for before, after in itertools.pairwise(manifests):
        if before["share"][1] != after["share"][0]:
            raise FormatError(f"rank {after['rank'][0]} does not begin where the rank before it ends: they found other "
                              "sizes of the inputs; encode both again")
    joined = {**manifests[0], "rank": None, "problems": {}, "continues": False, "goes_on": False}
    for name in ("documents", "tokens", "bytes"):
        joined[name] = sum(manifest[name] for manifest in manifests)
    joined["share"] = [manifests[0]["share"][0], manifests[-1]["share"][1]]
    said = [one["final_separator"] for one in manifests if one["final_separator"] is not None]
    joined["final_separator"] = said[-1] if said else None
    for kind, problem in itertools.chain.from_iterable(one["problems"].items() for one in manifests):
        known = joined["problems"].setdefault(kind, {**problem, "count": 0})
        known["count"] += problem["count"]
    return joined


def _merge(
    names: Names, outputs: Sequence[Output], manifest: dict[str, Any], shuffle: int | None, overwrite: bool,
    progress: Callable[[int], object], *, listed_only: bool,
) -> dict[str, Any]:  # fmt: skip
    """Make the files of the output in its folder of unfinished files, and publish them."""
    splits = splits_of(manifest["options"]["val_fraction"])
    partial = PartialFolder(names)
    try:
        if partial.state is not None:
            raise file_exists(partial.folder, "an unfinished run has this output; finish it, or delete its folder")
        if (published := partial.publish_rest(overwrite=overwrite, of=manifest)) is not None:
            return published
        partial.start_over()
        if not (overwrite or listed_only or partial.claimed):
            names.refuse_existing(splits)
        partial.begin()
        if listed_only:
            manifest["files"] = [file for _, one in outputs for file in one["files"]]
        else:
            made = {split: _write(names, outputs, split, shuffle, progress) for split in splits}
            manifest["files"] = file_entries(made)
            for shard in itertools.chain.from_iterable(made.values()):
                partial.settle(shard)
        if REJECTED in manifest:
            records = sum(one[REJECTED]["records"] for _, one in outputs)
            manifest[REJECTED] = write_rejected(partial.folder / names.rejected, _rejected(outputs), records)
        partial.publish(manifest, overwrite=overwrite, listing=listed_only)
    except BaseException:
        if partial.folder.is_dir() and partial.unpublished() is None:
            partial.delete()
        raise
    finally:
        partial.unlock()
    return manifest


def _rejected(outputs: Sequence[Output]) -> Iterator[Any]:
    for path, manifest in outputs:
        with (path.parent / manifest[REJECTED]["name"]).open("rb") as file:
            yield gzip.GzipFile("", "rb", fileobj=file)


#: The arguments of `ShardWriter.add`.
Added = tuple[npt.NDArray[Any], npt.NDArray[np.int64], list[bytes], bool, bool]

#: (files, True if the first document began in the shard before, True if the last one goes on in the next).
ShardFiles = tuple[list[AnyPath], bool, bool]


def _write(
    names: Names, outputs: Sequence[Output], split: str, shuffle: int | None, progress: Callable[[int], object]
) -> list[dict[str, Any]]:
    """Check the files of a split, and write their documents; returns the records of the new shards."""
    shards: list[ShardFiles] = []
    for path, manifest in outputs:
        for files in shards_in(manifest):
            if files[0]["split"] == split:
                for file in files:
                    check_file(path.parent / file["name"], file)
                paths = [path.parent / file["name"] for file in files]
                shards.append((paths, manifest["continues"], manifest["goes_on"]))
    layout, first = names.layout, outputs[0][1]
    dtype = first["dtype"]
    writer = ShardWriter(names, split, dtype, first["tokenizer"]["name"], first["options"]["shard_tokens"])
    try:
        added = _in_order(layout, shards, dtype) if shuffle is None else _shuffled(layout, shards, dtype, shuffle)
        for tokens, lengths, meta, continues, goes_on in added:
            writer.add(tokens, lengths, meta, continues=continues, goes_on=goes_on)
            progress(len(tokens))
        writer.finish()
        return writer.take_finished()
    finally:
        writer.close()


def _in_order(layout: Layout, shards: Sequence[ShardFiles], dtype: str) -> Iterator[Added]:
    size, nothing = np.dtype(dtype).itemsize, np.empty(0, np.int64)
    for paths, continues, goes_on in shards:
        with paths[0].open("rb") as file:
            file.seek(layout.header)
            meta = layout.meta_in(paths) if layout.meta else iter(())
            last = nothing  # the length of the last document, which may go on
            for lengths in layout.lengths_in(paths) if layout.lengths else ():
                if goes_on:
                    lengths = np.append(last, lengths)
                    lengths, last = lengths[:-1], lengths[-1:]
                done = 0
                for count, tokens, _ in group_by_tokens(lengths, 0, 0, AT_ONCE):
                    data = file.read(tokens * size)
                    lines = [meta_line(*line) for line in itertools.islice(meta, count)]
                    yield np.frombuffer(data, dtype), lengths[done : done + count], lines, continues, False
                    done, continues = done + count, False
            while data := file.read(CHUNK):  # of layouts without lengths, and of a document that goes on
                some = np.frombuffer(data, dtype)
                yield some, np.array([len(some)]) if layout.lengths else nothing, [], continues, True
                continues = True


def _shuffled(layout: Layout, shards: Sequence[ShardFiles], dtype: str, seed: int) -> Iterator[Added]:
    """The documents of all shards, read from mapped files, in an order by the bits of PCG64, which every version of
    NumPy gives alike (NEP 19)."""
    mapped, lengths_of, starts = [], [], []
    lines: list[bytes] = []
    for paths, _, _ in shards:
        if not isinstance(paths[0], Path):
            raise ValueError(f"{paths[0]}: shuffling maps files into memory; it takes local ones")
        size = (paths[0].stat().st_size - layout.header) // np.dtype(dtype).itemsize
        # of a plain array, since each row of a memmap takes half a kilobyte
        mapped.append(np.asarray(np.memmap(paths[0], dtype, "r", layout.header, (size,)) if size else (), dtype))
        lengths = np.concatenate([np.empty(0, np.int64), *layout.lengths_in(paths)])
        lengths_of.append(lengths)
        starts.append(np.cumsum(lengths) - lengths)
        lines += [meta_line(*line) for line in layout.meta_in(paths)] if layout.meta else []
    lengths, start = np.concatenate(lengths_of), np.concatenate(starts)
    shard = np.repeat(np.arange(len(shards)), [len(one) for one in lengths_of])
    order = np.argsort(np.random.PCG64(seed % 2**64).random_raw(len(lengths)), kind="stable")
    at = 0
    for count, _, _ in group_by_tokens(lengths[order], 0, 0, AT_ONCE):
        chosen = order[at : at + count]
        at += count
        rows = [mapped[shard[one]][start[one] : start[one] + lengths[one]] for one in chosen]
        yield np.concatenate(rows), lengths[chosen], [lines[one] for one in chosen] if lines else [], False, False
