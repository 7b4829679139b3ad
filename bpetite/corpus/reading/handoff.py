"""Reading ahead by a thread.

Corpora are worked on by threads, not processes: the tokenizer, decompression, checksums and file writes all release the
interpreter lock, so threads keep the cores busy, share one tokenizer, and hand over arrays without copying them through
a pipe. Two threads encode English 1.7 times as fast as one; two forked processes 1.2 times, even if they read by
themselves: starting them, copying the pages that they share and sending the tokens back is a third more work.
docs/corpus.md has the numbers.
"""
from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import TypeVar

from ...core._threads import Future

__all__ = ["read_ahead"]

Job = TypeVar("Job")


def read_ahead(jobs: Generator[Job, None, None]) -> Generator[Job, None, None]:
    """The same jobs, each read by a thread of its own while the caller works on the one before.

    An error of reading is raised after the jobs that were read before it. When this generator is closed, no thread
    reads any more and `jobs` is closed; so this is not for an input that can keep its reader waiting, such as a
    terminal.
    """
    read = partial(next, jobs, None)
    ahead: Future[Job | None] = Future.started(read)
    try:
        while (job := ahead.result()) is not None:
            ahead = Future.started(read)
            yield job
            del job  # it would be kept while the next one is awaited
    finally:
        ahead.wait()
        jobs.close()
