"""Pages of tokens: their layout, and that no text can break out of its markup."""
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer
from bpetite.analysis import view
from bpetite.analysis.cells import lay_out, rows_of

TOK = Tokenizer.train("the cat sat on the mat. naïve café 猫🙂 " * 5, 300, special_tokens=["<|end|>"])
OTHER = Tokenizer.train("cats and dogs 猫 " * 5, 280, special_tokens=["<|end|>"])
BYTES = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "<!-- --> ]]> &amp; &lt; \"'`",
    "\u202eright\u202c \u2066iso\u2069 \u200f",
    "\x00\x01\x1b[31m\x7f\x85",
    "\ufeff\u2028\u2029\u200b",
    "javascript:alert(1) style=x onmouseover=alert(1)",
]


class Reader(HTMLParser):
    """Reads a page back: its tokens, and all tags and attributes in it."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.tokens: list[list[str]] = []
        self.open: list[bool] = []
        self.side = -1
        self.sides: dict[int, list[str]] = {}
        self.mark = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        values = dict(attributes)
        self.attributes |= values.keys()
        classes = (values.get("class") or "").split()
        if tag == "div" and (found := re.search(r"side(\d)", " ".join(classes))):
            self.side = int(found.group(1))
        if tag in ("span", "u"):
            is_token = "data-i" in values and self.side >= 0
            self.open.append(is_token)
            if is_token:
                self.sides.setdefault(self.side, []).append(values["data-i"] or "")
                self.tokens.append([values["data-i"] or "", ""])

    def handle_endtag(self, tag: str) -> None:
        if tag in ("span", "u") and self.open:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if any(self.open):
            self.tokens[-1][1] += data


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=60) | st.text("the cat 猫🙂é\n\t\u200d\u0301<|end|>", max_size=60))
def test_layout_shows_every_character_once(text: str) -> None:
    for tok in (TOK, BYTES):
        laid = lay_out(tok, tok.encode(text))
        assert "".join(cell.text for cell in laid) == text
        assert b"".join(cell.data for cell in laid) == text.encode()
        for before, cell in zip([None, *laid], laid, strict=False):
            assert cell.start == (before.end if before else 0)
            assert cell.joined == (cell.data[0] & 0xC0 == 0x80)
        rows = rows_of([laid])
        assert [cell for row in rows for cell in row[0]] == laid


@settings(max_examples=60, deadline=None)
@given(text=st.text("the cat 猫🙂é\n\t", max_size=80))
def test_rows_of_two_sides_hold_the_same_text(text: str) -> None:
    sides = [lay_out(tok, tok.encode(text)) for tok in (TOK, OTHER)]
    rows = rows_of(sides)
    for row in rows:
        left, right = (b"".join(cell.data for cell in side) for side in row)
        assert left == right
    assert [[cell for row in rows for cell in row[side]] for side in (0, 1)] == sides


def test_ids_that_no_text_gave() -> None:
    laid = lay_out(BYTES, [0x61, 0xFF, 0xE4, 0xBD, 0x61])
    assert [cell.text for cell in laid] == ["a", "\udcff", "\udce4", "\udcbd", "a"]
    with pytest.raises(KeyError):
        lay_out(BYTES, [300])


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("tok", [TOK, BYTES])
def test_markup_stays_text(tok: Tokenizer, text: str) -> None:
    page = view(tok, text, title=text, names=[text]).page()
    reader = Reader(page)
    assert reader.tags <= {
        "html", "head", "meta", "title", "style", "body", "a", "header", "main", "div", "h1", "span", "dl", "dt", "dd",
        "p", "label", "input", "output", "button", "u", "ul", "li", "wbr", "kbd", "script",
    }  # fmt: skip
    assert not [name for name in reader.attributes if name.startswith("on") or name in ("style", "src", "srcset")]
    assert page.count("<script") == 2
    assert page.count("</script") == 2
    assert [int(one) for one in reader.sides[0]] == tok.encode(text)
    controls = [one for one in page if one < " " and one not in "\n\t"]
    assert controls == []
    unseen = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\ufeff\u2028\u2029\x7f\x85"
    assert not set(page) & set(unseen)
    snippet = view(tok, text, names=[text])._repr_html_()
    assert "<script" not in snippet
    assert [int(one) for one in re.findall(r'data-i="(\d+)"', snippet)] == tok.encode(text)


def test_the_policy_allows_only_what_is_in_the_page() -> None:
    page = view(TOK, "x").page()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    policy = policy.replace("&#x27;", "'")
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'",
        policy,
    )
    assert "unsafe" not in policy
    outside = re.sub(r"<(style|script)[^>]*>.*?</\1>", "", page, flags=re.S)
    assert "http:" not in outside
    assert "https:" not in outside


def test_tokens_text_and_marks() -> None:
    text = "the\tcat \u200d\n<|end|>"
    reader = Reader(view(TOK, text).page())
    assert [int(one) for one, _ in reader.tokens][: len(TOK.encode(text))] == TOK.encode(text)
    shown = "".join(said for _, said in reader.tokens)
    assert shown.startswith("the\tcat ZWJ\n<|end|>")
    assert 'class="sp"' in view(TOK, text).page().split("<main>")[1]
    assert 'class="sp"' not in view(TOK, text, ordinary=True).page().split("<main>")[1]


def test_characters_cut_by_tokens_are_joined() -> None:
    page = view(BYTES, "a🙂b").page()
    (group,) = re.findall(r'<span class="g"[^>]*data-t="([^"]*)"', page)
    assert group == "🙂"
    assert page.count('aria-label="part of a character"') == 3


def test_tokens_without_a_visible_character_have_names() -> None:
    tok = Tokenizer(BYTES.vocab | {256: b"  ", 257: b" \n"}, [(b" ", b" "), (b" ", b"\n")])
    page = view(tok, "a   b \n\t").page().split("<main>")[1]
    assert re.findall(r'aria-label="([^"]*)">(?:<u|</span)', page) == ["2 spaces", "space", "space, line end", "tab"]
    # a label on an element without a role means nothing
    assert "aria-label" not in view(tok, "a   b é").to_html()


def test_the_key_comes_before_the_tokens() -> None:
    page = view(TOK, "the cat", OTHER).page()
    places = [page.index(said) for said in ("a special token", "next difference", 'id="search"', "<main>")]
    assert places == sorted(places)


def test_long_names_break_between_words() -> None:
    page = view(TOK, "x", names=["runs/2026_01/tok.json"]).page()
    assert "runs/<wbr>2026_<wbr>01/<wbr>tok.json" in page


def test_a_combining_mark_at_the_start_of_a_token_is_not_drawn_over_the_token_before() -> None:
    assert '<u class="m">\u0301</u>' in view(BYTES, "e\u0301").page()


def test_two_tokenizers() -> None:
    text = "the cat sat\non the mat 猫\n"
    shown = view(TOK, text, OTHER, names=["first", "second"])
    assert shown.tokens == [len(TOK.encode(text)), len(OTHER.encode(text))]
    page = shown.page()
    reader = Reader(page)
    assert [int(one) for one in reader.sides[0]] == TOK.encode(text)
    assert [int(one) for one in reader.sides[1]] == OTHER.encode(text)
    assert page.count('class="row"') == 2
    same = {(cell.start, cell.end) for cell in lay_out(TOK, TOK.encode(text))} & {
        (cell.start, cell.end) for cell in lay_out(OTHER, OTHER.encode(text))
    }
    differing = len(re.findall(r'class="[^"]*\bd\b[^"]*" data-i', page.split("<main>")[1]))
    assert differing == sum(shown.tokens) - 2 * len(same)
    assert "first" in page
    assert "second" in page


def test_two_that_normalize_differently() -> None:
    composed = Tokenizer(TOK.vocab, TOK.merges, TOK.special_tokens, normalization="NFC")
    page = view(TOK, "cafe\u0301\nthe cat", composed).page()
    assert "normalize this text differently" in page
    assert 'id="differ"' not in page


@pytest.mark.parametrize("start", [0, 1, 5000, 123_456, 10**9])
def test_a_window_of_a_large_text(start: int) -> None:
    text = "the cat 猫 sat\n" * 20_000
    shown = view(TOK, text, start=start, characters=1000)
    page = shown.page()
    assert not shown.whole
    assert shown.tokens == [len(TOK.encode(text))]
    assert shown.first <= min(start, len(text)) <= max(shown.last, shown.first)
    assert "A window: characters" in page
    assert len(page) < 400_000
    reader = Reader(page)
    inside = TOK.decode([int(one) for one in reader.sides.get(0, [])])
    assert inside == text[shown.first : shown.last]
    if inside:
        assert f'data-n="{text.count(chr(10), 0, shown.first) + 1}"' in page


def test_whole_text_has_no_window() -> None:
    assert "A window" not in view(TOK, "the cat").page()
    assert "data-i=" not in view(TOK, "").page().split("<main>")[1]
    assert view(TOK, b"the cat").tokens == [len(TOK.encode("the cat"))]


def test_bad_windows_and_names() -> None:
    with pytest.raises(ValueError, match="0 characters"):
        view(TOK, "x", characters=0)
    with pytest.raises(ValueError, match="-1"):
        view(TOK, "x", start=-1)
    with pytest.raises(ValueError, match="2 names for 1"):
        view(TOK, "x", names=["a", "b"])
    with pytest.raises(UnicodeDecodeError):
        view(TOK, b"\xff")


def test_notebook_cell() -> None:
    cell = view(TOK, "the cat " * 5000)._repr_html_()
    assert cell.startswith('<div class="bpe"><style>')
    assert "are shown" in cell
    assert len(cell) < 400_000
    assert 'title="id ' in cell
    assert repr(view(TOK, "the cat")).startswith("<Tokens: 7 characters, ")


def test_save(tmp_path: Path) -> None:
    path = tmp_path / "page ü.html"
    view(TOK, "the\r\ncat").save(path)
    assert path.read_bytes().decode().startswith("<!doctype html>")


def test_ten_megabytes(shared: Callable[[str], Path]) -> None:
    tok = Tokenizer.load(shared("gpt2"))
    with shared("text/english.txt").open("rb") as file:
        text = file.read(10_000_000).decode("utf-8", "ignore")
    shown = view(tok, text, title="english.txt")
    assert shown.tokens == [tok.count(text)]
    assert len(shown.page()) < 2_500_000
