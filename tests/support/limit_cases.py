"""Tokenizers of every kind and texts that are hard for them, for the tests of what counts tokens."""
from dataclasses import replace

from hypothesis import strategies as st
from splits import COMPILED, texts

from bpetite import Tokenizer, patterns
from bpetite.steps.normalizers import Prepend
from bpetite.steps.splits import Split

END = "<|endoftext|>"
SPECIALS = [END, END + END, "<|endo", "<", "the cat"]
FLAGS = {END: ("lstrip",), "<": ("rstrip",), "<|endo": ("normalized",), "the cat": ("single_word",)}
CORPUS = "I'll say the cat's naïve: don't été  12345 的的的 <end>\n\n  x = 1 zzzzzzzz          \n\n\n" * 3
TRAINED = Tokenizer.train(CORPUS, 330, special_tokens=SPECIALS, pattern=patterns.CL100K)


def tokenizer(pattern: object = patterns.GPT2, normalization: object = None) -> Tokenizer:
    vocab = TRAINED.vocab, TRAINED.merges, TRAINED.special_tokens
    return Tokenizer(*vocab, pattern=pattern, normalization=normalization)  # type: ignore[arg-type]


def flagged(tok: Tokenizer, flags: dict[str, tuple[str, ...]]) -> Tokenizer:
    return Tokenizer.from_vocab(replace(tok.to_vocab(), token_flags=flags))


def llama(*more: str) -> Tokenizer:
    """A vocabulary as Llama 2's, small."""
    texts = ["▁t", "h e", "▁t he", "▁ ▁", "a t"]
    merges = [tuple(text.split(" ")) if " " in text else (text[0], text[1]) for text in texts]
    tokens = ["<unk>", "<s>", *[f"<0x{byte:02X}>" for byte in range(256)], *"▁theac.", *more]
    tokens = list(dict.fromkeys([*tokens, *("".join(pair) for pair in merges)]))
    return Tokenizer.from_huggingface({
        "added_tokens": [{"id": number, "content": tokens[number], "special": True}
                         for number in (0, 1, *map(tokens.index, more))],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        ]},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ]},
        "model": {
            "type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True,
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": [" ".join(pair) for pair in merges],
        },
    })  # fmt: skip


#: All named patterns and others that compile; what only `regex` splits; no pattern; normal forms; pipelines; a Llama.
TOKENIZERS = {
    **{name: tokenizer(pattern) for name, pattern in COMPILED.items()},
    "regex": tokenizer(r"\b\w+|\s+"),
    "none": tokenizer(None),
    **{form: tokenizer(patterns.CL100K, form) for form in ("NFC", "NFKD")},
    "regex NFC": tokenizer(r"\b\w+|\s+", "NFC"),
    "pipeline": tokenizer((Split(r"\d", "removed"), patterns.GPT2), (Prepend("_"),)),
    "flags": flagged(tokenizer(patterns.CL100K, (Prepend("_"), "NFC")), FLAGS),
    "llama": llama(*SPECIALS),
}
# of special tokens that share an id only one has its literal for bytes
TOKENIZERS["shared id"] = Tokenizer(TRAINED.vocab, TRAINED.merges, {**TRAINED.special_tokens, "<|": 999, "<|>>": 999})
TOKENIZERS |= {f"{name}, ranks": TOKENIZERS[name].to_ranks() for name in ("gpt2", "cl100k", "none", "regex", "NFC")}

pieces = st.one_of(st.sampled_from([END, "<|endo", "<|", ">", "the ", "cat", "<", "的", "e\u0301"]), texts(6))
some_texts = st.lists(pieces, max_size=10).map("".join)
names = st.sampled_from(sorted(TOKENIZERS))
