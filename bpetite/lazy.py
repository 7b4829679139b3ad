"""Names that are looked up when they are first used: a process waits for nothing that it does not need."""
from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any


@contextmanager
def without_collector() -> Iterator[None]:
    """Switch the cyclic garbage collector off. Importing modules and loading a file make many objects and no garbage,
    and the collector would walk them again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def names_of(package: str, names: Sequence[str], homes: Mapping[str, str]) -> tuple[Callable[..., Any], ...]:
    """The functions ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: Its name.
        names: Its ``__all__``.
        homes: name -> module inside the package that has it, where the name is no module itself.

    >>> get, listed = names_of("bpetite", ["simd", "gage"], {"simd": "_simd"})
    >>> get("gage").__name__, listed()
    ('bpetite.gage', ['gage', 'simd'])
    """

    @without_collector()
    def get(name: str) -> Any:
        if name not in names:
            hint = ""
            if "Tokenizer" in names and not name.startswith("_") and hasattr(get("Tokenizer"), name):
                hint = f"; {package}.Tokenizer has {name!r}"
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        module = import_module(f".{homes.get(name, name)}", package)
        value = getattr(module, name) if name in homes else module
        setattr(import_module(package), name, value)
        return value

    return get, lambda: sorted(names)
