"""Reports: one dataclass gives JSON, text for a terminal, and HTML that jinja2 makes of the templates in this room."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, is_dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from platform import python_version
from typing import TYPE_CHECKING, Any, Literal

from .. import __version__
from ..atomic import write_file
from ..splitting.pattern.unicode_data import UNICODE
from .cells import COLOURS, Cell, listed
from .escapes import escape, token_repr

if TYPE_CHECKING:  # a report that is only printed does without
    import jinja2

#: Characters of code that text shows in a column, of names in heads of columns; values of a list, and files, that a
#: report names.
WIDTH, NAME, VALUES, FILES = 72, 28, 40, 5


class Code(str):
    """Text in the letters of code, such as a token."""


@dataclass(frozen=True)
class Table:
    """A table; without rows it is not shown.

    Attributes:
        label: The name of the table.
        heads: Heads of the columns; ``[]`` for a table of names and values.
        rows: Each cell is a text, a number (a float has three digits after the point), or the lines of a text.
        numbers: The number of first columns, after a column of names, that hold numbers.
        named: The first cell of a row names it.
        few: The rows that text shows at most; None for all.
        bars: Groups of columns that a page draws as bars; the columns of a group have one scale.
        sides: "rows" or "columns" where these are tokenizers, each of which has a colour on a page.
    """

    label: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    _: KW_ONLY
    numbers: int = 0
    named: bool = False
    few: int | None = 12
    bars: Sequence[Sequence[int]] = ()
    sides: Literal["rows", "columns", ""] = ""

    @property
    def short_heads(self) -> list[str]:
        return short_names(self.heads)

    def is_number(self, column: int) -> bool:
        return self.named <= column < self.numbers + self.named

    def share(self, column: int, value: Any) -> float | None:
        """The length of a bar in percent of its column; None where none is drawn."""
        for group in self.bars:
            if column in group:
                largest: float = max(row[at] for row in self.rows for at in group) or 1
                return round(100 * float(value) / largest, 1)
        return None

    def side(self, row: int, column: int) -> str:
        """The class of a cell that has the colour of a tokenizer; "" for none."""
        number = {"rows": row, "columns": column - self.named}.get(self.sides, -1)
        return f"c{number % COLOURS}" if number >= 0 else ""

    def lines(self) -> Iterator[str]:
        """The table in columns, numbers to the right; further lines of a cell below their row."""
        if not self.rows:
            return
        rows = [*([self.short_heads] if self.heads else []), *self.rows[: self.few]]
        shown = [[cell if isinstance(cell, list) else [cell] for cell in row] for row in rows]
        columns = [[_short(row[at][0], bool(self.numbers)) for row in shown] for at in range(len(shown[0]))]
        yield self.label
        for number, row in enumerate(shown):
            cells = []
            for at, column in enumerate(columns):
                width = max(map(len, column))
                cells.append(column[number].rjust(width) if self.is_number(at) else column[number].ljust(width))
            yield f"  {'  '.join(cells)}".rstrip()
            yield from (f"      {more}" for cell in row for more in cell[1:])
        if self.few is not None and len(self.rows) > self.few:
            yield f"  and {len(self.rows) - self.few:,} more"


@dataclass(frozen=True)
class Tokens:
    """A text as tokens of one or several tokenizers.

    Attributes:
        names: The tokenizers.
        rows: rows[number][side]: the tokens of each side for the same range of text.
        caption: The range, in words.
        few: The tokens of a side that text shows at most; None for all.
    """

    names: Sequence[str]
    rows: Sequence[Sequence[Sequence[Cell]]]
    caption: str = ""
    few: int | None = None

    def side(self, number: int) -> str:
        """The class that gives a side the colour of its tokenizer; "" where there is only one."""
        return f"side c{number % COLOURS}" if len(self.names) > 1 else ""

    def lines(self) -> Iterator[str]:
        """One token a line, side by side below each other."""
        if self.caption:
            yield self.caption
        for side, name in enumerate(self.names):
            cells = [cell for row in self.rows for cell in row[side]]
            if self.few is None:
                yield from ([""] * bool(side)) + listed(cells).split("\n")
                continue
            shown = "  ".join(f"{cell.id} {token_repr(cell.data)}" for cell in cells[: self.few])
            yield f"  {name}  {shown}{'  ...' if len(cells) > self.few else ''}"


Block = Table | Tokens | str

#: The title of a section, and its blocks.
Section = tuple[str, Iterable[Block]]


@dataclass(frozen=True)
class Contents:
    """The contents of a report, as plain text.

    Attributes:
        title: Its title.
        verdict: The outcome in a few words.
        headline: (figure, its name) of the figures that matter most.
        sections: Its sections; one without a block that shows anything is left out.
        fault: The verdict is a bad one.
        files: The files that the texts came from.
    """

    title: str
    verdict: str
    headline: Iterable[tuple[str, str]]
    sections: Iterable[Section]
    fault: bool = False
    files: Sequence[str] = ()

    @property
    def named_files(self) -> str:
        more = len(self.files) - FILES
        return ", ".join(self.files[:FILES]) + (f" and {more:,} more" if more > 0 else "")


class Report:
    """A report that a notebook shows, and that ``str()`` gives as text for a terminal."""

    def _contents(self) -> Contents:
        raise NotImplementedError

    def page(self) -> str:
        """Return the page, one file of HTML that needs no network."""
        return self._html("page.html")

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the page. The file gets its name when all of it is there.

        Raises:
            FileExistsError: The file exists, without ``overwrite``.
            OSError: The file cannot be written.
        """
        write_file(path, self.page().encode("utf-8"), overwrite=overwrite)

    def to_html(self) -> str:
        """Return one element with its own styles and without a script, to embed in another page."""
        return self._html("report.html")

    _repr_html_ = to_html

    def _html(self, template: str) -> str:
        contents = self._contents()
        drawn = ((title, [one for one in blocks if getattr(one, "rows", one)]) for title, blocks in contents.sections)
        sections = [(title, blocks) for title, blocks in drawn if blocks]
        return _environment().get_template(template).render(
            vars(contents) | {"sections": sections, "files": contents.named_files},
            made=_made(),
            has_tokens=any(isinstance(block, Tokens) for _, blocks in sections for block in blocks),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes, for JSON; a token is written as :func:`repr` has it."""
        return dict(plain(self))

    def __str__(self) -> str:
        contents = self._contents()
        lines = [f"{contents.title}: {contents.verdict}"]
        lines += [f"  {value:>14}  {name}" for value, name in contents.headline]
        if contents.files:
            lines.append(f"  Texts: {contents.named_files}")
        lines.append(f"  {_made()}")
        for title, blocks in contents.sections:
            drawn = [[block] if isinstance(block, str) else list(block.lines()) for block in blocks]
            shown = [line for one in drawn if one for line in ("", *one)]
            names_itself = not shown or shown[1] == title  # its first block has the title of the section
            lines += shown if names_itself else ["", title, *shown]
        return "\n".join(map(escape, lines))

    def __repr__(self) -> str:
        contents = self._contents()
        figures = (f", {value} {name}" for value, name in islice(contents.headline, 3))
        return f"<{contents.title}: {contents.verdict}{''.join(figures)}>"


def plain(value: Any) -> Any:
    """A value for JSON: a record as its attributes, a token as :func:`token_repr` writes it."""
    if isinstance(value, bytes):
        return token_repr(value)
    if is_dataclass(value):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return plain(value._asdict()) if hasattr(value, "_asdict") else list(map(plain, value))
    return value


@cache
def _environment() -> jinja2.Environment:
    """The templates. Whatever they print is escaped: markup by jinja2, unseen characters here."""
    import jinja2

    def shown(value: Any) -> Any:
        return escape(value, keep="\n") if isinstance(value, str) and not hasattr(value, "__html__") else value

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__), autoescape=True, finalize=shown, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["number"] = _written
    environment.tests["table"] = lambda value: isinstance(value, Table)
    environment.tests["tokens"] = lambda value: isinstance(value, Tokens)
    environment.tests["code"] = lambda value: isinstance(value, Code)
    environment.tests["lines"] = lambda value: isinstance(value, list)
    return environment


def _made() -> str:
    """The line that says when a report was drawn, and with which versions."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"Made {now} by bpetite {__version__}, Unicode {UNICODE}, regex {version('regex')}, "
        f"Python {python_version()}."
    )


