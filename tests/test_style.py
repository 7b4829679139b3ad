"""Docstrings open with their noun or verb, and no function is longer than a screen, unless a reason is given here."""
import ast
import re
from pathlib import Path

import bpetite

ROOT = Path(__file__).resolve().parents[1]

#: Question words, references to another text, and openings that leave out their noun.
REFUSED = re.compile(r'"""(What|Which|Whether|Where|How|Of|That of|Those of|The same of|As there|Likewise|Always)\b')


def test_docstrings_open_with_their_noun_or_verb() -> None:
    package = Path(bpetite.__file__).parent
    files = [path for suffix in ("py", "pyx", "pxd") for path in package.rglob(f"*.{suffix}")]
    assert len(files) > 100
    assert [path.name for path in files if REFUSED.search(path.read_text(encoding="utf-8"))] == []


#: Lines of a function's body; its signature and its docstring do not count.
LIMIT = 60

#: Longer functions: room and name -> the reason.
LONGER = {
    ("bpetite/vocabulary", "__cinit__"): "allocates and fills the table, and nothing sees it half filled",
    ("tests/support", "main"): "a script",
}

#: The head of a function in Cython: its indentation and its name.
HEAD = r"^( *)(?:def|cdef|cpdef)\s(?!class\b)[^=\n]*?(\w+)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)[^\n]*:\n"


def lengths_in_python(source: str) -> list[tuple[str, int]]:
    """(name, lines of the body) of the functions in a .py file."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[ast.get_docstring(node) is not None :]
            found.append((node.name, (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0))
    return found


def lengths_in_cython(source: str) -> list[tuple[str, int]]:
    """The same for a .pyx file, by its indentation."""
    found = []
    for head in re.finditer(HEAD, source, re.M):
        body = re.match(rf"(?:{head[1]} +[^\n]*\n|[ ]*\n)*", source[head.end() :])
        assert body is not None
        code = re.sub(r'^\s*r?"""[^"]*(?:"{1,2}[^"]+)*"""\n', "", body[0])
        found.append((head[2], code.rstrip().count("\n") + 1))
    return found


def test_the_readers_count_bodies() -> None:
    python = 'def one(\n    a,\n):\n    """Two\n\n    lines."""\n    x = a\n\n    return x\n'
    cython = (
        'cdef class A:\n    cdef int one(A self,\n        int a=f(g(1))) nogil:\n        """A "b"."""\n'
        "        x = a\n\n        return x\n"
    )
    assert lengths_in_python(python) == lengths_in_cython(cython) == [("one", 3)]


def test_functions_are_short() -> None:
    found: dict[tuple[str, str], int] = {}
    for path in (path for room in ("bpetite", "tests", "benchmarks", "tools") for path in (ROOT / room).rglob("*")):
        if path.suffix in (".py", ".pyx"):
            lengths = lengths_in_python if path.suffix == ".py" else lengths_in_cython
            for name, lines in lengths(path.read_text(encoding="utf-8")):
                key = ("/".join(path.relative_to(ROOT).parts[:2]), name)
                found[key] = max(lines, found.get(key, 0))
    assert len(found) > 2000  # else the walk has lost its way
    assert {key: lines for key, lines in found.items() if lines > LIMIT and key not in LONGER} == {}
    assert LONGER.keys() <= found.keys()
