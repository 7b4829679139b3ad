"""URLs among paths: taken for local paths, they would name folders such as ``s3:/bucket``."""
from __future__ import annotations

import os
import re
from urllib.parse import unquote, urlsplit

__all__ = ["is_url", "local_name"]

#: "s3://bucket/x", also as pathlib makes it, "s3:/bucket/x"; not "C:/x". "zip::s3://..." is a chain, as fsspec has it.
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*(?:://[^:]*)?::)*[A-Za-z][A-Za-z0-9+.-]+:/(/?)")


def is_url(path: str | os.PathLike[str]) -> bool:
    """True if a path is the URL of something that is not local.

    >>> [is_url(path) for path in ("s3://bucket/x", "memory://x", "file:///x", "C:/x", "./s3:/bucket/x", "x")]
    [True, True, False, False, False, False]
    >>> is_url("simplecache::s3://bucket/x")
    Traceback (most recent call last):
    ...
    ValueError: simplecache::s3://bucket/x: a chain of URLs, which is not read; name the object itself

    Raises:
        ValueError: It is a URL that cannot be meant: one that pathlib has shortened, or a chain.
    """
    name = os.fspath(path)
    found = _URL.match(name)
    if found is None or name.startswith("file://"):
        return False
    if "::" in found[0]:
        raise ValueError(f"{name}: a chain of URLs, which is not read; name the object itself")
    if not found[1]:
        if os.path.lexists(name):
            return False
        raise ValueError(f"{name}: a URL has two slashes, which pathlib makes one; give it as a str "
                         f"(./{found[0]}... is a local folder of this name)")
    return True


def local_name(path: str | os.PathLike[str]) -> str:
    """A local path, also of a ``file://`` URL.

    >>> local_name("file:///data/a%20b.txt"), local_name("data/x")
    ('/data/a b.txt', 'data/x')

    Raises:
        ValueError: The URL names another machine.
    """
    name = os.fspath(path)
    if not name.startswith("file://"):
        return name
    parts = urlsplit(name)
    if parts.netloc not in ("", "localhost"):
        raise ValueError(f"{name}: a file on {parts.netloc}; a local one is file:///...")
    return unquote(name[len("file://") + len(parts.netloc) :])
