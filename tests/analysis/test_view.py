"""Texts in tokens: their layout, and that no text can break out of the markup of its page."""
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer
from bpetite.analysis import view
from bpetite.analysis.cells import lay_out, rows_of

TOK = Tokenizer.train("the cat sat on the mat. naïve café 猫🙂 " * 5, 300, special_tokens=["<|end|>"])
END = TOK.special_tokens["<|end|>"]
OTHER = Tokenizer.train("cats and dogs 猫 " * 5, 280, special_tokens=["<|end|>"])
BYTES = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "</style><style>*{display:none}</style>",
    "<!-- --> ]]> &amp; &lt; \"'`",
    "{{ 7 * 7 }} {% raw %}",
    "\u202eright\u202c \u2066iso\u2069 \u200f",
    "\x00\x01\x1b[31m\x7f\x85",
    "\ufeff\u2028\u2029\u200b",
    "javascript:alert(1) style=x onmouseover=alert(1)",
]


class Reader(HTMLParser):
    """The tags and attributes of a page, and the ids of the tokens: rows[number]."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags = set[str]()
        self.attributes = set[str]()
        self.rows: list[list[int]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, found: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        attributes = dict(found)
        self.attributes.update(attributes)
        if (attributes.get("class") or "").startswith("text"):
            self.rows.append([])
        if "data-i" in attributes:
            self.rows[-1].append(int(attributes["data-i"] or ""))


def tokens_of(page: str, side: int = 0, sides: int = 1) -> list[int]:
    """The ids of the tokens of a side."""
    return [one for row in Reader(page).rows[side::sides] for one in row]


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=60) | st.text("the cat 猫🙂é\n\t\u200d\u0301<|end|>", max_size=60))
def test_layout_shows_every_character_once(text: str) -> None:
    sides = [lay_out(tok, tok.encode(text, allowed_special="all")) for tok in (TOK, OTHER, BYTES)]
    for laid in sides:
        assert "".join(cell.text for cell in laid) == text
        assert b"".join(cell.data for cell in laid) == text.encode()
        for before, cell in zip([None, *laid], laid, strict=False):
            assert cell.start == (before.end if before else 0)
            assert cell.joined == (cell.data[0] & 0xC0 == 0x80)
    rows = rows_of(sides[:2])
    for row in rows:
        left, right = (b"".join(cell.data for cell in side) for side in row)
        assert left == right
    assert [[cell for row in rows for cell in row[side]] for side in (0, 1)] == sides[:2]


def test_ids_that_no_text_gave() -> None:
    laid = lay_out(BYTES, [0x61, 0xFF, 0xE4, 0xBD, 0x61])
    assert [cell.text for cell in laid] == ["a", "\udcff", "\udce4", "\udcbd", "a"]
    assert [cell.shown for cell in laid] == ["a", "\\xff", "\\xe4", "\\xbd", "a"]
    with pytest.raises(KeyError):
        lay_out(BYTES, [300])


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("tok", [TOK, BYTES])
def test_markup_stays_text(tok: Tokenizer, text: str) -> None:
    shown = view(tok, text, names=[text])
    page, cell = shown.page(), shown._repr_html_()
    read = Reader(page + cell)
    assert not read.tags & {"img", "i", "iframe", "object", "form", "link", "base", "script"}
    assert not [name for name in read.attributes if name.startswith("on") or name in ("src", "srcset", "href")]
    assert "49" not in page.split('<th scope="row">')[1].split("</th>")[0]  # no template of its own
    unseen = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\ufeff\u2028\u2029\x7f\x85"
    assert not [one for one in page if (one < " " and one not in "\n\t") or one in unseen]
    assert tokens_of(page) == tokens_of(cell) == tok.encode(text)


def test_the_policy_allows_no_script_and_no_network() -> None:
    page = view(TOK, "x").page()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    assert not re.search("<script|https?:", page)


def test_tokens_name_their_ids_and_what_cannot_be_seen() -> None:
    page = view(TOK, "the\tcat \u200d\n<|end|>").page().split("</style>")[-1]
    assert "\\u200d" in "".join(re.findall(r">([^<]*)</span>", page))
    assert f'class="special" data-i="{END}" title="id {END} · {b"<|end|>".hex(" ")}"' in page
    assert 'class="special"' not in view(TOK, "<|end|>", allowed_special=()).page().split("</style>")[-1]
    assert "◌\u0301" in view(BYTES, "e\u0301").page()  # not drawn over the token before


def test_two_tokenizers(tmp_path: Path) -> None:
    text = "the cat sat\non the mat 猫\n"
    shown = view(TOK, text, OTHER, names=["first", "second"])
    shown.save(tmp_path / "page ü.html")
    page = (tmp_path / "page ü.html").read_bytes().decode()
    assert [tokens_of(page, side, 2) for side in (0, 1)] == [TOK.encode(text), OTHER.encode(text)]
    assert shown.tokens == [len(TOK.encode(text)), len(OTHER.encode(text))]
    composed = Tokenizer(TOK.vocab, TOK.merges, TOK.special_tokens, normalization="NFC")
    apart = view(TOK, "cafe\u0301\nthe cat", composed).page()
    assert "normalize this text differently" in apart
    assert " differs" not in apart.split("</style>")[-1]


def test_tokens_of_one_side_alone_are_marked() -> None:
    one, two = (Tokenizer.train("ab ab ab", size) for size in (257, 258))
    page = view(one, "ab ab", two).page().split("</style>")[-1]
    assert [bool(found) for found in re.findall(r'class="c\d( differs)?"', page)] == [False, True, True, False, True]


def test_a_page_is_written_whole_and_over_no_other(tmp_path: Path) -> None:
    page, shown = tmp_path / "page.html", view(TOK, "the cat")
    page.write_text("mine")
    with pytest.raises(FileExistsError):
        shown.save(page)
    assert page.read_text() == "mine"
    shown.save(page, overwrite=True)
    assert page.read_text(encoding="utf-8") == shown.page()
    assert [*tmp_path.iterdir()] == [page]


def test_too_many_names() -> None:
    with pytest.raises(ValueError, match="2 names for 1"):
        view(TOK, "x", names=["a", "b"])
