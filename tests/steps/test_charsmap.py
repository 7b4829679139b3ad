"""Maps of SentencePiece in tokenizer.json: texts are those of the normalizers of ``tokenizers``."""
from __future__ import annotations

import base64
import random
import re
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import normalizers

from bpetite.formats.huggingface_steps import read_normalizer
from bpetite.steps.normalizers import Normalization, Precompiled, check, normalizer, replacements


def test_its_repr_is_short() -> None:
    shown = repr(Precompiled("A" * 320_000, graphemes=True))
    assert shown == f"Precompiled('{'A' * 76}..., graphemes=True, kept='', ending='')"


def charsmap(size: int = 0, made: bytes = b"xy") -> str:
    """A map of "a" to "xy" and of "ab" to "z", as a double array."""
    units = [0] * 1024
    offset_of_root, below_a, below_ab = 0x100, 0x200, 0x300
    units[0] = offset_of_root << 10
    a = offset_of_root ^ ord("a")
    units[a] = (a ^ below_a) << 10 | 0x100 | ord("a")
    units[below_a] = 1 << 31
    ab = below_a ^ ord("b")
    units[ab] = (ab ^ below_ab) << 10 | 0x100 | ord("b")
    units[below_ab] = 1 << 31 | 3
    data = struct.pack("<I1024I", size or 4096, *units) + made + b"\0z\0"
    return base64.b64encode(data).decode()


def applied(normalization: Normalization, text: str) -> str:
    made = normalizer(normalization)
    return made(text) if made else text


def test_the_longest_entry_is_replaced() -> None:
    assert applied(Precompiled(charsmap()), "abacab") == "zxycz"
    assert applied(Precompiled(charsmap(), kept=re.escape("ba")), "abacbaab") == "zxycbaz"
    assert list(replacements(Precompiled(charsmap()), "cab")) == [(1, 3, "z")]


def test_graphemes_as_in_tokenizers() -> None:
    theirs = normalizers.Precompiled(base64.b64decode(charsmap()))
    for text in ("abacab", "a\u0301b", "a\u0301\u0301\u0301\u0301", "ca"):
        assert applied(Precompiled(charsmap(), graphemes=True), text) == theirs.normalize_str(text)


@pytest.mark.slow
def test_nmt_nfkc_and_nmt_as_in_tokenizers() -> None:
    from ..formats.test_sentencepiece import trained

    draw = random.Random(1)
    data = trained(draw, normalization_rule_name="nmt_nfkc")
    found = data[data.index(b"nmt_nfkc\x12") + 9 :]
    size = found[0] & 0x7F | (found[1] & 0x7F) << 7 | found[2] << 14
    encoded = base64.b64encode(found[3 : 3 + size]).decode()
    theirs = normalizers.Precompiled(base64.b64decode(encoded))
    step = {"type": "Precompiled", "precompiled_charsmap": encoded}
    points = "".join(map(chr, [*range(1, 0x3400), *range(0xF900, 0x10000)]))
    often = points + "e\u0301\u0327\u1100\u1161" * 500
    for text in [" ".join(points), *("".join(draw.choices(often, k=40)) for _ in range(300))]:
        assert applied(read_normalizer(step, "")[0], text) == theirs.normalize_str(text)
        assert applied(read_normalizer({"type": "Nmt"}, "")[0], text) == normalizers.Nmt().normalize_str(text)


@given(st.binary(max_size=80), st.lists(st.integers(0, 2**32 - 1), max_size=40), st.binary(max_size=20))
def test_no_damaged_map_reads_past_its_end(text: bytes, units: list[int], made: bytes) -> None:
    root = [0x100 << 10 if unit % 2 else unit for unit in units[:1]]
    data = struct.pack(f"<I{len(units)}I", 4 * len(units), *root, *units[1:]) + made + b"\0"
    try:
        step = Precompiled(base64.b64encode(data).decode())
        check(step)
    except ValueError:
        return
    decoded = text.decode("utf-8", "ignore")
    assert len(applied(step, decoded)) <= 64 * len(decoded)


@pytest.mark.parametrize("found", ["", "abc", "AAAA", charsmap(9999999), charsmap()[:60], charsmap(made=b"x" * 65)])
def test_what_is_no_map(found: str) -> None:
    with pytest.raises(ValueError, match="no map of SentencePiece"):
        check(Precompiled(found))
