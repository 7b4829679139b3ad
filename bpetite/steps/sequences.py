"""The JSON form of settings that are None, one step or a tuple of steps: null, a string, or an array."""
from __future__ import annotations

from typing import Any

from ..patterns import as_tuple

#: The patterns that match each space alone, for which `regex`, slow to import, need not be asked.
SPACES = (" ", r"\ ")

#: Class of steps that are not strings -> names and types of its fields in JSON.
StepFields = dict[type, dict[str, type]]


def to_json(setting: Any, classes: StepFields) -> Any:
    """A setting as a JSON value. A step without fields is ``{"step": class name}``."""
    if setting is None or isinstance(setting, str):
        return setting
    return [
        step if isinstance(step, str)
        else dict(zip(classes[type(step)], step.settings().values())) or {"step": type(step).__name__}
        for step in as_tuple(setting)
    ]  # fmt: skip


def from_json(value: Any, name: str, classes: StepFields) -> Any:
    """The setting that :func:`to_json` wrote. Raises ValueError, naming the setting, for what it never writes."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a string, an array or null, not {value!r}")
    return tuple(step if isinstance(step, str) else _step(step, name, classes) for step in value)


def _step(content: Any, name: str, classes: StepFields) -> Any:
    for step, fields in classes.items():
        if not fields and content == {"step": step.__name__}:
            return step()
        if fields and isinstance(content, dict) and {key: type(value) for key, value in content.items()} == fields:
            return step(*(content[key] for key in fields))
    raise ValueError(f"{name} has the unknown step {content!r}")
