"""The command line: ``python -m bpetite`` and the script ``bpetite``.

One file per command, each with a click command named ``command``; a command's module is imported when it is used, so
that ``--help`` is quick and extras are needed only where they are used. Standard output carries data, standard error
what is for people. A user's mistake ends in one line on standard error and exit code 1.
"""
from __future__ import annotations

import gc
import importlib
import os
import sys

import click

from .. import __version__

__all__ = ["cli", "main"]

#: command -> the line that ``--help`` shows, in the order that ``--help`` shows them.
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

#: What a user's mistake looks like when it comes up from the library.
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
        # the reader of our output has left (`| head`); keep the interpreter from complaining when it flushes
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except MISTAKES as wrong:
        click.echo(f"Error: {one_line(wrong)}", err=True)
        code = 1
    gc.freeze()  # what is left at the end goes with the process: no collection has to walk all of it once more
    sys.exit(code if isinstance(code, int) else 0)


def _start_and_end_quickly() -> None:
    """Settings of a process that is ours alone, for what takes longer than many a small corpus to encode."""
    # No command does linear algebra, and NumPy's library for it starts threads that spin while nothing comes.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A vocabulary is hundreds of thousands of objects none of which is garbage; at Python's own setting the collector
    # walks them again and again.
    gc.set_threshold(50_000, 20, 50)


def one_line(error: Exception) -> str:
    """What a mistake says, in one line."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return " ".join(text.split()) or type(error).__name__
