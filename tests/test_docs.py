"""Every block of code in README.md and docs/ runs as it stands, and what it prints is what the page says.

The blocks of a page run in order, in one namespace and in an empty folder; what they read, earlier blocks of the page
have made. A block of the language

- ``python`` runs; where a ``print`` at the top level has a comment behind it, that is what it prints,
- ``python`` with ``>>>`` is a doctest, with the exact output,
- ``sh`` runs in bash with ``bpetite`` on the path,
- ``console`` has commands after ``$``, and below each what it prints,
- ``text`` is no code.

What cannot run says so to the reader: ``title="Not tested: ..."``. `NOT_TESTED` lists all of these. Blocks that
tools/reference.py makes are compared with what it makes now; tests/test_examples.py runs their examples.
"""
import ast
import contextlib
import doctest
import importlib
import inspect
import io
import json
import linecache
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from paths import PYTHONPATH

import bpetite

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

#: Pages that start a Ray or a Spark, or whose commands take seconds.
MARKS = dict.fromkeys(("docs/corpus.md", "docs/debugging.md"), pytest.mark.slow)
MARKS["docs/scale.md"] = pytest.mark.cluster

#: (page, reason) -> how many blocks do not run.
NOT_TESTED = {
    ("README.md", "is the command that runs the tests"): 1,
    ("docs/conformance.md", "takes the network"): 1,
    ("docs/corpus.md", "takes a bucket"): 1,
    ("docs/formats.md", "takes a file of codes"): 1,
    ("docs/formats.md", "takes a model"): 1,
    ("docs/formats.md", "takes the network"): 1,
    ("docs/models.md", "takes minutes, and packages to fetch"): 1,
    ("docs/quickstart.md", "installs"): 1,
    ("docs/reference/command-line.md", "belongs to a start file"): 1,
    ("docs/scale.md", "takes Slurm"): 2,
    ("docs/speed.md", "takes minutes, and the peers to compare with"): 1,
}

#: How README's commands for a clone begin. What follows runs with this interpreter.
SET_UP = "python3 -m venv .venv && .venv/bin/pip install -e . && .venv/bin/"

#: Blocks that do not run and say so by themselves: installing from the index, and README's command that runs all tests,
#: this one among them; .ci/run takes that from there.
INSTALL = re.compile(r"(pip install [^\n]*\n)+")
TEST_COMMAND = re.compile(r"python3 -m venv \.venv && .*/python -m pytest -n 2\n")


class Block(NamedTuple):
    """A fenced block: where its first line is in the page, counted from 1, and what stands behind the fence."""

    page: str
    line: int
    language: str
    title: str
    code: str

    @property
    def reason(self) -> str | None:
        """Why it does not run; None where it does."""
        if self.language == "sh" and (INSTALL.fullmatch(self.code) or TEST_COMMAND.fullmatch(self.code)):
            return "installs" if INSTALL.fullmatch(self.code) else "is the command that runs the tests"
        found = re.fullmatch(r'title="Not tested: (.+)"', self.title)
        return None if found is None else found[1]

    @property
    def runs(self) -> bool:
        return self.language != "text" and self.reason is None


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def by_hand(page: Path) -> str:
    """The text of a page, with empty lines for what is generated."""
    made = re.compile(r"^<!-- (api|help):.*?^<!-- end -->$", re.M | re.S)
    return made.sub(lambda found: "\n" * found[0].count("\n"), page.read_text(encoding="utf-8"))


def blocks(page: Path) -> Iterator[Block]:
    lines = by_hand(page).splitlines(keepends=True)
    opened: tuple[int, re.Match[str]] | None = None
    for number, line in enumerate(lines):
        if opened is None:
            found = re.match(r"( *)```(\w*) ?(.*)", line)
            opened = None if found is None else (number + 1, found)
        elif re.fullmatch(rf"{opened[1][1]}```\s*", line):
            start, found = opened
            yield Block(name_of(page), start + 1, found[2], found[3], textwrap.dedent("".join(lines[start:number])))
            opened = None
    assert opened is None, f"{name_of(page)}:{opened}: a block that does not end"


def run_python(block: Block, namespace: dict[str, Any]) -> None:
    name = f"<{block.page}:{block.line}>"
    lines = block.code.splitlines(keepends=True)
    linecache.cache[name] = (len(block.code), None, lines, name)
    for statement in ast.parse(block.code).body:
        code = compile(ast.Module([statement], []), name, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, namespace)
        match statement:
            case ast.Expr(ast.Call(ast.Name("print"))):
                assert statement.end_lineno is not None
                rest = lines[statement.end_lineno - 1].encode()[statement.end_col_offset :].decode().strip()
                if rest.startswith("# "):
                    where = f"{block.page}:{block.line + statement.end_lineno - 1}"
                    assert printed.getvalue().strip() == rest[2:].strip(), where


def run_doctest(block: Block, namespace: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.code, namespace, block.page, block.page, block.line - 1)
    wrong: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=wrong.append, clear_globs=False)
    namespace.update(test.globs)
    assert not wrong, "".join(wrong)


