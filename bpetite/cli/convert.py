"""``bpetite convert``: a tokenizer in another file format, with the same ids."""
from __future__ import annotations

import click

from ..errors import counted
from ..formats import FORMATS, Format, WritableFormat
from ..patterns import BY_NAME
from ..tokenizer import Tokenizer
from .base import Command
from .console import say
from .loading import load_tokenizer
from .saving import Target, special_tokens_of, target_options

#: Special tokens that --reserved adds at most; ids go up to 2^32 - 1.
MOST_RESERVED = 1_000_000


@click.command(
    cls=Command,
    examples=[
        "bpetite convert tok.json hf/ --to huggingface",
        "bpetite convert tok.json tok.tiktoken",
        "bpetite convert o200k_base o200k.json",
        "bpetite convert tok.tiktoken again.json --pattern gpt2 --special-tokens '<|endoftext|>'",
    ],
)
@click.argument("source")
@click.argument("target")
@click.option("--from", "source_format", type=click.Choice(FORMATS), help="The format of SOURCE.")
@target_options
@click.option("--name", help="The published encoding in a .tiktoken SOURCE, such as cl100k_base.")
@click.option("--pattern", help="The split pattern of a .tiktoken SOURCE, or its name.")
@click.option(
    "--special-tokens", multiple=True, metavar="LITERAL[=ID]", help="A special token of SOURCE."
)
@click.option(
    "--reserved", is_flag=True,
    help="Make ids without a token special tokens <|reserved_ID|>, as OpenAI's files do: some readers want no gaps.",
)
def command(
    source: str,
    target: str,
    source_format: Format | None,
    target_format: WritableFormat | None,
    overwrite: bool,
    name: str | None,
    pattern: str | None,
    special_tokens: tuple[str, ...],
    reserved: bool,
) -> None:
    """Write the tokenizer in SOURCE to TARGET in another format.

    SOURCE is a file, a folder, a repository of the Hub, or a name: bpetite-32k, o200k_base, gpt-4o. TARGET is a
    file, a folder (see --to), or - for standard output. A merge list becomes ranks, or ranks a merge list, only if the
    ids stay the same for every text; otherwise nothing is written.
    """
    if name is not None or pattern is not None or special_tokens:
        if source_format not in (None, "tiktoken"):
            raise click.UsageError(
                f"--name, --pattern and --special-tokens are of a .tiktoken SOURCE, not of --from {source_format}"
            )
        tokenizer = Tokenizer.from_tiktoken(
            source,
            pattern=BY_NAME if pattern is None else pattern,
            special_tokens=special_tokens_of(special_tokens) or None,
            name=name,
        )
    else:
        tokenizer = load_tokenizer(source) if source_format is None else Tokenizer.load(source, format=source_format)
    destination = Target(target, target_format, overwrite)
    vocab = tokenizer.to_vocab()
    gaps = tokenizer.vocab_size - len(vocab.tokens)  # ids below the last without a token; there may be 2^32 of them
    if gaps > MOST_RESERVED and reserved:
        raise click.UsageError(f"--reserved: {gaps:,} ids have no token, and at most {MOST_RESERVED:,} get one")
    if gaps and reserved:
        literals = {f"<|reserved_{one}|>": one for one in range(tokenizer.vocab_size) if one not in vocab.tokens}
        tokenizer = tokenizer.extend({}, 0, special_tokens=literals)
    elif gaps and destination.format == "huggingface":
        verb = "has" if gaps == 1 else "have"
        say(f"{counted(gaps, 'id')} below the last {verb} no token, which some readers refuse; --reserved names them")
    tokenizer = destination.save(tokenizer)
    say(f"{destination}: {counted(len(tokenizer), 'token')}, {destination.format}")
