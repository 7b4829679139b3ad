"""The walks through the code in CONTRIBUTING.md name what is there, in the order in which it runs."""
import re
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import bpetite
from bpetite.cli import cli

PACKAGE = Path(bpetite.__file__).parent
CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"

#: A definition in Python or Cython, or in C, where a type stands before the name and `{` behind the arguments.
DEFINED = r"^(?: *(?:async def|def|class|cp?def) [^=;\n]*\b|\w[\w *]* \*?){}(?: *[:]|\([^;{{]*[{{:])"

Named = list[tuple[str, str]]  # of files in the package, and functions in them


def walks() -> dict[str, Named]:
    """The functions of each walk, in the order in which it names them, with their files."""
    text = CONTRIBUTING.read_text(encoding="utf-8").split("<!-- walks: begin -->")[1].split("<!-- walks: end -->")[0]
    found: dict[str, Named] = {}
    for title, body in re.findall(r"^\*\*(.+)\*\*$((?:\n(?!\*\*).*)*)", text, re.M):
        steps = found[title] = []
        for step in re.split(r"^(?:\d+\. |$)", body, flags=re.M):
            folder, file = PACKAGE, ""
            for name in re.findall(r"`([^`]+)`", step):
                if re.fullmatch(r"[\w/]+\.(py|pyx|pxd|h)", name):
                    path = PACKAGE / name if (PACKAGE / name).exists() else folder / name
                    assert path.exists(), step
                    folder, file = path.parent, path.relative_to(PACKAGE).as_posix()
                elif file and re.fullmatch(r"[\w.]+", name):
                    steps.append((file, name))
    return found


def test_the_walks_name_functions_that_exist() -> None:
    for title, steps in walks().items():
        assert len(steps) > 12, title
        for file, name in steps:
            source = (PACKAGE / file).read_text(encoding="utf-8")
            last = name.split(".")[-1]
            assert re.search(DEFINED.format(last), source, re.M), f"{name} is not defined in {file}"


def ran(call: Callable[[], Any]) -> Named:
    """The functions of the package that a call runs, in Python, in the order in which each runs first."""
    first: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, arg: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            first[path.relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname] = None

    with ExitStack() as stack:
        for module in (threading, sys):
            stack.callback(module.setprofile, None)
            module.setprofile(note)
        call()
    return list(first)


def test_the_walks_name_functions_in_the_order_in_which_they_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "the cat"}\n' * 50)
    encode = ["encode", str(source), "-t", "bpetite-32k", "-o", str(tmp_path / "out")]
    calls: dict[str, Callable[[], Any]] = {
        "Texts through `Tokenizer.train`": lambda: bpetite.Tokenizer.train(["the cat"] * 9, 260),
        "A corpus through `bpetite encode`": lambda: cli.main(encode, standalone_mode=False),
    }
    for title, call in calls.items():
        order = ran(call)
        named = [step for step in walks()[title] if step in order]
        assert len(named) > 5
        assert named == sorted(named, key=order.index), title
