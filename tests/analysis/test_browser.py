"""Pages of tokens in a real browser: headless Chromium and its driver, where they are installed."""
import shutil
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from browsing import find, find_all, ids_of, keys, prefer, resize

from bpetite import Tokenizer
from bpetite.analysis import audit, compare, diff, explain, view

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("default::ResourceWarning")]

MIXED = """Hello, world!  It's 2024 — naïve café.
def f(x):\n\treturn {"a": x**2}
中文没有空格的文字。 العربية نص קצת עברית
🙂 👩‍👩‍👧‍👦 e\u0301 zero\u200bwidth \u202eevil\u202c end
<script>document.title = "owned"</script><img src=x onerror="document.title='owned'">
<|endoftext|>the the the
"""


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.load("bpetite-32k")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: bpetite[browser]")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver_program = shutil.which("chromedriver")
    if program is None or driver_program is None:
        pytest.skip("no Chromium with its driver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (
        "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
        "disable-component-update", "disable-sync", "disable-dev-shm-usage", "window-size=1280,900",
        f"user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_program))
    yield driver
    driver.quit()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[[str], Any]]:
    """Opens a page from a file; afterwards checks that it logged no error and asked the network for nothing."""

    def opened(page: str) -> Any:
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8", newline="")
        browser.get(path.as_uri())
        return browser

    browser.get_log("browser")
    browser.get_log("performance")
    yield opened
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    prefer(browser, "light")
    assert browser.get_log("browser") == []
    asked = [one["message"] for one in browser.get_log("performance") if "Network.requestWillBeSent" in one["message"]]
    assert not [message for message in asked if '"url":"http' in message]


