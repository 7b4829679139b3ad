"""Benchmarks; see README.md in this folder. They share what makes texts and finds vocabularies with the tests, and the
emulation of arm64 with the tools.
"""
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests" / "support"), str(ROOT / "tools")]
