"""Benchmarks; see README.md in this folder. They share what makes texts and finds vocabularies with the tests, and arm64's emulation with the tools."""
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests" / "support"), str(ROOT / "tools")]
