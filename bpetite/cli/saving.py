"""Writing a tokenizer in any format, for all commands that make one."""
from __future__ import annotations

import tempfile
from pathlib import Path

import click

from .. import formats
from ..formats import WRITABLE_FORMATS, WritableFormat
from ..formats.files import WRITTEN
from ..tokenizer import Tokenizer
from .console import say
from .output_files import check_output, create_output, is_stream, named
from .shared_options import Decorator, all_of, overwrite_option

#: The options of a command that saves a tokenizer, beside its name; see `Target`.
target_options: Decorator = all_of(
    click.option(
        "--to", "target_format", type=click.Choice(WRITABLE_FORMATS, case_sensitive=False),
        help="Format of the tokenizer that is written [default: by its name: tokenizer.json is huggingface, "
        "*.tiktoken is tiktoken, any other native]. gpt2 is a folder; huggingface too, for AutoTokenizer, unless it "
        "ends in .json.",
    ),
    overwrite_option,
)


class Target:
    """The place where a tokenizer goes; that nothing is in its way is found out before any work.

    Raises:
        OSError, click.UsageError: A tokenizer could not be saved there.
    """

    def __init__(self, target: str, target_format: WritableFormat | None, overwrite: bool) -> None:
        # by the name as it was typed: a path has no slash at its end
        self.format: WritableFormat = target_format or formats.format_by_name(target)
        self.path: Path = Path(target)
        self.overwrite: bool = overwrite
        path, format = self.path, self.format
        if not (path.suffix or target_format or is_stream(path) or path.exists()):
            raise click.UsageError(
                f"{target} has no suffix: name a file, as {target}.json, or a folder with --to huggingface or --to gpt2"
            )
        if not formats.in_folder(path, format):
            check_output(path, overwrite)
        elif is_stream(path):
            raise click.UsageError(f"{format} is a folder with several files, which do not go to {path}")
        elif path.exists() and not path.is_dir():
            raise click.UsageError(f"{path}: a file has this name, and {format} is a folder")
        else:
            for name in WRITTEN[format]:
                check_output(path / name, overwrite)

    def __str__(self) -> str:
        return named(self.path)

    def save(self, tokenizer: Tokenizer) -> Tokenizer:
        """Save a tokenizer in the kind that the format holds, and report what the file lacks; returns the saved one."""
        path, format = self.path, self.format
        tokenizer = _in_kind(tokenizer, format)
        if formats.in_folder(path, format):
            tokenizer.save(path, format=format, overwrite=self.overwrite)
        else:
            data = formats.dump(tokenizer.to_vocab(), format)
            with create_output(path, self.overwrite) as file:
                file.write(data)
        if format == "native" and "tokenizer" in path.name:
            say(f"{path.name} is in the native format; --to huggingface for transformers")
        if format == "tiktoken":
            say(f"a .tiktoken file holds neither the split pattern {tokenizer.pattern!r} nor the special tokens "
                f"{tokenizer.special_tokens!r}: give both to read it")
        return tokenizer

    def save_trained(self, tokenizer: Tokenizer) -> Tokenizer:
        """:meth:`save`; if that fails, in the native format beside ``path``, or else in a folder for temporary
        files."""
        try:
            return self.save(tokenizer)
        except (OSError, ValueError):
            rescued = Path("trained.native.json" if is_stream(self.path) else f"{self.path}.native.json")
            try:
                rescued.parent.mkdir(parents=True, exist_ok=True)
                tokenizer.save(rescued, format="native", overwrite=True)
            except OSError:  # a full disk
                rescued = Path(tempfile.mkdtemp(), rescued.name)
                tokenizer.save(rescued, format="native")
            say(f"{self} could not be written; the tokenizer is saved as {rescued}", always=True)
            raise


def _in_kind(tokenizer: Tokenizer, format: WritableFormat) -> Tokenizer:
    """The tokenizer of the kind that a format holds, with ranks or with a merge list and with the same ids.

    Raises:
        ValueError: The ids would not be the same for every text.
    """
    kind = {"native": tokenizer.kind, "tiktoken": "ranks"}.get(format, "merges")
    if kind == tokenizer.kind:
        return tokenizer
    say(f"the {tokenizer.kind} became {kind}; the ids stay the same for every text")
    return tokenizer.to_ranks() if kind == "ranks" else tokenizer.to_merges()


def special_tokens_of(values: tuple[str, ...]) -> list[str] | dict[str, int]:
    """The special tokens of --special-tokens, which are all LITERAL, or all LITERAL=ID."""
    parts = [value.rpartition("=") for value in values]
    given = {literal: int(token_id) for literal, _, token_id in parts if literal and token_id.isdecimal()}
    if given and len(given) != len(values):
        raise click.UsageError(f"--special-tokens: ids for all or for none: {', '.join(values)}")
    return given or list(values)