def test_tokens_and_hover(tok: Tokenizer, show: Callable[[str], Any], tmp_path: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    browser = show(view(tok, MIXED, title="mixed.txt").page())
    ids = tok.encode(MIXED)
    assert ids_of(browser) == ids
    assert browser.title == "mixed.txt"
    assert f"{len(ids):,}" in find(browser, "dl.sum").text
    card = find(browser, "#card")
    assert not card.is_displayed()
    token = find_all(browser, ".side0 [data-i]")[3]
    ActionChains(browser).move_to_element(token).perform()
    assert card.is_displayed()
    said = card.text
    assert str(ids[3]) in said
    assert tok.token_bytes(ids[3]).hex(" ") in said
    assert f"token 4 of {len(ids)}" in said
    assert browser.save_screenshot(str(tmp_path / "page.png"))
    assert (tmp_path / "page.png").stat().st_size > 20_000


def test_markup_in_the_text_does_nothing(tok: Tokenizer, show: Callable[[str], Any]) -> None:
    browser = show(view(tok, MIXED, title="quiet").page())
    assert browser.title == "quiet"
    assert find_all(browser, "main script, main img, main b") == []
    assert "<script>" in find(browser, "#tokens").get_attribute("textContent")
    assert "RLO" in find(browser, "#tokens").text


def test_the_policy_stops_scripts(tok: Tokenizer, browser: Any, tmp_path: Path) -> None:
    """A script that got into a page all the same would not run."""
    path = tmp_path / "page.html"
    page = view(tok, "x", title="quiet").page()
    path.write_text(page.replace("</main>", "<script>document.title='owned'</script></main>"), encoding="utf-8")
    browser.get(path.as_uri())
    assert browser.title == "quiet"
    assert any("Content Security Policy" in one["message"] for one in browser.get_log("browser"))


def test_keyboard(tok: Tokenizer, show: Callable[[str], Any]) -> None:
    from selenium.webdriver.common.keys import Keys

    browser = show(view(tok, MIXED).page())
    # one token is in the tab order, however many there are
    assert len(find_all(browser, '.side0 [data-i][tabindex="0"]')) == 1
    browser.execute_script("document.querySelector('.side0 [data-i]').focus()")
    keys(browser, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    active = browser.switch_to.active_element
    assert int(active.get_attribute("data-i")) == tok.encode(MIXED)[2]
    assert active.get_attribute("aria-describedby") == "card"
    assert active.get_attribute("role") == "option"
    assert str(tok.encode(MIXED)[2]) in find(browser, "#card").text
    keys(browser, Keys.ARROW_DOWN)
    row = browser.execute_script("return document.activeElement.closest('.row').dataset.n")
    assert row == "2"
    keys(browser, Keys.END)
    assert int(browser.switch_to.active_element.get_attribute("data-i")) == tok.encode(MIXED)[-1]
    keys(browser, Keys.HOME, Keys.ARROW_LEFT)
    assert int(browser.switch_to.active_element.get_attribute("data-i")) == tok.encode(MIXED)[0]
    keys(browser, Keys.ESCAPE)
    assert not find(browser, "#card").is_displayed()


def test_search(tok: Tokenizer, show: Callable[[str], Any]) -> None:
    from selenium.webdriver.common.keys import Keys

    browser = show(view(tok, MIXED).page())
    the = tok.encode(" the")[0]
    count = tok.encode(MIXED).count(the)
    keys(browser, "/")
    search = browser.switch_to.active_element
    assert search.get_attribute("id") == "search"
    found = find(browser, "#found")
    for number in (f"#{the}", str(the)):
        search.send_keys(number)
        assert found.text == f"{count} found"
        assert len(find_all(browser, ".hit")) == count
        search.send_keys(Keys.ENTER, Keys.ENTER)
        assert found.text == f"2 of {count}"
        search.send_keys(Keys.ENTER * (count - 1))
        assert found.text == f"1 of {count}"
        search.send_keys(Keys.SHIFT, Keys.ENTER)
        assert found.text == f"{count} of {count}"
        search.send_keys(Keys.SHIFT, Keys.ESCAPE)
        assert find_all(browser, ".hit") == []
    search.send_keys("99999999")
    assert found.text == "none here"
    assert not find(browser, "#next").is_enabled()


def test_several_ids_one_after_the_other(tok: Tokenizer, show: Callable[[str], Any]) -> None:
    text = "the cat\n" * 251
    first, cat = tok.encode("the cat")
    browser = show(view(tok, text).page())
    search, found = find(browser, "#search"), find(browser, "#found")
    search.send_keys(f"#{first}, {cat}")
    assert found.text == "502 found"
    for _ in range(3):
        find(browser, "#next").click()
    assert found.text == "3 of 502"
    assert [one.text for one in find_all(browser, ".now")] == ["the"]
    assert browser.execute_script(
        "const {top, bottom} = document.querySelector('.now').getBoundingClientRect();"
        "return top >= document.querySelector('.bar').getBoundingClientRect().bottom && bottom <= innerHeight"
    )
    find(browser, "#previous").click()
    assert found.text == "2 of 502"
    browser.execute_script("document.activeElement.blur()")
    keys(browser, "n", "n", "p", "n")
    assert found.text == "4 of 502"
    # the id of a token, from the token
    browser.execute_script("document.querySelector('.side0 [data-i]').focus()")
    keys(browser, "f")
    assert found.text == "251 found"
    assert search.get_attribute("value") == f"#{first}"


def test_search_on_two_sides(tok: Tokenizer, show: Callable[[str], Any]) -> None:
    """The hits of the two come in the order of the text."""
    other = Tokenizer.train(MIXED, 300)
    browser = show(view(tok, MIXED, other).page())
    find(browser, "#search").send_keys("10")  # a line end in both
    assert find(browser, "#found").text == f"{2 * MIXED.count(chr(10))} found"
    assert len(find_all(browser, ".side1 .hit")) == MIXED.count("\n")
    find(browser, "#next").click()
    assert find(browser, ".now").location["y"] == find(browser, ".hit").location["y"]


def test_selection_is_counted(tok: Tokenizer, show: Callable[[str], Any]) -> None:
    browser = show(view(tok, MIXED).page())
    browser.execute_script(
        "const all = document.querySelectorAll('.side0 [data-i]');"
        "getSelection().setBaseAndExtent(all[0].firstChild, 0, all[2], all[2].childNodes.length)"
    )
    assert find(browser, "#live").text.startswith("selected: 3 tokens, ")


def test_copied_text_is_the_text(tok: Tokenizer, show: Callable[[str], Any]) -> None:
    text = "the cat\n\tsat  on\n"
    browser = show(view(tok, text).page())
    content = browser.execute_script(
        "return [...document.querySelectorAll('.side0')].map((one) => one.textContent).join('')"
    )
    assert content == text


def test_two_sides(tok: Tokenizer, show: Callable[[str], Any]) -> None:
    other = Tokenizer.train(MIXED, 300)
    browser = show(view(tok, MIXED, other, names=["left", "right"]).page())
    assert ids_of(browser, 0) == tok.encode(MIXED)
    assert ids_of(browser, 1) == other.encode(MIXED)
    find(browser, "#differ").click()
    first = browser.switch_to.active_element
    assert "d" in first.get_attribute("class").split()
    assert len(find_all(browser, ".side1 .hl")) >= 1
    keys(browser, "o")
    assert browser.execute_script("return document.activeElement.side") == 1
    keys(browser, "d")
    assert browser.execute_script("return document.activeElement.side") == 0


def test_themes_ids_and_marks(tok: Tokenizer, show: Callable[[str], Any]) -> None:
    browser = show(view(tok, MIXED).page())
    paper = "return getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(paper)
    find(browser, "#theme").click()
    dark = browser.execute_script(paper)
    assert light != dark
    find(browser, "#ids").click()
    shown = "return getComputedStyle(document.querySelector('.side0 [data-i]'), '::after').content"
    assert str(tok.encode(MIXED)[0]) in browser.execute_script(shown)
    find(browser, "#marks").click()
    assert "plain" in find(browser, "#tokens").get_attribute("class")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast(tok: Tokenizer, show: Callable[[str], Any], theme: str) -> None:
    """WCAG 2.2, 1.4.3: a contrast of at least 4.5 between text and background, for each of the colours."""
    browser = show(view(tok, MIXED).page())
    measure = """
      document.documentElement.dataset.theme = arguments[0];
      const style = getComputedStyle(document.documentElement);
      const light = (name) => {
        const probe = document.createElement("i");
        document.body.append(probe);
        probe.className = "probe";
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(`.probe { color: var(${name}) }`);
        document.adoptedStyleSheets = [sheet];
        const [r, g, b] = getComputedStyle(probe).color.match(/[0-9.]+/g).map((v) => {
          const part = v / 255;
          return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        });
        probe.remove();
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const pairs = [["--ink", "--paper"], ["--dim", "--paper"], ["--badge-ink", "--badge"]];
      pairs.push(["--special-ink", "--special"]);
      for (let n = 0; n < 5; n++) pairs.push(["--ink", `--c${n}`], ["--dim", `--c${n}`]);
      return pairs.map(([a, b]) => {
        const [x, y] = [light(a), light(b)];
        return [a + " on " + b, (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05)];
      });
    """
    ratios = dict(browser.execute_script(measure, theme))
    assert len(ratios) == 14
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < 4.5} == {}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """One page of each kind, with long names and texts of many scripts."""
    small, large = Tokenizer.train(MIXED, 300), Tokenizer.train(MIXED, 330)
    names = ("runs/experiments_of_november/tokenizers/a-small-one-trained-on-mixed-texts.json", "bpetite-32k")
    text = MIXED + "x" * 90 + " ᐃᓄᒃᑎᑐᑦ"
    elements = [
        audit(small, [text], name=names[0]).to_html(),
        diff(small, large, [text], names=names).to_html(),
        view(small, text, large, names=names).to_html(),
    ]
    return {
        "view": view(small, text, title=names[0]).page(),
        "two": view(small, text, large, names=names).page(),
        "audit": audit(small, [text], name=names[0], files=[names[0]] * 9).page(),
        "diff": diff(small, large, [text], names=names, files=[names[0]]).page(),
        "compare": compare(dict(zip(names, (small, large), strict=True)), {"x": [text], "y": ["the"]}).page(),
        "explain": explain(small, "wordpiece <|endoftext|> naïve", expect="naïve").page(),
        "elements": '<!doctype html><html lang="en"><meta charset="utf-8"><title>notebook</title>'
        f'<meta name="viewport" content="width=device-width"><body><main><h1>x</h1>{"".join(elements)}</main>',
    }


KINDS = ["view", "two", "audit", "diff", "compare", "explain", "elements"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [360, 390, 800, 1200, 1600])
def test_nothing_is_wider_than_the_window_or_cut(
    pages: dict[str, str], show: Callable[[str], Any], kind: str, width: int
) -> None:
    browser = show(pages[kind])
    resize(browser, width)
    browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    window, content = browser.execute_script("return [innerWidth, document.documentElement.scrollWidth]")
    assert window == width
    assert content <= width
    split = browser.execute_script("""
      const found = [];
      const labels = "h1, h2, th, dt, dd, li, label, button, summary, figcaption, .who, .names div, strong, .made";
      for (const label of document.querySelectorAll(labels)) {
        if (label.querySelector("code")) continue;
        const walk = document.createTreeWalker(label, NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) for (const word of walk.currentNode.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
          const range = document.createRange();
          range.setStart(walk.currentNode, word.index);
          range.setEnd(walk.currentNode, word.index + word[0].length);
          if (new Set([...range.getClientRects()].map((box) => box.top)).size > 1) found.push(word[0]);
        }
      }
      for (const code of document.querySelectorAll("tr:not(:has(th)) td code"))
        if (code.textContent.length < 16 && code.getClientRects().length > 1) found.push(code.textContent);
      for (const text of document.querySelectorAll("svg text")) {
        const box = text.getBBox();
        const { width, height } = text.ownerSVGElement.viewBox.baseVal;
        const inside = box.x >= 0 && box.x + box.width <= width && box.y + box.height <= height;
        if (!inside) found.push(text.textContent);
      }
      return found;
    """)
    assert split == []


def test_tables_of_a_comparison_fit_a_window(pages: dict[str, str], show: Callable[[str], Any]) -> None:
    browser = show(pages["compare"])
    resize(browser, 1200)
    wide = "return [...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).length"
    assert browser.execute_script(wide) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_accessibility(pages: dict[str, str], show: Callable[[str], Any], kind: str, scheme: str, width: int) -> None:
    """No violation of any rule of axe."""
    package = resources.files("axe_core_python")
    axe = package.joinpath("axe.min.js").read_text(encoding="utf-8")
    browser = show(pages[kind])
    prefer(browser, scheme)
    resize(browser, width)
    browser.execute_script(
        "for (const one of document.querySelectorAll('details')) one.open = true;"
        "document.querySelector('#ids')?.click(); document.querySelector('.side0 [data-i]')?.focus();"
        "const search = document.querySelector('#search');"
        "if (search) { search.value = 'e'; search.dispatchEvent(new Event('input')); }"
    )
    browser.execute_script(axe)
    passed, violations = browser.execute_async_script(
        "const done = arguments[0]; axe.run().then((found) => done([found.passes.length,"
        " found.violations.map((one) => [one.id, one.nodes.map((node) => node.html)])]))"
    )
    assert violations == []
    assert passed > 10


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("theme", ["light", "dark", "unknown light", "unknown dark", "declared dark"])
def test_elements_are_readable_in_any_notebook(
    pages: dict[str, str], show: Callable[[str], Any], theme: str, scheme: str
) -> None:
    """Text and background come from one scheme: that of the notebook where it says which, whatever the system's is."""
    body = {
        "light": '<body data-jp-theme-light="true" style="background: #fff; color: #000">',
        "dark": '<body class="vscode-dark" style="background: #111; color: #eee">',
        "unknown light": '<body style="background: #fff; color: #000">',
        "unknown dark": '<body style="background: #111; color: #eee">',
        "declared dark": '<body style="background: #111; color: #eee; color-scheme: dark">',
    }[theme]
    browser = show(pages["elements"].replace("<body>", body))
    prefer(browser, scheme)
    found = browser.execute_script("""
      const light = (colour) => {
        const parts = colour.match(/[0-9.]+/g).slice(0, 3).map((v) => v / 255);
        return parts.reduce((sum, v) => sum + v, 0) / 3;
      };
      return [...document.querySelectorAll(".bpe")].map((one) => {
        const style = getComputedStyle(one);
        const label = getComputedStyle(one.querySelector("[data-i], th"));
        return [light(style.color), light(style.backgroundColor), light(label.color)];
      });
    """)
    assert len(found) == 3
    for ink, paper, label in found:
        dark = theme in ("dark", "declared dark")
        assert (paper < 0.2) == dark
        assert (ink > 0.8) == dark
        assert abs(label - paper) > 0.4


def test_the_card_closes_when_a_phone_scrolls(tok: Tokenizer, show: Callable[[str], Any]) -> None:
    browser = show(view(tok, MIXED * 20).page())
    resize(browser, 360, 740)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    x, y = browser.execute_script(
        "const box = document.querySelectorAll('.side0 [data-i]')[4].getBoundingClientRect();"
        "return [box.left + box.width / 2, box.top + box.height / 2]"
    )
    for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    card = find(browser, "#card")
    assert card.is_displayed()
    box = card.rect
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    moves = [("touchStart", 600), *(("touchMove", 600 - 20 * step) for step in range(1, 15)), ("touchEnd", None)]
    for kind, y in moves:
        points = [] if y is None else [{"x": 180, "y": y}]
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert browser.execute_script("return scrollY") > 100
    assert not card.is_displayed()


def test_the_card_stays_with_a_token_that_keys_reach(tok: Tokenizer, show: Callable[[str], Any]) -> None:
    from selenium.webdriver.common.keys import Keys

    browser = show(view(tok, MIXED * 20).page())
    browser.execute_script("document.querySelector('.side0 [data-i]').focus()")
    keys(browser, Keys.END)
    settled = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(scrollY)))"
    assert browser.execute_async_script(settled) > 100
    card = find(browser, "#card")
    assert card.is_displayed()
    top = card.rect["y"] - browser.execute_script("return scrollY")
    token = browser.execute_script("return document.activeElement.getBoundingClientRect().top")
    assert abs(top - token) < 200


