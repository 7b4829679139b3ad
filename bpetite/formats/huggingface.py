"""tokenizer.json of Hugging Face's ``tokenizers``, with BPE over bytes or characters in it.

The files of all 0.x releases and of 1.0 are read: merges as strings or as pairs, a model without a type, without the
keys that came later. A part that is not BPE, or would give other ids here, is refused by name. Settings of a
batch (truncation, padding) are not part of a vocabulary and are ignored.

Source: https://github.com/huggingface/tokenizers
"""
from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..bytelevel import ALPHABET, decode_token_bytes, encode_token
from ..errors import FormatError, short_repr
from ..lazy import without_collector
from ..vocabulary._tokens import TokenTable, grown
from ..vocabulary.special_literals import check_literal, overlap
from ..vocabulary.spelling import SpelledIds, decode_or_utf8, spell
from ..vocabulary.vocab import MAX_ID, Vocab, is_letter, literal_bytes
from ._json_tokens import members, read_characters, read_merge_list, read_tokens
from .files import (
    CONFIG,
    FILES,
    TEMPLATES,
    WRITTEN,
    Spans,
    errors_named,
    parse_json,
    read_file,
    refuse_aliases,
    refuse_settings,
    settings_in,
    with_settings,
)
from .huggingface_decoder import falls_back, read_alphabet, read_byte_alphabet, read_decoder, write_decoder
from .huggingface_steps import (
    is_bytelevel,
    read_normalizer,
    read_pre_tokenizer,
    write_normalizer,
    write_pre_tokenizer,
)
from .huggingface_templates import read_post_processor, write_post_processor

if TYPE_CHECKING:
    from ..steps.normalizers import Normalization
    from ..vocabulary.alphabet import Alphabet

#: The flags of an added token that look at the characters next to it.
SIDES = ("lstrip", "rstrip", "single_word")
FLAGS = (*SIDES, "normalized")
#: The parts that are read from the bytes of a file.
PARTS = ("model", "vocab"), ("model", "merges")
#: Settings of the model that are kept and written again, with their defaults.
KEPT: dict[str, bool | None] = {"dropout": None, "unk_token": None, "fuse_unk": False, "byte_fallback": False}
#: The types of settings that are not null.
TYPES: dict[str, tuple[type, ...]] = {
    "ignore_merges": (bool,),
    "fuse_unk": (bool,),
    "byte_fallback": (bool,),
    "unk_token": (str,),
    "end_of_word_suffix": (str,),
    "dropout": (int, float),
}
#: The fields of a Vocab for the steps around the model; and if the normalizer makes the printable form, None where
#: merges begin from characters.
Steps = tuple[dict[str, Any], bool | None]


def refusing_missing(vocab: Vocab) -> Vocab:
    """A vocabulary with which a character or byte that has no token is an error of the text."""
    if vocab.alphabet is None:
        return vocab
    from ..vocabulary.alphabet import Alphabet  # not at the top: most files do without it

    alphabet = replace(vocab.alphabet, missing="refuse")
    return replace(vocab, alphabet=None if alphabet == Alphabet(units="bytes") else alphabet)


def from_object(source: Any) -> Vocab:
    """The vocabulary of a ``tokenizers.Tokenizer``, of a ``transformers`` tokenizer that has one inside, or of a
    tokenizer.json: its text, its value, its path, or its directory (one with vocab.json and merges.txt will do, too).

    Raises:
        FormatError: The source is damaged or not byte-level BPE; names the file and the position.
        OSError: A file cannot be read.
        TypeError: The source is something else.
    """
    if isinstance(source, dict):
        import json  # not at the top: reading a file does without it

        return read(json.dumps(source, ensure_ascii=False).encode("utf-8", "surrogatepass"), "tokenizer")
    if isinstance(source, bytes) or (isinstance(source, str) and source.lstrip()[:1] == "{"):
        data = source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass")
        return read(data, "the JSON given")
    if isinstance(source, str | os.PathLike):
        name = os.fspath(source)
        if os.path.isdir(name):
            from . import gpt2  # not at the top: a file does without it

            folder, name = name, os.path.join(name, *FILES["huggingface"])
            if not os.path.isfile(name) and os.path.isfile(os.path.join(folder, gpt2.VOCAB)):
                return with_settings(gpt2.load_directory(folder), folder)
            return with_settings(read(read_file(name), name), folder)
        return read(read_file(name), name)
    inside = getattr(source, "backend_tokenizer", source)
    if not callable(getattr(inside, "to_str", None)):
        raise TypeError(
            "from_huggingface takes a path, the text of a tokenizer.json, a tokenizers.Tokenizer or a transformers "
            f"tokenizer with one inside, not {type(source).__name__}"
        )
    name = type(source).__name__
    if not callable(getattr(source, "save_pretrained", None)):
        return read(inside.to_str().encode(), name)
    from tempfile import TemporaryDirectory  # not at the top: reading a file does without it

    with TemporaryDirectory() as folder:  # for the files in which transformers keeps named tokens and templates
        source.save_pretrained(folder)
        content = read_file(os.path.join(folder, *FILES["huggingface"]))
        return with_settings(read(content, name), folder)


