"""Immutable values with named fields: as frozen dataclasses, whose module takes longer to import than a tokenizer takes
to load."""
from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self, dataclass_transform


@dataclass_transform(frozen_default=True)
class Record:
    """The base of a class whose annotations are its fields. Their values in the class are defaults; of a dict, each
    object has its own copy. ``__post_init__`` checks them. Fields that are `not_compared` are no part of its value.

    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1, 2) == Point(1).replace(y=2)
    (Point(x=1, y=0), True)
    """

    names: ClassVar[tuple[str, ...]] = ()
    not_compared: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.names = tuple(name for name in cls.__annotations__ if name not in Record.__annotations__)

    def __init__(self, *args: Any, **named: Any) -> None:
        names, kind = self.names, type(self)
        given = dict(zip(names, args))
        if len(args) > len(names) or named.keys() & given or named.keys() - set(names):
            raise TypeError(f"{kind.__name__} takes {', '.join(names)}, not {len(args)} values and {', '.join(named)}")
        for name in names:
            if name in given or name in named:
                continue
            if not hasattr(kind, name):
                raise TypeError(f"{kind.__name__} needs {name}")
            default = getattr(kind, name)
            given[name] = default.copy() if isinstance(default, dict) else default
        vars(self).update(given, **named)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Check the fields."""

    def settings(self) -> dict[str, Any]:
        """The fields by name."""
        return {name: getattr(self, name) for name in self.names}

    def replace(self, **changes: Any) -> Self:
        """The value with other fields."""
        return type(self)(**self.settings() | changes)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is immutable; replace({name}=...) makes another one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is immutable, and keeps its {name}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.compared())

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self.compared()))

    @classmethod
    def compared(cls) -> list[str]:
        """The names of the fields that are compared."""
        return [name for name in cls.names if name not in cls.not_compared]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.settings().items())})"
