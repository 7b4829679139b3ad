"""Pages of tokens in a real browser: headless Chromium and its driver, where they are installed."""
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bpetite import Tokenizer
from bpetite.analysis import audit, view
from bpetite.analysis.pages.audit_page import audit_page

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
    assert browser.get_log("browser") == []
    asked = [one["message"] for one in browser.get_log("performance") if "Network.requestWillBeSent" in one["message"]]
    assert not [message for message in asked if '"url":"http' in message]


def find_all(browser: Any, selector: str) -> list[Any]:
    return browser.find_elements("css selector", selector)  # type: ignore[no-any-return]


def find(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def ids_of(browser: Any, side: int = 0) -> list[int]:
    script = f"return [...document.querySelectorAll('.side{side} [data-i]')].map((one) => Number(one.dataset.i))"
    return browser.execute_script(script)  # type: ignore[no-any-return]


def keys(browser: Any, *pressed: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(*pressed).perform()


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
    search.send_keys(str(the))
    assert find(browser, "#found").text == f"{count} found"
    assert len(find_all(browser, ".hit")) == count
    search.send_keys(Keys.ENTER, Keys.ENTER)
    assert find(browser, "#found").text == f"2 of {count}"
    search.send_keys(Keys.ESCAPE)
    assert find_all(browser, ".hit") == []
    search.send_keys("the")
    assert len(find_all(browser, ".hit")) == count + tok.encode(MIXED).count(tok.encode("the")[0])
    search.send_keys(Keys.ESCAPE, "99999999")
    assert find(browser, "#found").text == "none here"


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


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_window(tok: Tokenizer, show: Callable[[str], Any], width: int) -> None:
    browser = show(view(tok, MIXED + "x" * 500, Tokenizer.train(MIXED, 300)).page())
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    try:
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


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
    browser = show(audit_page(audit(tok, [MIXED]), "bpetite-32k"))
    assert "no faults" in find(browser, "header").text
    assert len(find_all(browser, "svg")) == 5
    assert all(one.get_attribute("aria-label") for one in find_all(browser, "svg"))


def test_notebook_cell(tok: Tokenizer, show: Callable[[str], Any]) -> None:
    cell = view(tok, MIXED)._repr_html_()
    browser = show(f'<!doctype html><meta charset="utf-8"><title>x</title>{cell}')
    tokens = find_all(browser, ".bpe [data-i]")
    assert [int(one.get_attribute("data-i")) for one in tokens] == tok.encode(MIXED)
    assert tokens[0].get_attribute("title").startswith(f"id {tok.encode(MIXED)[0]} ")
