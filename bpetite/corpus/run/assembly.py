"""The spools of all parts of a run made into the files that one part would have written.

The lengths of documents alone say where shards are cut; they are read first, eight bytes a document. Each shard is then
one call, which copies byte ranges of the spools, compared with their checksums on the way, and has the layout write its
index. The calls need nothing of each other, so threads, processes or tasks of a cluster make them, by any `map`. Each
leaves a journal of its shard: begun again, assembly makes the shards that are missing. Whoever finds all of them writes
the manifest.
"""
from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ...errors import FormatError, file_exists
from ..layouts.layout import fill
from ..layouts.registry import layout_of
from ..output.checksums import check_file, checked_bytes
from ..output.durable import Journal, read_records
from ..output.manifest import (
    LISTED,
    digest,
    list_files,
    list_rejected,
    listed_files,
    read_manifest,
    write_manifest,
    write_small,
)
from ..output.naming import REJECTED, SHARD, Names, names_of, splits_of
from ..output.shards import GrowingShard, forget, publish, shard_sizes
from ..output.upload import begin_staging, end_staging
from ..reading.sums import add_sums
from ..sources.paths import AnyPath, sizes_in
from .outputs import Parts, begun, check_parts, find_manifest, find_parts, run_lines, runs_beside, stamp
from .tally import Stats, add_stats, sorted_stats

__all__ = ["Assembly", "Map", "Shard", "assemble", "delete_parts", "make_shard", "merge_outputs", "when_unlocked"]

Result = TypeVar("Result")

#: ``map(function, items)``: the results in order, made anywhere, by picklable calls.
Map: TypeAlias = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]

#: Seconds to wait for another process that finishes the output, or for a worker that was given up.
PATIENCE = 60.0


@dataclass
class Shard:
    """A final shard of a stream, and the extents that it is made of: the number of a part, and the bytes of each of its
    files, as [start, stop)."""

    stream: str
    index: int
    tokens: int = 0
    documents: int = 0
    extents: list[tuple[int, list[tuple[int, int]]]] = field(default_factory=list)

    def add(self, part: int, ranges: list[tuple[int, int]], tokens: int, documents: int = 0) -> None:
        self.tokens += tokens
        self.documents += documents
        self.extents.append((part, ranges))


