"""The version of Unicode that ``regex`` knows.

Which characters are letters, digits and spaces decides where text is split, so saved files say which version did.
``regex`` does not state its version of Unicode. Code points that a version was the first to assign reveal it.
"""
from functools import cache

import regex

__all__ = ["unicode_version"]

#: Newest first: version, and a code point that it was the first to assign.
_FIRST_IN = {
    "18.0": 0x3D000,
    "17.0": 0x10940,
    "16.0": 0x1C89,
    "15.1": 0x2FFC,
    "15.0": 0x11F02,
    "14.0": 0x061D,
    "13.0": 0x08BE,
}


@cache
def unicode_version() -> str:
    """The newest Unicode version known here whose characters ``regex`` knows, such as "17.0"."""
    for version, code_point in _FIRST_IN.items():
        if not regex.match(r"\p{Cn}", chr(code_point)):
            return version
    return "12.1 or older"
