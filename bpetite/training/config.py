"""How a vocabulary was trained: what the native file keeps as ``train_config``."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..vocabulary.vocab import Vocab
from .counts import PretokenCounts, table_of
from .spilled import CountFile

__all__ = ["config_of", "corpus_of"]


def corpus_of(counts: Mapping[bytes, int] | CountFile) -> dict[str, Any]:
    """What was learned from: the sizes of the counts, and a checksum that is the same for the same counts, whatever
    their order, the threads or the machines that counted.

    >>> corpus_of({b"ab": 2, b"c": 1})["pretokens"]
    3
    """
    if isinstance(counts, CountFile):
        rare = {"min_count": counts.min_count, "left_out": counts.left_out._asdict()} if counts.min_count > 1 else {}
        return {"documents": counts.documents, "pretokens": counts.total, "different": len(counts),
                "bytes": counts.size, "checksum": counts.checksum, **rare}  # fmt: skip
    table = table_of(counts)
    different, size, total = table.totals()
    found = {"pretokens": total, "different": different, "bytes": size, "checksum": table.checksum()}
    return {"documents": counts.documents, **found} if isinstance(counts, PretokenCounts) else found


def config_of(method: str, options: Mapping[str, Any], corpus: Mapping[str, Any] | None, after: Vocab | None = None
              ) -> dict[str, Any]:  # fmt: skip
    """The record of a training, as JSON holds it.

    Args:
        method: "train", "train_parity", "extend" or "prune".
        options: What it was called with.
        corpus: See :func:`corpus_of`; None without counts.
        after: The vocabulary that it began with.
    """
    from .. import __version__

    found: dict[str, Any] = {"method": method, "bpetite": __version__, "options": {
        name: list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
        for name, value in options.items()
    }}  # fmt: skip
    if corpus is not None:
        found["corpus"] = dict(corpus)
    if after is not None:
        found["after"] = after.train_config or {"fingerprint": after.fingerprint()}
    return found
