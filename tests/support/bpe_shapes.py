"""Random files of tokenizer.json in the shapes that BPE has beside the usual ones, and texts for them."""
from __future__ import annotations

import random
from typing import Any

from huggingface_zoo import added

from bpetite.bytelevel import encode_token

#: What files of a shape have in common; the rest is drawn.
SHAPES: dict[str, dict[str, Any]] = {
    "words": {"words": True},
    "words, bytes": {"words": True, "bytes": True},
    "suffix": {"suffix": True, "words": None},
    "suffix, bytes": {"suffix": True, "bytes": True, "words": None},
    "lacking": {"lacking": True, "fallback": None, "space": None},
    "lacking, bytes": {"lacking": True, "bytes": True},
    "ASCII mark": {"space": True, "mark": "_", "fallback": None, "lacking": None},
    "whole pre-tokens": {"whole": True, "fallback": None, "space": None, "lacking": None, "words": None},
    "added letters": {"added": True, "space": None, "lacking": None},
    "trimmed": {"trim": True, "bytes": True, "words": None},
    "rewritten": {"rewritten": True, "space": None, "fallback": None},
    "mapped": {"mapped": True, "bytes": None, "suffix": None, "words": None},
    "BERT": {"bert": True, "bytes": None, "suffix": None, "words": None, "lacking": None},
    "byte tokens without fallback": {"plain bytes": True, "space": None, "lacking": None, "whole": None},
}
LETTERS = "ab é·▁_漢1.,<\n\t\u3000😀"
PIECES = [*LETTERS, "ab", "  ", " ", "</w>", "a</w>", "<unk>", "<s>", "<0x41>", "a b", "ba.", "éa", "\n\n "]
PIECES += ["\u00a0", "x", "A", "É", "\u0301", "e\u0323\u0301", "İ", "ΑΣ", "\u08d3"]
#: Characters that BertNormalizer removes, makes spaces of, or surrounds with spaces, and marks that it leaves.
RARE = ["\x00", "\x0c", "\u200b", "\ufffd", "\u0903", "\U0001d16d", "\U0001d165", "\u00ad", "\ue000", "漢字", "\uf900"]


def texts(draw: random.Random, count: int) -> list[str]:
    pieces = PIECES if draw.random() < 0.8 else [*PIECES, *RARE]
    return ["".join(draw.choices(pieces, k=draw.randint(0, 9))) for _ in range(count)]


def file_of(draw: random.Random, shape: str) -> dict[str, Any]:
    """A tokenizer.json of a shape."""
    has = {name: draw.random() < 0.4 if value is None else value for name, value in SHAPES[shape].items()}
    made = _model(draw, has)
    vocab = made["vocab"]
    special = [added(text, vocab[text], special=True) for text in ("<unk>", "<s>") if draw.random() < 0.8]
    if has.get("added"):
        literals = draw.sample(["é", "·", "a", "ab", "  ", "漢"], draw.randint(1, 3))
        known = [text for text in literals if text in vocab]
        new = [text for text in literals if text not in vocab]
        ids = [*((text, vocab[text]) for text in known), *((text, len(vocab) + at) for at, text in enumerate(new))]
        special += [added(text, token_id, **_flags(draw)) for text, token_id in ids]
    trim = {"type": "ByteLevel", "add_prefix_space": draw.random() < 0.5, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
        "normalizer": _normalizer(draw, has), "pre_tokenizer": _pre_tokenizer(draw, has),
        "post_processor": trim if has.get("trim") else None, "decoder": _decoder(draw, has),
        "model": {"type": "BPE", "ignore_merges": bool(has.get("whole")), **made},
    }  # fmt: skip


def _flags(draw: random.Random) -> dict[str, bool]:
    names = ("special", "normalized", "lstrip", "rstrip", "single_word")
    return {name: draw.random() < 0.2 for name in names}


def _model(draw: random.Random, has: dict[str, Any]) -> dict[str, Any]:
    as_bytes, lacking, mark = has.get("bytes"), has.get("lacking"), has.get("mark", "▁")
    letters = [encode_token(bytes([byte])) for byte in range(256)] if as_bytes else [*LETTERS]
    if as_bytes and lacking:
        common = set("".join(map(encode_token, LETTERS)))
        letters = [one for one in letters if (draw.random() < 0.75 if one in common else draw.random() < 0.4)]
    elif lacking:
        letters = draw.sample(letters, draw.randint(3, len(letters) - 1))
    if has.get("space") and mark not in letters:
        letters.append(mark)
    fallback = bool(has.get("fallback")) and not as_bytes
    unknown = None if as_bytes and not lacking and draw.random() < 0.5 else draw.choice([None, "<unk>"])
    if not (as_bytes or fallback or lacking) and unknown is None:
        unknown = draw.choice(["<unk>", None])
    tokens = ["<unk>", "<s>", *letters]
    if fallback or has.get("plain bytes"):
        all_bytes = [f"<0x{byte:02X}>" for byte in range(256)]
        tokens += draw.sample(all_bytes, 250) if lacking and draw.random() < 0.5 else all_bytes
    suffix = "</w>" if has.get("suffix") else ""
    ends = [letter + suffix for letter in letters if suffix and ((as_bytes and not lacking) or draw.random() < 0.8)]
    tokens += ends
    frequent = "abÃ©ĠĊ_.1<" if as_bytes else {*LETTERS} - {" "} if has.get("space") else {*LETTERS}
    common = [one for one in letters if one in frequent]
    parts, merges = [*common, *(one + suffix for one in common if one + suffix in ends)], []
    for _ in range(draw.randint(0, 40)):
        pair = draw.choice(parts or ["<s>"]), draw.choice(parts or ["<s>"])
        joined = "".join(pair)
        if list(pair) in merges or (suffix and suffix in joined.removesuffix(suffix)) or len(joined) > 12 or not parts:
            continue
        merges.append(list(pair))
        parts.append(joined)
    tokens += parts
    if has.get("whole"):
        tokens += draw.sample(["a b", "▁a", "_a", "ab.", "éa", "<0x4", mark + mark], 3)
    if as_bytes:
        tokens = [one for one in tokens if one in ("<unk>", "<s>") or not {*one} & {" ", "▁", "漢"}]
    vocab = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    return {
        "unk_token": unknown, "fuse_unk": draw.random() < 0.5, "byte_fallback": fallback, "vocab": vocab,
        "merges": merges, "end_of_word_suffix": suffix or draw.choice([None, ""]), "continuing_subword_prefix": None,
    }  # fmt: skip


