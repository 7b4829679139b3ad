"""A tokenizer of bpetite is compared with one of ``tokenizers`` once, before it takes its place.

The ids of some hundred texts that are hard to split, alone and in pairs, and the texts of some thousand ids must be
equal.
"""
from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tokenizers_view import TokenizersView

#: The number of texts that are also compared without the template.
FEW = 16
#: The ids whose text is compared: the first 1,024, and every 16th of the others.
FIRST, STEP = 1024, 16
#: The most special tokens that are put into texts: the first and the last ones.
SPECIALS = 64

TEXTS = (
    *("", " ", "  ", "a", " a", "a ", "\n" * 40, " " * 90 + "x", "\t\t\tif x:"),
    " \n\n  \t x\r\n\r\n y \u00a0 z\u3000\u2028\x85 ",
    "I'm WE'LL they'Ve it's 'S 're'd '\u017f \u2019s o'clock 'twas''",
    "1 12 123 1234567890 3.14 1,000 ٣٤٥ ½ x² Ⅷ 一二 ",
    "a1b2 v1.2.3-rc4 #42 $9.99",
    "The quick brown fox, doesn't it? (Yes!) \"No\" — ok… <b>bold</b> snake_case camelCase HTTPServer ABCdef",
    "def f(x):\n    return x ** 2  # comment\n\n\tif  x   ==  1:\r\n        pass\n",
    "https://example.org/a?b=c&d=%20#e me@x.io",
    "naïve café cafe\u0301 Å A\u030a ﬁ ½ ŉ ǆ İ i̇ ß ẞ ς Σ ʼn",
    "русский ТЕКСТ, ελληνικά ΚΕΙΜΕΝΟ, Հայերեն, ქართული",
    "中文字符和日本語テキスト。한국어 텍스트 한글",
    "हिन्दी क्षि தமிழ் ไทยไม่มีช่องว่าง ລາວ မြန်မာ ភាសាខ្មែរ བོད་ཡིག",
    "עִבְרִית العَرَبِيَّة فارسی\u200cنیم \u202eabc\u202c اردو",
    "🙂🙂👍🏽👩\u200d👩\u200d👧🇩🇪❤️ \U0001f9ff \U0001d11e\U00020000",
    "\x00\x01\x1f\x7f\x80\x9f \ufeff\ufffd\u200b\u200e\u2060 \ue000 \U0010fffd",
    *("zzzzqqqqxxxx" * 12, "ab" * 300, "=" * 200 + "-" * 77, "aaa\u0300\u0301\u0302\u0303b"),
)
ALPHABETS = ("ab cd\n", " \t\n\r\u00a0\u3000x", "aA'sStT1 2.", "éß中ア한क🙂 \u0301a", "".join(map(chr, range(32, 127))))


def _hostile_texts(literals: Iterable[str]) -> list[str]:
    """Some hundred texts, the same each time, without surrogates; special tokens are put into some of them."""
    draw = random.Random(1)

    def anything() -> str:
        return chr(draw.choice((draw.randrange(0xD800), draw.randrange(0xE000, 0x20000))))

    texts = [*TEXTS, *("".join(draw.choices(alphabet, k=60)) for alphabet in ALPHABETS for _ in range(6))]
    texts += ["".join(anything() for _ in range(60)) for _ in range(20)]
    ordered = sorted(literals)
    half = SPECIALS // 2
    for one in ordered[:half] + ordered[half:][-half:]:
        texts += [f"a{one}b", f" x {one} {one} y\n{one}", f"{one[:-1]} {one[1:]}{one}{one}"]
    return texts


def require_agreement(backend: Any, view: TokenizersView) -> None:
    """Compare ids, segment ids and decoded texts.

    Args:
        backend: A ``tokenizers.Tokenizer`` without truncation and padding.
        view: The view of it.

    Raises:
        ValueError: They differ; with the first difference.
    """
    snapshot = view.snapshot
    texts = [text for text in _hostile_texts(snapshot.tokenizer.special_tokens) if snapshot.reads_alike([text])]
    pairs = [*pairwise(texts)]
    for inputs, special in ((texts, True), (pairs, True), (texts[:FEW], False), (pairs[:FEW], False)):
        ours, theirs = (one.encode_batch(inputs, add_special_tokens=special) for one in (view, backend))
        for given, our, their in zip(inputs, ours, theirs, strict=True):
            if (our.ids, our.type_ids) != (their.ids, their.type_ids):
                both = f"{our.ids[:16]} in place of {their.ids[:16]}"
                raise ValueError(f"bpetite gives other ids for {given!r}: {both}")
    ids = sorted(snapshot.tokenizer.to_vocab().tokens)
    some = [token_id for token_id in ids[:FIRST] + ids[FIRST::STEP] if token_id not in snapshot.decoded_otherwise]
    for row in (*([token_id] for token_id in some), some):
        if (our_text := view.decode(row, False)) != (their_text := backend.decode(row, False)):
            raise ValueError(f"bpetite decodes {row[:FEW]} to {our_text[:80]!r} in place of {their_text[:80]!r}")
