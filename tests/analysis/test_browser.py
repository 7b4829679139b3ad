"""Pages of tokens and reports in a real browser: headless Chromium and its driver, where they are installed."""
import shutil
from collections.abc import Iterator
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bpetite import Tokenizer
from bpetite.analysis import audit, compare, explain, view

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("default::ResourceWarning")]

MIXED = """Hello, world!  It's 2024 — naïve café.
def f(x):\n\treturn {"a": x**2}
中文没有空格的文字。 العربية نص קצת עברית
🙂 👩‍👩‍👧‍👦 e\u0301 zero\u200bwidth \u202eevil\u202c end
<script>document.title = "owned"</script><img src=x onerror="document.title='owned'">
<|endoftext|>the the the
"""
SMALL, LARGE = Tokenizer.train(MIXED, 300), Tokenizer.train(MIXED, 330)
NAMES = ("runs/experiments_of_november/tokenizers/a-small-one-trained-on-mixed-texts.json", "large")
TEXT = MIXED + "x" * 90 + " ᐃᓄᒃᑎᑐᑦ"
PAGES = {  # each is made by the test that opens it
    "view": lambda: view(SMALL, TEXT, names=NAMES[:1]).page(),
    "two": lambda: view(SMALL, TEXT, LARGE, names=NAMES).page(),
    "audit": lambda: audit(SMALL, [TEXT], name=NAMES[0], files=[NAMES[0]] * 9).page(),
    "compare": lambda: compare(
        dict(zip(NAMES, (SMALL, LARGE), strict=True)), {"x": [TEXT], "y": ["the"]}, files=[NAMES[0]]
    ).page(),
    "explain": lambda: explain(SMALL, "wordpiece <|endoftext|> naïve").page(),
    "notebook": lambda: '<!doctype html><html lang="en"><meta charset="utf-8"><title>notebook</title>'
    '<meta name="viewport" content="width=device-width"><body><main><h1>x</h1>'
    f"{view(SMALL, TEXT, names=NAMES[:1]).to_html()}{audit(SMALL, [TEXT]).to_html()}</main>",
}
#: The text and the background of every element with a text of its own, as shares of white.
READABLE = """
const light = (colour) => colour.match(/[0-9.]+/g).slice(0, 3).reduce((sum, part) => sum + part / 765, 0);
const behind = (one) => {
  const paper = getComputedStyle(one).backgroundColor;
  return one === document.documentElement || !paper.endsWith(", 0)") ? paper : behind(one.parentElement);
};
return [...document.querySelectorAll(".bpe [data-i], .bpe h1, .bpe th, .bpe dt")].map((one) =>
  [light(getComputedStyle(one).color), light(behind(one)), one.textContent]);
"""


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


def show(browser: Any, page: str, path: Path, scheme: str = "light", width: int = 1200) -> None:
    path.write_text(page, encoding="utf-8", newline="")
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.get(path.as_uri())


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 360)])
@pytest.mark.parametrize("kind", PAGES)
def test_pages_open_and_can_be_read(browser: Any, tmp_path: Path, kind: str, scheme: str, width: int) -> None:
    """No error, no call of the network, nothing wider than the window, and no rule of axe is broken."""
    browser.get_log("browser")
    browser.get_log("performance")
    show(browser, PAGES[kind](), tmp_path / "page.html", scheme, width)
    assert browser.title != "owned"
    assert browser.execute_script("return [innerWidth, document.documentElement.scrollWidth <= innerWidth]") == [
        width, True,
    ]  # fmt: skip
    found = browser.execute_script(READABLE)
    assert found
    assert not [one for one in found if abs(one[0] - one[1]) < 0.4]
    browser.execute_script(resources.files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    assert browser.execute_async_script(
        "const done = arguments[0]; axe.run().then((found) => done(found.violations.map((one) => [one.id, "
        "one.nodes.map((node) => node.html)])))"
    ) == []  # fmt: skip
    assert browser.get_log("browser") == []
    asked = [one["message"] for one in browser.get_log("performance") if "Network.requestWillBeSent" in one["message"]]
    assert not [message for message in asked if '"url":"http' in message]


def test_tokens_are_coloured_and_have_their_ids(browser: Any, tmp_path: Path) -> None:
    for kind, tokens in (("view", ".text [data-i]"), ("notebook", ".text [data-i]")):
        show(browser, PAGES[kind](), tmp_path / "page.html")
        found = browser.execute_script(
            f"return [...document.querySelectorAll({tokens!r})].map((one) => "
            "[Number(one.dataset.i), getComputedStyle(one).backgroundColor, one.title])"
        )
        assert [token_id for token_id, _, _ in found] == SMALL.encode(TEXT)
        assert all(one[1] != other[1] for one, other in pairwise(found))
    assert all(title.startswith(f"id {token_id} ") for token_id, _, title in found)


def test_the_policy_stops_scripts_that_got_into_a_page(browser: Any, tmp_path: Path) -> None:
    script = "<script>document.title='owned'</script></main>"
    show(browser, PAGES["audit"]().replace("</main>", script), tmp_path / "page.html")
    assert browser.title != "owned"
    assert any("Content Security Policy" in one["message"] for one in browser.get_log("browser"))
