"""bpetite's own format: one JSON file that people can read, with everything that a tokenizer is.

Tokens are spelled in GPT-2's printable form (:mod:`bpetite.bytelevel`), one on each line; a merge is its two tokens
with a space between. A split pattern or a normalization is a string or an array of strings; steps that are more, and
the template, have the spelling of tokenizer.json (:mod:`.huggingface_steps`). The file names the version of Unicode,
and, for people, the version of ``regex`` it was written with; loading does not depend on the latter.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import patterns
from ..bytelevel import decode_token_bytes, decode_tokens_bytes, encode_token, encode_tokens
from ..errors import FormatError, short_repr
from ..lazy import without_collector
from ..splitting.pattern.unicode_data import check_unicode
from ..vocabulary._tokens import grown
from ..vocabulary.special_literals import check_literal
from ..vocabulary.spelling import SpelledIds
from ..vocabulary.vocab import Vocab, literal_bytes
from ._json_tokens import read_merge_list, read_tokens
from .files import Spans, check_ids, errors_named, expect_keys, parse_json

if TYPE_CHECKING:
    from ..vocabulary.alphabet import Alphabet

VERSION = 2
KEYS = ("format", "version", "kind", "pattern", "normalization", "ignore_merges", "errors", "made_with")
CONTENT = ("special_tokens", "tokens")
RARE = ("token_flags", "template", "kept", "unicode", "aliases", "unreachable", "train_config", "merges", "alphabet")
#: The parts that are read from the bytes of the file.
PARTS = ("tokens", "merges")


def head_of(vocab: Vocab) -> dict[str, Any]:
    """The file of a vocabulary without its tokens and merges."""
    import regex  # not at the top: reading does without it

    aliases = vocab.aliases
    always, rare = vocab.facts()
    for key in ("pattern", "normalization"):
        always[key] = _write_steps(key, always[key])
    head = {
        "format": "bpetite",
        "version": VERSION,
        **always,
        "made_with": {"regex": regex.__version__},
        "special_tokens": {
            literal: token_id
            for literal, token_id in sorted(vocab.special_tokens.items(), key=lambda item: item[1])
            if literal not in aliases
        },
    }
    if vocab.template is not None:
        from .huggingface_templates import write_post_processor  # not at the top: few vocabularies have one

        rare["template"] = write_post_processor(vocab.template, vocab.tokens)
    if vocab.alphabet is not None:
        rare["alphabet"] = vocab.alphabet.to_json()
    rare |= {
        "aliases": dict(sorted(aliases.items(), key=lambda item: item[::-1])),
        "unreachable": [[encode_token(vocab.tokens[one]), one] for one in sorted(vocab.unreachable)],
        "train_config": vocab.train_config,
    }
    return head | {name: value for name, value in rare.items() if value}


def _write_steps(key: str, setting: Any) -> Any:
    if patterns.is_plain(setting):
        return setting
    from .huggingface_steps import write_normalizer, write_pre_tokenizer  # not at the top: few vocabularies have steps

    return write_pre_tokenizer(setting, native=True) if key == "pattern" else write_normalizer(setting, native=True)


def _read_steps(key: str, content: Any, name: str) -> Any:
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(one, str) for one in content):
        return tuple(content)
    if not isinstance(content, dict):
        raise FormatError(f"{name}: {key} must be a string, an array of strings, an object or null, not {content!r}")
    from .huggingface_steps import read_normalizer, read_pre_tokenizer

    if key == "pattern":
        return read_pre_tokenizer(content, f"{name}: pattern", native=True)
    return read_normalizer(content, f"{name}: normalization", native=True)[0]


def dump(vocab: Vocab) -> bytes:
    """The file of a vocabulary: the same bytes for equal vocabularies that were trained alike."""
    import json  # not at the top: reading does without it

    written = vocab.unreachable.union(vocab.special_tokens.values())
    by_id = sorted(vocab.tokens.items())
    spelled = dict(zip(dict(by_id), encode_tokens(token for _, token in by_id), strict=True))
    head = head_of(vocab)
    parts = [f' "{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in head.items()]
    ordinary = {spelled[token_id]: token_id for token_id, _ in by_id if token_id not in written}
    parts.append(' "tokens": ' + _lines(ordinary))
    if vocab.merges is not None:
        parts.append(' "merges": ' + _lines([f"{spelled[left]} {spelled[right]}" for left, right in vocab.merges]))
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode("utf-8")


def _lines(value: dict[str, int] | list[str]) -> str:
    """JSON with one item on each line."""
    import json

    text = json.dumps(value, ensure_ascii=False, separators=(",\n  ", ": "))
    return f"{text[0]}\n  {text[1:-1]}\n {text[-1]}" if value else text


def recognizes(data: bytes, spans: Spans) -> bool:
    """True for a JSON object that claims to be of this format."""
    return "format" in spans and data[slice(*spans["format"])].strip() == b'"bpetite"'


def _check_head(content: Any, name: str) -> dict[str, int]:
    """Check everything but tokens and merges; returns the special tokens."""
    if content.get("format") != "bpetite":
        raise FormatError(f'{name}: no bpetite tokenizer: no "format": "bpetite" in it')
    if type(content.get("version")) is not int or content["version"] != VERSION:
        raise FormatError(
            f"{name}: version {short_repr(content.get('version'))}, but this release reads version {VERSION}"
        )
    expect_keys(content, name, "the file", (*KEYS, *CONTENT), RARE)
    expect_keys(content["made_with"], name, "made_with", (), ("regex",))
    ranks = content["kind"] == "ranks"
    if not ranks and content["kind"] != "merges":
        raise FormatError(f"{name}: kind {short_repr(content['kind'])} is neither 'merges' nor 'ranks'")
    if ranks == ("merges" in content):
        raise FormatError(f"{name}: kind {content['kind']!r} {'with' if ranks else 'without'} \"merges\"")
    return check_ids(content["special_tokens"], name, "special_tokens")


def _read_alphabet(content: dict[str, Any]) -> Alphabet | None:
    if "alphabet" not in content:
        return None
    from ..vocabulary.alphabet import Alphabet  # not at the top: few files have one

    return Alphabet.from_json(content["alphabet"])


def _read_unreachable(content: dict[str, Any], name: str) -> dict[int, bytes]:
    """id -> bytes of the tokens that no text reaches. The file has them as pairs, since two may be spelled alike."""
    tokens: dict[int, bytes] = {}
    pairs = content.get("unreachable", [])
    if not isinstance(pairs, list):
        raise FormatError(f"{name}: unreachable must be an array, not {short_repr(pairs)}")
    for pair in pairs:
        if not (isinstance(pair, list) and [type(part) for part in pair] == [str, int]):
            raise FormatError(f"{name}: unreachable: {short_repr(pair)} is not an array of a token and its id")
        spelled, token_id = pair
        if token_id in tokens:
            raise FormatError(f"{name}: unreachable: the id {token_id} occurs twice")
        with errors_named(f"{name}: unreachable"):
            tokens[token_id] = decode_token_bytes(spelled)
    return tokens


@without_collector()
def read(data: bytes, name: str, spans: Spans) -> Vocab:
    """The vocabulary in a file. ``name`` is for error messages.

    Tokens and merges come straight from the bytes of the file; the rest is parsed as JSON.
    """
    content = parse_json(data, name, [spans[part] for part in PARTS if part in spans])
    specials = _check_head(content, name)
    with errors_named(f"{name}: tokens"):
        table, odd, _ = read_tokens(data, *spans["tokens"])
        decode_tokens_bytes(odd)  # an error for tokens in no printable form
    unreachable = _read_unreachable(content, name)
    with errors_named(name, (ValueError, TypeError)):
        settings = _read_settings(content, name)
        how = settings["alphabet"], settings["token_flags"], settings["normalization"]
        more = {
            token_id: literal_bytes(check_literal(literal).decode(), *how) for literal, token_id in specials.items()
        }
    for part, found, known in (
        ("special_tokens", more, table), ("unreachable", unreachable, table), ("unreachable", unreachable, more)
    ):
        for token_id, token in found.items():
            if token_id in known:
                raise FormatError(f"{name}: {part}: the id {token_id} of {token!r} belongs to {known[token_id]!r}")
    more |= unreachable
    with errors_named(name):
        table = grown(table, more) if more and not unreachable else table.with_tokens(more, unreachable)
    merges = None
    if "merges" in spans:
        with errors_named(f"{name}: merges"):
            merges = read_merge_list(data, *spans["merges"], table, SpelledIds(table, {}), unreachable.keys())
    settings["unreachable"] = frozenset(unreachable)
    with errors_named(name, (ValueError, TypeError)):
        return Vocab(table, merges, specials | _read_aliases(content, specials), **settings)


def _read_settings(content: dict[str, Any], name: str) -> dict[str, Any]:
    """The fields of a :class:`Vocab` that are not its tokens."""
    check_unicode(content.get("unicode"))
    settings = {key: content[key] for key in ("ignore_merges", "errors")}
    settings |= {key: _read_steps(key, content[key], name) for key in ("pattern", "normalization")}
    settings |= {"alphabet": _read_alphabet(content), "kept": content.get("kept", {})}
    flags = content.get("token_flags", {})
    if not isinstance(flags, dict) or not all(isinstance(some, list) for some in flags.values()):
        raise ValueError(f"token_flags must be an object of arrays, not {short_repr(flags)}")
    settings["token_flags"] = {literal: tuple(some) for literal, some in flags.items()}
    if "template" in content:
        from .huggingface_templates import read_post_processor  # not at the top: few files have one

        settings["template"] = read_post_processor(content["template"], f"{name}: template")
    if not isinstance(settings["kept"], dict):
        raise ValueError(f"kept must be an object, not {short_repr(settings['kept'])}")
    settings["train_config"] = config = content.get("train_config")
    if "train_config" in content and not isinstance(config, dict):
        raise ValueError(f"train_config must be an object, not {short_repr(config)}")
    return settings


def _read_aliases(content: dict[str, Any], specials: dict[str, int]) -> dict[str, int]:
    """literal -> id of the special tokens that share the id of another one."""
    aliases = content.get("aliases", {})
    if not isinstance(aliases, dict) or not all(type(token_id) is int for token_id in aliases.values()):
        raise ValueError(f"aliases must be an object of ids, not {short_repr(aliases)}")
    for literal, token_id in aliases.items():
        if literal in specials or token_id not in specials.values():
            raise ValueError(
                f"aliases: {short_repr(literal)} with the id {token_id} is no other name of a special token"
            )
    return aliases
