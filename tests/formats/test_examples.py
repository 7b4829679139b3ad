"""The examples in docstrings are exact."""
import doctest
import importlib

import pytest

from bpetite.vocabulary._tokens import TokenTable


@pytest.mark.parametrize(
    "name",
    ["bytelevel", "errors", "formats", "formats.dialects", "formats.ranks", "vocabulary._listing",
     "vocabulary._printable", "vocabulary.special_literals", "vocabulary.vocab"],
)  # fmt: skip
def test_examples(name: str) -> None:
    module = importlib.import_module(f"bpetite.{name}")
    found = doctest.testmod(module, extraglobs={"TokenTable": TokenTable})
    assert found.attempted
    assert not found.failed
