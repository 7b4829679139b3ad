"""Where a report comes from: the tokenizers and files it is about, when it was made, and with which versions."""
from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from platform import python_version
from typing import Any

from .. import __version__
from ..splitting.pattern.unicode_version import unicode_version
from ..tokenizer import Tokenizer

__all__ = ["Provenance", "counted", "default_names"]


def _now() -> str:
    return datetime.now(UTC).isoformat(sep=" ", timespec="minutes")


def _versions() -> dict[str, str]:
    return {
        "bpetite": __version__,
        "regex": version("regex"),
        "unicode": unicode_version(),
        "python": python_version(),
    }


@dataclass(frozen=True)
class Provenance:
    """Where a report comes from.

    Attributes:
        names: What the tokenizers are called.
        files: The files that the texts were read from; empty where they did not come from files or are not known.
        date: When the report was made, in UTC, such as "2026-01-31 12:00+00:00".
        versions: Those of "bpetite", "regex", "unicode" (the Unicode version of ``regex``) and "python".
    """

    names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    date: str = field(default_factory=_now)
    versions: dict[str, str] = field(default_factory=_versions)

    @property
    def made(self) -> str:
        """Date and versions in one line."""
        known = self.versions
        return (
            f"made {self.date.replace('+00:00', ' UTC')} by bpetite {known['bpetite']}, regex {known['regex']} "
            f"(Unicode {known['unicode']}), Python {known['python']}"
        )

    def read_from(self, most: int = 5) -> str:
        """The first of the files, and how many more there are; "" without files."""
        more = len(self.files) - most
        return ", ".join(self.files[:most]) + (f" and {more:,} more" if more > 0 else "")

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"names": list(self.names), "files": list(self.files), "date": self.date, "versions": self.versions}


def default_names(*tokenizers: Tokenizer) -> tuple[str, ...]:
    """Names for one or two tokenizers that nobody named, such as "A (32,001 tokens, 99886462)"."""
    letters = ["tokenizer"] if len(tokenizers) == 1 else ["A", "B"]
    return tuple(
        f"{letter} ({len(one):,} tokens, {one.fingerprint()[:8]})"
        for letter, one in zip(letters, tokenizers, strict=True)
    )


def counted(number: int, what: str) -> str:
    """A number of things in words.

    >>> counted(0, "fault"), counted(1, "fault"), counted(1200, "fault")
    ('no faults', '1 fault', '1,200 faults')
    """
    return f"{f'{number:,}' if number else 'no'} {what}{'' if number == 1 else 's'}"
