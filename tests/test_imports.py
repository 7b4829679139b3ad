"""The house: imports point down, compiled modules know nothing above them, and little is loaded before it is used."""
import graphlib
import importlib
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports
from tiers import slow_but

import bpetite

PACKAGE = Path(bpetite.__file__).parent

#: Compiled modules, or rooms of them, from the highest to the lowest: one imports from lower rows, a room from itself.
ROWS = [
    ["corpus"],
    ["training.merging"],
    ["training.counting"],
    ["core._tokenizer_base"],
    ["core._decode"],
    ["core._batch"],
    ["core._ids"],
    ["core._encode"],
    ["core._special", "core._threads"],
    ["formats"],
    ["vocabulary"],
    ["splitting", "steps"],
    ["_merge", "_simd"],
    ["headers"],
    ["errors"],  # in Python: the only one that they import
]


def sources(*suffixes: str) -> dict[str, Path]:
    """The dotted names below bpetite of all files with these suffixes, and the files."""
    found = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
             for suffix in suffixes for path in PACKAGE.rglob(f"*{suffix}")}  # fmt: skip
    assert len(found) > 10, f"no sources under {PACKAGE}"
    return found


def place_of(name: str) -> tuple[int, str]:
    """The number of its row, and its name in the row."""
    found = [(number, one) for number, row in enumerate(ROWS) for one in row if f"{name}.".startswith(f"{one}.")]
    assert len(found) == 1, f"{name} is in no row, or in several"
    return found[0]


def imported(path: Path) -> set[str]:
    """The dotted names below bpetite that a .pyx or .pxd file imports or cimports."""
    names: set[str] = set()
    here = ("bpetite", *path.relative_to(PACKAGE).parts[:-1])
    source = path.read_text(encoding="utf-8")
    for dots, module, listed in re.findall(r"^\s*from\s+(\.*)([\w.]*)\s+c?import\s+(\([^)]*\)|.*)", source, re.M):
        base = here[: len(here) - len(dots) + 1] if dots else ()
        names |= {".".join([*base, *([module] if module else []), name]) for name in re.findall(r"\w+", listed)}
    names |= set(re.findall(r"^\s*c?import\s+([\w.]+)", source, re.M))
    return {name.removeprefix("bpetite.") for name in names if name.startswith("bpetite.")}


def test_imports_of_python_files_keep_the_contracts(capfd: pytest.CaptureFixture[str]) -> None:
    config = Path(__file__).parents[1] / "pyproject.toml"
    broken = lint_imports(str(config), no_cache=True, is_debug_mode=True)
    said = capfd.readouterr().out
    assert not broken, said
    assert int(re.search(r"Analyzed (\d+) files", said)[1]) > 100, said  # type: ignore[index]


def test_imports_of_compiled_modules_point_down_without_circles() -> None:
    graph: dict[str, set[str]] = {}
    modules = sources(".pyx", ".pxd")
    for suffix in (".pyx", ".pxd"):
        for module, path in sources(suffix).items():
            names = imported(path)
            own_row, own_name = place_of(module)
            above = [name for name in names if place_of(name) != (own_row, own_name) and place_of(name)[0] <= own_row]
            assert above == [], f"{module}{suffix}"
            own = {name if name in modules else name.rpartition(".")[0] for name in names}
            graph.setdefault(module, set()).update(own - {module})
    assert sum(map(len, graph.values())) > 100  # else the walk has lost its way
    graphlib.TopologicalSorter(graph).prepare()  # CycleError names a circle


#: As Cython 3.3 compiles these, a MemoryError in them frees an object twice: loops and try/finally instead.
UNSAFE = re.compile(
    r"(?<![\w\])])\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\sfor\s"  # a list comprehension
    r"|\bsorted\([^()]*(?:\([^()]*\)[^()]*)*\sfor\s|\bwith\s+open\b"  # sorted() of a generator, with open()
)


def test_compiled_code_that_no_lack_of_memory_ends() -> None:
    assert all(map(UNSAFE.search, ("x = [f(y)[0] for y in z]", "sorted(f(y) for y in z)", "with open(x) as y: pass")))
    for module, path in sources(".pyx").items():
        code = re.sub(r'"""[\s\S]*?"""|#.*', "", path.read_text(encoding="utf-8"))
        assert [found[0] for found in UNSAFE.finditer(code)] == [], module


def test_no_compiled_class_is_made_from_a_pickle() -> None:
    """Its fields in C would be what the pickle says. What users pickle has a ``__reduce__`` of its own."""
    modules = [importlib.import_module(f"bpetite.{name}") for name in sources(".pyx")]
    classes = [each for module in modules for each in vars(module).values()
               if isinstance(each, type) and each.__module__ == module.__name__]  # fmt: skip
    assert len(classes) > 20
    assert [each.__name__ for each in classes if hasattr(each, "__setstate__")] == []
    with pytest.raises(TypeError, match=r"cannot pickle .*StreamDecoder"):
        pickle.dumps(bpetite.Tokenizer({97: b"a"}, []).decode_stream())


def test_functions_of_servers_use_no_private_name_of_others() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in (PACKAGE / "serving").glob("*.py")}
    assert len(texts) > 3
    assert {name: found for name, text in texts.items() if (found := re.findall(r"\w\._[a-z]\w*", text))} == {}


# What is loaded when

#: What loading a tokenizer and encoding to lists does without, and so does not wait for.
NOT_AT_THE_START = {
    "numpy", "click", "tqdm", "huggingface_hub", "pyarrow", "transformers", "hashlib", "pathlib", "concurrent.futures",
    *(f"bpetite.{name}" for name in (
        "adapters", "analysis", "charlevel", "cli", "cluster", "corpus", "engine.offsets", "engine.padding",
        "engine.pipeline", "engine.streaming", "formats.dialects", "formats.encodings", "formats.hub",
        "formats.huggingface", "formats.published_ranks", "formats.tekken", "formats.tiktoken", "gage",
        "published", "reference", "splitting.pattern.regex_text", "training.counting.counts",
        "training.counting.count_pretokens", "training.train", "vocabulary.kinds",
    )),
}  # fmt: skip


def run_and_list_modules(code: str) -> set[str]:
    """The modules that some code loads in a process of its own, beside those that the interpreter starts with."""
    code = f"import sys\nbefore = set(sys.modules)\n{code}\nprint('\\n'.join(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n"))


def test_importing_the_package_loads_next_to_nothing() -> None:
    loaded = run_and_list_modules("import bpetite")
    assert {name for name in loaded if name.startswith("bpetite.")} == {f"bpetite.{name}" for name in
                                                                         ("errors", "lazy", "release")}  # fmt: skip
    assert loaded & NOT_AT_THE_START == set()


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("package", slow_but(["bpetite", "bpetite.formats", "bpetite.training"], "bpetite"))
def test_every_public_name_is_reached_when_it_is_asked_for(package: str) -> None:
    """Each in a process in which nothing else has been asked for."""
    names = importlib.import_module(package).__all__
    assert dir(bpetite) == sorted(bpetite.__all__)
    code = f"""
import importlib, os
for name in {names}:
    if child := os.fork():
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, name
        continue
    package = importlib.import_module({package!r})
    assert name in dir(package)
    found = getattr(package, name)
    assert found is getattr(package, name) is not None
    os._exit(0)
from {package} import *
assert all(globals()[name] is getattr(importlib.import_module({package!r}), name) for name in {names})
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no_such_name"):
        importlib.import_module(package).no_such_name  # noqa: B018