def run_shell(code: str) -> str:
    """What the commands print to standard output."""
    done = subprocess.run(["bash", "-e", "-c", code], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, f"{code}\n{done.stdout}{done.stderr}"
    return done.stdout


def run_console(block: Block) -> None:
    for found in re.finditer(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", block.code, re.M):
        command, expected = found[1], found[2]
        assert run_shell(command).rstrip() == expected.rstrip(), f"{block.page}:{block.line}: {command}"


def run_page(page: Path, only: str = "") -> None:
    """The code of a page, or that of one language, in the current folder."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if not block.runs or only not in block.language:
            continue
        if block.language == "python" and ">>> " in block.code:
            run_doctest(block, namespace)
        elif block.language == "python":
            run_python(block, namespace)
        elif block.language == "console":
            run_console(block)
        elif block.code.startswith(SET_UP):
            Path("CONTRIBUTING.md").write_bytes((ROOT / "CONTRIBUTING.md").read_bytes())
            run_shell(block.code.removeprefix(SET_UP).replace(".venv/bin/", ""))
        else:
            run_shell(block.code)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with ``bpetite`` on the path and no network."""
    programs, work = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    work.mkdir()
    for program, arguments in {"bpetite": ["-m", "bpetite"], "python": [], "python3": []}.items():
        path = programs / program
        path.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, *arguments])} "$@"\n')
        path.chmod(0o755)
    monkeypatch.chdir(work)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    with contextlib.suppress(ImportError):
        for name in ("tiktoken.get_encoding", "tiktoken.encoding_for_model"):  # a page sets them for its process
            monkeypatch.setattr(name, pkgutil.resolve_name(name))
    return work


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=name_of(page), marks=MARKS.get(name_of(page), ()))
     for page in PAGES if any(block.runs for block in blocks(page))],
)  # fmt: skip
def test_the_code_of_a_page(page: Path, folder: Path) -> None:
    if MARKS.get(name_of(page)) != pytest.mark.cluster:
        run_page(page)
        run_page(page, "python")  # Python is tried again and again; commands have --overwrite, or go on
        return
    # engines leave threads, sockets and a virtual machine in the process
    done = subprocess.run([sys.executable, __file__, str(page)], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-8000:]


def test_the_first_command_of_readme_reads_one_document() -> None:
    (first,) = (block.code for block in blocks(ROOT / "README.md") if block.code.startswith(SET_UP))
    file = ROOT / re.findall(r"encode (\S+)", first)[0]
    assert "<|endoftext|>" not in file.read_text(encoding="utf-8")


def test_what_runs_and_what_does_not() -> None:
    found = [block for page in PAGES for block in blocks(page)]
    assert len(found) > 90
    assert {block.language for block in found} <= {"python", "sh", "console", "text"}
    assert Counter((block.page, block.reason) for block in found if block.reason) == NOT_TESTED
    assert [block for block in found if "ested" in block.title and block.reason is None] == []
    for page in PAGES:  # Markdown takes indented lines for code, too
        outside = re.sub(r"^( *)```.*?^\1```$", "", by_hand(page), flags=re.M | re.S)
        assert re.findall(r"\n\n( {4}\S.*)", outside) == [], name_of(page)


# The reference

MODULES = ["bpetite", "bpetite.analysis", "bpetite.chat", "bpetite.cluster", "bpetite.corpus", "bpetite.formats"]
MODULES += ["bpetite.patterns", "bpetite.reference", "bpetite.bytelevel", "bpetite.charlevel", "bpetite.gage"]
MODULES += ["bpetite.cluster.ray", "bpetite.cluster.spark"]


def public(module: str) -> list[str]:
    found = pytest.importorskip(module) if "cluster." in module else importlib.import_module(module)
    return [f"{module}.{name}" for name in found.__all__]


def test_the_reference_is_generated_and_has_every_public_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    reference = importlib.import_module("tools.reference").Reference()
    stale = [name_of(path) for path, text in reference.made().items() if text != reference.pages[path]]
    assert stale == [], "python tools/reference.py writes them"
    names = [name for module in MODULES for name in public(module)]
    assert len(names) > 100
    anchors = [place for place in reference.places.values() if "#" in place]
    assert len(anchors) == len(set(anchors))
    missing = [name for name in names if name not in reference.places]
    assert [name for name in missing if not inspect.ismodule(pkgutil.resolve_name(name))] == []


def test_the_reference_groups_what_a_tokenizer_has() -> None:
    page = (ROOT / "docs/reference/tokenizer.md").read_text(encoding="utf-8")
    names = re.findall(r"^bpetite\.Tokenizer\.(\w+)$", page, re.M)
    groups = re.findall(r"^## (.+)\n+(?:\S.*\n+)?<!-- api:\nbpetite\.Tokenizer\.", page, re.M)
    assert groups == ["Making", "Encoding", "Decoding", "Facts"]
    assert len(names) == len(set(names)) <= 52
    assert set(names) == {name for name in dir(bpetite.Tokenizer) if is_public(name)}


