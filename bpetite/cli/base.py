"""The parts that all commands have: examples, -q, exit codes, and errors that name options instead of arguments."""
from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import partial
from inspect import cleandoc
from typing import Any

import click
from click.shell_completion import CompletionItem

from ..errors import FormatError
from . import console

#: The exceptions that the library raises for a user's mistake, or a lack of memory.
MISTAKES = (ValueError, OSError, ImportError, OverflowError, KeyError, MemoryError)


#: FILES, in the help of the commands that read a corpus.
FILES = """FILES are text, JSON lines, JSON, Parquet, also .gz, .zst, .bz2, .xz; folders; globs; URLs; - for standard
input."""


class ExitCode(IntEnum):
    """The way a command ended. One whose exit code is an answer (the tokenizers differ; there is a fault) ends every
    error with USAGE, as diff does."""

    DONE = 0
    MISTAKE = 1  # or the answer: a difference, a fault
    USAGE = 2
    BAD_DATA = 3
    OUTPUT_IN_USE = 4  # another process writes it
    NO_ROOM = 5
    TRY_AGAIN = 75
    INTERRUPTED = 130
    READER_GONE = 141  # as of a process that SIGPIPE ends


class Preempted(KeyboardInterrupt):
    """SIGTERM, by which schedulers end what they will start again."""


class CompletedByShell(click.types.StringParamType):
    """A text that a shell completes: to a name, where a tokenizer or a pattern is asked for, or to a file."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from .. import patterns  # commands without a shell that asks do without
        from ..formats.encodings import MODELS, PUBLISHED
        from .loading import PACKAGED

        names: list[str] = []
        if param.name in ("pattern", "superword_pattern"):
            names = [*patterns.NAMED, "none"]
        elif param.metavar == "TOKENIZER" or param.name in ("a", "b", "source"):
            names = [PACKAGED, *PUBLISHED, *(MODELS if incomplete else ())]
        found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


class Command(click.Command):
    """A command of ``bpetite``.

    Args:
        examples: Lines for a shell, at the end of the help.
        verdict: Exit code 1 is an answer of this command.
        reads_data: A FormatError means bad data (exit code 3), and not a bad tokenizer.
        after_interrupt: What holds after Ctrl-C.
        arguments: The arguments that click takes.
    """

    def __init__(
        self, *, examples: Iterable[str], verdict: bool = False, reads_data: bool = False, after_interrupt: str = "",
        **arguments: Any,
    ) -> None:
        # click fills no paragraph that \b begins
        super().__init__(epilog="\n".join(["\b", "Examples:", *examples]), **arguments)
        if any(one.name == "files_from" for one in self.params):
            self.help: str | None = f"{cleandoc(self.help or '')}\n\n{FILES}"
        for parameter in self.params:
            if parameter.type is click.STRING:
                parameter.type = CompletedByShell()
            if isinstance(parameter, click.Option) and parameter.help:
                parameter.help = as_typed(parameter.help, self.params)
        self.verdict: bool = verdict
        self.reads_data: bool = reads_data
        self.after_interrupt: str = after_interrupt
        self.params.append(click.Option(
            ["-q", "--quiet"], is_flag=True, expose_value=False, is_eager=True, callback=_set_quiet,
            help="Print only what was asked for, and errors: no messages, no progress.",
        ))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError:
            raise
        except BrokenPipeError:
            console.discard_output()
            raise click.exceptions.Exit(ExitCode.READER_GONE) from None
        except click.ClickException as wrong:
            wrong.exit_code = ExitCode.USAGE if self.verdict else wrong.exit_code  # type: ignore[misc]
            raise
        except MISTAKES as wrong:
            failure = click.ClickException(as_typed(one_line(wrong), self.params))
            code = ExitCode.USAGE if self.verdict else exit_code(wrong, self.reads_data)
            failure.exit_code = code  # type: ignore[misc]
            raise failure from wrong
        except RuntimeError as wrong:
            if "start new thread" not in str(wrong):
                raise
            raise click.ClickException(
                "the system allows this user no more threads: end some, raise the limit (ulimit -u), use fewer --jobs"
            ) from wrong
        except KeyboardInterrupt as stopped:
            raise click.Abort(self.after_interrupt) from stopped


def _set_quiet(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    console.settings.quiet = value


def exit_code(error: Exception, reads_data: bool) -> ExitCode:
    from ..corpus.read.problems import RecordError
    from ..corpus.read.stores import is_url
    from ..corpus.write.growing import NO_ROOM  # not at the top: commands without a corpus do without

    if isinstance(error, RecordError) or (isinstance(error, FormatError) and reads_data):
        return ExitCode.BAD_DATA
    if isinstance(error, BlockingIOError):
        return ExitCode.OUTPUT_IN_USE
    if isinstance(error, OSError):
        if error.errno in NO_ROOM:
            return ExitCode.NO_ROOM
        remote = error.errno == errno.EIO and isinstance(error.filename, str) and is_url(error.filename)
        if remote or isinstance(error, ConnectionError | TimeoutError):
            return ExitCode.TRY_AGAIN
    return ExitCode.MISTAKE


@contextmanager
def usage() -> Iterator[None]:
    """A wrong value in here is a usage error."""
    try:
        yield
    except ValueError as wrong:
        raise click.UsageError(as_typed(one_line(wrong), click.get_current_context().command.params)) from None


def one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror and not isinstance(error, FileExistsError):
        return error.strerror
    text = str(error.args[0]) if type(error) is KeyError and error.args else str(error)
    return " ".join(text.split()) or type(error).__name__


def as_typed(message: str, parameters: Iterable[click.Parameter]) -> str:
    """Rewrite a library message for the shell: overwrite=True becomes --overwrite.

    >>> options = [click.Option(["--on-error"]), click.Option(["--overwrite"], is_flag=True)]
    >>> as_typed("x exists; overwrite=True replaces it, on_error='skip' goes on (on_error is 'fail')", options)
    "x exists; --overwrite replaces it, --on-error skip goes on (--on-error is 'fail')"
    """
    for parameter in parameters:
        if not isinstance(parameter, click.Option) or not parameter.name:
            continue
        typed = max(parameter.opts, key=len)
        name = rf"(?<![\w/.-]){parameter.name}"
        message = re.sub(rf"{name}=(True\b|'([^']*)'|\"([^\"]*)\")", partial(_option, typed), message)
        message = re.sub(rf"{name}=(?=[\s,;:)]|$)", typed, message)
        if "_" in parameter.name:
            message = re.sub(rf"{name}(?![\w/=-]|\.\w)", typed, message)
    return message


def _option(typed: str, match: re.Match[str]) -> str:
    value = match[2] or match[3] or ""
    return typed if match[1] == "True" else f"{typed} {value}"
