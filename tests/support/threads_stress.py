"""Everything that threads share, at once, for ThreadSanitizer and for interpreters without a lock.

    python tests/support/threads_stress.py [rounds]

Each round makes tokenizers, so that what is made on first use is made by several threads at a time; then threads
encode, decode and count with them, some calls on threads of their own, and compare with what one thread got.
"""
import random
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from bpetite import Tokenizer, Vocab, count_pretokens, patterns

THREADS = 6
PIECES = ["the cat ", "sat; ", "don't ", "2024", "naïve ", "中文字", "🙂", "\n\n  ", "<s>", "<|endoftext|>", " " * 40]


def texts(seed: int, count: int, size: int) -> list[str]:
    source = random.Random(seed)
    return ["".join(source.choices(PIECES, k=source.randrange(1, size))) for _ in range(count)]


def tokenizers() -> list[Tokenizer]:
    """Of both kinds, with a compiled scanner and without, with a pipeline, with a cache that forgets all the time."""
    sample = texts(0, 20, 60)
    made = [
        Tokenizer.train(sample, 300, special_tokens=["<s>", "<|endoftext|>"]),
        Tokenizer.train(sample, 300, pattern=patterns.CL100K, normalization="NFC", num_threads=3),
        Tokenizer.train(sample, 300, pattern=r"(?<=a)b|\w+|\s"),
    ]
    ranks = Vocab.build(made[0].vocab, None, made[0].special_tokens)
    return [*made, made[0].with_cache(1 << 12), made[0].with_cache(0), Tokenizer.from_vocab(ranks)]


def stress(seed: int) -> None:
    made = tokenizers()
    work = texts(seed, 12, 400)
    long = "".join(work) * 20
    fresh = [Tokenizer.from_vocab(tok.to_vocab()) for tok in made]
    barrier = threading.Barrier(THREADS)

    def calls(tok: Tokenizer, text: str, ids: list[int]) -> list[Callable[[], bool]]:
        return [
            lambda: tok.encode(text) == ids,
            lambda: tok.encode_to_numpy(text.encode()).tolist() == ids,
            lambda: tok.encode_batch([text] * 8, num_threads=3) == [ids] * 8,
            lambda: tok.count(text, num_threads=2) == len(ids),
            lambda: tok.encode(long, num_threads=3) == tok.encode(long),
            lambda: tok.encode_with_offsets(text)[0] == ids,
            lambda: list(tok.encode_iterable([text[:50], text[50:]])) == ids,
            lambda: tok.decode_bytes(ids) == b"".join(tok.token_bytes(token_id) for token_id in ids),
            lambda: len(tok.decode_batch([ids] * 4, errors="replace")) == 4,
            lambda: count_pretokens([text] * 8, num_threads=2).documents == 8,
        ]

    stream = made[0].decode_stream(errors="replace")
    changing = [97] * 2000

    def shared() -> bool:
        """Objects that people change in several threads: any result, and no crash."""
        changing.extend([98] * 500)
        try:
            made[0].decode(changing)
        except RuntimeError:  # it got shorter
            pass
        del changing[1000:]
        stream.feed([0xF0, 0x9F, 97])
        return stream.copy().flush() is not None

    expected = [[tok.encode(text) for text in work] for tok in made]

    def run(number: int) -> None:
        source = random.Random(f"{seed} {number}")
        barrier.wait()
        for _ in range(20):
            which, at = source.randrange(len(fresh)), source.randrange(len(work))
            call = source.choice([*calls(fresh[which], work[at], expected[which][at]), shared])
            if not call():
                raise AssertionError(f"tokenizer {which}, text {at}: another result in a thread")

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(run, number) for number in range(THREADS)]:
            done.result()


if __name__ == "__main__":
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for seed in range(rounds):
        stress(seed)
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"{rounds} rounds of {THREADS} threads, {'with' if locked else 'without'} the interpreter lock")