def recognizes(data: bytes, spans: Spans) -> bool:
    """True for a JSON object that looks like tokenizer.json."""
    return "model" in spans and data.startswith(b"{", spans["model"][0])


@without_collector()
def read(data: bytes, name: str, spans: Spans | None = None) -> Vocab:
    """The vocabulary in the bytes of a tokenizer.json. ``name`` is for error messages.

    Tokens and merges come straight from the bytes; the rest is parsed as JSON.
    """
    if spans is None:
        with errors_named(name):
            spans = members(data)
    content = parse_json(data, name, [spans[part] for part in PARTS if part in spans])
    if not recognizes(data, spans):
        raise FormatError(f"{name}: no tokenizer.json: no object \"model\" in it")
    model = content["model"]
    _check_model(model, name)
    for part in PARTS:
        if part not in spans:
            raise FormatError(f'{name}: model has no "{part[1]}"')
    vocab, listed = (spans[part] for part in PARTS)
    settings, as_bytes = _steps(content, name)
    characters = as_bytes is None
    decoder = read_decoder(content, name, characters=characters)
    space = decoder.space if characters else None
    table, ids, hidden = _read_tokens(data, vocab, space, falls_back(model, decoder), name)
    if not characters and model.get("byte_fallback"):
        _check_byte_fallback(ids, name)
    alphabet: Alphabet | None
    if characters:
        alphabet = read_alphabet(content, decoder, ids, settings, name)
    else:
        alphabet = read_byte_alphabet(model, decoder, ids, name)
    added = _added_tokens(content.get("added_tokens"), ids, name)
    if alphabet is not None and alphabet.decoding == "marks":
        _check_marks([*table.values(), *map(str.encode, added)], alphabet.suffix, name)
    flags = _flags(added, ids, settings["normalization"] is not None, alphabet)
    # an added token takes the place of a token of the model that is spelled alike
    with errors_named(name):
        held = {
            entry["id"]: literal_bytes(literal, alphabet, flags, settings["normalization"])
            for literal, entry in added.items()
        }
        for literal, entry in added.items():
            of_model = _token_of_model(literal, ids, alphabet, bool(model.get("ignore_merges")))
            _check_added(entry, held[entry["id"]], of_model, settings["normalization"], bool(as_bytes))
    new = {token_id: token for token_id, token in held.items() if token_id not in table}
    table, unreachable = _with_added(table, held, new, hidden), hidden - held.keys()
    with errors_named(f"{name}: model.merges"):
        merges = read_merge_list(data, *listed, table, ids, unreachable, space)
        for token_id in merges.parts_among(new):
            raise FormatError(f"{new[token_id].decode()!r} is an added token, and not in the vocabulary")
    of_bytes = ("dropout",) if characters else ("dropout", "byte_fallback")
    kept = {key: model.get(key) for key, nothing in KEPT.items()
            if model.get(key, nothing) != nothing and (alphabet is None or key in of_bytes)}  # fmt: skip
    with errors_named(name, (ValueError, TypeError)):
        return Vocab(
            table,
            merges,
            {literal: entry["id"] for literal, entry in added.items()},
            ignore_merges=bool(model.get("ignore_merges")),
            alphabet=alphabet,
            token_flags=flags,
            kept=kept,
            unreachable=unreachable,
            **settings,
        )


