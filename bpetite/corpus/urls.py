"""Paths that are URLs: taken for local paths, they would name folders such as ``s3:/bucket``."""
from __future__ import annotations

import os
import re

__all__ = ["refuse_url"]

#: "s3://bucket/x", also as pathlib makes it, "s3:/bucket/x"; not "C:/x".
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def refuse_url(path: str | os.PathLike[str]) -> None:
    """Raises ValueError for a URL, with the way out.

    >>> refuse_url("C:/data/x"), refuse_url("./s3:/bucket/x")
    (None, None)
    >>> refuse_url("s3://bucket/x")
    Traceback (most recent call last):
    ...
    ValueError: s3://bucket/x: a URL, and only local paths are read and written: mount the store or copy the files \
(./s3:/... is a local folder of this name)
    """
    name = os.fspath(path)
    found = _URL.match(name)
    if found:
        raise ValueError(
            f"{name}: a URL, and only local paths are read and written: mount the store or copy the files "
            f"(./{found[0]}... is a local folder of this name)"
        )
