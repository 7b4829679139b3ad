"""Learning from files with bars and messages, and the options of training, for the commands that learn."""
from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from ..corpus.options import take_options
from ..errors import TrainingWarning
from ..tokenizer import Tokenizer
from ..training.counting.count_options import CountOptions
from ..training.counting.texts import Repeated
from ..training.options import DEFAULTS, LearningOptions, MergeOptions
from .reports import progress_bar, say
from .saving import special_tokens
from .shared_options import COUNT, SIZE, help_of

__all__ = ["given_options", "learn", "learning_options"]

#: The options of training that several kinds have.
DOCUMENTED = (LearningOptions, MergeOptions, CountOptions)


def learning_options(kind: type, defaults: Mapping[str, Any] = DEFAULTS) -> Callable[[Any], Any]:
    """The keys of a TypedDict of options as options of a command; None where one is not given."""

    def decorate(command: Any) -> Any:
        for name, hint in reversed(get_type_hints(kind).items()):
            command = _option(name, hint, defaults[name], kind)(command)
        return command

    return decorate


def _option(name: str, hint: Any, default: Any, kind: type) -> Callable[[Any], Any]:
    shown = " ".join(default) if isinstance(default, tuple) else default
    text = [help_of(name, kind, *DOCUMENTED), f"[default: {shown}]" if shown and shown is not ... else ""]
    if name == "special_tokens":
        return click.option(
            "--special", name, multiple=True, metavar="LITERAL[=ID]", help="  ".join(text),
            callback=lambda context, option, values: special_tokens(values) if values else None,
        )  # fmt: skip
    numbers = SIZE if name.endswith("_bytes") else COUNT
    choices = click.Choice(get_args(hint)) if get_origin(hint) is Literal else None
    return click.option(
        f"--{name.replace('_', '-')}", type=choices or (numbers if int in (hint, *get_args(hint)) else str),
        help="  ".join(text),
    )  # fmt: skip


def given_options(options: Mapping[str, Any], kind: type) -> tuple[dict[str, Any], dict[str, Any]]:
    learning, others = take_options(options, kind)
    return {name: value for name, value in learning.items() if value is not None}, others


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def learn(texts: Callable[[], Iterator[Any]], train: Callable[..., Tokenizer], *, repeated: bool = False) -> Tokenizer:
    """Count with a bar of the bytes read, then with one of the merges; warnings and log messages go to people.

    Args:
        texts: Reads the files, with that bar.
        train: Called with the documents and ``progress``.
        repeated: It reads the documents several times.
    """
    log = logging.getLogger("bpetite.training.train")
    lines = _Lines()
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings(), progress_bar(unit=" merges", desc="merging", leave=False) as merging:
            warnings.simplefilter("always", TrainingWarning)
            warnings.showwarning = lambda message, *_, **__: say(str(message))

            def move(stage: str, done: int, total: int | None) -> None:
                if stage == "merge":
                    merging.total = total
                    merging.update(done - merging.n)

            return train(Repeated(texts) if repeated else texts(), progress=move)
    finally:
        log.removeHandler(lines)
