"""A pytest plugin for slow machines: hypothesis tries at most BPETITE_EXAMPLES examples for each test."""
import os

import pytest
from hypothesis import settings


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    most = int(os.environ["BPETITE_EXAMPLES"])
    for item in items:
        test = getattr(item, "obj", None)
        known = getattr(test, "_hypothesis_internal_use_settings", None)
        if known is not None:
            test._hypothesis_internal_use_settings = settings(known, max_examples=min(known.max_examples, most))
