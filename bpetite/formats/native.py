"""bpetite's own format: one JSON file that holds everything a tokenizer is and can be read by eye.

Tokens are spelled in GPT-2's printable form (:mod:`bpetite.bytelevel`), one a line; a merge is its two tokens with a
space between. The versions of ``regex`` and Unicode that were installed when the file was written stand in it for
people; loading does not depend on them.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import patterns
from ..bytelevel import decode_tokens, encode_token, encode_tokens
from ..errors import FormatError
from ..vocabulary._printable import members, read_merge_list, read_tokens
from ..vocabulary._tokens import TokenTable
from ..vocabulary.vocab import Vocab
from .files import Source, expect_keys, parse_json, read_file, show, without_collector
from .spelling import check_ids, merge_pairs, same_id

if TYPE_CHECKING:
    from ..steps.normalizers import Normalization
    from ..steps.splits import SplitPattern
    from ..steps.template import Template

__all__ = ["dump", "from_bytes", "from_json", "load", "recognizes"]

VERSION = 1
KEYS = ("format", "version", "kind", "pattern", "normalization", "ignore_merges", "errors", "made_with")
CONTENT = ("special_tokens", "tokens")
RARE = ("token_flags", "template", "kept", "merges")


def dump(vocab: Vocab) -> bytes:
    """The file of a vocabulary; the same bytes for equal vocabularies."""
    import regex  # here and below, not at the top: reading does without it

    from ..splitting.unicode_version import unicode_version
    from ..steps import normalizers, splits

    special_ids = set(vocab.special_tokens.values())
    by_id = sorted(vocab.tokens.items())
    spelled = dict(zip(dict(by_id), encode_tokens(token for _, token in by_id), strict=True))
    head = {
        "format": "bpetite",
        "version": VERSION,
        "kind": vocab.kind,
        "pattern": splits.to_json(vocab.pattern),
        "normalization": normalizers.to_json(vocab.normalization),
        "ignore_merges": vocab.ignore_merges,
        "errors": vocab.errors,
        "made_with": {"regex": regex.__version__, "unicode": unicode_version()},
        "special_tokens": dict(sorted(vocab.special_tokens.items(), key=lambda item: item[1])),
    }
    # rare settings, written where there are any
    if vocab.token_flags:
        head["token_flags"] = {literal: list(flags) for literal, flags in sorted(vocab.token_flags.items())}
    if vocab.template is not None:
        head["template"] = vocab.template.to_json()
    if vocab.kept:
        head["kept"] = dict(sorted(vocab.kept.items()))
    parts = [f" {_text(key)}: {_text(value)}" for key, value in head.items()]
    ordinary = {spelled[token_id]: token_id for token_id, _ in by_id if token_id not in special_ids}
    parts.append(' "tokens": ' + _lines(ordinary))
    if vocab.merges is not None:
        parts.append(' "merges": ' + _lines([f"{spelled[left]} {spelled[right]}" for left, right in vocab.merges]))
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode("utf-8")


def _text(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def _lines(value: dict[str, int] | list[str]) -> str:
    """JSON with an item a line."""
    import json

    text = json.dumps(value, ensure_ascii=False, separators=(",\n  ", ": "))
    return f"{text[0]}\n  {text[1:-1]}\n {text[-1]}" if value else text


def load(path: Source) -> Vocab:
    """The vocabulary in a file.

    Raises:
        FormatError: The file is damaged, or of a version this release does not know; names file and place.
        OSError: The file cannot be read.
    """
    data = read_file(path)
    vocab = from_bytes(data)
    return from_json(parse_json(data, str(path)), str(path)) if vocab is None else vocab


@without_collector
def from_bytes(data: bytes) -> Vocab | None:
    """The vocabulary, if this is a file of this format as :func:`dump` writes it, in a tenth of the time of
    :func:`from_json`; None leaves it to that, which also says what is wrong.

    Tokens and merges are read from the bytes of the file, the rest as JSON with empty ones in their place.
    """
    places = members(data)
    if places is None or "tokens" not in places:
        return None
    rest = bytearray(data)
    for key, empty in sorted((("tokens", b"{}"), ("merges", b"[]")), key=lambda item: -places.get(item[0], (0, 0))[0]):
        if key in places:
            rest[slice(*places[key])] = empty
    tokens = read_tokens(data, *places["tokens"])
    if tokens is None:
        return None
    try:
        content = parse_json(bytes(rest), "")
        specials = _check_head(content, "")
        if tokens.keys() & specials.values():
            return None
        tokens.update((token_id, literal.encode()) for literal, token_id in specials.items())
        table = TokenTable(tokens)
        if table.repeated or table.empty:
            return None
        merges = read_merge_list(data, *places["merges"], table) if "merges" in places else None
        if merges is None and "merges" in places:
            return None
        return _build(content, "", table, tokens, merges, specials)
    except (ValueError, TypeError, OverflowError):  # the last for the id of a special token that is no uint32
        return None


def recognizes(content: Any) -> bool:
    """Whether a JSON value claims to be of this format."""
    return isinstance(content, dict) and content.get("format") == "bpetite"


def _check_head(content: Any, name: str) -> dict[str, int]:
    """Raise FormatError unless all but tokens and merges is as it should be; returns the special tokens."""
    if not recognizes(content):
        raise FormatError(f'{name}: no bpetite tokenizer: no "format": "bpetite" in it')
    if type(content.get("version")) is not int or content["version"] != VERSION:
        raise FormatError(f"{name}: version {show(content.get('version'))}, but this release reads version {VERSION}")
    expect_keys(content, name, "the file", (*KEYS, *CONTENT), RARE)
    expect_keys(content["made_with"], name, "made_with", (), ("regex", "unicode"))
    ranks = content["kind"] == "ranks"
    if not ranks and content["kind"] != "merges":
        raise FormatError(f"{name}: kind {show(content['kind'])} is neither 'merges' nor 'ranks'")
    if ranks == ("merges" in content):
        raise FormatError(f"{name}: kind {content['kind']!r} {'with' if ranks else 'without'} \"merges\"")
    return check_ids(content["special_tokens"], name, "special_tokens")


@without_collector
def from_json(content: Any, name: str) -> Vocab:
    """The vocabulary in the parsed file; ``name`` is for error messages."""
    specials = _check_head(content, name)
    ids = check_ids(content["tokens"], name, "tokens")
    try:
        tokens = dict(zip(ids.values(), decode_tokens(ids), strict=True))
    except ValueError as bad:
        raise FormatError(f"{name}: tokens: {bad}") from None
    if len(tokens) != len(ids):
        raise FormatError(f"{name}: tokens: {same_id(ids)}")
    for literal, token_id in specials.items():
        try:
            spelled = encode_token(literal)
        except UnicodeEncodeError:
            raise FormatError(f"{name}: special token {literal!r} holds a lone surrogate") from None
        if token_id in tokens:
            raise FormatError(f"{name}: special_tokens: id {token_id} of {literal!r} belongs to {tokens[token_id]!r}")
        if ids.get(spelled, -1) > token_id:
            raise FormatError(f"{name}: special_tokens: {literal!r} has id {token_id}, as a token {ids[spelled]}")
        tokens[token_id] = literal.encode("utf-8")
        ids.setdefault(spelled, token_id)

    merges = merge_pairs(content["merges"], ids, name) if "merges" in content else None
    return _build(content, name, None, tokens, merges, specials)


def _build(
    content: dict[str, Any],
    name: str,
    table: TokenTable | None,
    tokens: dict[int, bytes],
    merges: tuple[tuple[int, int], ...] | None,
    specials: dict[str, int],
) -> Vocab:
    try:
        return Vocab.from_table(
            table,
            tokens,
            merges,
            specials,
            pattern=_pattern(content["pattern"]),
            normalization=_normalization(content["normalization"]),
            ignore_merges=content["ignore_merges"],
            errors=content["errors"],
            token_flags=_flags(content.get("token_flags", {})),
            template=_template(content["template"]) if "template" in content else None,
            kept=_kept(content.get("kept", {})),
        )
    except FormatError:
        raise
    except (ValueError, TypeError) as bad:
        raise FormatError(f"{name}: {bad}") from None


# What few files have is imported for those that have it.


def _pattern(found: Any) -> SplitPattern:
    if patterns.is_plain(found):
        return found
    from ..steps import splits

    return splits.from_json(found)


def _normalization(found: Any) -> Normalization:
    if found is None:
        return None
    from ..steps import normalizers

    return normalizers.from_json(found)


def _template(found: Any) -> Template:
    from ..steps.template import Template

    return Template.from_json(found)


def _flags(found: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(found, dict) or not all(isinstance(flags, list) for flags in found.values()):
        raise ValueError(f"token_flags must be an object of arrays, not {show(found)}")
    return {literal: tuple(flags) for literal, flags in found.items()}


def _kept(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(f"kept must be an object, not {show(found)}")
    return found
