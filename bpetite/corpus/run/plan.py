"""A run before a file is touched: inputs, tokenizer, options, and everything that follows from them.

One run is one part or several. A part is consecutive pieces of the input, cut by bytes and nothing else, so the cut
does not depend on who runs it. A single part writes the final files as it goes; each of several parts writes a spool
(`layouts.spool`), and `assembly` makes the final files of all spools. So ranks of a job array, tasks of Ray and of
Spark run the same parts, go on in the same way after a kill, and are joined by the same code.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from ..encoding.codec import Codec, codec_of
from ..encoding.rows import EncodingRules
from ..layouts.layout import Layout
from ..layouts.registry import layout_of
from ..output.manifest import VERSION, digest, libraries, list_files, list_inputs, list_rejected
from ..output.naming import REJECTED, Names, names_of, splits_of
from ..reading.blocks import BLOCK, Reading
from ..reading.cutting import overlaps_itself
from ..sources.find import Piece
from ..sources.share import share
from ..sources.streams import Torn
from .corpus_options import Options
from .tally import Tally, add_stats, group_of, sorted_stats

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """One part of a run, or all of it.

    Attributes:
        inputs: The whole files that all parts read together, in order.
        tokenizer: A bpetite.Tokenizer or a `Codec`.
        output: Path of the output: a name with or without suffix, or a folder.
        options: Of the output.
        rank, world_size: Number of this part, and of all.
        overwrite, tokenizer_name, checkpoint_seconds, max_errors: See `TaskOptions`.
        block: Bytes read at a time; never changes the output.
        damage: The known damage of compressed files, see `Reading`.
        known_digest: The `run_digest` of the process that has made the plan, for a worker to compare.
        left_out: Files of this output that are among the sources, and are not read.
        unread: Number of other files of the sources that are not read, because no reader knows them.
    """

    inputs: tuple[Piece, ...]
    tokenizer: Any
    output: str
    options: Options = field(default_factory=Options)
    tokenizer_name: str | None = None
    rank: int = 0
    world_size: int = 1
    overwrite: bool = False
    checkpoint_seconds: float = 10.0
    max_errors: str | int | None = None
    block: int = BLOCK
    damage: dict[str, Torn] | None = None
    known_digest: str | None = None
    left_out: tuple[str, ...] = ()
    unread: int = 0

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The input of this part, in order."""
        return share(self.inputs, self.rank, self.world_size, cut_files=self.cuts_files)

    @cached_property
    def codec(self) -> Codec:
        return codec_of(self.tokenizer, special=self.options.special, name=self.tokenizer_name)

    @cached_property
    def layout(self) -> Layout:
        """The layout of the final files."""
        return layout_of(self.options.format)

    @cached_property
    def names(self) -> Names:
        return self.names_of_part(self.rank, self.world_size)

    def names_of_part(self, rank: int, world_size: int) -> Names:
        """The names of the files of a part; of the output, for one of one."""
        return names_of(
            self.output, self.layout, shard_tokens=self.options.shard_tokens, val_fraction=self.options.val_fraction,
            rank=rank, world_size=world_size,
        )  # fmt: skip

    @cached_property
    def rules(self) -> EncodingRules:
        """The rules by which documents become tokens, with every default filled in; finds every option that is out of
        range, or that the tokenizer or the format does not allow."""
        options = self.options
        options.check()
        self._refuse_contradictions()
        by_label = options.stats_by not in (None, "file", "folder")
        eot = options.eot or self.layout.eot
        if eot != "none" and self.codec.eot_id is None:
            raise ValueError("the tokenizer has no end-of-text token; eot='none' writes none")
        separator = options.separator or self.codec.eot_text
        if separator is None:
            if any(piece.kind == "text" for piece in self.inputs):
                raise ValueError("the tokenizer has no end-of-text token: give separator= or whole_files=True")
            separator = "\0"
        return EncodingRules(
            reading=Reading(
                separator.encode("utf-8"), options.text_key,
                options.id_key if self.layout.meta else options.stats_by if by_label else None, self.block,
                options.max_document_bytes, stop=options.on_error == "fail", damage=self.damage,
            ),
            on_error=options.on_error,
            eot=eot,
            dtype=self.layout.dtype(self.codec.vocab_size, options.dtype),
            val_fraction=options.val_fraction,
            seed=options.seed,
            with_origins=self.layout.meta,
            keep_order=options.shuffle is not None,
            eot_of_empty=self.layout.eot_of_empty,
            stats=None if options.stats_by is None else "label" if by_label else "piece",
            as_one_text=(
                self.codec.encode_separated is not None
                and (eot, separator) == ("append", self.codec.eot_text)
                and self.layout.eot_of_empty
                and not (self.layout.meta or options.val_fraction)
            ),
        )

    def _refuse_contradictions(self) -> None:
        options = self.options
        if self.max_errors is not None and options.on_error == "fail":
            raise ValueError("max_errors= goes with on_error='skip' or 'replace': 'fail' ends at the first problem")
        if self.world_size > 1 and options.shuffle is not None:
            raise ValueError("shuffle looks at all documents in their order, and each of several parts sees some: "
                             "run one process, with as many jobs as there are cores")
        self.layout.check_shards(options.shard_tokens)
        if self.layout.whole is not None and options.val_fraction:
            raise ValueError(f"format={self.layout.name!r} has one {self.layout.whole} a folder, so val_fraction= has "
                             "no place in it; encode the inputs of each split into a folder of its own")
        by_label = options.stats_by not in (None, "file", "folder")
        if by_label and self.layout.meta:
            raise ValueError(f"format={self.layout.name!r} keeps the id of each record, and one key is read besides "
                             "the text: stats_by= takes 'file' or 'folder' there")
        if by_label and (plain := next((one.path for one in self.inputs if one.kind in ("text", "whole")), None)):
            raise ValueError(f"{plain}: text has no records with a key {options.stats_by!r}: stats_by= takes 'file' or "
                             "'folder'")
        if options.stats_by is not None and not by_label:
            add_stats({}, ((group_of(piece, options.stats_by), {}) for piece in self.inputs), options.stats_by)

    @property
    def cuts_files(self) -> bool:
        """True if parts may share a file. Not where the number of a record in its file is written down, which only a
        part that reads all of the file knows; nor where a file can be cut correctly only from its start."""
        return not self.layout.meta and not overlaps_itself(self.rules.reading.separator)

    @property
    def splits(self) -> tuple[str, ...]:
        return splits_of(self.options.val_fraction)

    @property
    def streams(self) -> tuple[str, ...]:
        """The outputs that have a writer each: the splits, and the file of rejected records if it is asked for."""
        return (*self.splits, REJECTED) if self.options.rejected else self.splits

    @cached_property
    def identity_of_options(self) -> dict[str, Any]:
        """Everything that the output depends on, besides the inputs, as JSON."""
        options = asdict(self.options)
        return {
            "format": self.options.format,
            "dtype": self.rules.dtype,
            "tokenizer": {
                "fingerprint": self.codec.tokenizer_digest,
                "vocab_size": self.codec.vocab_size,
                "eot_id": self.codec.eot_id,
                "eot_text": self.codec.eot_text,
            },
            "libraries": libraries(self.inputs),
            "eot": self.rules.eot,
            "separator": self.rules.reading.separator.decode("utf-8"),
            "on_error": options.pop("on_error"),
            "options": options,
        }

    @cached_property
    def run_digest(self) -> str:
        """Identifies inputs and settings of the whole run, all parts of it.

        Raises:
            ValueError: A worker has other versions than the process that has made the plan.
        """
        run = digest([self.identity_of_options, [piece.describe() for piece in self.inputs]])
        if self.known_digest not in (None, run):
            raise ValueError(f"this worker would write another output than the plan says: versions here are "
                             f"{self.identity_of_options['libraries']}; install the same everywhere")
        return run

    @property
    def rank_of_world(self) -> list[int] | None:
        """[number, number of all] of one part of several."""
        return [self.rank, self.world_size] if self.world_size > 1 else None

    def of(self, rank: int, world_size: int) -> Self:
        """Another part of the same run."""
        return replace(self, rank=rank, world_size=world_size)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Inputs, tokenizer and options, as the journal and the manifest have them."""
        return {
            "run": self.run_digest,
            "rank": self.rank_of_world,
            **self.identity_of_options,
            "tokenizer": {"name": self.codec.name, **self.identity_of_options["tokenizer"]},
            "inputs": {
                **list_inputs(self.inputs), "files": list_inputs(self.pieces)["files"],
                **({"unread": self.unread} if self.unread else {}),
            },
        }  # fmt: skip

    def differences(self, before: dict[str, Any], *, free: Sequence[str] = ()) -> list[str]:
        """The differences between the identity of another run, in its manifest or journal, and of this one, for people:
        "with VALUE, now VALUE", but for options that are ``free`` to differ."""
        if before["run"] == self.run_digest and before["rank"] == self.rank_of_world:
            return []
        now = _by_name(self.identity)
        reasons = [
            f"with {name} {value}, now {now[name]}"
            for name, value in _by_name(before).items()
            if name in now and value != now[name] and name not in free and not (
                # a file of another name that has the same content is the same tokenizer
                name == "tokenizer" and before["tokenizer"]["fingerprint"] == self.codec.tokenizer_digest
            )
        ]
        if before["inputs"]["digest"] != self.identity["inputs"]["digest"]:
            reasons.append(self._differing_input(before["inputs"]))
        return reasons or ([] if free else ["with other options"])

    def _differing_input(self, before: dict[str, Any]) -> str:
        now = self.identity["inputs"]
        if before["count"] != now["count"]:
            return f"with {before['count']} inputs, now {now['count']}"
        for was, now_file in zip(before["files"], now["files"], strict=False):
            if was["path"] != now_file["path"]:
                return f"with {was['path']}, now {now_file['path']}"
            if was["bytes"] != now_file["bytes"]:
                return f"with {now_file['path']} of {was['bytes']} bytes, now {now_file['bytes']}"
            if was["version"] != now_file["version"]:
                return f"with {now_file['path']}, which has been changed or touched since"
        return "with inputs that have been changed or touched since"

    def manifest(self, tally: Tally, shards: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
        """The manifest of a finished part; of several parts, each lists the inputs that it has read."""
        inputs = self.identity["inputs"]
        files = [{**file, "read": tally.sums.get(number, {})} for number, file in enumerate(inputs["files"])]
        return {
            "manifest": VERSION,
            **self.identity,
            "inputs": {**inputs, "files": files},
            "final_separator": tally.final_separator,
            "documents": tally.documents,
            "tokens": tally.tokens,
            "bytes": tally.bytes,
            "problems": tally.problems,
            "byte_order_marks": tally.marks,
            **({"stats": sorted_stats(tally.stats)} if self.options.stats_by else {}),
            "files": list_files({split: shards.get(split, []) for split in self.splits}),
            **({"rejected": list_rejected(shards[REJECTED], tally.problems)} if self.options.rejected else {}),
        }


def _by_name(identity: dict[str, Any]) -> dict[str, Any]:
    tokenizer = identity["tokenizer"]
    return {
        **identity["options"], **{name: identity[name] for name in ("dtype", "eot", "separator", "on_error", "rank")},
        "tokenizer": f"{tokenizer['name']} ({tokenizer['fingerprint'][:8]})", **identity["libraries"],
    }  # fmt: skip
