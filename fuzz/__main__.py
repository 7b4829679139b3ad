"""python -m fuzz TARGET: look for inputs that break a promise; see README.md."""
from __future__ import annotations

import argparse
import contextlib
import random
import sys
import tempfile
import traceback
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("target", help='"list" prints the names')
    parser.add_argument("files", nargs="*", type=Path, help="run these inputs and nothing else")
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--runs", type=int, help="stop after this many changed inputs")
    parser.add_argument("--keep-going", action="store_true", help="go on after a failure, to others")
    parser.add_argument("--seed", type=int, help="of the mutations; by default another one each time")
    parser.add_argument("--artifacts", type=Path, default=Path(tempfile.gettempdir()) / "fuzz-artifacts")
    parser.add_argument("--no-limit", action="store_true", help="do not bound memory; for sanitizers")
    parser.add_argument("--atheris", action="store_true", help="follow coverage, with atheris")
    parser.add_argument("--corpus", type=Path, help="with --atheris: the folder that the corpus grows in")
    parser.add_argument("--write-corpus", type=Path, metavar="FOLDER", help="write the inputs to start from, and stop")
    parser.add_argument("--write-words", type=Path, metavar="FILE", help="write libFuzzer's dictionary, and stop")
    parser.add_argument("--option", action="append", default=[], help="with --atheris: an option of libFuzzer")
    options = parser.parse_args()
    if options.atheris:
        import atheris

        instrumented: contextlib.AbstractContextManager[object] = atheris.instrument_imports(include=["bpetite"])
    else:
        instrumented = contextlib.nullcontext()
    with instrumented:
        from .targets import TARGETS
    if options.target == "list":
        print(*TARGETS, sep="\n")
        return 0
    if options.target not in TARGETS:
        parser.error(f"no target {options.target!r}; there are {', '.join(TARGETS)}")
    target = TARGETS[options.target]
    if options.files:
        for path in options.files:
            target.one(path.read_bytes())
        return 0
    if options.write_corpus or options.write_words:
        write_start(options.target, options.write_corpus, options.write_words)
        return 0
    if options.atheris:
        follow_coverage(options)
    from .driver import Failure, run

    seed = random.randrange(2**32) if options.seed is None else options.seed
    print(f"{options.target}: seed {seed}", flush=True)
    failed = 0
    for found in run(options.target, target, seconds=options.seconds, runs=options.runs, seed=seed,
                     artifacts=options.artifacts, limit=not options.no_limit):  # fmt: skip
        if not isinstance(found, Failure):
            print(f"{options.target}: {found} inputs")
            break
        failed = 1
        traceback.print_exception(found.__cause__)
        print(f"{found}\n  python -m fuzz {options.target} {found.path}", file=sys.stderr, flush=True)
        if not options.keep_going:
            break
    return failed


def write_start(name: str, corpus: Path | None, words: Path | None) -> None:
    """What a fuzzer starts from: a file for each input, and a dictionary."""
    from .driver import inputs_of
    from .targets import TARGETS

    if corpus is not None:
        corpus.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(inputs_of(name, TARGETS[name])):
            (corpus / f"seed-{number}").write_bytes(data)
    if words is not None:
        listed = ("".join(f"\\x{byte:02x}" for byte in word) for word in TARGETS[name].words)
        words.write_text("".join(f'"{word}"\n' for word in listed))


def follow_coverage(options: argparse.Namespace) -> None:
    """Hand the target to atheris, with a corpus that starts with the seeds; ends the process."""
    import atheris

    from .targets import TARGETS

    name, artifacts = options.target, options.artifacts
    artifacts.mkdir(parents=True, exist_ok=True)
    corpus = options.corpus or Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-corpus-"))
    words = artifacts / f"{name}.dict"
    write_start(name, corpus, words)
    arguments = [f"-artifact_prefix={artifacts}/{name}-", f"-dict={words}", *options.option]
    for option, value in (("-max_total_time", options.seconds), ("-runs", options.runs), ("-seed", options.seed)):
        if value is not None:
            arguments.append(f"{option}={int(value)}")
    atheris.Setup([sys.argv[0], *arguments, str(corpus)], TARGETS[name].one)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
