"""The command line: ``python -m bpetite`` and the script ``bpetite``.

One file per command, each with a click command named ``command``. A command's module is imported when it is used, so
that ``--help`` is fast and extras are needed only by the commands that use them. Data goes to standard output, messages
for people to standard error. A user's mistake gives one line on standard error and exit code 1.
"""
from __future__ import annotations

import gc
import importlib
import os
import sys

import click

from .. import __version__

__all__ = ["cli", "main"]

#: command -> its line in ``--help``, in the order there.
COMMANDS = {
    "train": "Learn a tokenizer from text files.",
    "convert": "Write a tokenizer in another file format.",
    "encode": "Turn a corpus into token files; goes on where it was killed.",
    "decode": "Turn token files back into text.",
    "count": "Count the tokens of a corpus.",
    "inspect": "Say what a token file holds.",
    "merge": "Join the outputs of several ranks.",
    "tokens": "Show the tokens of a text.",
    "view": "Write a page that shows a text cut into tokens.",
    "audit": "Look through a tokenizer for what is wrong with it.",
    "diff": "Show what differs between two tokenizers.",
}

#: The exceptions that the library raises for a user's mistake.
MISTAKES = (ValueError, OSError, ImportError, OverflowError, KeyError)


class Commands(click.Group):
    """Commands that are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"{__name__}.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="bpetite %(version)s")
def cli() -> None:
    """Byte-level BPE: train tokenizers, turn corpora into token files and back."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 a mistake, 130 interrupted."""
    _start_and_end_quickly()
    try:
        code = cli.main(arguments, prog_name="bpetite", standalone_mode=False)
    except click.exceptions.Exit as leave:
        code = leave.exit_code
    except click.ClickException as wrong:
        where = f" ({wrong.ctx.command_path} --help)" if isinstance(wrong, click.UsageError) and wrong.ctx else ""
        click.echo(f"Error: {' '.join(wrong.format_message().split())}{where}", err=True)
        code = 1
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        code = 130
    except BrokenPipeError:
        # the reader of the output has closed it (`| head`): without this, flushing at exit would print an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except MISTAKES as wrong:
        click.echo(f"Error: {one_line(wrong)}", err=True)
        code = 1
    gc.freeze()  # the process ends: the garbage collector need not walk all objects once more
    sys.exit(code if isinstance(code, int) else 0)


def _start_and_end_quickly() -> None:
    """Settings for the whole process, which a library must not change. Without them, a small corpus waits longer for
    these than for its encoding."""
    # No command does linear algebra, and NumPy's library for it starts threads that busy-wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A vocabulary is hundreds of thousands of objects, none of which is garbage; at Python's default threshold the
    # collector walks them again and again.
    gc.set_threshold(50_000, 20, 50)
    # glibc returns freed memory to the system above a threshold: twice the size of the largest block that was ever
    # freed, up to 32 MB. A freed block of 31 MB raises it, so that the blocks of a corpus, a few megabytes each, are
    # reused, which saves a third to a half of the page faults. The memory itself is not touched.
    bytes(31 << 20)


def one_line(error: Exception) -> str:
    """The message of a mistake, in one line."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return " ".join(text.split()) or type(error).__name__