def _written(value: Any) -> str:
    return f"{value:,.3f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _short(value: Any, shortened: bool) -> str:
    text = _written(value)
    return f"{text[: WIDTH - 3]}..." if shortened and isinstance(value, Code) and len(text) > WIDTH else text


def short_names(names: Sequence[str]) -> list[str]:
    """Names for heads of columns: of paths the last part that no other has, its end where it is long.

    >>> short_names(["gpt2", "runs/a/tok.json", "runs/b/tok.json", "a-folder-with-a-very-long-name/tok.json"])
    ['gpt2', 'a', 'b', '...der-with-a-very-long-name']
    """
    parts = [name.split("/") for name in names]
    taken = Counter(part for path in parts for part in set(path))
    told = [next((part for part in reversed(path) if taken[part] == 1), "/".join(path)) for path in parts]
    short = [name if len(name) <= NAME else f"...{name[3 - NAME :]}" for name in told]
    return short if len(set(short)) == len(set(told)) else told


def describe(value: Any) -> str:
    """Return a value of a report in one line; of many values the first ones.

    >>> describe({"id": 5, "token": "'a'"}), describe(None), describe(["a", "b"]), describe({})
    ("id 5, token 'a'", 'none', 'a, b', 'none')
    """
    if isinstance(value, dict):
        value = [f"{key} {describe(one)}" for key, one in value.items()]
    if isinstance(value, list | tuple):
        more = [f"and {len(value) - VALUES:,} more"] if len(value) > VALUES else []
        return ", ".join([*map(describe, value[:VALUES]), *more]) or "none"
    return "none" if value is None else str(value)
