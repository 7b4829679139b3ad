"""The objects that the URL of an object, a folder or a pattern stands for."""
from __future__ import annotations

import errno
import os
from typing import Any

from .stores import FIRST_TRIES, Found, ask, found_in, look_up, store_of

__all__ = ["find_objects"]


def find_objects(url: str) -> tuple[list[Found], bool]:
    """(the objects at a URL, by the bytes of their URLs; whether it names one itself). Hidden ones of a folder or a
    pattern are left out.

    Raises:
        FileNotFoundError: There is none.
        OSError: The store cannot be asked.
    """
    store, path = store_of(url)
    named: str = store._strip_protocol(url)
    whole = url.rstrip("/")
    prefix = whole[: len(whole) - len(named)] if whole.endswith(named) else None

    def url_of(name: str) -> str:
        full: str = store.unstrip_protocol(name) if prefix is None else prefix + name
        return full

    if _is_pattern(url):
        named_ones = ask(url, "listing", "glob", tries=FIRST_TRIES, detail=True)
        hidden = any(part.startswith(".") for part in path.split("/"))
    else:
        info = ask(url, "looking it up", "info", tries=FIRST_TRIES)
        if info.get("type") != "directory":
            return [found_in(info, url_of(path))], True
        named_ones, hidden = {path: info}, False
    found: dict[str, dict[str, Any]] = {}
    for name, info in named_ones.items():
        files = {name: info}
        if info.get("type") == "directory":
            files = ask(url_of(name), "listing", "find", detail=True)
        found.update((file, about) for file, about in files.items() if hidden or not _is_hidden(file, path))
    objects = [
        found_in(about, url_of(name)) if about.get("size") is not None else look_up(url_of(name))
        for name, about in found.items()
        if about.get("type") != "directory" and not name.endswith("/")
    ]
    if not objects:
        raise FileNotFoundError(errno.ENOENT, "no such object, folder or match of a pattern", url)
    return sorted(objects, key=lambda one: os.fsencode(one.url)), False


def _is_pattern(url: str) -> bool:
    """True if a URL has wildcards; in those of the web, ? begins a query."""
    return any(mark in url for mark in ("*[" if url.startswith(("http://", "https://")) else "*?["))


def _is_hidden(name: str, path: str) -> bool:
    """True if a name has a component that begins with a dot, behind the part that it shares with a path."""
    known, parts = path.strip("/").split("/"), name.strip("/").split("/")
    same = 0
    while same < min(len(known), len(parts)) and known[same] == parts[same]:
        same += 1
    return any(part.startswith(".") for part in parts[same:])
