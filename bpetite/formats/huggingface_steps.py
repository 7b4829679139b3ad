"""The steps before the model in tokenizer.json, read and written: normalizer and pre-tokenizer.

The modules of the steps are imported where a file has some: many have none.

In error messages a step is named by its path in the file, such as ``tokenizer.json: pre_tokenizer[1]``.

Source: https://github.com/huggingface/tokenizers, ``tokenizers/src/{normalizers,pre_tokenizers}``
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import patterns
from ..errors import FormatError, short_repr
from ..patterns import as_setting, as_tuple
from .files import errors_named

if TYPE_CHECKING:
    from ..steps.normalizers import Normalization, Normalizer
    from ..steps.splits import Metaspace, SplitPattern, Step

#: The names of behaviors in the file, for those of a Split.
NAMES = {
    "isolated": "Isolated", "removed": "Removed", "merged_with_previous": "MergedWithPrevious",
    "merged_with_next": "MergedWithNext", "contiguous": "Contiguous",
}  # fmt: skip
#: The patterns that the normalizer Strip removes, by its settings.
STRIP = {"strip_left": r"^\s+", "strip_right": r"(?<!\s)\s++\Z"}
#: The normalizer Nmt: characters that it removes, and characters that become spaces.
NMT = (
    (r"[\x01-\x08\x0B\x0E-\x1F\x7F\x8F\x9F]", ""),
    (r"[\t\n\x0C\r\u1680\u200B-\u200F\u2028\u2029\u2581\uFEFF\uFFFD]", " "),
)
#: The library's digits: the numbers of Unicode 17.0, thirteen of which 16.0 does not have.
DIGIT = "[\\p{N}\U00011de0-\U00011de9\U00016ff4-\U00016ff6]"
#: The library's punctuation: that of Unicode 8.0, and all printable ASCII characters but letters, digits and space.
PUNCTUATION = (
    r"[!-/:-@\[-`{-~"
    "\u00a1\u00a7\u00ab\u00b6-\u00b7\u00bb\u00bf\u037e\u0387\u055a-\u055f\u0589-\u058a\u05be\u05c0\u05c3\u05c6"
    "\u05f3-\u05f4\u0609-\u060a\u060c-\u060d\u061b\u061e-\u061f\u066a-\u066d\u06d4\u0700-\u070d\u07f7-\u07f9"
    "\u0830-\u083e\u085e\u0964-\u0965\u0970\u0af0\u0df4\u0e4f\u0e5a-\u0e5b\u0f04-\u0f12\u0f14\u0f3a-\u0f3d\u0f85"
    "\u0fd0-\u0fd4\u0fd9-\u0fda\u104a-\u104f\u10fb\u1360-\u1368\u1400\u166d-\u166e\u169b-\u169c\u16eb-\u16ed"
    "\u1735-\u1736\u17d4-\u17d6\u17d8-\u17da\u1800-\u180a\u1944-\u1945\u1a1e-\u1a1f\u1aa0-\u1aa6\u1aa8-\u1aad"
    "\u1b5a-\u1b60\u1bfc-\u1bff\u1c3b-\u1c3f\u1c7e-\u1c7f\u1cc0-\u1cc7\u1cd3\u2010-\u2027\u2030-\u2043"
    "\u2045-\u2051\u2053-\u205e\u207d-\u207e\u208d-\u208e\u2308-\u230b\u2329-\u232a\u2768-\u2775\u27c5-\u27c6"
    "\u27e6-\u27ef\u2983-\u2998\u29d8-\u29db\u29fc-\u29fd\u2cf9-\u2cfc\u2cfe-\u2cff\u2d70\u2e00-\u2e2e"
    "\u2e30-\u2e42\u3001-\u3003\u3008-\u3011\u3014-\u301f\u3030\u303d\u30a0\u30fb\ua4fe-\ua4ff\ua60d-\ua60f\ua673"
    "\ua67e\ua6f2-\ua6f7\ua874-\ua877\ua8ce-\ua8cf\ua8f8-\ua8fa\ua8fc\ua92e-\ua92f\ua95f\ua9c1-\ua9cd"
    "\ua9de-\ua9df\uaa5c-\uaa5f\uaade-\uaadf\uaaf0-\uaaf1\uabeb\ufd3e-\ufd3f\ufe10-\ufe19\ufe30-\ufe52"
    "\ufe54-\ufe61\ufe63\ufe68\ufe6a-\ufe6b\uff01-\uff03\uff05-\uff0a\uff0c-\uff0f\uff1a-\uff1b\uff1f-\uff20"
    "\uff3b-\uff3d\uff3f\uff5b\uff5d\uff5f-\uff65\U00010100-\U00010102\U0001039f\U000103d0\U0001056f\U00010857"
    "\U0001091f\U0001093f\U00010a50-\U00010a58\U00010a7f\U00010af0-\U00010af6\U00010b39-\U00010b3f"
    "\U00010b99-\U00010b9c\U00011047-\U0001104d\U000110bb-\U000110bc\U000110be-\U000110c1\U00011140-\U00011143"
    "\U00011174-\U00011175\U000111c5-\U000111c9\U000111cd\U000111db\U000111dd-\U000111df\U00011238-\U0001123d"
    "\U000112a9\U000114c6\U000115c1-\U000115d7\U00011641-\U00011643\U0001173c-\U0001173e\U00012470-\U00012474"
    "\U00016a6e-\U00016a6f\U00016af5\U00016b37-\U00016b3b\U00016b44\U0001bc9f\U0001da87-\U0001da8b"
    "]"
)

#: Pre-tokenizers that leave white space out, as the fields of a Split.
WORDS = {"Whitespace": (r"\w+|[^\w\s]+", "removed", True), "WhitespaceSplit": (r"\s", "removed", False)}

#: Regular expressions that Oniguruma and `regex` read alike.
ALIKE = patterns.STAGES - {patterns.CL100K_POSSESSIVE}

#: Steps without settings that native files have beside those of tokenizer.json.
OWN = ("PrefixSpace", "Printable")

#: The depth to which sequences may be nested.
DEEPEST = 32


def steps_of(step: Any, where: str, key: str, depth: int = 0) -> Iterator[tuple[dict[str, Any], str]]:
    """(step, its path) for one step, or for each step under ``key`` of a Sequence; nothing for null."""
    if step is None:
        return
    if not isinstance(step, dict) or not isinstance(step.get("type"), str):
        raise FormatError(f"{where} must be an object with a type, not {short_repr(step)}")
    if step["type"] != "Sequence":
        yield step, where
        return
    if depth > DEEPEST:
        raise FormatError(f"{where.rstrip('[0]123456789')}: sequences nested too deep")
    inner = step.get(key)
    if not isinstance(inner, list):
        raise FormatError(f"{where}.{key} must be an array, not {short_repr(inner)}")
    for number, one in enumerate(inner):
        yield from steps_of(one, f"{where}[{number}]", key, depth + 1)


def value_of(step: dict[str, Any], where: str, key: str, wanted: type, default: Any = None) -> Any:
    """The setting of a step, which has to be of this type; ``default`` if the step does not have it."""
    value = step.get(key, default)
    if type(value) is not wanted:
        raise FormatError(f"{where}.{key} must be a {wanted.__name__}, not {short_repr(value)}")
    return value


def _read_pattern(step: dict[str, Any], where: str, native: bool = False) -> str:
    """The regular expression in {"Regex": ...} or {"String": ...}; of a `native` file, as it stands."""
    pattern = step.get("pattern")
    if isinstance(pattern, dict) and len(pattern) == 1:
        spelling, text = next(iter(pattern.items()))
        if isinstance(text, str) and spelling == "String":
            if text == " ":
                return text
            import regex  # these not at the top: most files do without `regex`, which is slow to import

            return str(regex.escape(text, special_only=True))
        if isinstance(text, str) and spelling == "Regex":
            with errors_named(where):
                if native or text in ALIKE:
                    return text
                from .dialects import from_oniguruma

                return from_oniguruma(text)
    raise FormatError(f'{where}.pattern must be {{"Regex": ...}} or {{"String": ...}}, not {short_repr(pattern)}')


# A `native` file has steps that tokenizer.json lacks, too, and its patterns are those of `regex`.


def read_normalizer(content: Any, where: str, *, native: bool = False) -> tuple[Normalization, bool]:
    """The normalization of a file, and True if it ends with ByteLevel: then the text is in printable form."""
    if content is None:
        return None, False
    from ..steps.charsmap import Precompiled
    from ..steps.normalizers import FORMS, MAPS, BertNormalizer, Mapped, Prepend, Replace

    made: list[Normalizer] = []
    bytelevel = False
    for step, at in steps_of(content, where, "normalizers"):
        if bytelevel:
            raise FormatError(f"{at}: bpetite has no normalizer after ByteLevel, only before it")
        if step["type"] == "ByteLevel":
            bytelevel = True
        elif step["type"] in FORMS:
            made.append(step["type"])
        elif step["type"] in MAPS:
            made.append(Mapped(step["type"]))
        elif step["type"] == "Prepend":
            made.append(Prepend(value_of(step, at, "prepend", str)))
        elif step["type"] == "Replace":
            made.append(Replace(_read_pattern(step, at, native), value_of(step, at, "content", str)))
        elif step["type"] == "Strip":
            made += [Replace(STRIP[key], "") for key in STRIP if value_of(step, at, key, bool, True)]
        elif step["type"] == "Nmt":
            made += [Replace(*fields) for fields in NMT]
        elif step["type"] == "BertNormalizer":
            lowercase = value_of(step, at, "lowercase", bool, True)
            accents = step.get("strip_accents")
            made.append(BertNormalizer(
                value_of(step, at, "clean_text", bool, True), value_of(step, at, "handle_chinese_chars", bool, True),
                lowercase if accents is None else value_of(step, at, "strip_accents", bool), lowercase,
            ))  # fmt: skip
        elif step["type"] == "Precompiled":
            charsmap = value_of(step, at, "precompiled_charsmap", str)
            own = step if native else {}
            graphemes = value_of(own, at, "graphemes", bool, True)
            kept, ending = (value_of(own, at, key, str, "") for key in ("kept", "ending"))
            made.append(Precompiled(charsmap, graphemes, kept, ending))
        else:
            raise FormatError(f"{at}: bpetite does not have the normalizer {step['type']}")
    return as_setting(made), bytelevel


def is_bytelevel(content: dict[str, Any], name: str) -> bool:
    """True if merges begin from bytes: a normalizer, pre-tokenizer or decoder is ByteLevel."""
    types = (
        step["type"]
        for key, inner in (("normalizer", "normalizers"), ("pre_tokenizer", "pretokenizers"), ("decoder", "decoders"))
        for step, _ in steps_of(content.get(key), f"{name}: {key}", inner)
    )
    return "ByteLevel" in types


def _step(name: str, *fields: Any) -> Step:
    """A step of a pre-tokenizer, by its name in :mod:`bpetite.steps.splits`."""
    from ..steps import splits

    made: Step = getattr(splits, name)(*fields)
    return made


def read_pre_tokenizer(
    content: Any, where: str, printable: bool = False, *, characters: bool = False, native: bool = False
) -> SplitPattern:
    """The split pattern of a file. ``printable``: its normalizer leaves text in printable form; ``characters``: merges
    begin from characters."""
    made: list[Step] = []
    bytelevel, seen = printable, False
    for step, at in steps_of(content, where, "pretokenizers"):
        if bytelevel and not seen:
            made.append(_step("Printable"))
            seen = True
        if step["type"] == "ByteLevel":
            if bytelevel:
                raise FormatError(f"{at}: a second ByteLevel{', after that of the normalizer' * printable}")
            bytelevel = True
            if value_of(step, at, "add_prefix_space", bool, True):
                made.append(_step("PrefixSpace"))
            if value_of(step, at, "use_regex", bool, True):
                made.append(patterns.GPT2)
        elif step["type"] == "Split":
            invert = value_of(step, at, "invert", bool, False)
            made.append(_split(_read_pattern(step, at, native), value_of(step, at, "behavior", str), invert, at))
        elif step["type"] == "Punctuation":
            made.append(_split(PUNCTUATION, value_of(step, at, "behavior", str, "Isolated"), False, at))
        elif step["type"] == "Digits":
            made.append(DIGIT if value_of(step, at, "individual_digits", bool, False) else f"{DIGIT}+")
        elif step["type"] in WORDS:
            made.append(_step("Split", *WORDS[step["type"]]))
        elif step["type"] == "BertPreTokenizer":
            made += [_step("Split", *WORDS["WhitespaceSplit"]), PUNCTUATION]
        elif step["type"] == "FixedLength":
            made.append(rf"[\s\S]{{1,{value_of(step, at, 'length', int, 5)}}}")
        elif step["type"] == "CharDelimiterSplit":
            delimiter = value_of(step, at, "delimiter", str)
            made.append(_split(_read_pattern({"pattern": {"String": delimiter}}, at), "Removed", False, at))
        elif step["type"] == "Metaspace" and (characters or native):
            made.append(read_metaspace(step, at))
        elif native and step["type"] in OWN:
            made.append(_step(step["type"]))
        else:
            raise FormatError(f"{at}: bpetite does not have the pre-tokenizer {step['type']}")
    return as_setting(made)  # type: ignore[no-any-return]


def read_metaspace(step: dict[str, Any], where: str) -> Metaspace:
    """The Metaspace of a pre-tokenizer or decoder."""
    prefix = value_of(step, where, "prepend_scheme", str, "always")
    if step.get("add_prefix_space") is False and prefix != "never":
        raise FormatError(f"{where}.add_prefix_space is false, and prepend_scheme is {prefix!r}")
    split = step.get("split")
    from ..steps.splits import Metaspace

    with errors_named(where):
        return Metaspace(
            value_of(step, where, "replacement", str), prefix, split if split is not None else True
        )


def _split(pattern: str, behavior: str, invert: bool, where: str) -> Step:
    own = next((own for own, name in NAMES.items() if name == behavior), None)
    if own is None:
        raise FormatError(f"{where}.behavior {behavior!r} is not one of {', '.join(NAMES.values())}")
    # "Isolated" cuts at both ends of each match, inverted or not, as a pattern alone does
    return pattern if behavior == "Isolated" else _step("Split", pattern, own, invert)


# Writing


def write_normalizer(normalization: Normalization, *, native: bool = False) -> Any:
    """The normalizer in a file."""
    from ..steps.charsmap import Precompiled
    from ..steps.normalizers import BertNormalizer, Mapped, Prepend, Replace

    made: list[dict[str, Any]] = []
    for one in as_tuple(normalization):
        if isinstance(one, Prepend):
            made.append({"type": "Prepend", "prepend": one.text})
        elif isinstance(one, Replace):
            pattern = _write_pattern(one.pattern, "normalization", native)
            made.append({"type": "Replace", "pattern": pattern, "content": one.content})
        elif isinstance(one, Precompiled):
            own = {"graphemes": one.graphemes, "kept": one.kept} if native else {}
            own |= {"ending": one.ending} if native and one.ending else {}
            if not native and one != Precompiled(one.charsmap, graphemes=True):
                raise FormatError("tokenizer.json cannot hold a map of SentencePiece: tokenizers looks graphemes up")
            made.append({"type": "Precompiled", "precompiled_charsmap": one.charsmap} | own)
        elif isinstance(one, BertNormalizer):
            made.append({"type": "BertNormalizer", **vars(one)})
        else:
            made.append({"type": one.name if isinstance(one, Mapped) else one})
    return sequence_of(made, "normalizers")


def write_pre_tokenizer(pattern: SplitPattern, *, characters: bool = False, native: bool = False) -> Any:
    """The pre-tokenizer in a file; ``characters`` if merges begin from these."""
    from ..steps.splits import PrefixSpace, Printable

    steps = list(as_tuple(pattern))
    if characters or native:
        return sequence_of([_write_split(step, native) for step in steps], "pretokenizers")
    at = steps.index(Printable()) if Printable() in steps else len(steps)
    before, after = steps[:at], steps[at + 1 :]
    # ByteLevel itself can hold the last two steps before it: a prefix space, then GPT-2's pattern, which OpenAI writes
    # in another way since, with the same matches; programs know it by this form
    use_regex = bool(before) and before[-1] in (patterns.GPT2, patterns.GPT2_POSSESSIVE)
    if use_regex:
        before.pop()
    prefix_space = bool(before) and before[-1] == PrefixSpace()
    if prefix_space:
        before.pop()
    bytelevel = {
        "type": "ByteLevel",
        "add_prefix_space": prefix_space,
        "trim_offsets": False,
        "use_regex": use_regex,
    }
    return sequence_of([*map(_write_split, before), bytelevel, *map(_write_split, after)], "pretokenizers")


def _write_split(step: Step, native: bool = False) -> dict[str, Any]:
    from ..steps.splits import Metaspace, PrefixSpace, Printable, Split

    if isinstance(step, PrefixSpace | Printable):
        if native:
            return {"type": step.saved_name}
        raise FormatError("tokenizer.json holds a PrefixSpace only right before GPT-2's pattern or at the end")
    if isinstance(step, Metaspace):
        return {
            "type": "Metaspace", "replacement": step.space, "prepend_scheme": step.prefix, "split": step.split
        }  # fmt: skip
    if not native:
        for name, fields in WORDS.items():
            if step == Split(*fields):
                return {"type": name}
    split = Split(step) if isinstance(step, str) else step
    if split.pattern == PUNCTUATION and not (native or split.invert):
        return {"type": "Punctuation", "behavior": NAMES[split.behavior]}
    return {
        "type": "Split",
        "pattern": _write_pattern(split.pattern, "split pattern", native),
        "behavior": NAMES[split.behavior],
        "invert": split.invert,
    }


def _write_pattern(pattern: str, part: str, native: bool = False) -> dict[str, str]:
    if pattern == " ":
        return {"String": " "}
    if native:
        return {"Regex": pattern}
    try:
        from .dialects import to_oniguruma

        return {"Regex": to_oniguruma(pattern)}
    except FormatError as bad:
        raise FormatError(f"tokenizer.json cannot hold the {part}: {bad}") from None


def sequence_of(made: list[dict[str, Any]], key: str) -> Any:
    if not made:
        return None
    return made[0] if len(made) == 1 else {"type": "Sequence", key: made}
