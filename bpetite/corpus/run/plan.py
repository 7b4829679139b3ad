"""What a run will do: inputs, tokenizer, options, and everything that follows from them before a file is touched."""
from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from ..encoding.codec import Codec, codec_of
from ..encoding.rows import EncodingRules
from ..layouts.layouts import Layout, layout_of
from ..limits import Limits
from ..mixture import Mixture
from ..output.manifest import VERSION, digest, libraries, list_files, list_inputs
from ..output.naming import REJECTED, Names, names_of, splits_of
from ..output.rejected import list_rejected
from ..reading.cutting import overlaps_itself
from ..reading.readers import BLOCK, Reading, parsers
from ..sources.find import Piece
from ..sources.streams import Torn
from .options import Options
from .tally import Tally

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """Pieces of input and the token files to make of them.

    Attributes:
        pieces: What to read, in order; of one rank, its share.
        inputs: The whole files that all ranks read together.
        tokenizer: A bpetite.Tokenizer or a `Codec`.
        output: Path of the output: a name with or without suffix, or a folder.
        options: What to write.
        rank, world_size: Which share of the inputs this is.
        overwrite, tokenizer_name, checkpoint_seconds, max_errors, staging: See `TaskOptions`.
        block: Bytes read at a time; never changes the output.
        durable: Sync finished files, so that they survive a power failure.
        damage: The known damage of compressed files, see `Reading`.
        known_digest, known_parsers: The `run_digest` and the versions of the packages that parse, of a task that is
            sent to a worker without the ``inputs``.
        mixture: Where the pieces are from, if they are of a mixture.
        left_out: Files of this output that are among the sources, and are not read.
        unread: How many other files of the sources are not read, because no reader knows them.
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
    max_errors: str | int | None = None
    block: int = BLOCK
    durable: bool = True
    damage: dict[str, Torn] | None = None
    known_digest: str | None = None
    known_parsers: dict[str, str] | None = None
    left_out: tuple[str, ...] = ()
    unread: int = 0
    mixture: Mixture | None = None
    staging: str | None = None

    @cached_property
    def codec(self) -> Codec:
        return codec_of(self.tokenizer, special=self.options.special, name=self.tokenizer_name)

    @cached_property
    def layout(self) -> Layout:
        return layout_of(self.options.format, self.options.pack, self.options.loss_mask)

    @cached_property
    def names(self) -> Names:
        return names_of(
            self.output,
            self.layout,
            shard_tokens=self.options.shard_tokens,
            rank=self.rank,
            world_size=self.world_size,
            staging=self.staging,
        )

    @cached_property
    def rules(self) -> EncodingRules:
        """How documents become tokens, with every default filled in.

        Raises:
            ValueError: An option is out of range, or the tokenizer or the format does not allow it.
        """
        self.options.check()
        if self.mixture is None:  # else its sources may have the other option
            self.options.check_together()
        if self.max_errors is not None and self.options.on_error == "fail":
            raise ValueError("max_errors= goes with on_error='skip' or 'replace': 'fail' ends at the first problem")
        if self.staging is not None and self.names.home is None:
            raise ValueError("staging= is for an output at a URL; others grow where they will be")
        return self._rules(self.options, any(piece.kind == "text" for piece in self.pieces if not piece.source))

    def rules_of(self, piece: Piece) -> EncodingRules:
        """The rules of a piece: in a mixture, those of its source; always the same object for the same rules."""
        if self.mixture is None:
            return self.rules
        return self._rules_of_sources[piece.source, piece.epoch]

    @cached_property
    def _rules_of_sources(self) -> dict[tuple[str, int], EncodingRules]:
        """(source, number of the repeat) -> rules."""
        found: dict[tuple[str, int], EncodingRules] = {}
        for source in self.mixture.sources if self.mixture is not None else ():
            options = replace(self.options, **source.options)
            pieces = [piece for piece in self.pieces if piece.source == source.name]
            try:
                rules = self._rules(options, any(piece.kind == "text" for piece in pieces))
            except ValueError as wrong:
                raise ValueError(f"source {source.name!r}: {wrong}") from None
            for epoch, part in {(piece.epoch, piece.part) for piece in pieces}:
                together = rules.together and part == 1
                found[source.name, epoch] = replace(rules, part=part, epoch=epoch, together=together)
        return found

    def _rules(self, options: Options, has_text: bool) -> EncodingRules:
        options.check()
        self.layout.check_shards(options.shard_tokens)
        if self.layout.whole is not None and options.val_fraction:
            raise ValueError(f"format={self.layout.name!r} has one {self.layout.whole} a folder, so val_fraction= has "
                             "no place in it; encode the inputs of each split into a folder of its own")
        if options.pack is not None and options.pack_last == "pad" and self.codec.eot_id is None:
            raise ValueError("the tokenizer has no end-of-text token to pad with; pack_last='drop' pads nothing")
        eot = options.eot or self.layout.eot
        if eot != "none" and self.codec.eot_id is None:
            raise ValueError("the tokenizer has no end-of-text token; eot='none' writes none")
        separator = options.separator or self.codec.eot_text
        if separator is None:
            if has_text:
                raise ValueError("the tokenizer has no end-of-text token: give separator= or whole_files=True")
            separator = "\0"
        limits = Limits(options.min_document_bytes, options.max_document_tokens, options.long_documents)
        return EncodingRules(
            reading=Reading(
                separator.encode("utf-8"), options.text_key, options.id_key if self.layout.meta else None, self.block,
                options.max_document_bytes,
                stop=options.on_error == "fail", segments=options.loss_mask, damage=self.damage,
            ),
            on_error=options.on_error,
            eot=eot,
            dtype=self.layout.dtype(self.codec.vocab_size, options.dtype),
            val_fraction=options.val_fraction,
            seed=options.seed,
            with_origins=self.layout.meta,
            limits=limits,
            keep_order=options.shuffle is not None or options.drop_duplicates,
            with_digests=options.drop_duplicates,
            labelled=options.loss_mask,
            eot_of_empty=self.layout.eot_of_empty,
            together=(
                self.codec.encode_separated is not None
                and (eot, separator) == ("append", self.codec.eot_text)
                and self.layout.eot_of_empty
                and not (self.layout.meta or options.val_fraction or limits)
                and not (options.drop_duplicates or options.loss_mask)
            ),
        )

    @property
    def cuts_files(self) -> bool:
        """Whether ranks may share a file. Not where the number of a record in its file is written down, which only a
        rank that reads all of the file knows; nor where a file can be cut correctly only from its start."""
        every = [self.rules, *(self._rules_of_sources.values() if self.mixture is not None else ())]
        return not self.layout.meta and not any(overlaps_itself(rules.reading.separator) for rules in every)

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return splits_of(self.options.val_fraction)

    @property
    def streams(self) -> tuple[str, ...]:
        """What has a writer of its own: the splits, and the file of rejected records if it is asked for."""
        return (*self.splits, REJECTED) if self.options.rejected else self.splits

    @property
    def _kept_states(self) -> set[str]:
        """What journal records have besides those of every run."""
        kept = {"shuffle": self.options.shuffle is not None, "digests": self.options.drop_duplicates}
        return {name for name, is_kept in kept.items() if is_kept}

    @property
    def memory(self) -> int:
        """Bytes for each of what `Options.memory` is for."""
        both = self.options.shuffle is not None and self.options.drop_duplicates
        return self.options.memory // 2 if both else self.options.memory

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What the output depends on, besides the inputs, as JSON."""
        settings = self._deciding()
        settings["eot"], settings["dtype"] = self.rules.eot, self.rules.dtype
        settings["separator"] = self.rules.reading.separator.decode("utf-8")
        if self.mixture is not None:
            settings["mixture"] = self.mixture.describe()
        parsed_by = parsers(self.inputs) if self.known_parsers is None else self.known_parsers
        return {
            **settings,
            "tokenizer": self.codec.tokenizer_digest,
            "vocab_size": self.codec.vocab_size,
            "eot_id": self.codec.eot_id,
            "libraries": {**libraries(), **parsed_by},
        }

    @cached_property
    def run_digest(self) -> str:
        """Identifies inputs and settings of the whole run, all ranks of it."""
        return self.known_digest or digest([self.settings, [piece.describe() for piece in self.inputs]])

    def differences(self, manifest: dict[str, Any]) -> list[str]:
        """What a finished run, by its manifest, did otherwise than this one would; nothing for this very run."""
        if manifest["run"] == self.run_digest and manifest.get("rank") == self.rank_of_world:
            return []
        before = {
            **manifest["options"], **{name: manifest[name] for name in ("dtype", "eot", "separator", "on_error")},
            "tokenizer": _named(manifest["tokenizer"]["name"], manifest["tokenizer"]["fingerprint"]),
            "rank": manifest.get("rank"),
            **manifest["libraries"],
        }  # fmt: skip
        now = {
            **self.settings, "tokenizer": _named(self.codec.name, self.codec.tokenizer_digest),
            "rank": self.rank_of_world, **self.settings["libraries"],
        }  # fmt: skip
        found = [
            f"made with {name} {value}, now {now[name]}"
            for name, value in before.items()
            if name in now and value != now[name] and not (
                # a file of another name that has the same content is the same tokenizer
                name == "tokenizer" and manifest["tokenizer"]["fingerprint"] == self.codec.tokenizer_digest
            )
        ]
        if manifest["inputs"]["digest"] != list_inputs(self.inputs)["digest"]:
            found.append(self._differing_input(manifest["inputs"]))
        return found or ["made with other options"]

    def _differing_input(self, before: dict[str, Any]) -> str:
        """How the inputs of a manifest differ from those of this run."""
        now = list_inputs(self.inputs)
        if before["count"] != now["count"]:
            return f"made of {before['count']} inputs, now {now['count']}"
        for was, found in zip(before["files"], now["files"], strict=False):
            if was["path"] != found["path"]:
                return f"made of {was['path']}, now {found['path']}"
            if was["bytes"] != found["bytes"]:
                return f"{found['path']} had {was['bytes']} bytes, now {found['bytes']}"
        return "the inputs have the same names and sizes, but have been changed or touched since"

    @property
    def rank_of_world(self) -> list[int] | None:
        """[rank, world size] of one rank of several."""
        return [self.rank, self.world_size] if self.world_size > 1 else None

    def manifest(self, tally: Tally, shards: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
        """The manifest of a finished run: what was counted, and the finished shards of each split."""
        packed = self._packed(tally.tokens, shards)
        return {
            "manifest": VERSION,
            "run": self.run_digest,
            "rank": self.rank_of_world,
            "format": self.options.format,
            "dtype": self.rules.dtype,
            "tokenizer": {
                "name": self.codec.name,
                "fingerprint": self.codec.tokenizer_digest,
                "vocab_size": self.codec.vocab_size,
                "eot_id": self.codec.eot_id,
                "eot_text": self.codec.eot_text,
            },
            "libraries": self.settings["libraries"],
            "eot": self.rules.eot,
            "separator": self.settings["separator"],
            "final_separator": tally.final_separator,
            "documents": tally.documents,
            "tokens": tally.tokens if packed is None else packed["windows"] * packed["window"],
            **({} if packed is None else {"packed": packed}),
            "bytes": tally.bytes,
            "on_error": self.options.on_error,
            "problems": tally.problems,
            "filtered": dict(sorted(tally.filtered.items())),
            "options": self._listed_options(),
            **({} if self.mixture is None else {"sources": self._sources(tally)}),
            "files": list_files({split: shards.get(split, []) for split in self.splits}),
            **({"rejected": list_rejected(shards[REJECTED], tally.problems)} if self.options.rejected else {}),
            "inputs": {
                **list_inputs(self.inputs), **({"unread": self.unread} if self.unread else {}),
            },
        }

    def _packed(self, tokens: int, shards: dict[str, list[dict[str, Any]]]) -> dict[str, int] | None:
        """How the tokens of all documents fill windows."""
        if self.options.pack is None:
            return None
        written = sum(shard["tokens"] for split in self.splits for shard in shards.get(split, []))
        difference = written - tokens
        return {
            "window": self.options.pack, "windows": written // self.options.pack, "dropped": max(0, -difference),
            "padded": max(0, difference),
        }  # fmt: skip

    def _listed_options(self) -> dict[str, Any]:
        """The options that have no place of their own in a manifest."""
        options = {name: value for name, value in self._deciding().items() if name != "on_error"}
        return options if self.mixture is None else {**options, "mixture": self.mixture.describe()}

    def _deciding(self) -> dict[str, Any]:
        """The options that the output depends on."""
        options = asdict(self.options)
        if self.options.shuffle is None:
            del options["memory"]
        return options

    def _sources(self, tally: Tally) -> dict[str, dict[str, Any]]:
        """What each source of a mixture gave."""
        assert self.mixture is not None
        counts = {source.name: tally.sources.get(source.name, [0, 0]) for source in self.mixture.sources}
        return {
            source.name: {
                "documents": counts[source.name][0], "tokens": counts[source.name][1], "repeats": source.repeats
            }
            for source in self.mixture.sources
        }  # fmt: skip


def _named(name: str, fingerprint: str) -> str:
    return f"{name} ({fingerprint[:8]})"
