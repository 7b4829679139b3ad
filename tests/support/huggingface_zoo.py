"""Tokenizers in every configuration that byte-level BPE comes in, built and trained with ``tokenizers`` itself."""
from collections.abc import Callable
from functools import cache
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from bpetite.bytelevel import encode_token

CORPUS = [
    "The quick brown fox jumps over the lazy dog, doesn't it? We'll see; I'VE seen it 1234567 times in 2024.",
    "Größe, naïve café, cafe\u0301, ﬁne, ½ + ¼ = ¾, x² + y³; русский текст нужно, 한국어 🙂🙂👍🏽",
    "中文字符 和 日本語 テキスト",
    "def f(x):\n    return x  # comment\n\n\tif  x   ==  1:\r\n        pass\n" * 2,
    "hello hello  hello   world\u00a0world\u3000world\u2028line\x85next <mask> <s> foo foobar barfoo",
] * 3

#: Texts on which implementations have differed.
HARD = [
    "",
    " ",
    "  ",
    "\n",
    " \n \n  x",
    "a",
    " a",
    "  a  ",
    "Hello world's end, I'LL don't 'S 'ſ it'ſ",
    "x  y   z\t\tq\r\n\r\nw",
    "1234567890 12 3 ½¼ ²³ Ⅷ ٣٤ 1a2b",
    "cafe\u0301 café e\u0301\u0301 ﬁ Å \u212b 각 \u1100\u1161\u11a8",
    "中文字符和日本語テキスト русский 한국어 العربية עברית हिन्दी",
    "🙂🙂👍🏽👨‍👩‍👧 \U0001f1e9\U0001f1ea",
    "\u00a0x\u3000y\u2028z\x85w\u200bv\u180eu\ufefft\x1cs\x1fr",
    "foo foobar barfoo foo. foo,foo _foo foo_ fooé éfoo foo1 a foo b",
    "<mask> a <mask>b <mask>\n\n<mask>  x<mask><s></s><s>  </s>",
    "<|endoftext|> <|endoftext <|endo endoftext|> <|endoftext|><|endoftext|>",
    "!?.,;:-_()[]{}#$%^&*+=|~`\"'<>/\\@",
    "don't can't we'll they've I'd I'm you're it's '",
    "tab\tend\t",
    "ends with space ",
    "ends with newline\n",
    "_word_ __init__ snake_case camelCase HTTPServer ÉCOLE",
    "\x00\x01\x7f",
    "a" * 50 + " " * 50 + "\n" * 20,
]

Build = Callable[[Tokenizer], None]


def make(
    pre_tokenizer: Any,
    *,
    normalizer: Any = None,
    post_processor: Any = None,
    added: tuple[Any, ...] = (),
    special: tuple[Any, ...] = ("<|endoftext|>",),
    vocab_size: int = 420,
    **options: Any,
) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(**options))
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_special_tokens(list(special))
    tokenizer.add_tokens(list(added))
    if post_processor is not None:
        tokenizer.post_processor = post_processor
    return tokenizer


def bytelevel(add_prefix_space: bool = False, use_regex: bool = True) -> Any:
    return pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space, use_regex=use_regex)


def split(pattern: Any, behavior: str, invert: bool = False) -> Any:
    return pre_tokenizers.Split(pattern, behavior, invert=invert)


CL100K = Regex(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
DEEPSEEK = [
    split(Regex(r"\p{N}{1,3}"), "isolated"),
    split(Regex("[一-龥\u3040-ゟ゠-ヿ]+"), "isolated"),
    split(
        Regex(
            r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+"
            r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        "isolated",
    ),
]
NANOCHAT = Regex(
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
MASK = AddedToken("<mask>", lstrip=True, special=True)
S = AddedToken("<s>", special=True)


def sequence(*steps: Any) -> Any:
    return pre_tokenizers.Sequence(list(steps))


def cut(*steps: Any, **options: Any) -> Tokenizer:
    """A tokenizer whose pre-tokens these steps alone cut."""
    return make(sequence(*steps, bytelevel(use_regex=False)), **options)


def template(kind: str) -> Any:
    if kind == "roberta":
        return processors.RobertaProcessing(("</s>", 421), ("<s>", 420), add_prefix_space=True)
    if kind == "bert":
        return processors.BertProcessing(("</s>", 421), ("<s>", 420))
    made = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 420), ("</s>", 421)]
    )
    if kind in ("sequence", "trimmed"):
        return processors.Sequence([processors.ByteLevel(trim_offsets=kind == "trimmed"), made])
    return made


