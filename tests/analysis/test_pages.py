"""Pages of tokens: their layout, and that no text can break out of its markup."""
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


def tokens_of(page: str, side: int = 0) -> list[int]:
    """The ids of the tokens of a side."""
    rows = re.findall(rf'<div class="text side{side}"[^>]*>(.*?)</div>', page, re.S)
    return [int(one) for row in rows for one in re.findall(r'data-i="(\d+)"', row)]


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
    with pytest.raises(KeyError):
        lay_out(BYTES, [300])


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("tok", [TOK, BYTES])
def test_markup_stays_text(tok: Tokenizer, text: str) -> None:
    shown = view(tok, text, title=text, names=[text])
    page, cell = shown.page(), shown._repr_html_()
    tags, attributes = set[str](), set[str]()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, found: list[tuple[str, str | None]]) -> None:
            tags.add(tag)
            attributes.update(name for name, _ in found)

    Reader().feed(page + cell)
    assert not tags & {"img", "b", "i", "iframe", "object", "form", "link", "base"}
    assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "srcset")]
    assert page.count("<script") == page.count("</script") == view(tok, "x").page().count("<script")
    assert "<script" not in cell
    unseen = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\ufeff\u2028\u2029\x7f\x85"
    assert not [one for one in page if (one < " " and one not in "\n\t") or one in unseen]
    assert tokens_of(page) == [int(one) for one in re.findall(r'data-i="(\d+)"', cell)] == tok.encode(text)


def test_the_policy_allows_only_what_is_in_the_page() -> None:
    page = view(TOK, "x").page()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    allowed = r"default-src 'none'; style-src 'sha256-[^']+'; (script-src 'sha256-[^']+'; )?base-uri 'none'; .*"
    assert re.fullmatch(allowed + "form-action 'none'", policy.replace("&#x27;", "'"))
    outside = re.sub(r"<(style|script)[^>]*>.*?</\1>", "", page, flags=re.S)
    assert not re.search("unsafe|https?:", outside)


def test_what_cannot_be_seen_is_marked() -> None:
    page = view(TOK, "the\tcat \u200d\n<|end|>").page().split("<main>")[1]
    assert re.search(r'<u class="x"[^>]*>ZWJ</u>', page)
    assert 'class="sp"' in page
    assert 'class="sp"' not in view(TOK, "<|end|>", ordinary=True).page().split("<main>")[1]
    assert '<u class="m">\u0301</u>' in view(BYTES, "e\u0301").page()  # not drawn over the token before
    assert re.findall(r'<span class="g"[^>]*data-t="([^"]*)"', view(BYTES, "a🙂b").page()) == ["🙂"]


def test_two_tokenizers_and_a_window(tmp_path: Path) -> None:
    text = "the cat sat\non the mat 猫\n"
    shown = view(TOK, text, OTHER, names=["first", "runs/2026_01/second.json"])
    shown.save(tmp_path / "page ü.html")
    page = (tmp_path / "page ü.html").read_bytes().decode()
    assert [tokens_of(page, side) for side in (0, 1)] == [TOK.encode(text), OTHER.encode(text)]
    assert shown.tokens == [len(TOK.encode(text)), len(OTHER.encode(text))]
    assert "runs/<wbr>2026_<wbr>01/<wbr>second.json" in page  # long names break between words
    composed = Tokenizer(TOK.vocab, TOK.merges, TOK.special_tokens, normalization="NFC")
    assert "normalize this text differently" in view(TOK, "cafe\u0301\nthe cat", composed).page()
    for start in (0, 123_456, 10**9):
        part = view(TOK, text * 10_000, start=start, characters=1000)
        assert TOK.decode(tokens_of(part.page())) == (text * 10_000)[part.first : part.last]
        assert part.tokens == [len(TOK.encode(text * 10_000))]
    assert "are shown" in view(TOK, text * 1000).to_html()


@pytest.mark.parametrize(("given", "message"), [
    ({"characters": 0}, "0 characters"), ({"start": -1}, "-1"), ({"names": ["a", "b"]}, "2 names for 1"),
])  # fmt: skip
def test_bad_windows_and_names(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        view(TOK, "x", **given)  # type: ignore[arg-type]
