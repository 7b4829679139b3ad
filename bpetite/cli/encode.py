"""``bpetite encode``: a corpus to token files."""
from __future__ import annotations

from typing import Any

import click

from ..core._threads import job_count
from ..corpus import Options, make_plan
from ..corpus.layouts.registry import layout_of
from ..corpus.run import dry_run as check_run
from ..corpus.run import run
from ..corpus.write.names import names_of
from ..errors import counted
from .base import Command, usage
from .console import bytes_read, numbers_in, report_cuts, report_problems, require_documents, say, show_summary
from .inputs import Files, corpus_options, max_errors_option, special_policy
from .loading import load_tokenizer
from .output_files import is_stream
from .shared_options import jobs_option, json_option, needed_tokenizer, option_of, overwrite_option


@click.command(
    cls=Command,
    reads_data=True,
    examples=[
        "bpetite encode corpus.txt -t gpt2 -o tokens/gpt2",
        "bpetite encode texts/ -t tok.json -f nanogpt -o tokens/nano/ --val-fraction 0.1",
        "bpetite encode more.jsonl.gz -t tok.json -f llmc -o tokens/run --shard-tokens 100M -j 2",
        "bpetite encode corpus.txt -t bpetite-32k -f megatron -o tokens/megatron --rank 0 --world-size 4",
    ],
    after_interrupt="the same command goes on where it was; from standard input it begins anew",
)
@click.option(
    "-o", "--output", required=True, help="A file name with or without suffix, or a folder, also as a URL."
)
@option_of(Options, "format", "-f", "--format")
@overwrite_option
@needed_tokenizer
@special_policy
@jobs_option
@corpus_options
@option_of(Options, "dtype")
@option_of(Options, "eot")
@option_of(Options, "id_key")
@option_of(Options, "rejected")
@option_of(Options, "shard_tokens")
@option_of(Options, "val_fraction", type=click.FloatRange(0, 1, max_open=True))
@option_of(Options, "seed", type=int)
@option_of(Options, "rank", type=click.IntRange(0))
@option_of(Options, "world_size", type=click.IntRange(1))
@option_of(Options, "checkpoint_seconds", type=click.FloatRange(0))
@max_errors_option
@click.option("--dry-run", is_flag=True, help="Check everything, and show what would be read; nothing is written.")
@json_option
def command(
    files: tuple[str, ...],
    files_from: Any,
    null: bool,
    tokenizer: str,
    output: str,
    jobs: int | None,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Encode FILES to token files.

    If a run is killed, repeat the command: it resumes, and writes the same bytes; --overwrite starts again. A manifest
    with checksums is beside the token files. A summary goes to standard output as JSON; to a terminal only with --json.
    """
    if is_stream(output):
        raise click.UsageError(f"token files are several files, which do not go to {output}: name a file or a folder")
    with usage():
        names_of(output, layout_of(options["format"]))
    corpus = Files(files, files_from=files_from, null=null, tokenizer_name=tokenizer, **options)
    plan = make_plan(corpus.sources, output, load_tokenizer(tokenizer), corpus.settings, log=say)
    if output.startswith("memory://"):
        say(f"{output}: in the memory of this process; nothing will be left of it")
    if dry_run:
        expected = check_run(plan)
        ranks = ", ".join(f"{size:,}" for size in expected["ranks"])
        say(f"{counted(expected['files'], 'file')}, {expected['bytes']:,} bytes; bytes of text a rank, about: {ranks}; "
            "nothing is written")
        show_summary(expected, as_json)
        return
    with bytes_read(plan.inputs) as bar:
        summary = run(plan, jobs=job_count(jobs), progress=bar.move, problems=bar.count_problems, log=say)
    report_problems(summary)
    report_cuts(plan.inputs, summary)
    first, *others = summary["files"] or ["no files"]  # of a rank that has nothing to read
    more = f" and {counted(len(others), 'more file')}" if others else ""
    say(f"{numbers_in(summary, 'document', 'token')} in {summary['seconds']:.1f} s: {first}{more}")
    show_summary(summary, as_json)
    require_documents(summary)