def is_public(name: str) -> bool:
    """True for a name that a tokenizer has; for some that it lacks, the class has an error."""
    return not name.startswith("_") and name in dir(bpetite.Tokenizer({0: b"a"}, []))


def test_everything_that_is_called_has_an_example() -> None:
    """In its docstring, which tests/test_examples.py runs, or in a page: functions, and what `Tokenizer` has."""
    code = "".join(block.code for page in PAGES for block in blocks(page) if block.runs)
    found = {name.rpartition(".")[2]: pkgutil.resolve_name(name) for module in MODULES for name in public(module)}
    wanted = {name: member for name, member in found.items() if inspect.isroutine(member)}
    wanted |= {name: member for name, member in inspect.getmembers(bpetite.Tokenizer) if is_public(name)}
    assert len(wanted) > 80
    bare = [name for name, member in wanted.items() if ">>> " not in (member.__doc__ or "")]
    assert [name for name in bare if not re.search(rf"\b{name}\b", code)] == []


# The pages


def sentences(page: Path) -> Iterator[str]:
    """The sentences of a page, without code, tables, headings and comments."""
    text = re.sub(r"^( *)```.*?^\1```$|<!--.*?-->", "", by_hand(page), flags=re.M | re.S)
    text = re.sub(r"^ *(?:\||#).*$", "", text, flags=re.M)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "Code", text))
    for paragraph in re.split(r"\n\s*\n|\n(?= *(?:[-*]|\d+\.) )", text):
        yield from re.split(r"(?<=[.!?])[)*\"]*\s+(?=[^a-z])", " ".join(paragraph.split()))


def test_no_sentence_is_long() -> None:
    found = [(name_of(page), one) for page in PAGES for one in sentences(page)]
    assert len(found) > 600
    assert [(page, one) for page, one in found if len(re.findall(r"\w\S*", one)) > 35] == []


def test_the_sidebar_is_short() -> None:
    pages = re.findall(r"- (?:[\w ]+: )?([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    titles = [(ROOT / "docs" / page).read_text(encoding="utf-8").partition("\n")[0] for page in pages[2:]]
    assert 15 < len(pages) <= 26
    assert all(title.startswith("# ") for title in titles)
    assert [title for title in titles if re.match("# (What|Which|Whether|Where|When|How)", title)] == []


def test_files_of_the_repository_that_pages_name_are_there() -> None:
    more = ("CONTRIBUTING.md", "SECURITY.md", "tests/README.md", "benchmarks/README.md", "fuzz/README.md")
    pages = [*PAGES, *(ROOT / name for name in more)]
    places = [ROOT, *(ROOT / name for name in ("bpetite", "tests", "benchmarks", "fuzz"))]
    named = {(name_of(page), file) for page in pages for file in re.findall(
        r"`((?:\w+/)+\w+\.(?:pyx?|pyi|pxd|h|md))\b", page.read_text(encoding="utf-8"))}  # fmt: skip
    assert len(named) > 50
    assert [one for one in named if not any((place / one[1]).exists() for place in places)] == []


def test_the_recipe_of_conda_has_the_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "conda/recipe.yaml").read_text(encoding="utf-8")
    runs = re.findall(r"- (\S+) ?(>=\S+)", recipe.partition("  run:\n")[2])
    assert sorted("".join(one) for one in runs) == sorted(project["dependencies"])


# The numbers


def test_the_numbers_are_those_of_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """README, the page and its picture are made from one file: python -m benchmarks.compare --output docs/speed."""
    monkeypatch.syspath_prepend(ROOT)
    report = importlib.import_module("benchmarks.report")
    numbers = json.loads((ROOT / "docs/speed.json").read_text(encoding="utf-8"))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert report.readme(text, numbers) == text
    assert (ROOT / "docs/speed.md").read_text(encoding="utf-8") == report.page(numbers)
    picture = report.picture(numbers)
    assert (ROOT / "docs/speed.svg").read_text(encoding="utf-8") == picture
    bold = re.findall(r'font-weight="bold">([^<]+)<', picture)
    assert [bold[0].partition(",")[0], bold[1]] == ["Encoding to lists of ids", "bpetite"]
    assert len(bold) == 2 + len(re.findall(r'class="note" x="\d+" y="38"', picture))  # the best of each panel


def test_the_page_of_models_is_made_from_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As above, python -m benchmarks.models FOLDER --output docs/models."""
    monkeypatch.syspath_prepend(ROOT)
    report = importlib.import_module("benchmarks.models_report")
    numbers = json.loads((ROOT / "docs/models.json").read_text(encoding="utf-8"))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert report.readme(text, numbers) == text
    page = (ROOT / "docs/models.md").read_text(encoding="utf-8")
    assert page == report.page(numbers)
    assert re.search(r"^\| Gemma 4 \| `[^`]*gguf` \|.*\| (\d+) of \1, tokenizers \|", page, re.M)
    for stated in (text, page):
        assert "the median of the ratios of rounds" in stated


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
