"""tiktoken's own tests, with the encodings of bpetite in the place of tiktoken's.

    pip download tiktoken==0.14.0 --no-deps --no-binary tiktoken -d /tmp/tiktoken      # the source, with its tests
    python tools/tiktoken_suite.py /tmp/tiktoken/tiktoken-0.14.0.tar.gz
    python tools/tiktoken_suite.py --theirs /tmp/tiktoken/tiktoken-0.14.0.tar.gz --durations=5

The second run is of tiktoken itself, on the same ranks, to compare times with. What follows the archive goes to pytest.
"""
from __future__ import annotations

import argparse
import os
import sys
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tiktoken

import bpetite

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import published


@cache
def get_encoding(name: str, theirs: bool) -> Any:
    view = bpetite.get_encoding(name).as_tiktoken()
    if not theirs:
        return view
    return tiktoken.Encoding(
        view.name, pat_str=view._pat_str, mergeable_ranks=view._mergeable_ranks, special_tokens=view._special_tokens
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--theirs", action="store_true", help="run tiktoken itself")
    parser.add_argument("archive", type=Path, help="the source of a release of tiktoken, .tar.gz")
    options, for_pytest = parser.parse_known_args()
    os.environ["TIKTOKEN_CACHE_DIR"] = tempfile.mkdtemp()
    published.fill_cache(Path(os.environ["TIKTOKEN_CACHE_DIR"]))
    replaced = {"get_encoding": lambda name: get_encoding(name, options.theirs)}
    for module in (tiktoken, tiktoken.registry, tiktoken.model):
        vars(module).update(replaced)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(options.archive) as archive:
            archive.extractall(folder, filter="data")
        (root,) = Path(folder).iterdir()
        return pytest.main(["-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(root), "-q",
                            str(root / "tests"), *for_pytest])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
