"""Threads of Python on one shared tokenizer: calls a second with several threads, beside those of one.

    python -m benchmarks.threads                         # this interpreter, threads 1 and 2, peers that are installed
    python -m benchmarks.threads --threads 1 2 4 8
    python tools/freethreaded.py -m benchmarks.threads   # without the interpreter lock
    python tools/freethreaded.py --ordinary -m benchmarks.threads

Each thread has texts and a bound method of its own: objects that threads share are counted up and down by all of them.
`wall` compares calls a second, which needs as many free processors as threads. `processor` compares processor time a
call, which holds on a busy machine, too, but does not see waiting: 1.00 means that a thread costs the others nothing.
"""
from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import texts

Call = Callable[[Any], Any]
ROUND = 0.1  # seconds of work of one thread
SIZES = (20, 200, 2000)


def own(items: list[Any]) -> list[Any]:
    """Copies that no other thread has."""
    return [item[:1] + item[1:] for item in items]


def libraries() -> Iterator[tuple[str, dict[str, Callable[[], Call]]]]:
    """Name, and for each form of a call what gives a thread its method."""
    tok = texts.tokenizer()
    yield "bpetite", {
        "list": lambda: tok.encode_ordinary,
        "array": lambda: tok.encode_to_numpy,
        "count": lambda: tok.count,
        "decode": lambda: tok.decode,
        "batch": lambda: lambda rows: tok.encode_batch(rows, num_threads=1),
    }
    if importlib.util.find_spec("tiktoken"):
        import tiktoken

        ranks = {token: token_id for token_id, token in tok.vocab.items() if token_id != tok.eot_token}
        encoding = tiktoken.Encoding("gpt2", pat_str=str(tok.pattern), mergeable_ranks=ranks, special_tokens={})
        yield "tiktoken", {
            "list": lambda: encoding.encode_ordinary,
            "array": lambda: lambda text: encoding.encode_to_numpy(text, disallowed_special=()),
            "decode": lambda: encoding.decode,
        }
    if importlib.util.find_spec("tokenizers"):
        import tokenizers

        theirs = tokenizers.Tokenizer.from_file(str(texts.vocabulary() / "tokenizer.json"))
        yield "tokenizers", {
            "list": lambda: lambda text: theirs.encode(text, add_special_tokens=False).ids,
            "decode": lambda: theirs.decode,
        }


def run(make: Callable[[], Call], items: list[Any], repeats: int, threads: int) -> tuple[float, float]:
    """Wall and processor nanoseconds a call, when each of the threads makes all calls so often."""
    ready = threading.Barrier(threads + 1)
    copies = [own(items) for _ in range(threads)]

    def work(mine: list[Any]) -> None:
        call = make()
        ready.wait()
        for _ in range(repeats):
            for item in mine:
                call(item)
        ready.wait()

    started = [threading.Thread(target=work, args=(mine,)) for mine in copies]
    for thread in started:
        thread.start()
    ready.wait()
    began, used = time.perf_counter(), time.process_time()
    ready.wait()
    calls = threads * repeats * len(items)
    measured = (time.perf_counter() - began) / calls * 1e9, (time.process_time() - used) / calls * 1e9
    for thread in started:
        thread.join()
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("forms", nargs="*", default=["list", "array", "count", "decode", "batch"], help="%(default)s")
    options = parser.parse_args()
    whole, tok = texts.text("english", 1_000_000), texts.tokenizer()
    lock = "without" if sysconfig.get_config_var("Py_GIL_DISABLED") else "with"
    print(f"Python {sys.version.split()[0]} {lock} the interpreter lock, medians of {options.rounds} rounds\n")
    columns = [f"{n} threads: wall | processor" for n in options.threads[1:]]
    print(f"| | characters | | ns a call, one thread | {' | '.join(columns)} |")
    print("|---|---|---|---|" + "---|---|" * len(columns))
    for name, forms in libraries():
        for form, size in ((form, size) for form in options.forms if form in forms for size in SIZES):
            items: list[Any] = [whole[at : at + size] for at in range(0, min(len(whole), 500 * size), size)]
            if form == "decode":
                items = [tok.encode(item) for item in items]
            if form == "batch":
                items = [items[at : at + 50] for at in range(0, len(items), 50)]
            once, _ = run(forms[form], items, 1, 1)
            repeats = max(1, round(ROUND * 1e9 / (once * len(items))))
            found: dict[int, list[tuple[float, float]]] = {n: [] for n in options.threads}
            for _ in range(options.rounds):
                for n, measured in found.items():
                    measured.append(run(forms[form], items, repeats, n))
            ones = found.pop(options.threads[0])
            cells = [f"{statistics.median(used for _, used in ones):,.0f}"]
            for several in found.values():
                for column in (0, 1):
                    ratios = (one[column] / each[column] for one, each in zip(ones, several, strict=True))
                    cells.append(f"{statistics.median(ratios):.2f}")
            print(f"| {name} | {size} | {form} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
