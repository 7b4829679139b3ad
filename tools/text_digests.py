"""Prints a digest of the ids of texts: tools/text_digests.py TOKENIZER... -- TEXT...

A tokenizer is what `bpetite.Tokenizer.load` takes. Of each text the first 200,000 bytes are read.
"""
import hashlib
import sys
from pathlib import Path

from bpetite import Tokenizer

SIZE = 200_000


def digest(ids: list[int]) -> str:
    return hashlib.sha256(repr(ids).encode()).hexdigest()


def main() -> None:
    at = sys.argv.index("--")
    for name in sys.argv[1:at]:
        tok = Tokenizer.load(name)
        for path in map(Path, sys.argv[at + 1 :]):
            with path.open("rb") as file:
                text = file.read(SIZE).decode("utf-8", "ignore")
            ids = tok.encode_to_numpy(text)
            found = tok.encode_batch(text.splitlines(keepends=True), num_threads=2)
            flat = [token for line in found for token in line]
            if tok.decode(ids) != text or tok.decode(flat) != text:
                raise ValueError(f"{path}: the ids of {name} decode to another text")
            print(Path(name).name, path.name, len(ids), digest(ids.tolist()), digest(flat))


if __name__ == "__main__":
    main()
