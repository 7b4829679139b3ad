"""Long lines are parsed as short ones are."""
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.corpus.reading import long_lines
from bpetite.corpus.reading.long_lines import parse_long_line
from bpetite.corpus.reading.records import json_loads

TEXT = st.text(st.sampled_from('ab"\\/\n\t\0\x7fé漢🙂\ud7ff\ue000'), max_size=40)
ESCAPED = st.lists(
    st.sampled_from(
        ["a", "é", "🙂", '\\"', "\\\\", "\\/", "\\n", "\\u00e9", "\\ud83d\\ude42", "\\uD83D\\uDE42", "bpetite-0"]
    ),
    max_size=30,
).map(lambda parts: '"' + "".join(parts) + '"')


def restored(value: Any, strings: dict[str, bytes]) -> Any:
    """The value with its long strings put back."""
    if isinstance(value, str):
        return strings[value].decode() if value in strings else value
    if isinstance(value, list):
        return [restored(item, strings) for item in value]
    if isinstance(value, dict):
        return {restored(key, strings): restored(item, strings) for key, item in value.items()}
    return value


@settings(max_examples=400)
@given(
    st.one_of(
        st.dictionaries(TEXT, st.one_of(TEXT, st.lists(TEXT), st.none(), st.floats(-9, 9))).map(json.dumps),
        st.dictionaries(TEXT, TEXT).map(lambda value: json.dumps(value, ensure_ascii=False)),
        st.lists(ESCAPED).map(lambda parts: "[" + ", ".join(parts) + "]"),
    ),
    st.integers(12, 40),
)
def test_as_the_whole_line(line: str, window: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_lines, "WINDOW", window)
        for loads in (json_loads, pytest.importorskip("orjson").loads):
            assert restored(*parse_long_line(line.encode(), loads)) == json.loads(line)


@settings(max_examples=400)
@given(st.binary(max_size=60), st.integers(12, 20))
def test_what_is_no_json_is_refused(data: bytes, window: int) -> None:
    orjson = pytest.importorskip("orjson")
    line = b'{"text": "' + data + b'"}'
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_lines, "WINDOW", window)
        try:
            expected = orjson.loads(line)
        except ValueError:
            with pytest.raises(ValueError, match=" "):
                parse_long_line(line, orjson.loads)
        else:
            assert restored(*parse_long_line(line, orjson.loads)) == expected
