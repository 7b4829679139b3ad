"""A run that goes on from a state somebody else wrote: it fails, or goes on, and touches nothing but its output."""
from __future__ import annotations

import os
from dataclasses import replace

from bpetite import Tokenizer
from bpetite.corpus import Options, make_plan
from bpetite.corpus.run import run

from .scratch import fresh, scratch

__all__ = ["WORDS", "one", "seeds"]

WORDS = (
    b'"name"', b'"../keep"', b'"/keep"', b'"out.npy"', b'"finished"', b'"writers"', b'"files"', b'"position"',
    b'"tally"', b"null", b"[]", b"{}", b"-1", b"1e300", b'"drop"', b'"growing"', b'"lists"', b'"part"', b'"identity"',
)  # fmt: skip

TOK = Tokenizer.train("ab ab ab", 258)


class _Stopped(BaseException):
    pass


def _run(upto: int | None = None) -> None:
    """The run, in blocks of a few bytes, which ends after so many of them."""
    options = Options(shard_tokens=8, checkpoint_seconds=0, on_error="skip", rejected=True)
    folder, left = scratch("state"), upto

    def step(*_: object) -> None:
        nonlocal left
        left = None if left is None else left - 1
        if left == 0:
            raise _Stopped

    try:
        run(replace(make_plan(folder / "in.txt", folder / "out" / "o", TOK, options), block=8), progress=step)
    except _Stopped:
        pass


def _begun(upto: int) -> None:
    folder = fresh("state")
    (folder / "in.txt").write_bytes(b"ab<|endoftext|>ab ab\xff<|endoftext|>" * 8)
    os.utime(folder / "in.txt", (1, 1))  # or it would be another input than the one of the state
    (folder / "keep").write_text("keep")
    _run(upto)


def one(data: bytes) -> None:
    """A byte for where the run was stopped, then the state."""
    _begun(1 + (data[:1] or b"\0")[0] % 9)
    folder = scratch("state")
    before = (folder / "in.txt").read_bytes()
    if not (folder / "out" / "o.partial").is_dir():
        return
    (folder / "out" / "o.partial" / "state.json").write_bytes(data[1:])
    try:
        _run()
    except Exception:  # a state of the right version is trusted for its shape, not for the names in it
        pass
    if (folder / "keep").read_text() != "keep" or (folder / "in.txt").read_bytes() != before:
        raise AssertionError("a file outside of the output was touched")
    if {path.name for path in folder.iterdir()} != {"in.txt", "keep", "out"}:
        raise AssertionError("a file outside of the output was made or deleted")


def seeds() -> list[bytes]:
    """The states of runs that were stopped after each block."""
    made = []
    for upto in range(1, 9):
        _begun(upto)
        state = scratch("state") / "out" / "o.partial" / "state.json"
        if state.exists():
            made.append(bytes([upto - 1]) + state.read_bytes())
    return made
