"""Benchmarks; see README.md in this folder. They share what makes texts and finds vocabularies with the tests."""
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