def _read_tokens(
    data: bytes, span: tuple[int, int], space: str | None, bytes_apart: bool, name: str
) -> tuple[TokenTable, SpelledIds, frozenset[int]]:
    """The tokens of the model, their ids by spelling, and the ids that are not found by their bytes. ``space`` is the
    character for a space, None where merges begin from bytes; ``bytes_apart`` if tokens such as <0x0A> are bytes."""
    with errors_named(f"{name}: model.vocab"):
        if space is None:
            table, odd, hidden = read_tokens(data, *span)
            return table, SpelledIds(table, odd), hidden
        from ..vocabulary.alphabet import Alphabet  # not at the top: most files do without it

        table, byte_ids, odd, hidden = read_characters(data, *span, space)
        if not bytes_apart:
            spelled = {token_id: b"<0x%02X>" % byte for byte, token_id in enumerate(byte_ids) if token_id is not None}
            table, byte_ids, hidden = table.with_tokens(spelled, hidden - spelled.keys()), [], hidden - spelled.keys()
        return table, SpelledIds(table, odd, Alphabet(tuple(byte_ids), space=space)), hidden


def _with_added(
    table: TokenTable, held: dict[int, bytes], new: dict[int, bytes], hidden: frozenset[int]
) -> TokenTable:
    """The tokens with the added ones, some of them `new`; `hidden` ids are not found by their bytes unless added."""
    unreachable = hidden - held.keys()
    if len(unreachable) < len(hidden) or any(table.get(token_id, token) != token for token_id, token in held.items()):
        return table.with_tokens(held, unreachable)
    return grown(table, new, unreachable) if new else table


def _steps(content: dict[str, Any], name: str) -> Steps:
    characters = not is_bytelevel(content, name)
    normalization, as_bytes = read_normalizer(content.get("normalizer"), f"{name}: normalizer")
    where = f"{name}: pre_tokenizer"
    pattern = read_pre_tokenizer(content.get("pre_tokenizer"), where, as_bytes, characters=characters)
    if not characters and not is_bytelevel(content | {"decoder": None}, name):
        raise FormatError(
            f"{name}: neither pre_tokenizer nor normalizer has a ByteLevel, so this is not byte-level BPE"
        )
    template = read_post_processor(content.get("post_processor"), f"{name}: post_processor")
    return {"normalization": normalization, "pattern": pattern, "template": template}, None if characters else as_bytes


def _check_model(model: dict[str, Any], name: str) -> None:
    model_type = model.get("type", "BPE" if "merges" in model else None)
    if model_type != "BPE":
        raise FormatError(f"{name}: the model is {short_repr(model_type)}, not byte-level BPE")
    if prefix := model.get("continuing_subword_prefix"):
        raise FormatError(
            f"{name}: model.continuing_subword_prefix {short_repr(prefix)}: bpetite joins the bytes of two tokens, and "
            "such a merge leaves the prefix out"
        )
    for key, types in TYPES.items():
        if model.get(key) is not None and type(model[key]) not in types:
            raise FormatError(f"{name}: model.{key} must not be {short_repr(model[key])}")
    if model.get("unk_token"):
        with errors_named(f"{name}: model.unk_token"):
            check_literal(model["unk_token"])


def _check_marks(tokens: Iterable[bytes], suffix: str, name: str) -> None:
    """Raise FormatError for a token with the mark in another place than at its end."""
    mark = suffix.encode("utf-8")
    for token in tokens:
        if mark in token.removesuffix(mark):
            raise FormatError(f"{name}: {token!r} has the mark {suffix!r} inside, of which the decoder makes a space")


def _added_tokens(entries: Any, ids: SpelledIds, name: str) -> dict[str, dict[str, Any]]:
    """literal -> entry of the added tokens, with all flags."""
    if entries is None:
        return {}
    if not isinstance(entries, list):
        raise FormatError(f"{name}: added_tokens must be an array, not {short_repr(entries)}")
    added: dict[str, dict[str, Any]] = {}
    for number, entry in enumerate(entries):
        where = f"{name}: added_tokens[{number}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("content"), str) or type(entry.get("id")) is not int:
            raise FormatError(f"{where} must be an object with content and id, not {short_repr(entry)}")
        for key in (*FLAGS, "special"):
            if type(entry.get(key, False)) is not bool:
                raise FormatError(f"{where}.{key} must be true or false, not {short_repr(entry[key])}")
        literal, token_id = entry["content"], entry["id"]
        if not 0 <= token_id <= MAX_ID:
            raise FormatError(f"{where}: id {short_repr(token_id)} is outside 0..{MAX_ID}")
        if literal in added:
            raise FormatError(f"{where}: {short_repr(literal)} is listed already")
        try:
            check_literal(literal)
        except ValueError as bad:
            raise FormatError(f"{where}: {bad}") from None
        defaults = dict.fromkeys((*SIDES, "special"), False) | {"normalized": not entry.get("special", False)}
        added[literal] = defaults | entry
    # the ids that the library gives on loading: a token of the model keeps its id, others get the next free ids in the
    # order of the file
    last = -1
    for literal, entry in added.items():
        known = ids.get(literal)
        given = max(last + 1, len(ids)) if known is None else known
        last = max(last, given)
        if given != entry["id"]:
            raise FormatError(
                f"{name}: added token {short_repr(literal)} has the id {entry['id']}, and tokenizers gives it {given} "
                "on loading: the file contradicts itself. To read it with the ids that tokenizers gives, write "
                "Tokenizer.from_huggingface(tokenizers.Tokenizer.from_file(path))"
            )
    return added


