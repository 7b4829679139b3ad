"""Libraries that take a tokenizer give the same with one of bpetite; docs/clients.md has a row for each."""
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import clients
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in PAGE.splitlines() if line.startswith("| ")]


@pytest.mark.clients
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", clients.CLIENTS, ids=lambda make: make.__name__)
def test_a_client_gives_the_same(make: Callable[[str], clients.Pair], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    text = clients.text(30_000)
    try:
        before, after = make(text)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error}: pip install -e '.[test,clients-test]', in an environment of its own")
    found: Any = after()
    assert found == before()
    assert len(found) > 0


def test_the_lines_of_the_page_are_those_that_are_tested() -> None:
    tested = "".join(re.sub(r"\s+", " ", inspect.getsource(make)) for make in clients.CLIENTS)
    lines = [cells[1].strip("`") for cells in ROWS if len(cells) == 5 and re.search(r"\d s$", cells[2])]
    assert len(lines) >= 10
    assert [line for line in lines if line not in tested] == []


def test_the_page_has_a_row_for_each_client() -> None:
    packages = {re.sub(r" [\d.]+$", "", cells[0]) for cells in ROWS}
    assert set(clients.CLIENTS.values()) - packages == set()
