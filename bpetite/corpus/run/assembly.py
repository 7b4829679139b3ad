"""The outputs of several ranks, merged into what one run would have written.

The ranks' token files are read in order and go through the same writer again, so shards are cut where a single run
cuts them and every byte is the same. A few megabytes are in memory, however large the outputs are.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from ...errors import FormatError, file_exists
from ..layouts.layouts import Windows, layout_in, meta_line
from ..layouts.reading import Span, open_token_file
from ..output.checksums import FileCheck, check_file
from ..output.durable import Journal
from ..output.manifest import check_files, list_files, listed_files, read_manifest, write_manifest
from ..output.naming import REJECTED, Names, names_of, splits_of
from ..output.rejected import join_rejected, list_rejected, rejected_writer
from ..output.shards import ShardWriter, settle
from ..output.upload import begin_staging, claim, end_staging
from ..sources.paths import AnyPath, sizes_in
from ..windows import window_spans
from .outputs import files_of_shard, token_files_of_split
from .ranks import check_ranks, check_room, find_ranks, put_away

__all__ = ["copy_spans", "join_manifests", "merge_outputs"]


def merge_outputs(
    output: str | os.PathLike[str],
    parts: Iterable[str | os.PathLike[str]] = (),
    *,
    overwrite: bool = False,
    delete: bool = False,
    progress: Callable[[int], object] | None = None,
) -> dict[str, Any]:
    """Merge the outputs of all ranks of a run.

    When the merged files are complete, those of the ranks that lie beside them go into a folder ``NAME.ranks``: a
    trainer that reads all token files of a folder would read the corpus twice. Merging again does nothing more.

    Args:
        output: Where the files go; the name that the ranks were given, or another.
        parts: The ranks' outputs or manifests, in any order; found beside ``output`` when none are given.
        overwrite: Replace an existing output.
        delete: Delete the files of the ranks, wherever they are, once they have been verified and merged.
        progress: Called with the tokens written since the last call.

    Returns:
        The manifest, equal to that of a single run over the same inputs.

    Raises:
        FormatError: A rank is missing or belongs to another run; a file differs from its checksum.
        FileExistsError: The output exists already, and is not that of this run.
    """
    found = find_ranks(output, parts)
    manifests = [manifest for _, manifest in found]
    options = manifests[0]["options"]
    layout = layout_in(manifests[0])
    dtype = np.dtype(manifests[0]["dtype"])
    names = names_of(output, layout, shard_tokens=options["shard_tokens"])
    begin_staging(names)
    header = {"merge": manifests[0]["run"]}
    if names.manifest.exists() and not overwrite:
        done = _merged(names, manifests[0], check=delete)
        _end_killed(names, header)
        end_staging(names)
        put_away(found, names.place, delete=delete)
        return done
    check_ranks(found, output)
    if not delete:
        check_room(found, names.place, overwrite=overwrite)
    journal = Journal(names.journal)
    changed = True  # by this merge, or by one that was killed
    try:
        begun = bool(journal.records)
        if begun and journal.records[0] != header and not overwrite:
            raise FormatError(f"{names.journal}: the journal of an unfinished run; finish it, or overwrite=True")
        if not begun and not overwrite:
            names.refuse_whole()
        claim(names, overwrite=overwrite)
        names.clear_temporary(unknown=journal.existed or overwrite)
        journal.restart()
        journal.append(header)
        changed = begun
        shards: dict[str, list[dict[str, Any]]] = {}
        for split in splits_of(options["val_fraction"]):
            writer = ShardWriter(
                partial(names.base, split), layout, dtype.name, options["shard_tokens"], overwrite=overwrite or begun,
                tokenizer=manifests[0]["tokenizer"]["name"], taken=names.taken,
            )  # fmt: skip
            try:
                for path, manifest in found:
                    copy_spans(_spans(path, manifest, split), writer, dtype, progress)
                writer.finish()
            finally:
                writer.close()
            shards[split] = writer.take_finished()
        manifest = join_manifests(manifests)
        manifest["files"] = list_files(shards)
        if "rejected" in manifest:
            writer = rejected_writer(names, overwrite=overwrite or begun, taken=names.taken)
            shards[REJECTED] = join_rejected(found, writer)
            manifest["rejected"] = list_rejected(shards[REJECTED], manifest["problems"])
        check_files(manifest, names.manifest, shards_only=True)  # nothing was left out
        old = _listed(names.manifest)
        changed = True
        for finished in shards.values():  # all of them have been verified now
            settle(names.folder, finished, home=names.home)
        names.remove(old - {file["name"] for file in listed_files(manifest)})  # while the old manifest still lists them
        write_manifest(names.manifest, manifest, staging=names.folder)
        journal.close(remove=True)
        end_staging(names)
    finally:
        if not changed:  # it failed before a file got its name, so the journal has nothing to go on with
            with suppress(OSError):
                names.clear_temporary(unknown=True)
                journal.restart()
            end_staging(names)
        journal.close(remove=not journal.records)
    put_away(found, names.place, delete=delete)
    return manifest


def _listed(path: AnyPath) -> set[str]:
    """The files that the manifest of an earlier output lists, if there is one that can be read."""
    with suppress(FileNotFoundError, FormatError):
        return {file["name"] for file in listed_files(read_manifest(path))}
    return set()


def _end_killed(names: Names, header: dict[str, Any]) -> None:
    """Delete the journal of a merge that was killed after it had written the manifest; those of others stay.

    Raises:
        BlockingIOError: A merge of this output is running.
    """
    if not os.path.lexists(names.journal):
        return
    try:
        journal = Journal(names.journal)
    except BlockingIOError:
        raise
    except (FormatError, OSError):  # of something else, or in a folder that is read-only
        return
    ours = journal.records[:1] == [header]
    try:
        if ours:
            names.clear_temporary(unknown=True)
    finally:
        journal.close(remove=ours)


def _merged(names: Names, rank: dict[str, Any], *, check: bool) -> dict[str, Any]:
    """The manifest of an output that is finished, if it is what these ranks give; with `check` its files are read.

    Raises:
        FileExistsError: It is something else.
        FormatError: A file differs from its checksum.
    """
    manifest = read_manifest(names.manifest)
    sizes = sizes_in(names.place, [file["name"] for file in listed_files(manifest)])
    whole = all(sizes.get(file["name"]) == file["bytes"] for file in listed_files(manifest))
    if not whole or manifest["rank"] is not None or manifest["run"] != rank["run"]:
        raise file_exists(names.manifest, "exists already; overwrite=True replaces it")
    for file in listed_files(manifest) if check else ():
        check_file(names.final(file["name"]), file)
    return manifest


def _spans(path: AnyPath, manifest: dict[str, Any], split: str) -> Iterator[Span]:
    """The documents of one rank and split. The checksums of the manifest are compared on the way: the bytes of tokens
    that are given out are those that go into the checksum."""
    layout = layout_in(manifest)
    for listed in token_files_of_split(manifest, split):
        file = path.parent / listed["name"]
        for one in files_of_shard(manifest, listed["name"]):
            beside = path.parent / one["name"]
            if beside != file or layout.spooled:
                check_file(beside, one)
        check = None if layout.spooled else FileCheck(file, listed)
        opened = open_token_file(file, format=manifest["format"], dtype=manifest["dtype"])
        opened.check = check
        if isinstance(layout, Windows):
            others = [path.parent / one["name"] for one in files_of_shard(manifest, listed["name"])[1:]]
            yield from window_spans(opened, layout.window, *others)  # in the order of `Windows.outputs`
        else:
            yield from opened.spans()
        if check is not None:
            check.finish(whole=True)


def copy_spans(
    spans: Iterable[Span],
    writer: ShardWriter,
    dtype: np.dtype[Any],
    progress: Callable[[int], object] | None = None,
) -> None:
    """Add documents that were read from token files to shards; `progress` is called with the tokens of each span."""
    for span in spans:
        meta = None
        if span.ids is not None and span.origins is not None:
            meta = [meta_line(found, *origin) for found, origin in zip(span.ids, span.origins, strict=True)]
        writer.add(span.tokens.astype(dtype, copy=False), span.lengths, meta)
        if progress is not None:
            progress(len(span.tokens))


def join_manifests(manifests: list[dict[str, Any]]) -> dict[str, Any]:
    """The manifest of all ranks together, without its files."""
    joined = dict(manifests[0], rank=None)
    if "sources" in joined:
        joined["sources"] = {source: dict(counts) for source, counts in joined["sources"].items()}
    for name in ("documents", "tokens", "bytes"):
        joined[name] = sum(manifest[name] for manifest in manifests)
    if "packed" in joined:
        counts = {name: sum(one["packed"][name] for one in manifests) for name in ("windows", "dropped", "padded")}
        joined["packed"] = {**joined["packed"], **counts}
    joined["problems"], joined["filtered"] = {}, {}
    joined["final_separator"] = None
    for manifest in manifests:
        if manifest["final_separator"] is not None:
            joined["final_separator"] = manifest["final_separator"]
        for kind, number in manifest["filtered"].items():
            joined["filtered"][kind] = joined["filtered"].get(kind, 0) + number
        for source, counts in manifest.get("sources", {}).items() if manifest is not manifests[0] else ():
            for name in ("documents", "tokens"):
                joined["sources"][source][name] += counts[name]
        for kind, problem in manifest["problems"].items():
            known = joined["problems"].setdefault(kind, {**problem, "count": 0})
            known["count"] += problem["count"]
    joined["filtered"] = dict(sorted(joined["filtered"].items()))
    return joined
