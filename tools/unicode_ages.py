"""Makes what bpetite knows of the versions of Unicode: `bpetite/data/unicode-ages.json` and a table in
`docs/unicode.md`.

The data are the npm packages `@unicode/unicode-VERSION`, one for each version of Unicode; Node.js reads them.

    npm install --prefix DIR @unicode/unicode-6.1.0 @unicode/unicode-6.2.0 ...     all of VERSIONS
    python tools/unicode_ages.py DIR

To add a version of Unicode: put it at the end of VERSIONS and run this again.
"""
from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from itertools import groupby, pairwise
from pathlib import Path

VERSIONS = [
    "6.1.0", "6.2.0", "6.3.0", "7.0.0", "8.0.0", "9.0.0", "10.0.0", "11.0.0", "12.0.0", "12.1.0", "13.0.0", "14.0.0",
    "15.0.0", "15.1.0", "16.0.0", "17.0.0", "18.0.0",
]  # fmt: skip

ROOT = Path(__file__).parents[1]
AGES = ROOT / "bpetite" / "data" / "unicode-ages.json"
DOCS = ROOT / "docs" / "unicode.md"
BEGIN, END = "<!-- changes: begin -->\n", "<!-- changes: end -->\n"

READ = """
const folder = process.argv[1];
const at = async (path) => (await import(`${folder}/${path}/index.mjs`)).default;
const points = async (path) => (await import(`${folder}/${path}/code-points.mjs`)).default;
const found = {
  category: [...await at('General_Category')],
  space: await points('Binary_Property/White_Space'),
  alphabetic: await points('Binary_Property/Alphabetic'),
  common: [...await points('Case_Folding/C')],
  simple: [...await points('Case_Folding/S')],
};
process.stdout.write(JSON.stringify(found));
"""

def main() -> None:
    folder = Path(sys.argv[1]).resolve() / "node_modules" / "@unicode"
    data = {version.removesuffix(".0"): read(folder / f"unicode-{version}") for version in VERSIONS}
    AGES.write_text(ages({version: one["assigned"] for version, one in data.items()}), encoding="ascii")
    before, rest = DOCS.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    DOCS.write_text(before + BEGIN + changes(data) + END + after, encoding="utf-8")


def read(package: Path) -> dict:
    """One version: the set of assigned code points, and what it says of each of them."""
    found = json.loads(
        subprocess.run(
            ["node", "--input-type=module", "-e", READ, str(package)], check=True, capture_output=True, text=True
        ).stdout
    )
    category = {point: name for point, name in found["category"] if name != "Unassigned"}
    assigned = category.keys() | set(range(0xFDD0, 0xFDF0))
    assigned |= {plane + last for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF)}
    return {
        "assigned": assigned,
        "General_Category": {point: name.replace("_", " ") for point, name in category.items()},
        "White_Space": dict.fromkeys(found["space"], "yes"),
        "Alphabetic": dict.fromkeys(found["alphabetic"], "yes"),
        "simple case folding": {point: f"to U+{folded:04X}" for point, folded in found["common"] + found["simple"]},
    }


def ranges(points: Iterable[int]) -> list[tuple[int, int]]:
    """(start, stop) of the runs in a set of code points."""
    found: list[tuple[int, int]] = []
    for point in sorted(points):
        if found and found[-1][1] == point:
            found[-1] = found[-1][0], point + 1
        else:
            found.append((point, point + 1))
    return found


def ages(assigned: dict[str, set[int]]) -> str:
    made: dict[str, str] = {}
    known: set[int] = set()
    for version, points in assigned.items():
        if not known <= points:
            raise ValueError(f"Unicode {version} takes code points back")
        numbers, end = [], 0
        for start, stop in ranges(points - known):
            numbers += [f"{start - end:x}", f"{stop - start:x}"]
            end = stop
        made[version] = " ".join(numbers)
        known = points
    return json.dumps(made, indent=0) + "\n"


def changes(data: dict[str, dict]) -> str:
    """A table of what versions changed of code points that the version before them had."""
    rows = ["| version | assigned | changed: property | code points | from | to |\n|---|---:|---|---|---|---|\n"]
    for (_, old), (version, new) in pairwise(data.items()):
        added = f"{len(new['assigned'] - old['assigned']):,}"
        found = [
            (name, was, now, point)
            for name in list(old)[1:]
            for point in sorted(old["assigned"])
            if (was := old[name].get(point, "no")) != (now := new[name].get(point, "no"))
            # a new partner of an old letter counts as unassigned where the old version is asked for
            and not (name == "simple case folding" and int(now[5:] or "0", 16) not in old["assigned"])
        ]
        found.sort(key=lambda one: one[:3] if one[0] != "simple case folding" else (one[0], "", ""))
        for (name, was, now), points in groupby(found, lambda one: one[:3]):
            rows.append(f"| {version} | {added} | {name} | {spelled(one[3] for one in points)} | {was} | {now} |\n")
            added = ""
        if added:
            rows.append(f"| {version} | {added} | | | | |\n")
    return "".join(rows)


def spelled(points: Iterable[int]) -> str:
    return ", ".join(
        f"U+{start:04X}" if stop == start + 1 else f"U+{start:04X}..{stop - 1:04X}" for start, stop in ranges(points)
    )


if __name__ == "__main__":
    main()
