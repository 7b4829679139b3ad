"""Everything that threads share, at once, for ThreadSanitizer and for interpreters without a lock.

    python tools/threads_stress.py [rounds]

Each round makes tokenizers, so that what is made on first use is made by several threads at a time; then threads call
every public method of them, some calls on threads of their own, and compare with what one thread got.
"""
import copy
import pickle
import random
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from bpetite import Tokenizer, Vocab, count_pretokens, patterns, serving
from bpetite.adapters.decode_streams import DecodeStream

THREADS = 8
PIECES = ["the cat ", "sat; ", "don't ", "2024", "naïve ", "中文字", "🙂", "\n\n  ", "<s>", "<|endoftext|>", " " * 40]
WORDS = "abbreviation abbreviations correspondence correspondences " * 3
PROPERTIES = [
    "eot_token", "errors", "kind", "merges", "normalization", "pattern", "scanner", "special_tokens", "template",
    "vocab", "vocab_size",
]  # fmt: skip
#: Public methods that are not called: they make a tokenizer of a file or a name, or need a package.
NOT_CALLED = [
    "as_tokenizers", "as_transformers", "encode_batch_to_arrow", "from_files", "from_huggingface", "from_pretrained",
    "from_tiktoken", "train_from_files",
]  # fmt: skip


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


def calls_of(tok: Tokenizer, text: str, folder: Path) -> dict[str, Callable[[], Any]]:
    """Each public method, and what else people do with a tokenizer; no result depends on other threads."""
    ids = tok.encode(text)
    content = tok.decode_bytes(ids)  # a normalized text has other bytes
    short, long = text[:200], text * 200

    def saved() -> bytes:
        path = folder / f"{threading.get_ident()}.bpe"
        tok.save(path, overwrite=True)
        return Tokenizer.load(path).fingerprint().encode() + path.read_bytes()

    def streamed() -> str:
        stream = tok.decode_stream(errors="replace")
        return "".join(map(stream.feed, ids)) + stream.copy().flush()

    made: dict[str, Callable[[], Any]] = {
        "encode": lambda: (tok.encode(text), tok.encode(long, num_threads=3)),
        "encode some": lambda: tok.encode(text, allowed_special=set(random.sample([*tok.special_tokens], 1)))[:0],
        "encode at random": lambda: tok.encode(text, dropout=0.1, seed=3),
        "encode_ordinary": lambda: tok.encode_ordinary(text),
        "encode_to_numpy": lambda: tok.encode_to_numpy(text.encode()).tolist(),
        "encode_batch": lambda: tok.encode_batch([text] * 8, num_threads=3),
        "encode_batch_to_numpy": lambda: [part.tolist() for part in tok.encode_batch_to_numpy([text, short])],
        "encode_padded": lambda: tok.encode_padded([text, short], pad_token=0).input_ids.tolist(),
        "encode_iterable": lambda: list(tok.encode_iterable([text[:50], text[50:]])),
        "encode_with_offsets": lambda: tok.encode_with_offsets(text),
        "id_map": lambda: tok.id_map(tok).tolist(),
        "count": lambda: (tok.count(text, num_threads=2), tok.count(text, limit=7)),
        "count_batch": lambda: tok.count_batch([text, long], num_threads=2).tolist(),
        "chunks": lambda: list(tok.chunks(text, 30)),
        "truncate": lambda: tok.truncate(text, 20),
        "decode": lambda: tok.decode(ids, errors="replace"),
        "decode_batch": lambda: tok.decode_batch([ids, ids[:9]], errors="replace", skip_special_tokens=True),
        "decode_bytes": lambda: tok.decode_bytes(tok.encode_to_numpy(text)),
        "decode_iterable": lambda: "".join(tok.decode_iterable(ids, errors="replace")),
        "decode_stream": streamed,
        "token_bytes": lambda: b"".join(map(tok.token_bytes, ids)) == content,
        "token_id": lambda: tok.token_id(tok.token_bytes(ids[0])),
        "fingerprint": lambda: (tok.fingerprint(), hash(tok), repr(tok), len(tok)),
        "to_vocab": lambda: replace(tok.to_vocab()) == tok.to_vocab(),
        "from_vocab": lambda: Tokenizer.from_vocab(tok.to_vocab()) == tok,
        "with_cache": lambda: tok.with_cache(1 << 16).encode(short),
        "train": lambda: Tokenizer.train([short], 270).fingerprint(),
        "train_from_counts": lambda: Tokenizer.train_from_counts(count_pretokens([short]), 270).fingerprint(),
        "prune": lambda: tok.prune(keep=range(256)).tokenizer.fingerprint() if tok.kind == "merges" else None,
        "save": saved,
        "load": saved,
        "pickle": lambda: (pickle.loads(pickle.dumps(tok)) == tok, copy.deepcopy(tok) == tok),
        "serving": lambda: (
            serving.heal(tok, short), serving.is_canonical(tok, ids),
            serving.encode_segments(tok, [(short, True), (short, False)]),
        ),
    }  # fmt: skip
    if tok.kind == "merges":
        made["to_ranks"] = lambda: tok.to_ranks().kind
        if tok.normalization is None and tok.scanner != "regex":
            made["extend"] = lambda: tok.extend([short, WORDS], 3, num_threads=2).fingerprint()
    else:
        made["to_merges"] = lambda: tok.to_merges().fingerprint()
        made["as_tiktoken"] = lambda: tok.as_tiktoken("any").encode(text, allowed_special="all")
    made |= {name: lambda name=name: getattr(tok, name) for name in PROPERTIES}
    return made