def _flags(
    added: dict[str, dict[str, Any]], ids: SpelledIds, normalizes: bool, alphabet: Alphabet | None
) -> dict[str, tuple[str, ...]]:
    """literal -> flags, for added tokens with flags that make a difference."""
    late = {literal for literal, entry in added.items() if entry["normalized"]}
    early = added.keys() - late
    # Without a normalizer, "normalized" only means that these tokens are searched for after the others, in the text
    # between them. The order matters if tokens overlap, and to flags that look at the characters next to a token.
    looks = any(entry[flag] for entry in added.values() for flag in SIDES)
    searched_late = late if normalizes or (early and late and (looks or overlap(early, late))) else set()
    made: dict[str, tuple[str, ...]] = {}
    for literal, entry in added.items():
        flags = [flag for flag in SIDES if entry[flag]]
        if literal in searched_late:
            flags.append("normalized")
        if not entry["special"]:
            flags.append("plain")
        as_characters = alphabet is not None and alphabet.of_characters
        if is_letter(literal.encode(), alphabet) and (literal if as_characters else encode_token(literal)) not in ids:
            flags.append("added")
        if flags:
            made[literal] = tuple(flags)
    return made


def _token_of_model(literal: str, ids: SpelledIds, alphabet: Alphabet | None, ignore_merges: bool) -> bytes | None:
    """The bytes for which the model takes a token that is spelled so without a merge; None if it does not."""
    read = alphabet.read_spelled if alphabet is not None and alphabet.of_characters else decode_or_utf8
    is_one = len(literal.removesuffix("" if alphabet is None else alphabet.suffix)) == 1
    taken = literal in ids and (is_one or (ignore_merges and read is not decode_or_utf8))
    return read(literal) if taken else None


def _check_added(
    entry: dict[str, Any], token: bytes, of_model: bytes | None, normalization: Normalization, in_printable_form: bool
) -> None:
    """Raise FormatError for an added token that ``tokenizers`` finds in other places, or takes for other bytes."""
    literal, fault = entry["content"], ""
    if of_model not in (None, token):
        fault = f", which stands for {token!r}, is also how the model spells {of_model!r}"
    elif entry["normalized"]:
        strips = [flag for flag in SIDES if entry[flag]]
        if in_printable_form and strips:  # a space is a letter there
            fault = f": {strips[0]} of a normalized token, after the normalizer ByteLevel, is not supported"
        elif normalization is not None:
            from ..steps.normalizers import normalizer  # not at the top: few files have such tokens

            if not (normalizer(normalization) or str)(literal):
                fault = " is normalized to nothing, and found everywhere"
    if fault:
        raise FormatError(f"added token {short_repr(literal)}{fault}")


def _check_byte_fallback(ids: SpelledIds, name: str) -> None:
    """Raise FormatError if ``byte_fallback`` applies to some byte. The library writes a byte without a token as such
    tokens as ``<0xC4>``, one for each byte of its printable form in UTF-8, if it has them all."""
    for character in ALPHABET:
        spelled = [f"<0x{byte:02X}>" for byte in character.encode("utf-8")]
        if character not in ids and all(token in ids for token in spelled):
            raise FormatError(
                f"{name}: model.byte_fallback: the byte {decode_token_bytes(character)!r} has no token, and tokenizers "
                f"writes it as {' '.join(spelled)}, which bpetite does not"
            )


# Writing


def _model_settings(vocab: Vocab, unknown_token: str | None) -> dict[str, Any]:
    alphabet = vocab.alphabet
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown_token,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": (alphabet and alphabet.suffix) or None,
        "fuse_unk": alphabet is not None and alphabet.fuse_unknown,
        "byte_fallback": alphabet is not None and bool(alphabet.byte_ids),
        "ignore_merges": vocab.ignore_merges,
        **vocab.kept,
    }


