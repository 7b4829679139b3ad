"""Files of tokenizers: read, or refused with FormatError. What was read can be written and read back, and its ids
decode to the text."""
from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from bpetite import FormatError, Tokenizer, Vocab, bytelevel, formats, patterns

from .scratch import fresh, write

__all__ = [
    "JSON_WORDS", "gguf", "gguf_seeds", "gpt2", "gpt2_seeds", "huggingface",
    "huggingface_seeds", "native", "native_seeds", "sentencepiece", "sentencepiece_seeds", "tekken", "tekken_seeds",
    "tiktoken", "tiktoken_seeds",
]  # fmt: skip

TEXT = "ab ab<s>abc\n 12é<|endoftext|>的 "

JSON_WORDS = (
    b"{", b"}", b"[", b"]", b",", b":", b'""', b"null", b"true", b"false", b"-1", b"4294967296", b"1e400", b"0.5",
    b'"\\ud800"', b'"type"', b'"Sequence"', b'"Split"', b'"ByteLevel"', b'"Regex"', b'"String"', b'"Isolated"', b'"id"',
    b'"content"', b'"special"', b'"normalized"', b'"single_word"', b'"lstrip"', b'"rstrip"', b'"NFC"', b'"pattern"',
    b'"merges"', b'"vocab"', b'"added_tokens"', b'"\\\\p{N]|[a}]"', b'"(?:a{64}){64}"', b'"\\\\s+(?!\\\\S)|."',
)  # fmt: skip


def _check(vocab: Vocab) -> None:
    """What holds for every vocabulary that a loader gives."""
    again = fresh("again") / "tok.json"
    formats.save(vocab, again)
    if formats.load(again, format="native") != vocab:
        raise AssertionError("saved and loaded, it is another vocabulary")
    tok = Tokenizer.from_vocab(vocab)
    if tok.scanner in ("regex", "pipeline") and (vocab.alphabet is None or vocab.pattern is not None):
        return  # `regex` may take exponential time for a pattern made to do so
    try:
        ids = tok.encode(TEXT)
    except ValueError as error:
        if "no token" not in str(error):
            raise
        return
    if vocab.unreachable.intersection(ids):
        raise AssertionError(f"{ids} hold an unreachable id")
    hidden = [*vocab.unreachable]
    if vocab.alphabet is None and tok.decode_bytes(hidden) != b"".join(map(vocab.tokens.__getitem__, hidden)):
        raise AssertionError("unreachable tokens are not decoded")
    rewritten = tok.normalization is not None or vocab.aliases or vocab.alphabet is not None
    if not rewritten and not any("strip" in flag for flags in vocab.token_flags.values() for flag in flags):
        found = tok.decode(ids)
        if found != TEXT:
            raise AssertionError(f"decoded to {found!r}")


def _load(path: Path, format: formats.Format) -> None:
    try:
        vocab = formats.load(path, format=format)
    except FormatError as error:
        if len(str(error)) > 2_000:
            raise AssertionError(f"an error of {len(str(error))} characters") from error
        return
    _check(vocab)


def native(data: bytes) -> None:
    _load(write("native", "tok.json", data), "native")


def huggingface(data: bytes) -> None:
    _load(write("huggingface", "tokenizer.json", data), "huggingface")


def tekken(data: bytes) -> None:
    _load(write("tekken", "tekken.json", data), "tekken")


def sentencepiece(data: bytes) -> None:
    _load(write("sentencepiece", "tokenizer.model", data), "sentencepiece")


def gguf(data: bytes) -> None:
    _load(write("gguf", "model.gguf", data), "gguf")


def tiktoken(data: bytes) -> None:
    try:
        vocab = formats.tiktoken.load(write("tiktoken", "a.tiktoken", data), pattern=patterns.CL100K)
    except FormatError:
        return
    _check(vocab)


def gpt2(data: bytes) -> None:
    """vocab.json, a zero byte, merges.txt."""
    vocab_json, _, merges = data.partition(b"\0")
    write("gpt2", "vocab.json", vocab_json)
    write("gpt2", "merges.txt", merges)
    _load(write("gpt2", "merges.txt", merges).parent, "gpt2")


