"""The house: imports point down, and compiled modules know nothing above them."""
import ast
import graphlib
import importlib
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tiers import slow_but

import bpetite

PACKAGE = Path(bpetite.__file__).parent

#: Rooms, and the modules beside them at the top, from the highest to the lowest; a module imports from lower rows and
#: from its own room. "bpetite" is the package's face, which hands names on.
ROWS = [
    ["__main__"],
    ["cli"],
    ["cluster"],
    ["corpus"],
    ["analysis"],
    ["bpetite"],
    ["published"],
    ["adapters", "chat"],
    ["serving"],
    ["tokenizer"],
    ["training"],
    ["engine"],
    ["core"],
    ["formats"],
    ["bytelevel"],
    ["vocabulary"],
    ["steps"],
    ["splitting"],
    ["_merge", "_simd"],
    ["atomic", "charlevel", "gage", "reference", "patterns"],
    ["errors", "lazy", "record", "release"],
    ["headers"],
]
ROW_OF = {name: number for number, row in enumerate(ROWS) for name in row}

#: What stands above the module that imports it, and may: methods of the tokenizer that give a view of itself or that
#: learn from files, training that gives a tokenizer, and the release.
UPWARDS = {
    ("tokenizer.py", "adapters"),
    ("tokenizer.py", "corpus"),
    ("training/parity.py", "tokenizer"),
}


def sources(*suffixes: str) -> list[Path]:
    """All files of the package with these suffixes."""
    found = [path for path in PACKAGE.rglob("*") if path.suffix in suffixes]
    assert len(found) > 10, f"no sources under {PACKAGE}"
    return found


