"""Safe HTML: whole pages that load nothing and run nothing but their own script, and tokens as coloured spans."""
from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from ..characters import invisible_name
from .layout import Cell

__all__ = ["asset", "document", "group_html", "tokens_html"]

#: Colours of ordinary tokens, taken in turn, so that neighbours differ.
COLOURS = 5


@cache
def asset(name: str) -> str:
    """A file that lies beside this one."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode('utf-8')).digest()).decode('ascii')}'"


def document(title: str, body: str, *, classes: str = "", script: str | None = None, data: Any = None) -> str:
    """A whole page in one file.

    Its content security policy allows the one style sheet and the one script that are in it, by their hashes, and
    nothing else: no network, no images, no frames, no forms, no script that a text could smuggle in.

    Args:
        title: Plain text.
        body: HTML, escaped already.
        classes: Classes of the root element, besides "bpe".
        script: JavaScript.
        data: What the script reads, as JSON, from the element with the id "data".
    """
    style = asset("tokens.css") + asset("page.css")
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
        f"<title>{escape(_visible(title))}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n{tail}</body>\n</html>\n"
    )


def _json(data: Any) -> str:
    """JSON that may stand in a script element: no character in it can end the element or begin a comment."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _visible(text: str) -> str:
    return "".join(one if one == " " or invisible_name(one) is None else f"[{invisible_name(one)}]" for one in text)


# Tokens


def tokens_html(
    cells: Iterable[Cell], first: int, *, edges: Collection[tuple[int, int]] | None = None, titles: bool = False
) -> Iterator[str]:
    """Spans of tokens, in pieces that joined give the whole.

    Args:
        cells: The tokens, one behind the other.
        first: The number of the first one, for its colour.
        edges: (start, end) of the tokens of another tokenizer; those that are not among them are marked as differing.
        titles: Say id and bytes in the title attribute, for pages without a script.
    """
    group: list[str] = []
    shown: list[str] = []
    for number, cell in enumerate(cells, first):
        if not cell.joined and group:
            yield group_html(group, "".join(shown))
            group, shown = [], []
        different = edges is not None and (cell.start, cell.end) not in edges
        group.append(_token(cell, number % COLOURS, different, titles))
        shown.append(cell.text)
    if group:
        yield group_html(group, "".join(shown))


def group_html(tokens: list[str], text: str) -> str:
    """Tokens that share characters, in one frame; a token that shares none stands alone."""
    if len(tokens) == 1:
        return tokens[0]
    return f'<span class="g" role="none" data-t="{escape(_visible(text), quote=True)}">{"".join(tokens)}</span>'


def _token(cell: Cell, colour: int, different: bool, titles: bool) -> str:
    classes = ["sp" if cell.special else f"c{colour}"]
    if different:
        classes.append("d")
    more = ""
    if not cell.text:  # it goes on with a character and begins none
        classes.append("p")
        more = ' aria-label="part of a character"'
    if titles:
        more += f' title="id {cell.id} · {cell.data.hex(" ")}"'
    role = "" if titles else ' role="option" tabindex="-1"'
    return f'<span class="{" ".join(classes)}" data-i="{cell.id}"{role}{more}>{_text(cell.text)}</span>'


def _text(text: str) -> str:
    return "".join(_character(one, at == 0) for at, one in enumerate(text))


@cache
def _plain(character: str) -> str:
    if character == " ":
        return '<u class="s"> </u>'
    if character == "\n":
        return '<u class="n"></u>\n'
    if character == "\t":
        return '<u class="t">\t</u>'
    if 0xDC80 <= ord(character) < 0xDD00:
        return f'<u class="x">{ord(character) - 0xDC00:02x}</u>'
    name = invisible_name(character)
    return escape(character, quote=True) if name is None else f'<u class="x">{name}</u>'


def _character(character: str, begins: bool) -> str:
    # A mark that begins a token would sit on the token before.
    if begins and character > "\u02ff" and unicodedata.category(character)[0] == "M" and not invisible_name(character):
        return f'<u class="m">{character}</u>'
    return _plain(character)
