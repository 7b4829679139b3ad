"""The command line: ``python -m bpetite`` and the script ``bpetite``.

One file per command, each with a click command named ``command``. A command's module is imported when it is used, so
that ``--help`` is fast and extras are needed only by the commands that use them. Data goes to standard output, messages
for people to standard error. A user's mistake gives one line on standard error; exit codes are in :mod:`.base`.

An option has the same meaning in every command that reads a corpus, and the library's name for it. The operands are
what a command works on: texts and token files, after the two tokenizers of ``convert`` and ``compare``. Everywhere else
a tokenizer is ``-t``.
"""
from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from contextlib import suppress

import click

from .. import __version__
from .base import ExitCode, Preempted
from .console import discard_output

__all__ = ["cli", "main"]

#: command -> its line in ``--help``, in the order there.
COMMANDS = {
    "train": "Learn a tokenizer from text files, or more tokens for one.",
    "convert": "Write a tokenizer in another file format.",
    "encode": "Turn a corpus into token files; resumes after a crash.",
    "decode": "Turn token files back into text.",
    "count": "Count the tokens of a corpus.",
    "inspect": "Say what a token file holds.",
    "merge": "Join the outputs of several ranks.",
    "tokens": "Show the tokens of a text, also as a page.",
    "audit": "Look through a tokenizer for what is wrong with it.",
    "compare": "Show what differs between tokenizers, and measure them on the same texts.",
}

EXAMPLES = (
    'bpetite tokens -t gpt-4o "How many tokens is this?"',
    "bpetite count -t gpt-4o corpus.txt",
    "bpetite train corpus.txt -n 32k -o tok.json",
    "bpetite encode corpus.txt -t tok.json -f nanogpt -o tokens/train.bin",
)


class Commands(click.Group):
    """Commands that are imported when they are used; `commands` has their names, for click's suggestions."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=Commands, commands=dict.fromkeys(COMMANDS),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\n".join(["\b", "Examples:", *EXAMPLES]),
)
@click.version_option(__version__, message="bpetite %(version)s")
def cli() -> None:
    """BPE of bytes or characters: train tokenizers, turn corpora into token files and back."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit; without arguments, show the help. The settings of the process change only where
    the command line is that of the process."""
    own = arguments is None
    if own:
        # No command does linear algebra, and NumPy's library for it starts threads that busy-wait.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        _escape_unencodable()
        signal.signal(signal.SIGTERM, _preempt)
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        code = cli.main(arguments or ["--help"], prog_name="bpetite", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as leave:
        code = leave.exit_code
    except click.ClickException as wrong:
        where = f" ({wrong.ctx.command_path} --help)" if isinstance(wrong, click.UsageError) and wrong.ctx else ""
        _print_error(f"Error: {' '.join(wrong.format_message().split())}{where}")
        code = wrong.exit_code
    except (KeyboardInterrupt, click.Abort) as stopped:
        after = str(stopped)
        _print_error(f"interrupted: {after}" if after else "interrupted")
        sent = stopped.__cause__ or stopped
        code = ExitCode.TRY_AGAIN if isinstance(sent, Preempted) else ExitCode.INTERRUPTED
    except OSError as wrong:
        _print_error(f"Error: standard output: {wrong.strerror}")
        discard_output()
        code = ExitCode.MISTAKE
    try:
        sys.stdout.flush()
    except OSError:  # said already; data that is left would change the exit code at the end
        discard_output()
    if own:
        gc.freeze()  # the process ends: the garbage collector need not walk all objects once more
    sys.exit(code if isinstance(code, int) else 0)


def _preempt(number: int, frame: object) -> None:
    raise Preempted


def _print_error(line: str) -> None:
    with suppress(BrokenPipeError):
        click.echo(line, file=sys.stderr)


def _escape_unencodable() -> None:
    """Escape what the encoding of a terminal or pipe does not have: no output of a command is an encoding error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