ENDS = ("<s>", "</s>")

CONFIGURATIONS: dict[str, Callable[[], Tokenizer]] = {
    "gpt2": lambda: make(bytelevel()),
    "prefix space": lambda: make(bytelevel(add_prefix_space=True)),
    "no pattern": lambda: make(bytelevel(use_regex=False)),
    "prefix space, no pattern": lambda: make(bytelevel(add_prefix_space=True, use_regex=False)),
    "cl100k": lambda: cut(split(CL100K, "isolated")),
    "cl100k, removed inverted": lambda: cut(split(CL100K, "removed", True)),
    "cl100k, ignore_merges": lambda: cut(split(CL100K, "isolated"), ignore_merges=True),
    "deepseek": lambda: cut(*DEEPSEEK),
    "digits, each": lambda: make(sequence(pre_tokenizers.Digits(individual_digits=True), bytelevel())),
    "digits, runs": lambda: make(sequence(pre_tokenizers.Digits(individual_digits=False), bytelevel())),
    "falcon": lambda: make(
        sequence(
            pre_tokenizers.Punctuation("contiguous"),
            bytelevel(),
            pre_tokenizers.Digits(individual_digits=False),
            split(Regex("[0-9][0-9][0-9]"), "isolated"),
        )
    ),
    "digits behind bytes": lambda: make(sequence(bytelevel(), pre_tokenizers.Digits(individual_digits=True))),
    "split behind bytes": lambda: make(sequence(bytelevel(True), split("Ġ", "merged_with_next"))),
    "punctuation": lambda: cut(pre_tokenizers.Punctuation()),
    "two splits and a prefix space": lambda: make(
        sequence(split(" ", "merged_with_next"), split(Regex(r"\d"), "isolated"), bytelevel(add_prefix_space=True))
    ),
    **{
        f"{behavior}{', inverted' * invert}, {kind}": (
            lambda behavior=behavior, invert=invert, pattern=pattern: cut(split(pattern, behavior, invert))
        )
        for behavior in ("isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous")
        for invert in (False, True)
        for kind, pattern in (("string", " "), ("regex", Regex(r"\s|\d+")), ("empty matches", Regex("[aeiou]*")))
    },
    "line ends": lambda: cut(split(Regex(r"\w+$|^\s+|\d{1,2}+"), "isolated")),
    "words": lambda: cut(split(Regex(r"[\w']+|\W"), "isolated")),
    "nfc": lambda: make(bytelevel(), normalizer=normalizers.NFC()),
    "nfkd": lambda: make(bytelevel(), normalizer=normalizers.NFKD()),
    "nfkc and nfd": lambda: make(bytelevel(), normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.NFD()])),
    "prepend": lambda: make(bytelevel(), normalizer=normalizers.Prepend("▁")),
    "replace string": lambda: make(bytelevel(), normalizer=normalizers.Replace("  ", " ")),
    "replace regex": lambda: make(bytelevel(True), normalizer=normalizers.Replace(Regex(r"\s+"), " ")),
    "prepend, replace, nfc": lambda: cut(
        split("▁", "merged_with_next"),
        normalizer=normalizers.Sequence(
            [normalizers.NFC(), normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        ),
    ),
    "nanochat": lambda: cut(
        split(NANOCHAT, "isolated"),
        special=("<|bos|>", "<|user_start|>"), byte_fallback=True, unk_token=None, fuse_unk=False,
    ),
    "strip": lambda: make(bytelevel(True), normalizer=normalizers.Strip()),
    "strip left, nfc, prepend": lambda: make(
        bytelevel(),
        normalizer=normalizers.Sequence(
            [normalizers.Strip(left=True, right=False), normalizers.NFC(), normalizers.Prepend(" ")]
        ),
        special=(MASK, S),
    ),
    "bytes by the normalizer": lambda: make(
        split(Regex("Ġ?[A-Za-z]+|[^A-Za-zĠ]+|Ġ+"), "isolated"),
        normalizer=normalizers.Sequence([normalizers.NFC(), normalizers.ByteLevel()]),
        added=(AddedToken("foo", normalized=True), AddedToken("é1", normalized=True), "bar"),
        special=(MASK, S),
    ),
    "bytes by the normalizer, no pattern": lambda: make(None, normalizer=normalizers.ByteLevel()),
    "classes of posix": lambda: cut(
        split(Regex("[[:space:]]+|[[:punct:][:digit:]]|[^[:graph:]]"), "isolated"),
        split(Regex("[[:^alpha:]x]+"), "merged_with_next"),
    ),
    "roberta": lambda: make(
        bytelevel(True), special=(*ENDS, MASK, "<|endoftext|>"), post_processor=template("roberta")
    ),
    "bert ends": lambda: make(bytelevel(), special=ENDS, post_processor=template("bert")),
    "template": lambda: make(bytelevel(), special=ENDS, post_processor=template("template")),
    "template in a sequence": lambda: make(bytelevel(), special=ENDS, post_processor=template("sequence")),
    "neox": lambda: make(
        bytelevel(),
        normalizer=normalizers.NFC(),
        added=("  ", AddedToken("    ", normalized=False)),
        post_processor=processors.ByteLevel(add_prefix_space=False, trim_offsets=True),
    ),
    "trimmed, prefix space": lambda: make(
        bytelevel(True), added=(" foo ",), post_processor=processors.ByteLevel(add_prefix_space=True, trim_offsets=True)
    ),
    "llama 3, trimmed": lambda: cut(
        split(CL100K, "isolated"), special=ENDS, post_processor=template("trimmed"), ignore_merges=True
    ),
    "trimmed twice": lambda: make(
        sequence(split(Regex(" +[a-z]+ *"), "isolated"), bytelevel(True, use_regex=False)),
        special=ENDS,
        post_processor=processors.Sequence([processors.ByteLevel(add_prefix_space=False), template("roberta")]),
    ),
    "added words": lambda: make(bytelevel(), added=("foo", "barfoo", "  ", "\n\n")),
    "added, single word": lambda: make(bytelevel(), added=(AddedToken("foo", single_word=True), AddedToken("1")),),
    "added, rstrip": lambda: make(
        bytelevel(), special=(AddedToken("<s>", rstrip=True), AddedToken("</s>", lstrip=True))
    ),
    "added, both sides": lambda: make(
        bytelevel(True),
        special=(AddedToken("<mask>", lstrip=True, rstrip=True), S),
        added=(AddedToken("foo", lstrip=True, rstrip=True),),
    ),
    "added, all flags": lambda: make(
        bytelevel(),
        added=(AddedToken("foo", single_word=True, lstrip=True, rstrip=True, normalized=True),),
        special=(MASK, AddedToken("<mask", normalized=True), S),
    ),
    "added, normalized": lambda: make(
        bytelevel(),
        normalizer=normalizers.NFC(),
        added=(AddedToken("cafe\u0301", normalized=True), AddedToken("é1", normalized=False), AddedToken("Å ")),
    ),
    "added and rewritten": lambda: make(
        bytelevel(True),
        normalizer=normalizers.Sequence([normalizers.Replace("o", "0"), normalizers.NFKC()]),
        added=(AddedToken("foo", normalized=True), AddedToken("bar", normalized=False)),
        special=(MASK, S),
    ),
    "early and late overlap": lambda: make(
        bytelevel(), special=(AddedToken("<s>"),), added=(AddedToken("<s>foo"), AddedToken("o<"), AddedToken("foo f"))
    ),
    "tokens that are also added": lambda: make(bytelevel(), special=("the", "<|endoftext|>"), added=(" the", "er")),
    "unk_token": lambda: make(bytelevel(), special=("<unk>", "<|endoftext|>"), unk_token="<unk>", fuse_unk=True),
}


@cache
def build(name: str) -> Tokenizer:
    """One of :data:`CONFIGURATIONS`."""
    return CONFIGURATIONS[name]()


def tokenizer_json(**changes: Any) -> dict[str, Any]:
    """A small tokenizer.json with all bytes and a few merges."""
    alphabet = [encode_token(bytes([byte])) for byte in range(256)]
    vocab = {token: token_id for token_id, token in enumerate([*alphabet, "ab", "bc", "abc", "Ġa"])}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "vocab": vocab, "merges": ["b c", "a b", "Ġ a"]}
    model |= changes.pop("model", {})
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": model,
    } | changes


def added(content: str, token_id: int, **flags: bool) -> dict[str, Any]:
    nothing = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": token_id, "content": content, **nothing, **flags}