@dataclass(frozen=True)
class Assembly:
    """The parts of a run, and the output to make of them. Picklable.

    Attributes:
        names: Of the output.
        run: Digest of the run.
        dtype, tokenizer, shard_tokens, splits: As the manifests of the parts have them.
        parts: Number of a part -> (folder, entries of its files by stream).
        overwrite: Replace files that exist, when all are made.
    """

    names: Names
    run: str
    dtype: str
    tokenizer: str
    shard_tokens: int | None
    splits: tuple[str, ...]
    parts: Mapping[int, tuple[AnyPath, dict[str, list[dict[str, Any]]]]]
    overwrite: bool = False

    @classmethod
    def of(cls, outputs: Parts, output: str | os.PathLike[str], *, overwrite: bool = False) -> Assembly:
        """The assembly of parts: of `find_parts`, all of them."""
        first = outputs[0][1]
        options = first["options"]
        names = names_of(output, layout_of(first["format"]), shard_tokens=options["shard_tokens"],
                         val_fraction=options["val_fraction"])
        parts = {number: (path.parent, _by_stream(manifest)) for number, (path, manifest) in enumerate(outputs)}
        return cls(
            names,
            first["run"],
            first["dtype"],
            first["tokenizer"]["name"],
            options["shard_tokens"],
            splits_of(options["val_fraction"]),
            parts,
            overwrite,
        )

    def only(self, shard: Shard) -> Assembly:
        """The assembly with the parts of one shard, so that a call is small however many parts there are."""
        return replace(self, parts={part: self.parts[part] for part, _ in shard.extents})

    @property
    def streams(self) -> list[str]:
        """The splits, and the stream of rejected records if there is one."""
        return [*self.splits, *([REJECTED] if REJECTED in self.parts[0][1] else [])]

    def dtype_of(self, stream: str) -> np.dtype[Any]:
        return np.dtype("uint8" if stream == REJECTED else self.dtype).newbyteorder("<")

    def journal(self, shard: Shard) -> Journal:
        base = self.names.base(shard.stream, shard.index)
        path = base.with_name(base.name + SHARD)
        journal = Journal(path, self.names.stored(path))
        if journal.adopted:
            forget(self.names.layout_of(shard.stream), base)
        return journal

    def shards(self) -> list[Shard]:
        """The shards of the output: a pure function of all lengths."""
        return [shard for stream in self.streams for shard in (
            self._cut_tokens(stream) if self.names.layout_of(stream).exact else self._cut_documents(stream)
        )]  # fmt: skip

    def _cut_tokens(self, stream: str) -> list[Shard]:
        """Shards of a number of tokens, whatever documents they belong to."""
        size = self.dtype_of(stream).itemsize
        tokens = [streams[stream][0]["bytes"] // size for _, streams in self.parts.values()]
        limit = None if stream == REJECTED else self.shard_tokens
        shards = []
        part = at = 0
        for index, left in enumerate(shard_sizes(sum(tokens), limit, self.names.layout_of(stream))):
            shard = Shard(stream, index)
            while left:
                taken = min(left, tokens[part] - at)
                if taken:
                    shard.add(part, [(size * at, size * (at + taken))], taken)
                left, at = left - taken, at + taken
                if at == tokens[part]:
                    part, at = part + 1, 0
            shards.append(shard)
        return shards

    def _cut_documents(self, stream: str) -> list[Shard]:
        shards = [Shard(stream, 0)]
        size, columns = self.dtype_of(stream).itemsize, self.names.layout_of(stream).columns
        for part in range(len(self.parts)):
            at = [0, 0, 0]  # in its files of tokens, lengths and ids
            for rows in self._lengths(part, stream):
                done = 0
                lengths = np.ascontiguousarray(rows[:, 0])
                for count, tokens, is_full in fill(lengths, shards[-1].tokens, shards[-1].documents, self.shard_tokens):
                    if count:
                        ids = int(rows[done : done + count, 1:].sum())
                        ends = [at[0] + size * tokens, at[1] + 8 * columns * count, at[2] + ids]
                        shards[-1].add(part, list(zip(at, ends)), tokens, count)
                        at, done = ends, done + count
                    if is_full:
                        shards.append(Shard(stream, len(shards)))
            listed = self.parts[part][1][stream][0]
            if at[0] != listed["bytes"]:
                raise FormatError(f"{self.parts[part][0] / listed['name']}: the lengths of its documents are "
                                  f"{at[0] // size} tokens, and not its {listed['bytes']} bytes")
        return shards

    def _lengths(self, part: int, stream: str) -> Iterator[npt.NDArray[np.int64]]:
        folder, streams = self.parts[part]
        listed = streams[stream][1]
        for data in checked_bytes(folder / listed["name"], listed, 0, listed["bytes"]):
            yield np.frombuffer(data, "<i8").reshape(-1, self.names.layout_of(stream).columns)


def _by_stream(manifest: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    files_of: dict[str, list[dict[str, Any]]] = {}
    for file in manifest["files"]:
        files_of.setdefault(file["split"], []).append(file)
    return files_of | ({REJECTED: [manifest["rejected"]]} if "rejected" in manifest else {})


def make_shard(item: tuple[Assembly, Shard]) -> dict[str, Any]:
    """Make a shard of an assembly, unless it has been made; returns the journal's record of it."""
    assembly, shard = item
    names = assembly.names
    header = {"run": assembly.run, "shard": digest(asdict(shard))}
    begin_staging(names)
    journal = when_unlocked(partial(assembly.journal, shard), PATIENCE)
    stored = False
    try:
        if journal.records[:1] != [header] or len(journal.records) < 2:
            journal.restart()
            journal.append(header)
            journal.push()
            journal.append(_copy(assembly, shard))
        record = dict(journal.records[1])
        if not assembly.overwrite:  # else the files of before stay until all are made
            publish(names, [record])
            journal.push()
            stored = names.home is not None
        return record
    finally:  # what a store has is asked of it, as others may have deleted it
        journal.close(remove=stored or len(journal.records) < 2)


def _copy(assembly: Assembly, shard: Shard) -> dict[str, Any]:
    dtype, layout = assembly.dtype_of(shard.stream), assembly.names.layout_of(shard.stream)
    base = assembly.names.base(shard.stream, shard.index)
    growing = GrowingShard(layout, base, dtype, assembly.tokenizer)
    try:
        for part, ranges in shard.extents:
            folder, streams = assembly.parts[part]
            for file, (listed, (start, stop)) in enumerate(zip(streams[shard.stream], ranges, strict=False)):
                for data in checked_bytes(folder / listed["name"], listed, start, stop):
                    growing.append(*[b""] * file, data)
        growing.shard.tokens, growing.shard.documents = shard.tokens, shard.documents
        return growing.complete()
    except BaseException:
        growing.close()
        forget(layout, base)
        raise


def assemble(
    assembly: Assembly,
    manifests: Sequence[dict[str, Any]],
    mapped: Map,
    *,
    rank: int = 0,
    world_size: int = 1,
    progress: Callable[[int], object] | None = None,
) -> dict[str, Any] | None:
    """Make the shards of an output by the manifests of its parts, or of several equal processes this one's, and finish
    it when all are there; for the others see `merge_outputs`."""
    shards = assembly.shards()
    mine = shards[rank::world_size]
    calls = [(assembly.only(shard), shard) for shard in mine]
    for shard, _ in zip(mine, mapped(make_shard, calls), strict=True):
        if progress is not None and shard.stream != REJECTED:
            progress(shard.tokens)
    return when_unlocked(partial(_finish, assembly, manifests, shards), PATIENCE)


def _finish(
    assembly: Assembly, manifests: Sequence[dict[str, Any]], shards: Sequence[Shard]
) -> dict[str, Any] | None:
    """Give all shards their names and write the manifest; None if one is missing."""
    names = assembly.names
    lock = Journal(names.journal)
    try:
        if names.manifest.exists() and not assembly.overwrite:  # of another process that has just finished
            return read_manifest(names.manifest)
        records: dict[str, list[dict[str, Any]]] = {}
        for shard in shards:
            journal = assembly.journal(shard)
            journal.close(remove=not journal.records)
            if len(journal.records) < 2:
                return None
            records.setdefault(shard.stream, []).append(journal.records[1])
        for made in records.values():
            publish(names, made)
        manifest = join_manifests(manifests)
        manifest["files"] = list_files({split: records[split] for split in assembly.splits})
        if REJECTED in records:
            manifest["rejected"] = list_rejected(records[REJECTED], manifest["problems"])
        old = _listed(names.manifest)
        names.remove(old - {file["name"] for file in listed_files(manifest)})  # while the old manifest still lists them
        write_manifest(names.manifest, manifest, staging=names.folder)
        for path in names.shard_journals():
            Journal.discard(path)
    finally:
        lock.close(remove=True)
    return manifest


def _listed(path: AnyPath) -> set[str]:
    with suppress(FileNotFoundError, FormatError):
        return {file["name"] for file in listed_files(read_manifest(path))}
    return set()


def merge_outputs(
    output: str | os.PathLike[str],
    parts: Iterable[str | os.PathLike[str]] = (),
    *,
    overwrite: bool = False,
    delete: bool = False,
    rank: int = 0,
    world_size: int = 1,
    mapped: Map = map,
    progress: Callable[[int], object] | None = None,
) -> dict[str, Any] | None:
    """Join the outputs of a run's ranks into the files of a single run. Called again, it makes what is missing.

    Args:
        output: The name that the ranks were given, or another.
        parts: The ranks' outputs or manifests, in any order; found beside ``output`` when none are given.
        overwrite: Replace an existing output.
        delete: Delete the files of the ranks once they are joined.
        rank, world_size: Make this part of the shards; several processes may, and the last one finishes the output.
        mapped: Makes the shards, as ``map`` does.
        progress: Called with the tokens of each shard.

    Returns:
        The manifest, equal to a single run's over the same inputs; None if shards of other processes are missing.

    Raises:
        FormatError: A rank is missing or belongs to another run; a file differs from its checksum.
        FileExistsError: The output exists already, and another run made it.
    """
    try:
        outputs = find_parts(output, parts)
    except FileNotFoundError:
        whole = find_manifest(output) if delete else None
        if whole is None or whole[1]["rank"] is not None:
            raise
        return whole[1]  # of a process that was killed when it had deleted the last one
    run_of_this = begun()
    assembly = Assembly.of(outputs, output, overwrite=overwrite)
    names = assembly.names
    begin_staging(names)
    if names.manifest.exists() and not overwrite:
        manifest: dict[str, Any] | None = _merged(assembly, check=delete)
    else:
        check_parts(outputs, output)
        check_room(names, assembly.streams, overwrite=overwrite)
        manifests = [manifest for _, manifest in outputs]
        manifest = assemble(assembly, manifests, mapped, rank=rank, world_size=world_size, progress=progress)
    if manifest is not None:
        if overwrite or not names.runs.exists():
            runs = [path.read_bytes() for path in (runs_beside(path) for path, _ in outputs) if path.is_file()]
            ours = run_lines([{}, {"run": run_of_this, "stamp": stamp(0, 0)}])
            write_small(names.runs, b"".join([*runs, ours]), names.folder)
        end_staging(names)
        if delete:
            delete_parts(outputs)
    return manifest


def check_room(names: Names, streams: Iterable[str], *, overwrite: bool = False) -> None:
    """Refuse before the work that files of something else are in the way; with ``overwrite``, delete temporary ones."""
    if names.shard_journals():
        return  # of this assembly, which goes on; a shard of another one is made anew
    if not overwrite:
        with suppress(FileNotFoundError):
            if read_records(names.journal):
                raise file_exists(names.journal, "of an unfinished run; finish it, or overwrite=True")
        names.refuse_finished(streams)
    names.clear_temporary(unknown=overwrite)


def delete_parts(outputs: Parts) -> None:
    """Delete the files of parts; the manifest last: until then the others are found by it."""
    for path, manifest in outputs:
        names = [file["name"] for file in listed_files(manifest)]
        for name in (*names, runs_beside(path).name, path.name):
            (path.parent / name).unlink(missing_ok=True)


def _merged(assembly: Assembly, *, check: bool) -> dict[str, Any]:
    """The manifest of an output that is finished and, else an error, of these parts; with `check` its files are
    compared with their checksums."""
    names = assembly.names
    manifest = read_manifest(names.manifest)
    listed = listed_files(manifest)
    sizes = sizes_in(names.place, [file["name"] for file in listed])
    whole = all(sizes.get(file["name"]) == file["bytes"] for file in listed)
    if not whole or manifest["rank"] is not None or manifest["run"] != assembly.run:
        raise file_exists(names.manifest, "exists already; overwrite=True replaces it")
    for file in listed if check else ():
        check_file(names.final(file["name"]), file)
    for path in (*names.shard_journals(), names.journal):  # of a process that was killed at the end
        Journal.discard(path)
    return manifest


def join_manifests(manifests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    joined = dict(manifests[0], rank=None)
    for name in ("documents", "tokens", "bytes", "byte_order_marks"):
        joined[name] = sum(manifest[name] for manifest in manifests)
    joined["problems"] = {}
    said = [manifest["final_separator"] for manifest in manifests if manifest["final_separator"] is not None]
    joined["final_separator"] = said[-1] if said else None
    inputs: dict[str, dict[str, Any]] = {}
    for file in itertools.chain.from_iterable(manifest["inputs"]["files"] for manifest in manifests):
        known = inputs.setdefault(file["path"], {**file, "read": {}})
        if file.get("read") is None or known["read"] is None:
            known["read"] = None
        else:
            add_sums(known["read"], file["read"])
    for kind, problem in itertools.chain.from_iterable(manifest["problems"].items() for manifest in manifests):
        known = joined["problems"].setdefault(kind, {**problem, "count": 0})
        known["count"] += problem["count"]
    if "stats" in joined:
        stats: Stats = {}
        for manifest in manifests:
            add_stats(stats, manifest["stats"].items(), joined["options"]["stats_by"])
        joined["stats"] = sorted_stats(stats)
    joined["inputs"] = {**joined["inputs"], "files": list(inputs.values())}
    if joined["inputs"]["count"] > LISTED:
        joined["inputs"]["files"] = []
    return joined


def when_unlocked(work: Callable[[], Result], seconds: float) -> Result:
    """``work()``, tried again while another process holds the lock that it needs."""
    began = time.monotonic()
    while True:
        try:
            return work()
        except BlockingIOError:
            if time.monotonic() - began >= seconds:
                raise
            time.sleep(0.2)
