"""The house: imports point down, and compiled modules know nothing above them."""
import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bpetite

PACKAGE = Path(bpetite.__file__).parent

#: From top to bottom; a module imports from lower rows and from its own row.
ROWS = [
    ["__main__"],
    ["cli"],
    ["cluster"],
    ["corpus"],
    ["analysis"],
    ["__init__"],
    ["tokenizer", "views"],
    ["outputs"],
    ["streaming"],
    ["train", "pipeline"],
    ["counting"],
    ["pretokenize", "counts"],
    ["formats"],
    ["vocab"],
    ["tables"],
    ["wide"],
    ["folding"],
    ["automaton"],
    ["codepoints", "syntax"],
    ["patterns", "splits", "normalize", "template"],
    ["padding", "offsets"],
    ["bytelevel", "charlevel", "gage", "unidata"],
    ["reference", "errors"],
    ["special", "threads"],
    ["_batch"],
    ["_long"],
    ["_encode", "_train"],
    ["_gather"],
    ["_count", "_pairs"],
    ["_counttable"],
    ["_learned"],
    ["_decode", "_worker"],
    ["_special", "_merge", "_spelled", "_listing", "_ids"],
    ["_tokens", "_scan"],
]
ROW_OF = {name: number for number, row in enumerate(ROWS) for name in row}


def module_name(path: Path) -> str:
    """bpetite/formats/gpt2.py -> "formats"."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported(path: Path) -> set[str]:
    """The rows' names that a module imports, at its top or inside functions; type-checking imports included."""
    names: set[str] = set()
    depth = len(path.relative_to(PACKAGE).parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("bpetite.")}
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or "").split(".") if node.module else []
            if node.level == depth:
                names |= {module[0]} if module else {alias.name for alias in node.names}
            elif node.level == 0 and module[:1] == ["bpetite"]:
                names |= {module[1]} if module[1:] else {alias.name for alias in node.names}
    return {name if name in ROW_OF else "__init__" for name in names}


def test_every_module_has_a_room() -> None:
    sources = [path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".pyx")]
    assert {module_name(path) for path in sources} <= set(ROW_OF)


def test_imports_point_down() -> None:
    upwards = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in PACKAGE.rglob("*.py")
        if path.name != "__init__.py" or path.parent != PACKAGE
        for name in imported(path)
        if ROW_OF[name] < ROW_OF[module_name(path)]
    ]
    assert upwards == []


def test_compiled_modules_import_only_errors_and_each_other() -> None:
    compiled = {path.stem for path in PACKAGE.glob("*.pyx")} | {"_types"}
    for path in [*PACKAGE.glob("*.pyx"), *PACKAGE.glob("*.pxd")]:
        source = path.read_text(encoding="utf-8")
        found = re.findall(r"^\s*from\s+(?:bpetite)?\.(\w+)\s+c?import", source, re.M)
        found += re.findall(r"^\s*c?import\s+bpetite\.(\w+)", source, re.M)
        found += re.findall(r"^\s*from\s+(?:bpetite|\.)\s+c?import\s+(\w+)", source, re.M)
        assert set(found) <= compiled | {"errors", "special", "threads"}, path.name


def test_importing_the_package_loads_no_extra() -> None:
    code = "import sys, bpetite; print(sorted({'pyarrow', 'orjson', 'zstandard', 'click', 'tqdm'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


#: What loading a tokenizer and encoding to lists does without, and so does not wait for.
NOT_AT_THE_START = {
    "numpy", "click", "tqdm", "huggingface_hub", "pyarrow", "transformers", "hashlib", "pathlib", "concurrent.futures",
    *(f"bpetite.{name}" for name in (
        "analysis", "charlevel", "cli", "cluster", "corpus", "counting", "counts", "gage", "offsets",
        "padding", "pipeline", "reference", "streaming", "train", "unidata", "views", "_count", "_train",
        "formats.dialects", "formats.hub", "formats.huggingface", "formats.ranks", "formats.tekken", "formats.tiktoken",
    )),
}  # fmt: skip


def run_and_list_modules(code: str) -> set[str]:
    """The modules that some code loads in a process of its own, beside those that the interpreter starts with."""
    code = f"import sys\nbefore = set(sys.modules)\n{code}\nprint('\\n'.join(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n"))


def test_importing_the_package_loads_next_to_nothing() -> None:
    loaded = {name for name in run_and_list_modules("import bpetite") if name.startswith("bpetite.")}
    assert loaded == {"bpetite.errors", "bpetite.patterns", "bpetite.pretokenize", "bpetite._scan"}


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


@pytest.mark.parametrize("package", ["bpetite", "bpetite.formats"])
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
    from {package} import *
    assert found is getattr(package, name) is globals()[name]
    os._exit(0)
"""
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no_such_name"):
        importlib.import_module(package).no_such_name  # noqa: B018


def test_a_name_that_a_module_has_too_is_not_the_module() -> None:
    code = "import bpetite.pretokenize, bpetite; bpetite.Tokenizer; print(list(bpetite.pretokenize('a b')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['a', ' b']"


def test_no_file_is_too_long() -> None:
    root = PACKAGE.parent
    sources = [path for room in ("bpetite", "tests", "benchmarks") for path in (root / room).rglob("*.py*")]
    long = {
        str(path.relative_to(root)): lines
        for path in sources
        if path.suffix in (".py", ".pyx", ".pyi", ".pxd") and (lines := len(path.read_text().splitlines())) > 520
    }
    assert long == {}


def test_all_is_complete() -> None:
    for name in bpetite.__all__:
        assert getattr(bpetite, name) is not None