def shared_objects(tok: Tokenizer, text: str) -> list[Callable[[], Any]]:
    """Objects that people change in several threads: any result or an error of Python, and no crash."""
    ids = tok.encode(text)
    stream, other, changing = tok.decode_stream(errors="replace"), DecodeStream(), [97] * 2000
    counts = count_pretokens([text] * 4, num_threads=2)
    pieces = tok.decode_iterable([0xF0, *ids * 4], errors="replace")

    def grown_and_cut() -> None:
        changing.extend([98] * 500)
        try:
            tok.decode(changing)
        except RuntimeError:  # it got shorter
            pass
        del changing[1000:]

    def next_piece() -> None:
        try:
            next(pieces, None)
        except ValueError:  # another thread is in the iterator
            pass

    return [
        grown_and_cut,
        next_piece,
        lambda: (stream.feed([0xF0, 0x9F, 97]), stream.feed(0xF0), stream.copy().flush(), stream.flush()),
        lambda: [other.step(tok, token_id) for token_id in (0xF0, 0x9F, 97, *ids[:3])],
        lambda: (len(counts), counts.total, dict(counts), counts.get(b"the"), pickle.dumps(counts)),
    ]


def stress(seed: int, folder: Path) -> None:
    fresh = [Tokenizer.from_vocab(replace(tok.to_vocab())) for tok in tokenizers()]
    work = texts(seed, 3, 200)
    calls = [[calls_of(tok, text, folder) for text in work] for tok in tokenizers()]
    expected = [[{name: call() for name, call in of_text.items()} for of_text in of_tok] for of_tok in calls]
    calls = [[calls_of(tok, text, folder) for text in work] for tok in fresh]
    shared = shared_objects(fresh[0], work[0])
    barrier = threading.Barrier(THREADS)

    def run(number: int) -> None:
        source = random.Random(f"{seed} {number}")
        barrier.wait()
        for _ in range(15):
            which, at = source.randrange(len(fresh)), source.randrange(len(work))
            name = source.choice([*calls[which][at]])
            if calls[which][at][name]() != expected[which][at][name]:
                raise AssertionError(f"tokenizer {which}, text {at}, {name}: another result in a thread")
            source.choice(shared)()

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(run, number) for number in range(THREADS)]:
            done.result()


if __name__ == "__main__":
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as made:
        for seed in range(rounds):
            stress(seed, Path(made))
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"{rounds} rounds of {THREADS} threads, {'with' if locked else 'without'} the interpreter lock")