def room_of(path: Path) -> str:
    """bpetite/formats/gpt2.py -> "formats"; bpetite/patterns.py -> "patterns"; bpetite/__init__.py -> "bpetite"."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else "bpetite" if path.stem == "__init__" else path.stem


#: As Cython 3.3 compiles these, a MemoryError in them frees an object twice: loops and try/finally instead.
UNSAFE = {
    "a list comprehension": r"(?<![\w\])])\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\sfor\s",
    "sorted() of a generator": r"\bsorted\([^()]*(?:\([^()]*\)[^()]*)*\sfor\s",
    "with open()": r"\bwith\s+open\b",
}


@pytest.mark.parametrize("what", UNSAFE)
def test_compiled_code_that_no_lack_of_memory_ends(what: str) -> None:
    found = []
    for path in sources(".pyx"):
        text = path.read_text(encoding="utf-8")
        code = re.sub(r'"""[\s\S]*?"""|#.*', lambda match: "\n" * match[0].count("\n"), text)
        lines = [code[: match.start()].count("\n") + 1 for match in re.finditer(UNSAFE[what], code)]
        found += [f"{path.relative_to(PACKAGE)}:{line}" for line in lines]
    assert found == []
    assert re.search(UNSAFE[what], "x = [f(y)[0] for y in z] + sorted(f(y) for y in z); with open(x) as y: pass")


def test_no_compiled_class_is_made_from_a_pickle() -> None:
    """Its fields in C would be what the pickle says. What users pickle has a ``__reduce__`` of its own."""
    classes = []
    for path in sources(".pyx"):
        module = importlib.import_module(".".join(["bpetite", *path.relative_to(PACKAGE).with_suffix("").parts]))
        own = [each for each in vars(module).values() if getattr(each, "__module__", None) == module.__name__]
        classes += [each for each in own if isinstance(each, type)]
    assert len(classes) > 20
    assert [each.__name__ for each in classes if hasattr(each, "__setstate__")] == []
    with pytest.raises(TypeError, match=r"cannot pickle .*StreamDecoder"):
        pickle.dumps(bpetite.Tokenizer({97: b"a"}, []).decode_stream())


def imported_by_python(path: Path) -> set[str]:
    """The dotted names below bpetite that a module imports, at its top or inside functions, for type checkers too."""
    names: set[str] = set()
    here = ("bpetite", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            names |= {f"{module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("bpetite.") for name in names if name.startswith("bpetite.")}


def imported_by_cython(path: Path) -> set[str]:
    """The same of a .pyx or .pxd file, by import and cimport."""
    names: set[str] = set()
    here = ("bpetite", *path.relative_to(PACKAGE).parts[:-1])
    source = path.read_text(encoding="utf-8")
    for dots, module, listed in re.findall(r"^\s*from\s+(\.*)([\w.]*)\s+c?import\s+(\([^)]*\)|.*)", source, re.M):
        base = here[: len(here) - len(dots) + 1] if dots else ()
        names |= {".".join([*base, *([module] if module else []), name]) for name in re.findall(r"\w+", listed)}
    names |= set(re.findall(r"^\s*c?import\s+([\w.]+)", source, re.M))
    return {name.removeprefix("bpetite.") for name in names if name.startswith("bpetite.")}


def imported(path: Path) -> set[str]:
    """The rooms that a source imports from."""
    names = imported_by_python(path) if path.suffix == ".py" else imported_by_cython(path)
    return {first if (first := name.split(".")[0]) in ROW_OF else "bpetite" for name in names}


def test_every_module_has_a_room() -> None:
    found = {room_of(path) for path in sources(".py", ".pyx", ".pxd", ".h")}
    assert found == set(ROW_OF)


@pytest.mark.parametrize(("suffix", "least"), [(".py", 100), (".pyx", 10), (".pxd", 10)])
def test_imports_point_down(suffix: str, least: int) -> None:
    found = [
        (path.relative_to(PACKAGE).as_posix(), room_of(path), room)
        for path in sources(suffix)
        if path != PACKAGE / "__init__.py"
        for room in imported(path)
    ]
    assert len(found) > least  # else the walk has lost its way
    assert [
        f"{file} imports {room}"
        for file, own, room in found
        if ROW_OF[room] < ROW_OF[own] and (file, room) not in UPWARDS
    ] == []
    assert {(file, room) for file, room in UPWARDS if file.endswith(suffix)} <= {(file, to) for file, _, to in found}


def imports_inside(room: str) -> dict[str, set[str]]:
    """The modules of a room, and what each imports of the same room, inside functions too.

    The room's own ``__init__`` is the module "". Imports for type checkers count as well: a circle that only they see
    is still two modules of one idea.
    """
    names: dict[str, set[str]] = {}
    for path in sources(".py", ".pyx", ".pxd"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] == room:
            found = imported_by_python(path) if path.suffix == ".py" else imported_by_cython(path)
            names.setdefault(".".join(part for part in parts[1:] if part != "__init__"), set()).update(found)
    # a name is a module of the room, or it is in one: core._text.read -> _text, formats.load -> ""
    modules = {f"{room}.{own}".rstrip("."): own for own in names}
    inside: dict[str, set[str]] = {}
    for own, found in names.items():
        others = {modules.get(name, modules.get(name.rpartition(".")[0])) for name in found}
        inside[own] = {other for other in others if other is not None and other != own}
    return inside


@pytest.mark.parametrize(
    ("room", "least"),
    [
        ("analysis", 20), ("core", 40), ("engine", 4), ("formats", 20), ("serving", 1), ("splitting", 20), ("steps", 3),
        ("training", 30), ("vocabulary", 8),
    ],
)
def test_modules_of_a_room_import_each_other_without_circles(room: str, least: int) -> None:
    graph = imports_inside(room)
    assert sum(map(len, graph.values())) >= least  # else the walk has lost its way
    assert len([*graphlib.TopologicalSorter(graph).static_order()]) == len(graph)  # CycleError names a circle


#: The modules and rooms inside a room, from the highest row to the lowest; one imports from lower rows only, and a
#: room inside from itself.
INSIDE = {
    "splitting": [["pretokenizer"], ["compile"], ["scan"], ["pattern"], ["budget"]],
    "core": [
        ["_tokenizer_base"],
        ["_stream_decoder"],
        ["_decode"],
        ["_batch", "_long"],
        ["_parallel"],
        ["_encode", "_gather"],
        ["_ids"],
        ["_worker"],
        ["_dropout", "_id_memory", "_special", "_text", "_threads"],
    ],
    "formats": [
        ["hub"],
        [""],
        ["gguf"],
        ["huggingface", "published_ranks", "sentencepiece", "tekken"],
        ["compiled"],
        ["gpt2", "huggingface_steps", "native", "tiktoken"],
        ["dialects", "encodings", "kinds", "spelling"],
        ["files"],
        ["_json_tokens"],
        ["_ranks"],
    ],
    "steps": [["simplified"], ["normalizers", "splits"], ["charsmap", "sequences", "template"]],
    "training": [
        ["extend", "parity", "prune"],
        ["train"],
        ["options"],
        ["counting", "merging"],
        ["_pretokens", "tables"],
    ],
}


@pytest.mark.parametrize("room", INSIDE)
def test_imports_point_down_inside_a_room(room: str) -> None:
    rows = {name: number for number, names in enumerate(INSIDE[room]) for name in names}
    graph = imports_inside(room)
    assert {own.split(".")[0] for own in graph} - {""} == set(rows) - {""}
    found = {(own.split(".")[0], other.split(".")[0]) for own, others in graph.items() for other in others}
    assert len(found) >= 3
    rows.setdefault("", -1)
    assert {(own, other) for own, other in found if own != other and rows[other] <= rows[own]} == set()


def test_compiled_modules_import_only_errors_and_each_other() -> None:
    compiled = {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        for path in sources(".pyx", ".pxd")
    }
    found = {(path.name, name) for path in sources(".pyx", ".pxd") for name in imported_by_cython(path)}
    assert len(found) > 50
    allowed = compiled | {"errors"}
    assert {(file, name) for file, name in found if not {name, name.rpartition(".")[0]} & allowed} == set()


def test_functions_of_servers_use_no_private_name_of_others() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in sources(".py") if room_of(path) == "serving"}
    assert len(texts) > 3
    assert {name: found for name, text in texts.items() if (found := re.findall(r"\w\._[a-z]\w*", text))} == {}


IMPORT = r"(?:from\s+[\w.]+\s+)?c?import\s+(\([^)]*\)|.*)"


def names_at_fault(source: str) -> list[str]:
    """The names that a .pyx or .pxd file imports twice at its top, or imports and does not use."""
    source = re.sub(r"#.*|from __future__ import annotations", "", source)
    rest = re.sub(rf"(?m)^\s*{IMPORT}", "", source)

    def names(pattern: str) -> list[str]:
        listed = ",".join(part.strip("()") for part in re.findall(pattern, source))
        return [part.split()[-1].rpartition(".")[2] for part in listed.split(",") if part.strip()]

    top = names(rf"(?m)^{IMPORT}")
    unused = {name for name in names(rf"(?m)^\s*{IMPORT}") if not re.search(rf"\b{name}\b", rest)}
    return sorted(unused | {name for name in top if top.count(name) > 1})


def test_compiled_modules_import_each_name_once_and_use_it() -> None:
    assert names_at_fault("from a import deque\nfrom a import deque\ndeque()") == ["deque"]
    assert names_at_fault("from .b cimport (\n    c, d as e\n)\nc()") == ["e"]
    assert names_at_fault("import os\nfrom a import b  # why\nos.b()") == []
    found = {path.name: names_at_fault(path.read_text(encoding="utf-8")) for path in sources(".pyx", ".pxd")}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_importing_the_package_loads_no_extra() -> None:
    code = "import sys, bpetite; print(sorted({'pyarrow', 'orjson', 'zstandard', 'click', 'tqdm'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


#: What loading a tokenizer and encoding to lists does without, and so does not wait for.
NOT_AT_THE_START = {
    "numpy", "click", "tqdm", "huggingface_hub", "pyarrow", "transformers", "hashlib", "pathlib", "concurrent.futures",
    *(f"bpetite.{name}" for name in (
        "adapters", "analysis", "charlevel", "cli", "cluster", "corpus", "engine.offsets", "engine.padding",
        "engine.pipeline", "engine.streaming", "formats.dialects", "formats.encodings", "formats.hub",
        "formats.huggingface", "formats.published_ranks", "formats.kinds", "formats.tekken", "formats.tiktoken", "gage",
        "published", "reference", "splitting.pattern.unicode_version", "training.counting.counts",
        "training.counting.texts", "training.train",
    )),
}  # fmt: skip


def run_and_list_modules(code: str) -> set[str]:
    """The modules that some code loads in a process of its own, beside those that the interpreter starts with."""
    code = f"import sys\nbefore = set(sys.modules)\n{code}\nprint('\\n'.join(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n"))


def test_importing_the_package_loads_next_to_nothing() -> None:
    loaded = {name for name in run_and_list_modules("import bpetite") if name.startswith("bpetite.")}
    assert loaded == {"bpetite.errors", "bpetite.lazy", "bpetite.release"}


def test_the_package_shows_public_names_only() -> None:
    assert dir(bpetite) == sorted(bpetite.__all__)
    assert [name for name in dir(bpetite) if name.startswith("_")] == []


def test_lists_are_encoded_without_what_they_do_not_need(tmp_path: Path) -> None:
    bpetite.Tokenizer.train(["ab ab"], 258).save(tmp_path / "gpt2", format="gpt2")
    bpetite.Tokenizer.train(["ab ab"], 258).save(tmp_path / "tok.json")
    start = "from bpetite import Tokenizer; tok = Tokenizer."
    encode = "; tok.decode(tok.encode('ab é<|endoftext|>')); tok.encode_batch(['ab', 'é']); tok.count('ab')"
    for load in (
        f"from_files({str(tmp_path / 'gpt2/vocab.json')!r}, {str(tmp_path / 'gpt2/merges.txt')!r})",
        f"load({str(tmp_path / 'tok.json')!r})",
        "load('bpetite-32k')",
    ):
        loaded = run_and_list_modules(start + load + encode)
        assert "bpetite.tokenizer" in loaded
        assert sorted(loaded & NOT_AT_THE_START) == []
        assert "numpy" in run_and_list_modules(start + load + "; tok.encode_to_numpy('ab')")


@pytest.mark.parametrize("package", slow_but(["bpetite", "bpetite.formats", "bpetite.training"], "bpetite"))
def test_every_public_name_is_reached_when_it_is_asked_for(package: str) -> None:
    """Each in a process in which nothing else has been asked for."""
    names = importlib.import_module(package).__all__
    code = f"""