def test_ten_megabytes(tok: Tokenizer, show: Callable[[str], Any], shared: Callable[[str], Path]) -> None:
    with shared("text/multilingual.txt").open("rb") as file:
        text = file.read(10_000_000).decode("utf-8", "ignore")
    browser = show(view(tok, text, title="multilingual.txt").page())
    assert "A window: characters 0 to" in find(browser, "#window").text
    assert f"{tok.count(text):,}" in find(browser, "dl.sum").text
    ids = ids_of(browser)
    assert len(ids) > 5_000
    assert ids == tok.encode(text[: len(tok.decode(ids))])


def test_audit_page(tok: Tokenizer, show: Callable[[str], Any]) -> None:
    browser = show(audit(tok, [MIXED], name="bpetite-32k").page())
    assert find(browser, "h1").text == "Audit of bpetite-32k"
    assert find(browser, ".title").text.endswith("no faults")
    assert len(find_all(browser, "svg")) == 5
    assert all(one.get_attribute("aria-label") for one in find_all(browser, "svg"))


def test_notebook_cell(tok: Tokenizer, show: Callable[[str], Any]) -> None:
    cell = view(tok, MIXED).to_html()
    browser = show(f'<!doctype html><meta charset="utf-8"><title>x</title>{cell}')
    tokens = find_all(browser, ".bpe [data-i]")
    assert [int(one.get_attribute("data-i")) for one in tokens] == tok.encode(MIXED)
    assert tokens[0].get_attribute("title").startswith(f"id {tok.encode(MIXED)[0]} ")
