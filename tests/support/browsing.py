"""A page in a browser that a driver of selenium holds: the system's colours and window, elements, keys."""
from typing import Any


def prefer(browser: Any, scheme: str) -> None:
    """Let the system prefer light or dark."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def resize(browser: Any, width: int, height: int = 800) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
    )


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
