"""Safe HTML: pages that load nothing and run only their own script, and tokens as coloured spans."""
from __future__ import annotations

import base64
import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from html import escape
from importlib import resources
from itertools import groupby
from typing import Any

from ..cells import Cell, groups
from ..scripts import escape as shown
from ..scripts import invisible_name

__all__ = ["asset", "document", "element", "name_html", "text_html", "tokens_html"]

#: Names of the characters that are drawn, not written.
_SPOKEN = {" ": "space", "\n": "line end", "\t": "tab"}

#: Colours of ordinary tokens; they alternate so that neighbours differ.
COLOURS = 5


@cache
def asset(name: str) -> str:
    """The text of a file in this folder."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode('utf-8')).digest()).decode('ascii')}'"


def element(body: str, *, classes: str = "", styles: Iterable[str] = ()) -> str:
    """One element for a page of somebody else, such as a notebook, with its own styles, colours and background; its
    body is HTML already."""
    style = "".join(map(asset, ["tokens.css", *styles]))
    return f'<div class="{escape(f"bpe {classes}".strip())}"><style>{style}</style>{body}</div>'


def document(
    title: str,
    body: str,
    *,
    classes: str = "",
    styles: Iterable[str] = (),
    script: str | None = None,
    data: Any = None,
) -> str:
    """A whole page in one file.

    Its content security policy allows its own style sheet and script, by their hashes, and nothing else: no network,
    no images, no frames, no forms, no script that a text could smuggle in. The title is plain text, the body HTML
    already; the script finds its data as JSON in the element with the id "data".
    """
    style = "".join(map(asset, ["tokens.css", "page.css", *styles]))
    policy = ["default-src 'none'", f"style-src {_hash(style)}", "base-uri 'none'", "form-action 'none'"]
    tail = ""
    if script is not None:
        policy.insert(2, f"script-src {_hash(script)}")
        tail = f'<script type="application/json" id="data">{_json(data)}</script>\n<script>{script}</script>\n'
    return (
        f'<!doctype html>\n<html lang="en" class="{escape(f"bpe {classes}".strip())}">\n<head>\n'
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape("; ".join(policy), quote=True)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(shown(title))}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n{tail}</body>\n</html>\n"
    )


def _json(data: Any) -> str:
    """JSON for a script element: no character in it can end the element or begin a comment."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# Tokens


def tokens_html(
    cells: Iterable[Cell], first: int, *, edges: Collection[tuple[int, int]] | None = None, titles: bool = False
) -> Iterator[str]:
    """Spans of consecutive tokens, a group of tokens that share characters at a time; the number of the first one gives
    its colour. Tokens that are not among the edges, (start, end) of another tokenizer's, are marked as differing.
    Titles, for pages without a script, have id and bytes."""
    number = first
    for group in groups(cells):
        tokens = []
        for cell in group:
            different = edges is not None and (cell.start, cell.end) not in edges
            tokens.append(_token(cell, number % COLOURS, different, titles))
            number += 1
        if len(group) == 1:
            yield tokens[0]
        else:
            text = escape(shown("".join(cell.text for cell in group)), quote=True)
            yield f'<span class="g" role="none" data-t="{text}">{"".join(tokens)}</span>'


def _token(cell: Cell, colour: int, different: bool, titles: bool) -> str:
    classes = ["sp" if cell.special else f"c{colour}"]
    if different:
        classes.append("d")
    if not cell.text:  # no character begins in it
        classes.append("p")
    if titles:
        more = f' title="id {cell.id} · {cell.data.hex(" ")}"'
    else:
        name = _spoken(cell.text)
        more = ' role="option" tabindex="-1"' + (f' aria-label="{name}"' if name else "")
    return f'<span class="{" ".join(classes)}" data-i="{cell.id}"{more}>{text_html(cell.text)}</span>'


def _spoken(text: str) -> str:
    """The words of a screen reader for a token without a visible character; "" for the others.

    >>> _spoken("  \\n"), _spoken(""), _spoken(" a")
    ('2 spaces, line end', 'part of a character', '')
    """
    if not text:
        return "part of a character"
    if not set(text) <= _SPOKEN.keys():
        return ""
    counts = ((_SPOKEN[one], len(list(run))) for one, run in groupby(text))
    return ", ".join(name if count == 1 else f"{count} {name}s" for name, count in counts)


def name_html(name: str) -> str:
    """A name as HTML. Lines of a long path break after a slash or an underscore, not inside a word.

    >>> name_html("runs/<1>_a")
    'runs/<wbr>&lt;1&gt;_<wbr>a'
    """
    return re.sub(r"(?<=\S)([/\\_])", r"\1<wbr>", escape(shown(name)))


def text_html(text: str) -> str:
    """Text with marks for the characters that cannot be seen."""
    mark = text[:1]
    # A combining mark at the start of a token would be drawn over the token before.
    if mark > "\u02ff" and unicodedata.category(mark)[0] == "M" and not invisible_name(mark):
        return f'<u class="m">{mark}</u>' + "".join(map(_character, text[1:]))
    return "".join(map(_character, text))


@cache
def _character(character: str) -> str:
    if character == " ":
        return '<u class="s"> </u>'
    if character == "\n":
        return '<u class="n"></u>\n'
    if character == "\t":
        return '<u class="t">&#9;</u>'  # nbconvert would make a plain tab a space
    if 0xDC80 <= ord(character) < 0xDD00:  # a byte that is not part of a character
        return f'<u class="x">{ord(character) - 0xDC00:02x}</u>'
    name = invisible_name(character)
    return escape(character, quote=True) if name is None else f'<u class="x">{name}</u>'
