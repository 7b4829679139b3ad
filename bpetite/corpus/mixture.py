"""Mixtures: several sources of documents, each with options of its own, and how often each is read.

A mixture is read in one fixed order. Each source is a sequence of its files, once for each repeat; of the last repeat,
if it is a part of one, the documents are taken that a hash of seed and content chooses. The sequences are cut into
units of about 64 MB, which are interleaved in proportion. Nothing in that depends on jobs, ranks or the tokenizer.
"""
from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import FormatError
from .sources.find import STDIN, Piece, Sources, find_sources
from .sources.urls import is_url

__all__ = ["UNIT", "Mixture", "MixtureSource"]

#: Bytes of a source that are read before the next one's turn.
UNIT = 64 << 20

#: The most repeats of a source.
MOST = 1000

#: What a source can say of its own documents; see `Options`.
OWN: dict[str, type[Any]] = {
    "separator": str, "text_key": str, "input_kind": str, "whole_files": bool, "min_document_bytes": int,
    "max_document_bytes": int, "max_document_tokens": int, "long_documents": str,
}  # fmt: skip

#: The keys of a source in a file.
KEYS: dict[str, type[Any]] = {"name": str, "paths": list, "repeats": float, "weight": float, "tokens": int, **OWN}


@dataclass(frozen=True)
class MixtureSource:
    """One source of a mixture.

    Attributes:
        name: For people, and for the counts in summary and manifest.
        paths: Files, folders, patterns.
        repeats: How often its documents are read: 2.5 is twice, and half of them once more.
        weight: Its share of the tokens of the mixture, in proportion to the weights of the others.
        tokens: Of its documents, once, without end-of-text tokens; known from an earlier `count_corpus`.
        options: Those of its own, by their names in `Options`.
    """

    name: str
    paths: tuple[str, ...]
    repeats: float = 1.0
    weight: float | None = None
    tokens: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def find(self, kind: str | None, whole_files: bool) -> Sources:
        """Its files, of this name; see `find_sources`."""
        kind = self.options.get("input_kind", kind)
        found = find_sources(self.paths, kind=kind, whole_files=self.options.get("whole_files", whole_files))
        if any(piece.path == STDIN for piece in found.pieces):
            raise ValueError(f"source {self.name!r}: standard input cannot be part of a mixture")
        return replace(found, pieces=tuple(replace(piece, source=self.name) for piece in found.pieces))


@dataclass(frozen=True)
class Mixture:
    """Sources of documents, and how often each is read.

    Either all sources have a weight or none. Weights become repeats by the tokens of the sources: the share of a source
    is ``weight / sum of weights`` of ``tokens``, and its repeats are that share over the tokens that it has. Without
    ``tokens``, the mixture is as large as it can be without reading a document twice.

    Attributes:
        sources: At least one, of different names.
        tokens: Of the mixture, if the sources have weights.

    >>> web = MixtureSource("web", ("web/",), weight=3, tokens=600)
    >>> code = MixtureSource("code", ("code/",), weight=1, tokens=1000)
    >>> [source.repeats for source in Mixture((web, code)).weighed().sources]
    [1.0, 0.2]
    >>> [source.repeats for source in Mixture((web, code), tokens=1600).weighed().sources]
    [2.0, 0.4]
    """

    sources: tuple[MixtureSource, ...]
    tokens: int | None = None

    def __post_init__(self) -> None:
        names = [source.name for source in self.sources]
        if not names:
            raise ValueError("a mixture needs a source")
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two sources are named {twice[0]!r}")
        weights = [source for source in self.sources if source.weight is not None]
        if weights and len(weights) < len(self.sources):
            other = next(source.name for source in self.sources if source.weight is None)
            raise ValueError(f"source {weights[0].name!r} has a weight and {other!r} has none: all of them, or none")
        if self.tokens is not None and (not weights or self.tokens < 1):
            raise ValueError("tokens is for sources with weights, and at least 1")
        for source in self.sources:
            if unknown := sorted(set(source.options) - set(OWN)):
                raise ValueError(f"source {source.name!r}: {unknown[0]} is no option of a source (there are: "
                                 f"{', '.join(OWN)})")
            for name in ("repeats", "weight", "tokens"):
                value = getattr(source, name)
                if value is not None and not 0 < value < math.inf:
                    raise ValueError(f"source {source.name!r}: {name} {value} is not more than 0")
            if source.repeats > MOST:
                raise ValueError(f"source {source.name!r}: repeats {source.repeats} is more than {MOST}")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Mixture:
        """Read a mixture from a TOML file; paths in it are relative to the folder of the file.

        Raises:
            FormatError: It is not TOML, or something in it is unknown or missing.
            ValueError: Its values do not go together.
            OSError: It cannot be read.
        """
        content = _toml(Path(path))
        unknown = set(content) - {"source", "tokens"}
        if unknown or not isinstance(content.get("source"), list):
            what = f"unknown key {min(unknown)!r}" if unknown else "no [[source]]"
            raise FormatError(f"{path}: {what}; a mixture has [[source]] and perhaps tokens")
        sources = [_source(table, number, Path(path)) for number, table in enumerate(content["source"], 1)]
        tokens = content.get("tokens")
        if tokens is not None and type(tokens) is not int:
            raise FormatError(f"{path}: tokens is {tokens!r}, not a number of tokens")
        try:
            return cls(tuple(sources), tokens)
        except ValueError as wrong:
            raise FormatError(f"{path}: {wrong}") from None

    @property
    def uncounted(self) -> list[MixtureSource]:
        """The sources with a weight whose tokens are not known."""
        return [source for source in self.sources if source.weight is not None and source.tokens is None]

    def weighed(self) -> Mixture:
        """The same with repeats instead of weights; the tokens of all sources are known."""
        if self.sources[0].weight is None:
            return self
        shares = [(source.weight or 0, source.tokens or 0) for source in self.sources]
        total = sum(weight for weight, _ in shares)
        tokens = self.tokens or min(count * total / weight for weight, count in shares)
        sources = [
            replace(source, weight=None, tokens=None, repeats=round(weight / total * tokens / count, 9))
            for source, (weight, count) in zip(self.sources, shares, strict=True)
        ]
        return Mixture(tuple(sources))

    def find(self, kind: str | None, whole_files: bool) -> Sources:
        """The files of all sources."""
        found = [source.find(kind, whole_files) for source in self.sources]
        return Sources(
            tuple(piece for one in found for piece in one.pieces),
            tuple(name for one in found for name in one.left_out),
            tuple(name for one in found for name in one.repeated),
        )

    def arrange(self, pieces: Sequence[Piece], *, cuts_files: bool) -> tuple[Piece, ...]:
        """The pieces that are read, in order.

        Args:
            pieces: The files of all sources, from `find`.
            cuts_files: Whether a file may be read in several pieces.
        """
        units: list[tuple[float, int, list[Piece]]] = []
        for number, source in enumerate(self.sources):
            of_source = [piece for piece in pieces if piece.source == source.name]
            found = list(_units(_repeated(of_source, source.repeats), cuts_files))
            sizes = [sum(max(1, piece.raw_bytes) * piece.part for piece in unit) for unit in found]
            before, total = 0.0, sum(sizes)
            for unit, size in zip(found, sizes, strict=True):
                units.append(((before + size / 2) / total, number, unit))
                before += size
        return tuple(piece for _, _, unit in sorted(units, key=lambda unit: unit[:2]) for piece in unit)

    def describe(self) -> list[dict[str, Any]]:
        """The sources for a manifest; their files are its inputs."""
        return [{"name": source.name, "repeats": source.repeats, **source.options} for source in self.sources]


