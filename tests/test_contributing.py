"""The walks through the code in CONTRIBUTING.md name what is there."""
import re
from pathlib import Path

import bpetite

PACKAGE = Path(bpetite.__file__).parent
CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"


def test_the_walks_name_files_and_functions_that_exist() -> None:
    text = CONTRIBUTING.read_text(encoding="utf-8").split("<!-- walks: begin -->")[1].split("<!-- walks: end -->")[0]
    named = 0
    for step in re.split(r"^(?:\d+\. |\*\*|$)", text, flags=re.M):
        folder, source = PACKAGE, ""
        for name in re.findall(r"`([^`]+)`", step):
            if re.fullmatch(r"[\w/]+\.(py|pyx|pxd|h)", name):
                path = PACKAGE / name if (PACKAGE / name).exists() else folder / name
                assert path.exists(), step
                folder, source = path.parent, path.read_text(encoding="utf-8")
                named += 1
            elif source and re.fullmatch(r"[\w.]+", name):
                last = name.split(".")[-1]
                defined = rf"^(?: *(?:async def|def|class|cp?def) |\w)[^=;\n]*\b{last} *[(:]"
                assert re.search(defined, source, re.M), f"{name} is not defined in {path}"
    assert named > 30


def test_few_files_and_functions_lie_between_a_text_and_its_ids() -> None:
    """What runs for every text stands before the dash of a step."""
    text = CONTRIBUTING.read_text(encoding="utf-8").split("<!-- walks: begin -->")[1].split("**Texts through")[0]
    heads = [step.split(" - ")[0] for step in re.split(r"^\d+\. ", text, flags=re.M)[1:]]
    names = {name for head in heads for name in re.findall(r"`([^`]+)`", head)}
    files = {name for name in names if "/" in name}
    assert len(heads) > 8
    assert len(files) <= 9
    assert len(names - files) <= 18
