"""Documents in, token files out: one task that reads, encodes in parallel, writes in order and can be taken up again.

A task is all that a worker needs to know: pieces of input, tokenizer, output, options. It can be pickled and run
anywhere that sees the files; run again after any kind of end it goes on from its journal or, once finished, does
nothing. `encode_corpus` runs one task with all pieces; ranks of a job array, or another scheduler, run one each and
`merge` joins what they wrote.
"""
from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from .codec import Codec, codec_of
from .durable import Journal
from .layouts import Layout, layout_of
from .manifest import VERSION, digest, libraries, list_inputs, read_manifest, write_manifest
from .naming import Names, names_of
from .parallel import in_order
from .readers import BLOCK, Block, Position, Reading, read_blocks
from .records import POLICIES
from .shards import ShardWriter, settle
from .sources import Piece, Sources, find_sources, overlaps_itself, share
from .tally import Tally
from .work import EOT, Encoded, Encoding, encode_blocks

__all__ = ["Options", "Progress", "ShardTask", "encode_corpus"]

#: Called with (bytes of input passed since the last call, tokens written so far, documents so far).
Progress = Callable[[int, int, int], None]

#: Small blocks are worked on together, this many at most.
TOGETHER = 1024


@dataclass(frozen=True)
class Options:
    """Everything that decides what is written, besides inputs and tokenizer.

    Attributes:
        format: npy, nanogpt, llmc, megatron, datatrove, dolma or parquet.
        dtype: uint16, uint32, int32 or "auto", the rule of the target.
        eot: "append", "prepend" or "none"; None is the default of the target.
        special: Special tokens in documents: "text", "allow" or "error".
        separator: Between the documents of text files; None is the tokenizer's end-of-text literal.
        text_key, id_key: Where records have text and id; "a.b" is b inside a.
        on_error: "fail", "skip" or "replace".
        shard_tokens: Tokens of a shard; None for one.
        val_fraction: Documents for which a hash of seed and content falls below it go to a second output.
        seed: See ``val_fraction``.
        input_kind: "text", "jsonl", "json" or "parquet" for all inputs; None goes by the names.
        whole_files: One document a text file.
    """

    format: str = "npy"
    dtype: str = "auto"
    eot: str | None = None
    special: str = "text"
    separator: str | None = None
    text_key: str = "text"
    id_key: str | None = "id"
    on_error: str = "fail"
    shard_tokens: int | None = None
    val_fraction: float = 0.0
    seed: int = 0
    input_kind: str | None = None
    whole_files: bool = False

    def check(self) -> None:
        """Raises ValueError for a value out of range, naming it."""
        for name, allowed in (("eot", (None, *EOT)), ("on_error", POLICIES)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} {getattr(self, name)!r} is not one of {', '.join(map(str, allowed))}")
        if self.shard_tokens is not None and not 1 <= self.shard_tokens < 2**40:
            raise ValueError(f"shard_tokens {self.shard_tokens} is not in 1..2^40")
        if not 0 <= self.val_fraction < 1:
            raise ValueError(f"val_fraction {self.val_fraction} is not in 0 <= F < 1")
        if self.separator == "":
            raise ValueError("the separator must not be empty; --whole-files reads a file as one document")


@dataclass
class Batch:
    """Blocks that are worked on together."""

    blocks: list[Block]
    size: int


