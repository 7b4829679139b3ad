"""The decoder in tokenizer.json, read and written, and the alphabet that it implies with the model and the steps.

Source: https://github.com/huggingface/tokenizers, ``tokenizers/src/decoders``
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..bytelevel import ALPHABET, encode_token
from ..errors import FormatError, short_repr
from ..patterns import as_tuple
from ..vocabulary.spelling import SpelledIds
from .files import errors_named
from .huggingface_steps import read_metaspace, sequence_of, steps_of

if TYPE_CHECKING:
    from ..vocabulary.alphabet import Alphabet, Decoding, Strip


class Decoder(NamedTuple):
    """The decoder of a file.

    Args:
        space: The character of which it makes a space, or "".
        reads_bytes: It reads byte tokens.
        strip: What it takes from the beginning of a text.
        decoding: The text that it makes of tokens.
    """

    space: str = ""
    reads_bytes: bool = False
    strip: Strip = "none"
    decoding: Decoding = "bytes"


#: The sequences of decoders that are supported, as regular expressions over one letter a decoder (read_decoder has the
#: letters): for merges of characters, and of bytes.
OF_CHARACTERS, OF_BYTES = "R?B?(?:FS?)?|MB?F?|E", "L*|E"


def read_decoder(content: dict[str, Any], name: str, *, characters: bool) -> Decoder:
    """The decoder of a file; ``characters`` if its merges begin from these."""
    found, order = Decoder(decoding="bytes" if content.get("decoder") is not None else "spaced"), ""
    for step, where in steps_of(content.get("decoder"), f"{name}: decoder", "decoders"):
        type_name, pattern = step["type"], step.get("pattern")
        text = pattern.get("String") if isinstance(pattern, dict) else None
        letter = {"ByteLevel": "L", "ByteFallback": "B", "Fuse": "F", "BPEDecoder": "E"}.get(type_name, "?")
        if type_name == "Replace" and step.get("content") == " " and isinstance(text, str) and len(text) == 1:
            found, letter = found._replace(space=text), "R"
        elif type_name == "Metaspace" and characters:
            made = read_metaspace(step, where)
            found, letter = found._replace(space=made.space, strip="none" if made.prefix == "never" else "token"), "M"
        elif type_name == "Strip" and [step.get(key) for key in ("content", "start", "stop")] == [" ", 1, 0]:
            found, letter = found._replace(strip="one"), "S"
        order += letter
        if not re.fullmatch(OF_CHARACTERS if characters else OF_BYTES, order):
            raise FormatError(f"{where}: bpetite does not have the decoder {type_name} here: {short_repr(step)}")
        mark = step.get("suffix")
        if letter == "E" and not (mark and mark == content["model"].get("end_of_word_suffix")):
            raise FormatError(
                f"{name}: decoder makes a space of {short_repr(mark)}, and model.end_of_word_suffix is not this mark"
            )
    return found._replace(reads_bytes="B" in order, decoding="marks" if order == "E" else found.decoding)


def read_alphabet(
    content: dict[str, Any], decoder: Decoder, ids: SpelledIds, settings: Mapping[str, Any], name: str
) -> Alphabet:
    """The alphabet of a file whose merges begin from characters; ``settings`` has its normalization and pattern."""
    from ..steps.simplified import written_for_spaces
    from ..steps.splits import Metaspace
    from ..vocabulary.alphabet import Alphabet

    model, space = content["model"], decoder.space
    written = {step.space for step in as_tuple(settings["pattern"]) if isinstance(step, Metaspace)}
    if space and space not in written | written_for_spaces(settings["normalization"]):
        raise FormatError(
            f"{name}: decoder makes a space of {space!r}, and neither normalizer nor pre-tokenizer writes it for one"
        )
    if space and space not in ids:
        raise FormatError(f"{name}: the character for a space, {space!r}, is no token")
    byte_ids = tuple(ids.get(f"<0x{byte:02X}>") for byte in range(256)) if falls_back(model, decoder) else ()
    if not any(byte is not None for byte in byte_ids):
        byte_ids = ()
    if byte_ids and not (model.get("byte_fallback") and decoder.reads_bytes):
        raise FormatError(
            f"{name}: byte tokens such as <0x0A> take both model.byte_fallback and the decoder ByteFallback, or neither"
        )
    unknown = _unknown(model, ids, name)
    drops = unknown is None and not _has_all_bytes(byte_ids, ids)
    with errors_named(name):
        return Alphabet(
            byte_ids, unknown, bool(model.get("fuse_unk")), space, decoder.strip, decoding=decoder.decoding,
            suffix=model.get("end_of_word_suffix") or "", missing="drop" if drops else "refuse",
        )  # fmt: skip


def falls_back(model: Mapping[str, Any], decoder: Decoder) -> bool:
    """True if the model or the decoder of a file of characters knows byte tokens."""
    return bool(model.get("byte_fallback")) or decoder.reads_bytes


def _has_all_bytes(byte_ids: tuple[int | None, ...], ids: SpelledIds) -> bool:
    """True if every character that has no token becomes byte tokens."""
    return bool(byte_ids) and not any(
        token_id is None and not 0xC0 <= byte < 0xC2 and (byte >= 0x80 or chr(byte) not in ids)
        for byte, token_id in enumerate(byte_ids[:0xF5])
    )


def read_byte_alphabet(model: Mapping[str, Any], decoder: Decoder, ids: SpelledIds, name: str) -> Alphabet | None:
    """The alphabet of a file whose merges begin from bytes; None for bytes that all have tokens, without marks."""
    suffix = model.get("end_of_word_suffix") or ""
    if not suffix.isascii() or encode_token(suffix) != suffix:
        raise FormatError(f"{name}: model.end_of_word_suffix {short_repr(suffix)} is not of visible ASCII characters")
    letters = [character for byte, character in enumerate(ALPHABET[:0xF5]) if not 0xC0 <= byte < 0xC2]
    lacking = [one for one in letters for mark in {"", suffix} if one + mark not in ids]
    if not (lacking or suffix) and decoder.decoding == "bytes":
        return None
    from ..vocabulary.alphabet import Alphabet

    unknown = _unknown(model, ids, name)
    return Alphabet(
        (), unknown, bool(model.get("fuse_unk")), units="bytes", suffix=suffix, decoding=decoder.decoding,
        missing="drop" if lacking and unknown is None else "refuse",
    )  # fmt: skip


def _unknown(model: Mapping[str, Any], ids: SpelledIds, name: str) -> int | None:
    """The id for what has no token."""
    unknown = model.get("unk_token")
    if unknown is not None and unknown not in ids:
        raise FormatError(f"{name}: model.unk_token {short_repr(unknown)} is not in the vocabulary")
    return None if unknown is None else ids.get(unknown)


def write_decoder(alphabet: Alphabet | None) -> dict[str, Any] | None:
    """The decoder in a file."""
    if alphabet is not None and alphabet.decoding != "bytes":
        return {"type": "BPEDecoder", "suffix": alphabet.suffix} if alphabet.decoding == "marks" else None
    if alphabet is None or not alphabet.of_characters:
        return {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    made: list[dict[str, Any]] = []
    if alphabet.strip == "token":
        made.append({"type": "Metaspace", "replacement": alphabet.space, "prepend_scheme": "always", "split": True})
    elif alphabet.space:
        made.append({"type": "Replace", "pattern": {"String": alphabet.space}, "content": " "})
    made += [{"type": "ByteFallback"}, {"type": "Fuse"}] if alphabet.byte_ids else [{"type": "Fuse"}]
    if alphabet.strip == "one":
        made.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return sequence_of(made, "decoders")  # type: ignore[no-any-return]
