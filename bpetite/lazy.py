"""Names and signatures that are made when they are first used: a process waits for nothing that it does not need."""
from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["lists_options", "names_of", "without_collector"]

Function = TypeVar("Function", bound=Callable[..., Any])


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
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f".{homes.get(name, name)}", package)
        value = getattr(module, name) if name in homes else module
        setattr(import_module(package), name, value)
        return value

    return get, lambda: sorted(names)


def lists_options(module: str, options: str, defaults: str) -> Callable[[Function], Function]:
    """Let ``help`` show the keyword arguments of a function that takes them as a TypedDict, one by one.

    Args:
        module: The module of both, inside this package.
        options: The name of the TypedDict.
        defaults: The name of the defaults, a mapping.
    """

    def decorate(function: Function) -> Function:
        function.__signature__ = _Signature(function, module, options, defaults)  # type: ignore[attr-defined]
        return function

    return decorate


class _Signature:
    """A stand-in for a function's ``inspect.Signature`` until somebody looks at it: to import the module of the options
    takes longer than loading a tokenizer. (``__text_signature__`` would do for compiled functions alone.)"""

    def __init__(self, function: Any, *listed: str) -> None:
        self.function, self.listed = function, listed

    @cached_property
    def made(self) -> Any:
        import inspect

        module, options, defaults = self.listed
        home = import_module(f".{module}", __package__)
        vars(self.function).pop("__signature__", None)
        signature = inspect.signature(self.function)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=getattr(home, defaults).get(name, ...),
                              annotation=getattr(kind, "__forward_arg__", kind))
            for name, kind in getattr(home, options).__annotations__.items()
        ]  # fmt: skip
        self.function.__signature__ = signature.replace(parameters=[*own, *more])
        return self.function.__signature__

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.made)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.made, name)

    def __str__(self) -> str:
        return str(self.made)
