"""The public names, their signatures and the commands are those of `public_names.txt`; docs/versions.md says what that
means.

    python tests/test_public_names.py > tests/public_names.txt       writes the file after a change that is meant
"""
from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import bpetite
from bpetite.cli import cli

FILE = Path(__file__).with_name("public_names.txt")
#: Modules whose classes give inherited methods that are no names of this package.
FOREIGN = ("builtins", "typing", "collections", "collections.abc", "abc")


def signature(found: Any) -> str:
    """Names, kinds and defaults of the parameters, without the types, which checkers look at; "" if it has none."""
    try:
        made = inspect.signature(found)
    except (ValueError, TypeError):
        return ""
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in made.parameters.values()]
    return str(made.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def is_own(found: type, attribute: str) -> bool:
    """True where no class of Python itself, whose signatures differ from version to version, has the attribute."""
    owner = next((base for base in found.__mro__ if attribute in vars(base)), object)
    return owner.__module__ not in FOREIGN


def of_class(name: str, found: type) -> Iterator[str]:
    made = is_own(found, "__init__") or is_own(found, "__new__")
    yield f"{name}{signature(found) if made else ''}"
    for attribute in sorted(dir(found)):
        if not attribute.startswith("_") and is_own(found, attribute):
            value = inspect.getattr_static(found, attribute)
            value = getattr(found, attribute) if isinstance(value, classmethod | staticmethod) else value
            yield f"{name}.{attribute}{signature(value) if callable(value) else ''}"


def of_module(name: str, module: types.ModuleType) -> Iterator[str]:
    for attribute in sorted(module.__all__):
        found, path = getattr(module, attribute), f"{name}.{attribute}"
        if isinstance(found, types.ModuleType):
            yield from of_module(path, found) if hasattr(found, "__all__") else [path]
        elif isinstance(found, type):
            yield from of_class(path, found)
        else:
            yield f"{path}{signature(found) if callable(found) else ''}"


def of_commands(name: str, command: click.Command) -> Iterator[str]:
    options = sorted(option for one in command.params if not getattr(one, "hidden", False) for option in one.opts)
    yield " ".join([name, *options])
    if isinstance(command, click.Group):
        context = click.Context(command)
        for part in command.list_commands(context):
            inside = command.get_command(context, part)
            assert inside is not None
            yield from of_commands(f"{name} {part}", inside)


def lines() -> list[str]:
    return [*of_module("bpetite", bpetite), *of_commands("$ bpetite", cli)]


def test_the_public_names_are_those_of_the_file() -> None:
    held, now = FILE.read_text(encoding="utf-8").splitlines(), lines()
    gone, new = [one for one in held if one not in now], [one for one in now if one not in held]
    assert (gone, new) == ([], []), "if this is meant: python tests/test_public_names.py > tests/public_names.txt"
    assert held == now


def test_the_file_has_methods_functions_and_commands() -> None:
    held = FILE.read_text(encoding="utf-8").splitlines()
    assert "bpetite.get_encoding(name)" in held
    assert any(one.startswith("bpetite.Tokenizer.encode(self, text, *, allowed_special=") for one in held)
    assert any(one.startswith("$ bpetite encode ") and " --tokenizer " in one for one in held)


if __name__ == "__main__":
    print("\n".join(lines()))
