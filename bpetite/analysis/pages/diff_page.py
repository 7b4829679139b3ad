"""The differences between two tokenizers, drawn: settings, tokens, merges, and the texts that are cut differently."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from ..cells import Cell
from ..characters import token_repr
from ..results import Difference, DiffReport, Form
from .markup import text_html, tokens_html
from .render import Block, Code, Contents, Fault, Fine, Raw, Section, Table, describe, draw

__all__ = ["diff_page"]

#: Tokens shown of each difference between the vocabularies, and of a place on each side; text shows fewer.
TOKENS, FEW = 40, 8

#: Characters shown of a place.
CHARACTERS = 200


def diff_page(report: DiffReport, form: Form) -> str:
    """Draw the differences. The page has no script and needs no network."""
    a, b = report.names
    verdict = Fine("the same") if report.same else Fault("different")
    return draw(Contents(f"A: {a}, B: {b}", verdict, _headline(report), report.files, _sections(report)), form)


DiffReport._drawn = diff_page


def _headline(report: DiffReport) -> list[tuple[str, str]]:
    size_a, size_b = report.sizes
    figures = [
        (f"{size_a:,}", "tokens in A"),
        (f"{size_b:,}", "tokens in B"),
        (f"{report.shared:,}", "the same in both"),
        (f"{len(report.moved):,}", "under other ids"),
        (f"{len(report.only_a):,}", "only in A"),
        (f"{len(report.only_b):,}", "only in B"),
    ]
    if report.documents is None:
        return figures
    change = 100 * (report.tokens_b / max(report.tokens_a, 1) - 1)
    return [
        (f"{report.documents_differing:,} of {report.documents:,}", "documents get other ids"),
        (f"{change:+.2f} %", "tokens of the texts in B, against A"),
        *figures,
    ]


def _sections(report: DiffReport) -> Iterator[Section]:
    if report.same:
        texts = "" if report.documents is None else " So are the ids of all texts."
        said = f"Nothing: settings, special tokens, vocabularies and merges are the same.{texts}"
        yield "Differences", [_said(said)]
        return
    yield "Texts", list(_texts(report))
    settings = [[name.replace("_", " "), *_both(sides)] for name, sides in report.settings.items()]
    yield "Settings", [Table("Settings", ["setting", "A", "B"], settings, named=True)]
    specials = [[Code(repr(literal)), *_both(sides)] for literal, sides in report.specials.items()]
    yield "Special tokens", [Table("Special tokens", ["special token", "id in A", "id in B"], specials, named=True)]
    for side, only in (("A", report.only_a), ("B", report.only_b)):
        rows = [[str(token_id), Code(token_repr(token))] for token, token_id in islice(only.items(), TOKENS)]
        yield _tokens(f"Tokens only in {side}", ["id", "token"], rows, len(only))
    moved = islice(report.moved.items(), TOKENS)
    rows = [[str(ours), str(theirs), Code(token_repr(one))] for one, (ours, theirs) in moved]
    yield _tokens("Tokens under other ids", ["id in A", "id in B", "token"], rows, len(report.moved))
    if report.first_merge is not None:
        yield "Merges", [_merges(report, report.first_merge)]


def _said(text: str) -> Raw:
    return Raw(f"<p>{text}</p>", text)


def _both(sides: tuple[object, object]) -> list[str]:
    return [Code(describe(one)) for one in sides]


def _tokens(title: str, heads: list[str], rows: list[list[str]], count: int) -> Section:
    blocks: list[Block] = [Table(title, heads, rows, numbers=len(heads) - 1, few=FEW)]
    if count > TOKENS:
        blocks.append(Raw(f"<p>The first {TOKENS} of {count:,}.</p>"))
    return title, blocks


def _merges(report: DiffReport, first: int) -> Table:
    ours, theirs = (
        "none" if pair is None else Code(" + ".join(token_repr(part) for part in pair))
        for pair in report.merges_at_first
    )
    rows = [
        ["the same at the start", f"{first:,}"],
        ["the next one in A", ours],
        ["the next one in B", theirs],
        ["only in A", f"{report.merges_only_a:,}"],
        ["only in B", f"{report.merges_only_b:,}"],
        ["in another order", f"{report.merges_reordered:,}"],
    ]
    return Table("Merges", [], rows, named=True)


def _texts(report: DiffReport) -> Iterator[Block]:
    if report.documents is None:
        return
    if not report.documents_differing:
        yield _said(f"All texts get the same ids: {report.tokens_a:,} tokens.")
        return
    yield _said(
        f"A makes {report.tokens_a:,} tokens of the texts, B {report.tokens_b:,}. They are cut differently in "
        f"{report.cut_places:,} places; {report.other_ids:,} tokens are cut alike and have other ids."
    )
    yield from (_place(place) for place in report.places if place.cut)
    rows = [
        [str(place.document), str(place.offset), str(ours), str(theirs), Code(token_repr(token))]
        for place in report.places
        if not place.cut
        for (ours, token), (theirs, _) in zip(place.a, place.b, strict=True)
    ]
    heads = ["document", "character", "id in A", "id in B", "token"]
    yield Table("The same tokens under other ids", heads, rows, numbers=4)


def _place(place: Difference) -> Raw:
    text = place.text if len(place.text) <= CHARACTERS else f"{place.text[:CHARACTERS]}…"
    where = f"Document {place.document:,}, character {place.offset:,}"
    lines = [f"{where}: {place.before!r} [{text!r}] {place.after!r}"]
    sides = []
    for name, tokens in (("A", place.a), ("B", place.b)):
        cells = "".join(tokens_html(_cells(tokens), 0, titles=True))
        more = " …" if len(tokens) > TOKENS else ""
        sides.append(f'<div class="side"><b>{name}</b><div class="text ids">{cells}{more}</div></div>')
        listed = "  ".join(f"{token_id} {token_repr(token)}" for token_id, token in tokens[:FEW])
        lines.append(f"  {name}  {listed}{'  ...' if len(tokens) > FEW else ''}")
    html = (
        f'<div class="place"><p>{where}</p>'
        f'<p class="text" dir="auto"><span class="dim">{_context(place.before)}</span><mark>{text_html(text)}</mark>'
        f'<span class="dim">{_context(place.after)}</span></p>{"".join(sides)}</div>'
    )
    return Raw(html, "\n".join(lines))


def _context(text: str) -> str:
    """The text around a place, in one line."""
    return text_html(text.replace("\n", "↵"))


def _cells(tokens: Iterable[tuple[int, bytes]]) -> Iterator[Cell]:
    """The first tokens of a place; bytes that are part of a character are shown as bytes."""
    for token_id, token in islice(tokens, TOKENS):
        yield Cell(token_id, token, 0, False, token.decode("utf-8", "surrogateescape"), False)
