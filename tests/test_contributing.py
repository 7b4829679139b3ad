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
                assert re.search(rf"\b{name.split('.')[-1]}\b", source), f"{name} is not in {path}"
    assert named > 30