import importlib, os
for name in {names}:
    if child := os.fork():
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, name
        continue
    package = importlib.import_module({package!r})
    assert name in dir(package)
    found = getattr(package, name)
    assert found is getattr(package, name)
    os._exit(0)
from {package} import *
assert all(globals()[name] is getattr(importlib.import_module({package!r}), name) for name in {names})
"""
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no_such_name"):
        importlib.import_module(package).no_such_name  # noqa: B018


def test_rooms_that_users_call_need_no_import_of_their_own() -> None:
    for room in ("analysis", "chat", "cluster", "corpus", "formats", "serving", "training"):
        code = f"import bpetite; assert {room!r} in dir(bpetite); print(bpetite.{room}.__name__)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == f"bpetite.{room}"


#: The rooms inside corpus/, from the lowest to the highest. Modules beside them may import from all of them.
CORPUS_ROOMS = ["sources", "reading", "encoding", "layouts", "output", "run"]


def test_imports_inside_the_corpus_point_down() -> None:
    height = {room: number for number, room in enumerate(CORPUS_ROOMS)}
    above = len(CORPUS_ROOMS)
    found = [(own, other) for own, others in imports_inside("corpus").items() for other in others]
    assert len(found) > 50
    assert [
        f"corpus.{own} imports corpus.{other}"
        for own, other in found
        if height.get(other.split(".")[0], above) > height.get(own.split(".")[0], above)
    ] == []


def test_all_is_complete() -> None:
    for name in bpetite.__all__:
        assert getattr(bpetite, name) is not None