def _repeated(pieces: Sequence[Piece], repeats: float) -> Iterator[Piece]:
    """The files once for each repeat, and for the part of one that is left."""
    whole = math.floor(repeats)
    for epoch in range(math.ceil(repeats)):
        part = 1.0 if epoch < whole else repeats - whole
        for piece in pieces:
            yield replace(piece, epoch=epoch, part=part)


def _units(pieces: Iterator[Piece], cuts_files: bool) -> Iterator[list[Piece]]:
    """Pieces of about `UNIT` bytes together; large plain files are cut, if they may be."""
    unit: list[Piece] = []
    size = 0
    for piece in pieces:
        step = max(1, piece.size)
        if cuts_files and piece.kind in ("text", "jsonl") and piece.compression is None and piece.size > 2 * UNIT:
            step = UNIT
        for start in range(0, max(1, piece.size), step):
            cut = piece if step >= piece.size else replace(piece, start=start, stop=min(piece.size, start + step))
            if unit and size + cut.raw_bytes > UNIT:
                yield unit
                unit, size = [], 0
            unit.append(cut)
            size += cut.raw_bytes
    if unit:
        yield unit


def _toml(path: Path) -> dict[str, Any]:
    try:
        return dict(tomllib.loads(path.read_bytes().decode("utf-8")))
    except ValueError as wrong:
        raise FormatError(f"{path}: not TOML: {wrong}") from None


def _source(table: Any, number: int, path: Path) -> MixtureSource:
    """A source as a file has it."""
    where = f"{path}: source {number}"
    if not isinstance(table, dict):
        raise FormatError(f"{where} is not a table; write [[source]]")
    for key, value in table.items():
        if key not in KEYS:
            raise FormatError(f"{where}: unknown key {key!r} (there are: {', '.join(KEYS)})")
        wanted = KEYS[key]
        if key == "paths" and isinstance(value, str):
            continue
        if type(value) is not wanted and not (wanted is float and type(value) is int):
            raise FormatError(f"{where}: {key} is {value!r}, not a {wanted.__name__}")
    paths = table.get("paths")
    paths = [paths] if isinstance(paths, str) else paths
    if not paths or not all(isinstance(one, str) for one in paths):
        raise FormatError(f"{where}: needs paths, a list of files, folders or patterns")
    if "weight" in table and "repeats" in table:
        raise FormatError(f"{where}: has repeats and a weight; one of them says how much of it is read")
    folder = path.parent
    return MixtureSource(
        table.get("name", f"source {number}"),
        tuple(one if is_url(one) else str(folder / one) for one in paths),
        float(table.get("repeats", 1.0)),
        table.get("weight"),
        table.get("tokens"),
        {key: value for key, value in table.items() if key in OWN},
    )