def _replace(content: str, **pattern: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _normalizer(draw: random.Random, has: dict[str, Any]) -> dict[str, Any] | None:
    mark, steps = has.get("mark", "▁"), []
    if has.get("mapped"):
        steps += [{"type": name} for name in draw.choices(["NFD", "NFC", "Lowercase", "StripAccents"], k=3)]
    if has.get("bert"):
        names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
        steps.append({"type": "BertNormalizer"} | {name: draw.random() < 0.7 for name in names})
        steps[-1]["strip_accents"] = draw.choice([None, True, False])
    if has.get("rewritten"):
        pattern = draw.choice(["a*", "", "(?=a)", "$", "b?", "\\s*", "(a|)"])
        steps.append(_replace(draw.choice(["", "b", "ab"]), Regex=pattern))
    if draw.random() < 0.2:
        steps.append({"type": "Prepend", "prepend": draw.choice([mark, " ", "ab"])})
    has["written"] = bool(has.get("space")) and draw.random() < 0.5
    if has["written"]:
        steps.append(_replace(mark, String=" "))
    if draw.random() < 0.1:
        steps.append({"type": "NFC"})
    return {"type": "Sequence", "normalizers": steps} if steps else None


def _split(pattern: str, behavior: str, invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def _pre_tokenizer(draw: random.Random, has: dict[str, Any]) -> dict[str, Any] | None:
    steps: list[dict[str, Any]] = []
    if has.get("words"):
        steps.append(draw.choice([
            {"type": "Whitespace"}, {"type": "WhitespaceSplit"}, {"type": "BertPreTokenizer"},
            {"type": "CharDelimiterSplit", "delimiter": draw.choice([" ", "_", "a", "é", "."])},
            _split(r"[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", "Removed", True),
            {"type": "FixedLength", "length": 3}, _split(" ", "Removed"), _split(r"\s+", "Removed"),
            _split("a+", "Removed"), _split(r"ab|\s", "Removed"),
        ]))  # fmt: skip
    if draw.random() < 0.3:
        steps.append(draw.choice([
            {"type": "Digits", "individual_digits": True}, {"type": "Punctuation", "behavior": "Isolated"},
            _split(r"\s+(?!\S)|\s+|\S+", "Isolated"), _split("a", "MergedWithNext"), _split("<0x..>|ab", "Isolated"),
        ]))  # fmt: skip
    if has.get("space") and (not has["written"] or draw.random() < 0.3):
        scheme = draw.choice(["always", "never", "first"])
        has["scheme"] = scheme
        mark = has.get("mark", "▁")
        steps.append({
            "type": "Metaspace", "replacement": mark, "prepend_scheme": scheme, "split": draw.random() < 0.5
        })  # fmt: skip
    if has.get("bytes"):
        regex = draw.random() < 0.5
        steps.append({
            "type": "ByteLevel", "add_prefix_space": draw.random() < 0.3, "trim_offsets": True, "use_regex": regex
        })  # fmt: skip
    if not steps:
        return None
    return {"type": "Sequence", "pretokenizers": steps} if len(steps) > 1 or draw.random() < 0.5 else steps[0]


def _decoder(draw: random.Random, has: dict[str, Any]) -> dict[str, Any] | None:
    if has.get("suffix") and draw.random() < 0.5:
        return {"type": "BPEDecoder", "suffix": "</w>"}
    if has.get("bytes"):
        if draw.random() < 0.3:
            return None
        return {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    fuse, mark = [{"type": "ByteFallback"}, {"type": "Fuse"}][bool(has.get("plain bytes")) :], has.get("mark", "▁")
    if has.get("space") and draw.random() < 0.7:
        if draw.random() < 0.4:
            scheme = has.get("scheme", "always")
            metaspace = {"type": "Metaspace", "replacement": mark, "prepend_scheme": scheme, "split": True}
            return {"type": "Sequence", "decoders": [metaspace, *fuse]} if has.get("fallback") else metaspace
        strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if draw.random() < 0.5 else []
        return {"type": "Sequence", "decoders": [_replace(" ", String=mark), *fuse, *strip]}
    if has.get("fallback"):
        return {"type": "Sequence", "decoders": fuse}
    return draw.choice([None, {"type": "Fuse"}])
