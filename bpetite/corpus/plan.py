"""A run before a file is touched: inputs, tokenizer, options, and everything that follows from them.

The bytes of the output depend on inputs, tokenizer, options and the number of ranks alone.
"""
from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from .codec import Codec, codec_of
from .layouts.layout import Layout
from .layouts.registry import layout_of
from .options import Options
from .read.find import Input
from .read.pieces import BLOCK, MAX_DOCUMENT, Reading, Share, shares
from .write.manifest import digest, input_entries, libraries
from .write.names import Names, names_of, splits_of


@dataclass(frozen=True)
class Plan:
    """One rank of a run, or all of it. Picklable.

    Attributes:
        inputs: The inputs of all ranks together, in order.
        tokenizer: A bpetite.Tokenizer or a `Codec`.
        output: Path of the output: a name with or without suffix, or a folder; "" to count.
        options: The options of the run.
        block: Bytes read at a time.
    """

    inputs: tuple[Input, ...]
    tokenizer: Any
    output: str
    options: Options = field(default_factory=Options)
    block: int = BLOCK

    @cached_property
    def share(self) -> Share:
        """The pieces that this rank reads."""
        return shares(self.inputs, self.options.world_size, whole=self.layout.meta)[self.options.rank]

    @cached_property
    def codec(self) -> Codec:
        return codec_of(self.tokenizer, special=self.options.special, name=self.options.tokenizer_name)

    @cached_property
    def layout(self) -> Layout:
        return layout_of(self.options.format)

    @property
    def shard_tokens(self) -> int | None:
        return self.options.shard_tokens or self.layout.shard_tokens

    @cached_property
    def whole_names(self) -> Names:
        """The names of the output of all ranks."""
        fraction = self.options.val_fraction
        return names_of(self.output, self.layout, shard_tokens=self.shard_tokens, val_fraction=fraction)

    @cached_property
    def names(self) -> Names:
        """The names of the output of this rank."""
        if self.options.world_size == 1:
            return self.whole_names
        return self.whole_names.of_rank(self.options.rank, self.options.world_size)

    @cached_property
    def eot(self) -> str:
        return self.options.eot or self.layout.eot

    @cached_property
    def dtype(self) -> str:
        return self.layout.dtype(self.codec.vocab_size, self.options.dtype)

    @cached_property
    def reading(self) -> Reading:
        options = self.options
        separator = options.separator or self.codec.eot_text or "\0"
        most = MAX_DOCUMENT if options.max_document_bytes is None else options.max_document_bytes
        cuts = None if self._whole_because else self.codec.cuts
        if cuts is not None:
            cuts = replace(cuts, literals=(*cuts.literals, separator.encode()))
        return Reading(
            separator.encode(), options.text_key, options.id_key if self.layout.meta else None, self.block, most,
            stop=options.on_error == "fail", cuts=cuts,
        )  # fmt: skip

    @cached_property
    def as_one_text(self) -> bool:
        """True if a block may be encoded in one call: each separator in it becomes the end-of-text token there."""
        separator = self.reading.separator
        return (
            self.codec.encode_separated is not None
            and (self.eot, separator) == ("append", (self.codec.eot_text or "").encode())
            and self.layout.eot_of_empty
            # a separator that starts with its own end may also be found across the end of a text
            and not any(separator.startswith(separator[-size:]) for size in range(1, len(separator)))
            and not (self.layout.meta or self.options.val_fraction)
        )

    def check_options(self) -> None:
        """Raises ValueError for an option that is out of range, or that the tokenizer or the format does not allow."""
        options = self.options
        options.check()
        self.layout.check_shards(self.shard_tokens)
        _ = self.dtype
        if options.special not in (Options.special, self.codec.special):
            raise ValueError(f"special={options.special!r} is not what the Codec does: {self.codec.special!r}")
        if self.eot != "none" and self.codec.eot_id is None:
            raise ValueError("the tokenizer has no end-of-text token; eot='none' writes none")
        is_text = any(source.kind == "text" for source in self.inputs)
        if options.separator is None and self.codec.eot_text is None and is_text:
            raise ValueError("the tokenizer has no end-of-text token: give separator= or whole_files=True")

    @property
    def _whole_because(self) -> str | None:
        """Why each document of text is held whole; None if a document can be cut."""
        if self.options.max_document_bytes is not None:
            return "max_document_bytes= is given"
        if self.options.val_fraction:
            return "val_fraction= looks at whole documents"
        if self.layout.keeps_whole:
            return f"format={self.layout.name!r} has a row for each document"
        if self.codec.cuts is None:
            return "the tokenizer's pattern or normalizer shows no place where a text can certainly be cut"
        return None

    @property
    def warning(self) -> str | None:
        """A warning if an input is a large text that may be one document, and documents are held whole."""
        large = [one.path for one in self.inputs if one.kind in ("text", "whole") and one.size > MAX_DOCUMENT // 4]
        if not large or (why := self._whole_because) is None:
            return None
        return (f"{large[0]}: each of its documents is held whole, up to {self.reading.max_document:,} bytes, "
                f"because {why}; separator= names what stands between documents")

    @property
    def splits(self) -> tuple[str, ...]:
        return splits_of(self.options.val_fraction)

    @property
    def rank_of_world(self) -> list[int] | None:
        """[number, number of all] of one rank of several."""
        return [self.options.rank, self.options.world_size] if self.options.world_size > 1 else None

    def of(self, rank: int, world_size: int) -> Self:
        """Another rank of the same run."""
        return replace(self, options=replace(self.options, rank=rank, world_size=world_size))

    @cached_property
    def _content(self) -> dict[str, Any]:
        """Everything besides inputs and ranks that the output depends on, as JSON."""
        self.check_options()
        content = self.options.content()
        return {
            "format": self.options.format,
            "dtype": self.dtype,
            "tokenizer": {
                "fingerprint": self.codec.tokenizer_digest, "vocab_size": self.codec.vocab_size,
                "eot_id": self.codec.eot_id, "eot_text": self.codec.eot_text,
            },
            "libraries": libraries(self.inputs),
            "eot": self.eot,
            "separator": self.reading.separator.decode("utf-8"),
            "on_error": content.pop("on_error"),
            "options": {**content, "shard_tokens": self.shard_tokens},
        }  # fmt: skip

    @cached_property
    def run_digest(self) -> str:
        """A digest of the inputs and settings of all ranks."""
        return digest([self._content, [source.describe() for source in self.inputs]])

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Inputs, tokenizer and options, for the state and the manifest."""
        return {
            "run": self.run_digest,
            "rank": self.rank_of_world,
            **self._content,
            "tokenizer": {"name": self.codec.name, **self._content["tokenizer"]},
            "inputs": input_entries(self.inputs),
        }

    def differences(self, before: dict[str, Any], *, may_differ: Sequence[str] = ()) -> list[str]:
        """The differences of the identity in a manifest or state, for people: "with NAME VALUE, now VALUE". The
        options in ``may_differ`` are not compared."""
        if before["run"] == self.run_digest and before["rank"] == self.rank_of_world:
            return []
        was, now = _by_name(before), _by_name(self.identity)
        found = [
            f"with {name} {was.get(name)}, now {now.get(name)}"
            for name in {**was, **now} if was.get(name) != now.get(name) and name not in may_differ
        ]  # fmt: skip
        return found or ([] if may_differ else ["with other options"])

    def check_inputs_apart(self) -> None:
        """Raises ValueError if the output would overwrite an input."""
        own = {os.path.realpath(self.whole_names.place / path.name) for split in self.splits
               for path in self.layout.outputs(self.names.folder / self.names.base(split))}
        for source in self.inputs:
            if not source.read_once and os.path.realpath(source.path) in own:
                raise ValueError(f"{source.path}: the input has the name of a file of the output; choose another "
                                 "output")


def _by_name(identity: dict[str, Any]) -> dict[str, Any]:
    """The parts of an identity by their names for people."""
    inputs = identity["inputs"]
    return {
        **identity["options"],
        **{name: identity[name] for name in ("format", "dtype", "eot", "separator", "on_error", "rank")},
        "tokenizer": identity["tokenizer"]["fingerprint"],
        **{name: identity["tokenizer"][name] for name in ("vocab_size", "eot_id", "eot_text")},
        **identity["libraries"],
        "number of inputs": inputs["count"],
        **{f"input {number}": f"{one['path']} ({one['bytes']} bytes, {one['version']})"
           for number, one in enumerate(inputs["files"], 1)},
        **({} if inputs["files"] else {"inputs": inputs["digest"]}),
    }  # fmt: skip
