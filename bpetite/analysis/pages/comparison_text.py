"""Several tokenizers on the same texts as text, for people at a terminal."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..characters import escape, show
from ..side_by_side import DEFINITIONS, Comparison, Figures
from ..usage import ScriptUse

__all__ = ["comparison_text"]


def comparison_text(found: Comparison) -> str:
    """A comparison as text. What comes out of names and tokens is escaped: a terminal interprets none of it."""
    return "\n".join(map(escape, _lines(found)))


def _lines(found: Comparison) -> Iterator[str]:
    if found.provenance.files:
        yield f"texts: {found.provenance.read_from()}"
    yield f"{sum(found.documents.values()):,} documents, {found.tokenizers[0].total.bytes:,} bytes"
    yield ""
    yield from _table(_overall(found))
    names = [one.name for one in found.tokenizers]
    for key, attribute in (("bytes_per_token", "bytes_per_token"), ("fertility", "tokens_per_word")):
        if found.groups:
            yield ""
            rows = [[f"{DEFINITIONS[key][0]} by {found.by or 'group'}", "bytes", *names]]
            for group in found.groups:
                uses = [one.groups.get(group, ScriptUse()) for one in found.tokenizers]
                rows.append([f"  {group}", f"{uses[0].bytes:,}", *(f"{getattr(use, attribute):.3f}" for use in uses)])
            yield from _table(rows)


def _overall(found: Comparison) -> list[list[str]]:
    columns = [_column(one) for one in found.tokenizers]
    names = ["", "tokens in it", "tokens", *(name for name, _ in DEFINITIONS.values())]
    names[names.index(DEFINITIONS["gini"][0])] += f" (per {found.per[:-1]})"
    return [[name, *(column[at] for column in columns)] for at, name in enumerate(names)]


def _column(one: Figures) -> list[str]:
    total = one.total
    longest = show(one.longest)
    return [
        one.name, f"{one.tokens:,}", f"{total.tokens:,}", f"{total.bytes_per_token:.3f}",
        f"{total.tokens_per_word:.3f}", f"{100 * total.whole_word_share:.1f} %", f"{one.usage.renyi_efficiency:.4f}",
        "" if one.gini is None else f"{one.gini:.4f}", f"{100 * one.vocabulary_used:.1f} %", f"{one.unreachable:,}",
        f"{longest if len(longest) <= 16 else longest[:13] + '...'} ({len(one.longest):,} bytes)",
    ]  # fmt: skip


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows in columns: names to the left, figures to the right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        cells = (text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))
        yield "  ".join([row[0].ljust(widths[0]), *cells]).rstrip()