def dump(vocab: Vocab) -> bytes:
    """The tokenizer.json of a vocabulary with a merge list.

    Raises:
        FormatError: The format cannot hold this vocabulary; the message says why.
    """
    import json  # not at the top: reading does without it

    if vocab.merges is None:
        raise FormatError(
            "tokenizer.json holds a merge list, and this vocabulary is of the ranks kind: convert it with to_merges() "
            "first, which keeps the ids of every text"
        )
    refuse_settings(vocab, "tokenizer.json", errors="strict")
    refuse_aliases(vocab, "tokenizer.json")
    special = {token_id: literal for literal, token_id in vocab.special_tokens.items()}
    spelled = spell(vocab, "tokenizer.json")
    for token_id, literal in special.items():
        if spelled[token_id] != literal and any(token_id in pair for pair in vocab.merges):
            raise FormatError(f"tokenizer.json cannot hold the special token {literal!r} as part of a merge")
        spelled[token_id] = literal
    if len({*spelled.values()}) != len(spelled):
        raise FormatError("tokenizer.json cannot hold a special token that is spelled like a token")
    alphabet = vocab.alphabet
    unknown_token = None if alphabet is None or alphabet.unknown is None else spelled[alphabet.unknown]
    # a special token is left out of the model's vocabulary, where text may find it, if counting on gives it its id
    needed = {*vocab.merge_results, *(special.keys() - vocab.special_only), alphabet and alphabet.unknown}
    first = vocab.next_id
    while vocab.next_id == len(spelled) and first - 1 in special and first - 1 not in needed:
        first -= 1
    ordinary = {text: token_id for token_id, text in spelled.items() if token_id < first}
    for literal, flags in vocab.token_flags.items():
        if "added" in flags and literal in ordinary:
            raise FormatError(
                f"tokenizer.json cannot hold the special token {literal!r}: with its id it would be a token of "
                "ordinary text, too"
            )
    if unknown := vocab.kept.keys() - KEPT.keys():
        raise FormatError(f"tokenizer.json cannot hold the setting {min(unknown)!r}")
    merges: list[Any] = [(spelled[left], spelled[right]) for left, right in vocab.merges]
    if not any(" " in left or " " in right for left, right in merges):
        merges = list(map(" ".join, merges))  # the form that old readers know, too
    characters = alphabet is not None and alphabet.of_characters
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(token_id, special[token_id], vocab) for token_id in sorted(special)],
        "normalizer": write_normalizer(vocab.normalization),
        "pre_tokenizer": write_pre_tokenizer(vocab.pattern, characters=characters),
        "post_processor": (
            None if vocab.template is None and characters
            else write_post_processor(vocab.template, vocab.tokens)
        ),
        "decoder": write_decoder(alphabet),
        "model": _model_settings(vocab, unknown_token) | {"vocab": ordinary, "merges": merges},
    }
    return json.dumps(content, ensure_ascii=False, indent=None).encode("utf-8") + b"\n"


def _added(token_id: int, literal: str, vocab: Vocab) -> dict[str, Any]:
    flags = vocab.token_flags.get(literal, ())
    if "spelled" in flags:
        raise FormatError(f"tokenizer.json cannot hold the special token {literal!r}: tokenizers would normalize it")
    entry: dict[str, Any] = {"id": token_id, "content": literal}
    return entry | {flag: flag in flags for flag in FLAGS} | {"special": "plain" not in flags}


def dump_beside(vocab: Vocab) -> dict[str, bytes]:
    """The files, name -> content, with which ``transformers.AutoTokenizer`` loads a directory with a tokenizer.json:
    those that the vocabulary came with, and a class that reads tokenizer.json as it stands."""
    import json

    files = {
        name: text for name, text in vocab.beside.items()
        if name in WRITTEN["huggingface"] or name.startswith(TEMPLATES)
    }  # fmt: skip
    config: dict[str, Any] = {"clean_up_tokenization_spaces": False}
    config |= json.loads(files.get(CONFIG, "{}")) | {"tokenizer_class": "PreTrainedTokenizerFast"}
    config.pop("auto_map", None)  # names code that is not in this directory
    if vocab.eot_token is not None and "eos_token" not in settings_in(files):
        config["eos_token"] = vocab.tokens[vocab.eot_token].decode("utf-8")
    files[CONFIG] = json.dumps(config, ensure_ascii=False, indent=2) + "\n"
    return {name: text.encode("utf-8") for name, text in files.items()}
