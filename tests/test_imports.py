"""The house: imports point down, and compiled modules know nothing above them."""
import ast
import re
import subprocess
import sys
from pathlib import Path

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
    ["special"],
    ["_batch"],
    ["_long"],
    ["_encode", "_train"],
    ["_count", "_pairs"],
    ["_counttable"],
    ["_learned"],
    ["_decode", "_worker"],
    ["_special", "_merge"],
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
        assert set(found) <= compiled | {"errors", "special"}, path.name


def test_importing_the_package_loads_no_extra() -> None:
    code = "import sys, bpetite; print(sorted({'pyarrow', 'orjson', 'zstandard', 'click', 'tqdm'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


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
