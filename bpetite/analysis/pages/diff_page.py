"""A comparison of two tokenizers as HTML: what differs, and the places of the texts that are cut differently."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from ..characters import show
from ..comparing import DiffReport, Place
from ..layout import Cell
from .blocks import Section, cell, code, head, report_element, report_page, table
from .headlines import diff_headline
from .markup import text_html, tokens_html
from .report_text import describe

__all__ = ["diff_element", "diff_page"]

#: Tokens shown of each difference between the vocabularies, and of a place on each side.
TOKENS = 40

#: Characters shown of a place.
CHARACTERS = 200


def diff_page(report: DiffReport) -> str:
    """The page of a comparison. What tokens and texts hold is escaped; the page has no script."""
    return report_page(f"{' and '.join(report.names)}: what differs", _head(report), _sections(report))


def diff_element(report: DiffReport) -> str:
    """The same as one element with its own styles, for a notebook."""
    return report_element(_head(report), _sections(report))


def _head(report: DiffReport) -> str:
    a, b = report.names
    verdict = "the same" if report.same else "different"
    return head(f"A: {a}, B: {b}", verdict, report.same, diff_headline(report), report.provenance)


def _sections(report: DiffReport) -> Iterator[Section]:
    if report.same:
        texts = "" if report.documents is None else " So are the ids of all texts."
        yield "What differs", f"<p>Nothing: settings, special tokens, vocabularies and merges are the same.{texts}</p>"
        return
    yield "Texts", _texts(report)
    settings = ([cell(name.replace("_", " ")), *_both(sides)] for name, sides in report.settings.items())
    yield "Settings", table("Settings", ["setting", "A", "B"], settings, named=True)
    specials = ([code(literal), *_both(sides)] for literal, sides in report.specials.items())
    yield "Special tokens", table("Special tokens", ["special token", "id in A", "id in B"], specials, named=True)
    for side, only in (("A", report.only_a), ("B", report.only_b)):
        rows = ([str(token_id), code(show(token))] for token, token_id in islice(only.items(), TOKENS))
        title = f"Tokens only in {side}"
        yield title, _more(table(title, ["id", "token"], rows, numbers=1), len(only))
    moved = ([str(ours), str(theirs), code(show(one))] for one, (ours, theirs) in islice(report.moved.items(), TOKENS))
    title = "Tokens under other ids"
    yield title, _more(table(title, ["id in A", "id in B", "token"], moved, numbers=2), len(report.moved))
    yield "Merges", _merges(report)


def _both(sides: tuple[object, object]) -> list[str]:
    return [code(describe(one)) for one in sides]


def _more(shown: str, count: int) -> str:
    return f"{shown}<p>The first {TOKENS} of {count:,}.</p>" if count > TOKENS else shown


def _merges(report: DiffReport) -> str:
    if report.first_merge is None:
        return ""
    ours, theirs = (
        "none" if pair is None else code(" + ".join(show(part) for part in pair)) for pair in report.merges_at_first
    )
    rows = [
        ["the same at the start", f"{report.first_merge:,}"],
        ["the next one in A", ours],
        ["the next one in B", theirs],
        ["only in A", f"{report.merges_only_a:,}"],
        ["only in B", f"{report.merges_only_b:,}"],
        ["in another order", f"{report.merges_reordered:,}"],
    ]
    return table("Merges", [], rows, named=True)


def _texts(report: DiffReport) -> str:
    if report.documents is None:
        return ""
    if not report.documents_differing:
        return f"<p>All texts get the same ids: {report.tokens_a:,} tokens.</p>"
    said = (
        f"<p>A makes {report.tokens_a:,} tokens of the texts, B {report.tokens_b:,}. They are cut differently in "
        f"{report.cut_places:,} places; {report.other_ids:,} tokens are cut alike and have other ids.</p>"
    )
    title = "The same tokens under other ids"
    rows = (
        [str(place.document), str(place.offset), str(ours), str(theirs), code(show(token))]
        for place in report.places
        if not place.cut
        for (ours, token), (theirs, _) in zip(place.a, place.b, strict=True)
    )
    other_ids = table(title, ["document", "character", "id in A", "id in B", "token"], rows, numbers=4)
    return said + "\n".join(_place(place) for place in report.places if place.cut) + other_ids


def _place(place: Place) -> str:
    text = place.text if len(place.text) <= CHARACTERS else f"{place.text[:CHARACTERS]}…"
    sides = "".join(
        f'<div class="side"><b>{name}</b><div class="text ids">{"".join(tokens_html(_cells(tokens), 0, titles=True))}'
        f"{' …' if len(tokens) > TOKENS else ''}</div></div>"
        for name, tokens in (("A", place.a), ("B", place.b))
    )
    return (
        f'<div class="place"><p>Document {place.document:,}, character {place.offset:,}</p>'
        f'<p class="text" dir="auto"><span class="dim">{_context(place.before)}</span><mark>{text_html(text)}</mark>'
        f'<span class="dim">{_context(place.after)}</span></p>{sides}</div>'
    )


def _context(text: str) -> str:
    """The text around a place, in one line."""
    return text_html(text.replace("\n", "↵"))


def _cells(tokens: Iterable[tuple[int, bytes]]) -> Iterator[Cell]:
    """The first tokens of a place; bytes that are part of a character are shown as bytes."""
    for token_id, token in islice(tokens, TOKENS):
        yield Cell(token_id, token, 0, False, token.decode("utf-8", "surrogateescape"), False)