@dataclass(frozen=True)
class ShardTask:
    """A picklable, restartable, idempotent piece of work: pieces of input to finished token files.

    Attributes:
        pieces: What to read, in order; of one rank, its share.
        inputs: The whole files that all ranks read together.
        tokenizer: A bpetite.Tokenizer or a `Codec`.
        output: Path of the output: a name with or without suffix, or a folder.
        options: What to write.
        tokenizer_name: For the manifest.
        rank, world_size: Which part of the inputs this is.
        overwrite: Replace an existing output instead of refusing, and do not go on from a journal.
        checkpoint_seconds: How often progress is made durable; a crash costs at most this much work.
        block: Bytes read at a time; never changes the output.
    """

    pieces: tuple[Piece, ...]
    inputs: tuple[Piece, ...]
    tokenizer: Any
    output: str
    options: Options = field(default_factory=Options)
    tokenizer_name: str | None = None
    rank: int = 0
    world_size: int = 1
    overwrite: bool = False
    checkpoint_seconds: float = 10.0
    block: int = BLOCK

    @cached_property
    def codec(self) -> Codec:
        return codec_of(self.tokenizer, special=self.options.special, name=self.tokenizer_name)

    @cached_property
    def layout(self) -> Layout:
        return layout_of(self.options.format)

    @cached_property
    def names(self) -> Names:
        return names_of(
            self.output,
            self.layout,
            shard_tokens=self.options.shard_tokens,
            rank=self.rank,
            world_size=self.world_size,
        )

    @cached_property
    def encoding(self) -> Encoding:
        """How documents become tokens, every default filled in.

        Raises:
            ValueError: An option that the tokenizer or the format cannot follow.
        """
        self.options.check()
        eot = self.options.eot or self.layout.eot
        if eot != "none" and self.codec.eot_id is None:
            raise ValueError("the tokenizer has no end-of-text token; --eot none writes none")
        separator = self.options.separator or self.codec.eot_text
        if separator is None:
            if any(piece.kind == "text" for piece in self.pieces):
                raise ValueError("the tokenizer has no end-of-text token: give --separator or --whole-files")
            separator = "\0"
        return Encoding(
            reading=Reading(separator.encode("utf-8"), self.options.text_key, self.options.id_key, self.block),
            on_error=self.options.on_error,
            eot=eot,
            dtype=self.layout.dtype(self.codec.vocab_size, self.options.dtype),
            val_fraction=self.options.val_fraction,
            seed=self.options.seed,
            with_ids=self.layout.meta,
        )

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What the output depends on, besides the inputs, as JSON."""
        settings = asdict(self.options)
        settings["eot"], settings["dtype"] = self.encoding.eot, self.encoding.dtype
        settings["separator"] = self.encoding.reading.separator.decode("utf-8")
        return {
            **settings,
            "tokenizer": self.codec.fingerprint,
            "vocab_size": self.codec.vocab_size,
            "eot_id": self.codec.eot_id,
            "libraries": libraries(),
        }

    @cached_property
    def run_digest(self) -> str:
        """Identifies inputs and settings of the whole run, all ranks of it."""
        return digest([self.settings, [piece.describe() for piece in self.inputs]])

    # Running

    def run(
        self, *, jobs: int = 1, progress: Progress | None = None, log: Callable[[str], None] | None = None
    ) -> dict[str, Any]:
        """Do the work, or what is left of it.

        Args:
            jobs: Threads that encode; never changes the output.
            progress: Called after each write.
            log: Takes lines for people.

        Returns:
            The summary: the totals of the manifest, and how long it took.

        Raises:
            RecordError: A record with a problem, and ``on_error`` is "fail".
            ValueError: Options that cannot be, or a journal of another run.
            FileExistsError: The output exists already.
            OSError: A file cannot be read or written.
        """
        if jobs < 1:
            raise ValueError(f"jobs {jobs} is not at least 1")
        began = time.perf_counter()
        _ = self.encoding, self.run_digest  # every mistake in the options is found before a file is touched
        self.names.folder.mkdir(parents=True, exist_ok=True)
        done = None if self.overwrite else self._finished()
        if done is not None:
            return self._summary(done, time.perf_counter() - began, 0)
        journal = Journal(self.names.journal)
        try:
            manifest, resumed = self._run(journal, jobs, progress or (lambda *_: None), log)
            journal.close(remove=True)
        finally:
            journal.close()
        return self._summary(manifest, time.perf_counter() - began, resumed)

    def _finished(self) -> dict[str, Any] | None:
        """The manifest of this very run, if it is complete; refuses to touch that of another."""
        path = self.names.manifest
        if not path.exists():
            return None
        manifest = read_manifest(path)
        same = manifest["run"] == self.run_digest and manifest.get("rank") == self._rank
        files = [(self.names.folder / file["name"], file["bytes"]) for file in manifest["files"]]
        if same and all(file.exists() and file.stat().st_size == size for file, size in files):
            self.names.journal.unlink(missing_ok=True)
            return manifest
        raise FileExistsError(
            17, "exists already, of other inputs or options, or its files have changed; --overwrite replaces it",
            str(path),
        )

    @property
    def _rank(self) -> list[int] | None:
        return [self.rank, self.world_size] if self.world_size > 1 else None

    def _run(
        self, journal: Journal, jobs: int, progress: Progress, log: Callable[[str], None] | None
    ) -> tuple[dict[str, Any], int]:
        position, tally, states, shards = self._take_up(journal, log)
        resumed = tally.tokens
        splits = ("train", "val") if self.options.val_fraction else ("all",)
        writers = {
            split: ShardWriter(
                partial(self.names.base, split),
                self.layout,
                self.encoding.dtype,
                self.options.shard_tokens,
                state=states.get(split),
                overwrite=self.overwrite,
            )
            for split in splits
        }
        try:
            if resumed:
                progress(_raw_before(self.pieces, position), tally.tokens, tally.documents)
            last = time.monotonic()
            for encoded in in_order(self._work, self._batches(position), jobs):
                self._write(encoded, writers, tally)
                progress(encoded.raw, tally.tokens, tally.documents)
                if time.monotonic() - last >= self.checkpoint_seconds:
                    self._checkpoint(journal, encoded.end, tally, writers, shards)
                    last = time.monotonic()
            for writer in writers.values():
                writer.finish()
            self._checkpoint(journal, Position(len(self.pieces)), tally, writers, shards)
        finally:
            for writer in writers.values():
                writer.close()
        manifest = self._manifest(tally, shards)
        write_manifest(self.names.manifest, manifest)
        return manifest, resumed

    def _work(self, batch: Batch) -> Encoded:
        return encode_blocks(batch.blocks, self.codec, self.encoding)

    def _batches(self, position: Position) -> Iterator[Batch]:
        """Blocks, small ones together."""
        blocks: list[Block] = []
        size = 0
        for block in read_blocks(self.pieces, self.encoding.reading, position):
            if blocks and (size + block.size > self.block or len(blocks) == TOGETHER):
                yield Batch(blocks, size)
                blocks, size = [], 0
            blocks.append(block)
            size += block.size
        if blocks:
            yield Batch(blocks, size)

    def _write(self, encoded: Encoded, writers: dict[str, ShardWriter], tally: Tally) -> None:
        firsts = tally.add(encoded)
        for split, part in encoded.parts.items():
            meta = None
            if part.meta is not None:
                paths = [self.pieces[piece].path for piece, _ in encoded.blocks]
                meta = [
                    json.dumps([found, paths[block], firsts[block] + number]).encode() + b"\n"
                    for found, block, number in part.meta
                ]
            writers[split].add(part.tokens, part.lengths, meta)

    # Crash safety

    def _checkpoint(
        self,
        journal: Journal,
        position: Position,
        tally: Tally,
        writers: dict[str, ShardWriter],
        shards: dict[str, list[dict[str, Any]]],
    ) -> None:
        """Sync, write it down, then rename: in this order, see `shards.py`."""
        for writer in writers.values():
            writer.sync()
        finished = {split: writer.take_finished() for split, writer in writers.items()}
        journal.append(
            {
                "position": asdict(position),
                "tally": tally.state(),
                "writers": {split: writer.state() for split, writer in writers.items()},
                "finished": finished,
            }
        )
        for split, new in finished.items():
            settle(self.names.folder, new)
            shards.setdefault(split, []).extend(new)

    def _take_up(
        self, journal: Journal, log: Callable[[str], None] | None
    ) -> tuple[Position, Tally, dict[str, Any], dict[str, list[dict[str, Any]]]]:
        """Where to go on: (position, counts, states of the writers, shards that are finished)."""
        header = {
            "journal": VERSION,
            "settings": self.settings,
            "inputs": [piece.describe() for piece in self.pieces],
            "rank": self._rank,
        }
        tally = Tally(self.pieces, self.options.on_error, log)
        if self.overwrite:
            self._clear(journal)
            journal.restart()
        if not journal.records:
            for path in self.names.temporary():
                path.unlink()
            journal.append(header)
            return Position(), tally, {}, {}
        _same_run(journal, header)
        shards: dict[str, list[dict[str, Any]]] = {}
        for record in journal.records[1:]:
            for split, finished in record["finished"].items():
                shards.setdefault(split, []).extend(finished)
        for finished in shards.values():
            settle(self.names.folder, finished)
        position, states = Position(), {}
        if len(journal.records) > 1:
            last = journal.records[-1]
            position, states = Position(**last["position"]), last["writers"]
            tally.restore(last["tally"])
        kept = {name for state in states.values() for name in state["sizes"]}
        for path in self.names.temporary():
            if path.name not in kept:
                path.unlink()
        if log is not None:
            log(f"going on from {self.names.journal}: {tally.documents} documents, {tally.tokens} tokens are done")
        return position, tally, states, shards

    def _clear(self, journal: Journal) -> None:
        """Delete what an earlier run wrote, as far as its manifest and journal say."""
        old = [output for record in journal.records[1:] for new in record["finished"].values() for shard in new
               for output in shard["outputs"]]
        if self.names.manifest.exists():
            try:
                old += read_manifest(self.names.manifest)["files"]
            except ValueError:
                pass
        for file in old:
            (self.names.folder / os.path.basename(file["name"])).unlink(missing_ok=True)
        self.names.manifest.unlink(missing_ok=True)

    # Telling

    def _manifest(self, tally: Tally, shards: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
        return {
            "manifest": VERSION,
            "run": self.run_digest,
            "rank": self._rank,
            "format": self.options.format,
            "dtype": self.encoding.dtype,
            "tokenizer": {
                "name": self.codec.name,
                "fingerprint": self.codec.fingerprint,
                "vocab_size": self.codec.vocab_size,
                "eot_id": self.codec.eot_id,
                "eot_text": self.codec.eot_text,
            },
            "libraries": self.settings["libraries"],
            "eot": self.encoding.eot,
            "separator": self.settings["separator"],
            "final_separator": tally.final_separator,
            "documents": tally.documents,
            "tokens": tally.tokens,
            "bytes": tally.bytes,
            "on_error": self.options.on_error,
            "problems": tally.problems,
            "options": {name: value for name, value in asdict(self.options).items() if name != "on_error"},
            "files": [
                _file(split, shard, output)
                for split, finished in shards.items()
                for shard in finished
                for output in shard["outputs"]
            ],
            "inputs": list_inputs(self.inputs),
        }

    def _summary(self, manifest: dict[str, Any], seconds: float, resumed: int) -> dict[str, Any]:
        return {
            "documents": manifest["documents"],
            "tokens": manifest["tokens"],
            "bytes": manifest["bytes"],
            "problems": manifest["problems"],
            "on_error": manifest["on_error"],
            "files": [file["name"] for file in manifest["files"]],
            "manifest": str(self.names.manifest),
            "tokens_before": resumed,
            "seconds": round(seconds, 3),
        }


def _file(split: str, shard: dict[str, Any], output: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": output["name"],
        "split": split,
        "bytes": output["bytes"],
        "sha256": output["sha256"],
        "tokens": shard["tokens"],
        "documents": shard["documents"],
    }


def _raw_before(pieces: Sequence[Piece], position: Position) -> int:
    """Bytes of input before a position, roughly: for the progress bar."""
    before = sum(piece.raw_bytes for piece in pieces[: position.piece])
    if position.piece < len(pieces) and pieces[position.piece].compression is None:
        before += max(0, min(position.offset, pieces[position.piece].size) - pieces[position.piece].start)
    return before


def _same_run(journal: Journal, header: dict[str, Any]) -> None:
    """Refuse to go on from the journal of other inputs or options, naming what differs."""
    old = journal.records[0]
    way_out = "give the same command again to go on, or --overwrite to start anew"
    if old.get("journal") != header["journal"]:
        raise ValueError(f"{journal.path}: a journal of another release; {way_out}")
    before, now = old["settings"], json.loads(json.dumps(header["settings"]))
    for name in now:
        # a run that was to fail at the first problem has met none, so whatever is to happen to them can still happen
        if name == "on_error" and before.get(name) == "fail":
            continue
        if before.get(name) != now[name]:
            raise ValueError(
                f"{journal.path}: begun with {name} {_show(before.get(name))}, now {_show(now[name])}; {way_out}"
            )
    if old["rank"] != header["rank"]:
        raise ValueError(f"{journal.path}: begun as rank {old['rank']}, now {header['rank']}; {way_out}")
    inputs = json.loads(json.dumps(header["inputs"]))
    for was, found in zip(old["inputs"], inputs, strict=False):
        if was != found:
            what = "has changed since" if was[0] == found[0] else f"was {was[0]} then"
            raise ValueError(f"{journal.path}: input {found[0]} {what}; {way_out}")
    if len(old["inputs"]) != len(inputs):
        raise ValueError(f"{journal.path}: begun with {len(old['inputs'])} inputs, now {len(inputs)}; {way_out}")


def _show(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def encode_corpus(
    sources: Iterable[str | os.PathLike[str]] | str | os.PathLike[str] | Sources,
    sink: str | os.PathLike[str],
    tokenizer: Any,
    *,
    jobs: int = 1,
    rank: int = 0,
    world_size: int = 1,
    overwrite: bool = False,
    tokenizer_name: str | None = None,
    checkpoint_seconds: float = 10.0,
    progress: Progress | None = None,
    log: Callable[[str], None] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Turn a corpus into token files.

    Killed at any moment and called again with the same arguments it goes on, and what it writes is byte for byte what
    an uninterrupted call writes.

    Args:
        sources: Files, folders, glob patterns, or "-" for standard input.
        sink: The output: a file name with or without its suffix, or a folder.
        tokenizer: A bpetite.Tokenizer, or a `Codec` made of any other one.
        jobs: Threads that encode. The output does not depend on it.
        rank, world_size: Read only this part of the sources, into files of its own that `merge` joins.
        overwrite: Replace an existing output.
        tokenizer_name: What the manifest calls the tokenizer.
        checkpoint_seconds: How often progress is made durable.
        progress: Called with (bytes read since the last call, tokens so far, documents so far).
        log: Takes lines for people.
        options: The fields of `Options`: format, dtype, eot, special, separator, text_key, ...

    Returns:
        documents, tokens, bytes, problems, files, manifest (its path), seconds and more.

    Raises:
        RecordError: A record with a problem, with file and line; ``on_error="skip"`` or ``"replace"`` goes on.
        ValueError: Options that cannot be; a journal or output of another run.
        OSError: A file cannot be read or written.
    """
    task = make_task(
        sources,
        sink,
        tokenizer,
        rank=rank,
        world_size=world_size,
        overwrite=overwrite,
        tokenizer_name=tokenizer_name,
        checkpoint_seconds=checkpoint_seconds,
        options=Options(**options),
    )
    return task.run(jobs=jobs, progress=progress, log=log)


def make_task(
    sources: Iterable[str | os.PathLike[str]] | str | os.PathLike[str] | Sources,
    sink: str | os.PathLike[str],
    tokenizer: Any,
    *,
    rank: int = 0,
    world_size: int = 1,
    options: Options,
    **settings: Any,
) -> ShardTask:
    """The task that `encode_corpus` runs, for schedulers of their own."""
    if isinstance(sources, str | os.PathLike):
        sources = [sources]
    if not isinstance(sources, Sources):
        sources = find_sources(sources, kind=options.input_kind, whole_files=options.whole_files)
    task = ShardTask(sources.pieces, sources.pieces, tokenizer, os.fspath(sink), options, **settings)
    if world_size == 1 and rank == 0:
        return task
    # where the number of a record in its file is written down, a file stays with one rank, which can count
    cut = not task.layout.meta and not overlaps_itself(task.encoding.reading.separator)
    return replace(
        task, pieces=share(sources.pieces, rank, world_size, cut_files=cut), rank=rank, world_size=world_size
    )