# ---- seeds

ALPHABET = {bytelevel.encode_token(bytes([byte])): byte for byte in range(256)}
SPELLED = {**ALPHABET, "ab": 256, "Ġa": 257, "Ġab": 258}
MERGES = ["a b", "Ġ a", "Ġ ab"]
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}


def _dump(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode()


def _vocabs() -> list[Vocab]:
    few = {0: b"a", 1: b"b", 2: b" ", 3: b"ab"}
    whole = {byte: bytes([byte]) for byte in range(256)}
    return [
        Vocab.build(few, [(b"a", b"b")], ["<s>"], pattern=None),
        Vocab.build(few, None, {"<s>": 7}, pattern=r"\w+|\s"),
        Vocab.build(whole, [], ["<s>", "<|endoftext|>"], pattern=patterns.O200K,
                    normalization="NFC", errors="replace"),
        Vocab.build(whole | {256: b"ab"}, [(b"a", b"b")], ["<s>"], ignore_merges=True,
                    token_flags={"<s>": ("lstrip", "single_word")}),
        Vocab.build(whole | {256: b"ab", 257: b"", 258: b"a"}, None, {"<s>": 260, "<t>": 260},
                    unreachable=frozenset({258})),
    ]  # fmt: skip


def native_seeds() -> list[bytes]:
    return [formats.native.dump(vocab) for vocab in _vocabs()]


def _tokenizer_json(**changes: Any) -> bytes:
    model = {"type": "BPE", "vocab": SPELLED, "merges": MERGES}
    added = [{"id": 259, "content": "<s>", "special": True, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False}]  # fmt: skip
    return _dump({"version": "1.0", "added_tokens": added, "pre_tokenizer": BYTE_LEVEL, "model": model} | changes)


def huggingface_seeds() -> list[bytes]:
    split = {"type": "Split", "pattern": {"Regex": r"\p{N}{1,3}|\s+(?!\S)|[^\s\p{N}]+"}, "behavior": "Isolated",
             "invert": False}  # fmt: skip
    bytes_only = BYTE_LEVEL | {"use_regex": False}
    steps = [{"type": "Digits", "individual_digits": True}, split, bytes_only]
    parts = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    template = {"type": "TemplateProcessing", "single": parts, "pair": parts,
                "special_tokens": {"<s>": {"id": "<s>", "ids": [259], "tokens": ["<s>"]}}}  # fmt: skip
    plain = [{"id": 259, "content": "abc", "single_word": True, "normalized": True, "special": False, "lstrip": True}]
    characters = {text: token_id for token_id, (text, _, _) in enumerate(PIECES)}
    return [
        _tokenizer_json(),
        _tokenizer_json(
            model={"type": "BPE", "vocab": characters, "merges": ["a b", "▁ ab"], "unk_token": "<unk>",
                   "byte_fallback": True, "fuse_unk": True},
            added_tokens=[{"id": 1, "content": "<s>", "special": True, "normalized": False}], pre_tokenizer=None,
            normalizer={"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            decoder={"type": "Sequence", "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
                {"type": "Fuse"}]},
        ),
        _tokenizer_json(model={"type": "BPE", "vocab": SPELLED | {"": 260, " ": 261, "的": 262}, "merges": MERGES,
                               "ignore_merges": True}),
        _tokenizer_json(pre_tokenizer={"type": "Sequence", "pretokenizers": steps}, normalizer={"type": "NFC"}),
        _tokenizer_json(post_processor=template, decoder={"type": "ByteLevel"}, added_tokens=plain + [
            {"id": 260, "content": "<s>", "special": True}]),
        _tokenizer_json(normalizer={"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "x"}, {"type": "Replace", "pattern": {"String": " "}, "content": "_"}]}),
        *[formats.huggingface.dump(vocab) for vocab in _vocabs()
          if vocab.merges is not None and len(vocab.tokens) > 9 and vocab.errors == "strict"],
    ]  # fmt: skip


#: (text, score, kind) of pieces; the kinds are those of SentencePiece: unknown, control, put in by hand, byte.
PIECES: list[tuple[str, float, int]] = [
    ("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("abc", 0.0, 4), *((f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)),
    ("ab", -1.0, 1), ("▁ab", -2.0, 1), *((letter, -9.0, 1) for letter in "▁ab的é"), ("▁▁", -99.0, 1), ("▁▁▁", -99.0, 1),
]  # fmt: skip


def _field(number: int, value: bytes | int) -> bytes:
    """A field of a protobuf message, with lengths below 2**14."""
    size = value if isinstance(value, int) else len(value)
    tag = [number << 3 | 2 * isinstance(value, bytes)] if number < 16 else [(number << 3 & 0x7F) | 0x80, number >> 4]
    return bytes([*tag, *([size] if size < 0x80 else [size & 0x7F | 0x80, size >> 7])]) + (
        value if isinstance(value, bytes) else b""
    )


def sentencepiece_seeds() -> list[bytes]:
    pieces = b"".join(
        _field(1, _field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + _field(3, kind))
        for text, score, kind in PIECES
    )
    return [
        pieces + _field(2, _field(3, 2) + _field(24, suffix)) + _field(3, _field(3, prefix) + _field(4, trim))
        for prefix, trim, suffix in ((1, 1, 0), (0, 0, 0), (1, 0, 1))
    ]


def _gguf_value(value: Any) -> tuple[int, bytes]:
    """The code of a type, and the value."""
    if isinstance(value, bool):
        return 7, struct.pack("<?", value)
    if isinstance(value, str):
        return 8, struct.pack("<Q", len(value.encode())) + value.encode()
    if isinstance(value, list):
        made = [_gguf_value(one) for one in value]
        return 9, struct.pack("<IQ", made[0][0], len(made)) + b"".join(data for _, data in made)
    return (6, struct.pack("<f", value)) if isinstance(value, float) else (4, struct.pack("<I", value))


def gguf_seeds() -> list[bytes]:
    texts, scores, kinds = (list(column) for column in zip(*PIECES, strict=True))
    printable = sorted(SPELLED, key=SPELLED.__getitem__)
    files: list[dict[str, Any]] = [
        {"model": "llama", "tokens": texts, "scores": scores, "token_type": kinds, "bos_token_id": 1,
         "add_bos_token": True},
        {"model": "gpt2", "pre": "llama-bpe", "tokens": [*printable, "<s>"], "merges": MERGES,
         "token_type": [1] * len(printable) + [3], "eos_token_id": len(printable)},
    ]  # fmt: skip
    made = []
    for file in files:
        rows = [(f"tokenizer.ggml.{key}", *_gguf_value(value)) for key, value in file.items()]
        packed = [_gguf_value(key)[1] + struct.pack("<I", code) + data for key, code, data in rows]
        made.append(b"GGUF" + struct.pack("<IQQ", 3, 0, len(rows)) + b"".join(packed))
    return made


def tekken_seeds() -> list[bytes]:
    from base64 import b64encode

    tokens = [bytes([byte]) for byte in range(256)] + [b"ab", b" ab"]
    entries = [{"rank": rank, "token_bytes": b64encode(token).decode()} for rank, token in enumerate(tokens)]
    config = {"pattern": r"\p{L}+|\p{N}|\s+(?!\S)|.", "default_vocab_size": 262, "default_num_special_tokens": 4}
    named = [{"rank": rank, "token_str": literal} for rank, literal in enumerate(("<unk>", "<s>", "</s>", "[INST]"))]
    return [_dump({"config": config, "vocab": entries}), _dump(
        {"config": config, "vocab": entries, "special_tokens": named})]


def tiktoken_seeds() -> list[bytes]:
    ranks = [vocab for vocab in _vocabs() if vocab.merges is None and not vocab.unreachable]
    whole = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"", 258: b" ab"}
    return [formats.tiktoken.dump(vocab) for vocab in [*ranks, Vocab.build(whole, None, pattern=patterns.CL100K)]]


def gpt2_seeds() -> list[bytes]:
    merges = "\n".join(["#version: 0.2", *MERGES, ""]).encode()
    special = SPELLED | {"<|endoftext|>": 259}
    return [_dump(spelled) + b"\0" + merges for spelled in (SPELLED, special, special | {"": 260})]
