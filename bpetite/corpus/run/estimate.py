"""An estimate of a run, before it: what it would refuse is refused, the start of some inputs is encoded, and no file is
written."""
from __future__ import annotations

import errno
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ..output.durable import read_records
from ..reading.blocks import Position, TornError
from ..sources.find import Piece
from ..sources.share import shares, text_of
from .part import Part, finished
from .tally import Tally

__all__ = ["estimate"]

#: Of each kind of file: the most inputs that are tried, and the bytes of text of one.
TRIED = 8
SAMPLE = 8 << 20


def estimate(part: Part, jobs: int = 1) -> dict[str, Any]:
    """The work of a run, of all its ranks together.

    Returns:
        "files" and "bytes" (on disk) of the inputs, exactly; from a sample of "sampled_bytes" of text, "text_bytes",
        "documents", "tokens", "disk_bytes" (of the token files; those of ranks need as much again until they are
        merged) and "seconds" (of encoding); "free_bytes" (None at a URL); "ranks", about the bytes of text of each.

    Raises:
        ValueError, RecordError, FileExistsError, OSError: As the run would; an input can be read only once.
        OSError: ENOSPC, where the disk has less room than the files take.
    """
    part.check()
    if once := next((piece.path for piece in part.inputs if piece.once), None):
        raise ValueError(f"{once} can be read only once: no sample of it can be taken")
    _check_place(part)
    kinds: dict[tuple[str, str | None], list[Piece]] = {}
    for piece in part.inputs:
        kinds.setdefault((piece.kind, piece.compression), []).append(piece)
    totals, sampled, seconds = np.zeros(3), 0, 0.0
    for pieces in kinds.values():
        numbers, raw, spent = _sample(part, pieces)
        totals += numbers * (sum(piece.raw_bytes for piece in pieces) / max(1, raw))
        sampled, seconds = sampled + int(numbers[0]), seconds + spent
    text, documents, tokens = map(round, totals.tolist())
    size = tokens * np.dtype(part.rules.dtype).itemsize + 8 * documents
    free = part.names.free_bytes()
    if free is not None and size > free:
        raise OSError(errno.ENOSPC, f"the token files take about {size:,} bytes, and {free:,} are free", part.output)
    cut = shares(part.inputs, part.world_size, cut_files=part.cuts_files)
    return {
        "files": len(part.inputs), "bytes": sum(piece.raw_bytes for piece in part.inputs), "text_bytes": text,
        "documents": documents, "tokens": tokens, "disk_bytes": size, "sampled_bytes": sampled, "free_bytes": free,
        "ranks": [sum(map(text_of, share)) for share in cut],
        "seconds": round(text * seconds / max(1, sampled) / jobs / part.world_size, 1),
    }  # fmt: skip


def _check_place(part: Part) -> None:
    if part.overwrite or finished(part) is not None:
        return
    names = part.names
    with suppress(FileNotFoundError):
        if records := read_records(names.journal):
            part.check_same_run(records)
            return
    names.refuse_finished(part.streams)
    names.clear_temporary(unknown=False)


def _sample(part: Part, pieces: Sequence[Piece]) -> tuple[Any, int, float]:
    """((bytes of text, documents, tokens), bytes on disk, seconds of one thread) of the start of some inputs."""
    numbers, raw, seconds = np.zeros(3), 0, 0.0
    for piece in pieces[:: -(-len(pieces) // TRIED)]:
        one = replace(part, inputs=(piece,), rank=0, world_size=1, block=SAMPLE // 8, damage={}, known_digest=None)
        tally = Tally(one.pieces, part.options.on_error)
        read, kept = 0, (0, (0, 0, 0))
        began, before = time.thread_time(), 0
        with suppress(TornError), closing(one.batches(Position())) as batches:
            for batch in batches:
                encoded = one.work(batch)
                if encoded.raw:  # the text up to here is that of the bytes read before, which may be compressed
                    kept = read, (tally.bytes, tally.documents, tally.tokens)
                tally.add(encoded)
                read += encoded.raw
                if not before and tally.bytes >= SAMPLE // 2:  # what was first is slow: nothing is in the caches yet
                    began, before = time.thread_time(), tally.bytes
                if kept[0] and tally.bytes >= SAMPLE:
                    break
            else:
                kept = read, (tally.bytes, tally.documents, tally.tokens)
        seconds += (time.thread_time() - began) * kept[1][0] / max(1, tally.bytes - before)
        raw, numbers = raw + kept[0], numbers + kept[1]
    return numbers, raw, seconds

