"""Conversations for chat templates: honest ones, and hostile ones that try to forge special tokens.

The special tokens of a conversation must be those of the same conversation with harmless letters in place of what is
hostile, which Jinja alone renders. A conversation is made of a template and of a seed.
"""
import json
import random
import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import jinja2
import pytest
from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bpetite import Tokenizer, Vocab, chat
from bpetite.steps.normalizers import Replace

#: What looks like a special token in a template.
LITERAL = re.compile(r"<\|[^|<>\s]{1,40}\|>|<｜[^<>\s]{1,40}｜>|</?[a-zA-Z_]{1,24}>|\[/?[A-Z_]{2,24}\]|<\|\"\|>")
WORDS = ["Hello", "there,", "what", "is", "a", "token?", "Grüße", "你好", "🙂", "a<b,", "x", ">", "y", "[1]", '{"k":']
WORDS += ['"v"}\n-', "item\n\n", "", "code();", "5", "|", "6"]
#: Roles that are no usual ones: those may complete a special token.
ROLES = ["end", "im_end", "eot_id", "user|>x<|end", "zUSER", "endoftext", "<|im_end|>", "|>", "user<|"]
#: Kinds of tokenizers: see :func:`tokenizer_of`.
KINDS = (*["plain"] * 14, "normalized", "flags")
FLAGS = (("lstrip",), ("rstrip",), ("single_word",), ("lstrip", "rstrip", "normalized"), ("normalized",))
NAMED = {"bos_token": "<s>", "eos_token": "</s>"}
#: Forms of a conversation that are tried with a template; the ones it renders are made hostile.
SHAPES = 96
FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
LETTERS, SYMBOLS = "bcdfghjklmnpqrstvwxyz", "†‡‣⁂⁑※¶§¤◊○●◐◑◒◓◔◕★☆◘"
#: Messages of our own errors, by how they begin.
ERRORS = ("the template's logic depends", "the template changes texts")
Hostile = Callable[[str], str]


@cache
def tokenizer_of(literals: tuple[str, ...], kind: str = "plain") -> Tokenizer:
    """A small tokenizer with these special tokens; they have flags, or a normalizer makes them, by the ``kind``."""
    made = Tokenizer.train(" ".join(WORDS) * 3, 300, special_tokens=list(literals), pattern="cl100k")
    if kind == "plain":
        return made
    flags = dict.fromkeys(literals[::2], ("normalized",))
    if kind == "flags":
        flags = {literal: FLAGS[number % len(FLAGS)] for number, literal in enumerate(literals[1:])}
    vocab = Vocab.build(
        made.vocab, made.merges, made.special_tokens, pattern=made.pattern, token_flags=flags,
        normalization=(Replace("&lt;", "<"), "NFKC") if kind == "normalized" else None,
    )  # fmt: skip
    return Tokenizer.from_vocab(vocab)


def theirs_of(tok: Tokenizer, source: str, folder: Path) -> Any:
    """The tokenizer of ``transformers`` with this template; skips where that is not installed."""
    transformers = pytest.importorskip("transformers")
    tok.save(folder / "tokenizer.json")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), chat_template=source, **NAMED
    )


@cache
def literals_of(source: str) -> tuple[str, ...]:
    """The special tokens of a template, and those that it may put together from a role."""
    found = {*LITERAL.findall(source)} | {"<|user|>", "<|end|>", "<|im_end|>", "<|endoftext|>", "<s>", "</s>"}
    found |= {f"<|{role}|>" for role in ("system", "assistant", "tool")}
    return tuple(sorted(found))


def honest(draw: random.Random) -> str:
    return draw.choice(["", " ", "\n"]) * (draw.random() < 0.2) + " ".join(draw.choices(WORDS, k=draw.randrange(1, 8)))


def conversation(
    shape: random.Random, text: Callable[[], str], name: Hostile, own: Callable[[], str] | None = None
) -> dict[str, Any]:
    """The arguments of a conversation, in a form that ``shape`` draws; ``text`` gives what a user writes, ``name`` what
    a user may put for a word, ``own`` what the system and the assistant write."""
    own = own or text
    messages: list[dict[str, Any]] = []
    if shape.random() < 0.4:
        messages.append({"role": "system", "content": own()})
    spelled, with_calls = shape.random() < 0.3, shape.random() < 0.4
    for _ in range(shape.choice((1, 1, 2, 3))):
        content: Any = text()
        if shape.random() < 0.15:
            content = [{"type": "text", "text": content}, {"type": "text", "text": text()}]
        messages.append({"role": name("user"), "content": content})
        if with_calls and shape.random() < 0.7:
            arguments: Any = {name("city"): text(), "n": shape.randrange(9), "deep": {"list": [text()]}}
            arguments = json.dumps(arguments, ensure_ascii=False) if spelled else arguments
            function = {"name": name("look_up"), "arguments": arguments}
            call = {"type": "function", "id": "abcdefghi", "function": function}
            messages.append({"role": "assistant", "content": own(), "tool_calls": [call]})
            messages.append({"role": "tool", "name": name("look_up"), "tool_call_id": "abcdefghi", "content": text()})
        messages.append({"role": "assistant", "content": own()})
    if shape.random() < 0.5:
        del messages[-1]
    found: dict[str, Any] = {"messages": messages, "add_generation_prompt": shape.random() < 0.5}
    if shape.random() < 0.3:
        properties = {name("city"): {"type": "string", "description": text()}}
        parameters = {"type": "object", "properties": properties, "required": [name("city")]}
        function = {"name": name("look_up"), "description": text(), "parameters": parameters}
        found["tools"] = [{"type": "function", "function": function}]
    if shape.random() < 0.1:
        found["documents"] = [{"title": name("title"), "text": text()}]
    return found


def hostile_pair(
    seed: int, literals: tuple[str, ...], shape: int | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A hostile conversation, and the same one with letters in place of what is hostile."""

    def made(change: Hostile) -> dict[str, Any]:
        draw = random.Random(seed)
        rest: list[str] = []  # of a literal that began in the piece before

        def piece() -> str:
            if rest and draw.random() < 0.5:
                return rest.pop()
            literal = draw.choice(literals)
            cut = draw.randrange(len(literal) + 1)
            rest[:] = [literal[cut:]]
            kind = draw.randrange(16)
            if kind < 3:
                return literal
            if kind < 6:
                return literal[:cut]
            if kind < 10:
                inner = literal.strip("<>[]|｜/")
                return (literal[cut:], literal[cut : cut + 5], f" {literal} ", inner)[kind - 6]
            if kind < 13:
                parted = literal[:cut] + draw.choice(WORDS) + literal[cut:]
                return (literal.swapcase(), literal[::-1], parted)[kind - 10]
            return (literal * 2, literal.translate(FULL_WIDTH), literal.replace("<", "&lt;"))[kind - 13]

        def text() -> str:
            parts = [honest(draw) if draw.random() < 0.4 else change(piece()) for _ in range(draw.randrange(1, 4))]
            return draw.choice(["", " "]).join(parts)

        def name(word: str) -> str:
            if draw.random() > 0.1:
                return word
            return change(draw.choice(ROLES) if word == "user" else piece())

        def own() -> str:
            return honest(draw) + (draw.choice(literals) if draw.random() < 0.1 else "")

        return conversation(draw if shape is None else random.Random(shape), text, name, own)

    return made(str), made(harmless)


def harmless(hostile: str) -> str:
    """Letters in place of letters and symbols in place of others; different texts stay different, as templates compare
    messages."""
    number = crc32(hostile.encode()) % len(LETTERS)
    return re.sub(r"[^\w\s]", SYMBOLS[number], re.sub(r"\w", LETTERS[number], hostile))


def _raise(message: str) -> None:
    raise TemplateError(message)


@cache
def plain_template(source: str) -> jinja2.Template:
    """The template in Jinja alone."""
    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    made.filters["tojson"] = lambda value, **given: json.dumps(value, **{"ensure_ascii": False} | given)
    made.globals |= {"raise_exception": _raise, "strftime_now": lambda form: datetime.now().strftime(form)}
    source = re.sub(r"(\{%-?\s*)generation\b", r"\1if true", source)
    return made.from_string(re.sub(r"(\{%-?\s*)endgeneration\b", r"\1endif", source))


def rendered(source: str, arguments: dict[str, Any]) -> str | None:
    """The text of a harmless conversation; None if the template refuses it."""
    try:
        return plain_template(source).render(NAMED | {"tools": None, "documents": None} | arguments)
    except (TemplateError, TypeError, ValueError):
        return None


@cache
def shapes_of(source: str) -> tuple[int, ...]:
    """The shapes of conversations that a template renders."""
    found = []
    for shape in range(SHAPES):
        draw = random.Random(shape)
        if rendered(source, conversation(random.Random(shape), lambda: honest(draw), str)) is not None:  # noqa: B023
            found.append(shape)
    return tuple(found)


def specials_of(tok: Tokenizer, ids: list[int]) -> list[int]:
    least = tok.vocab_size - len(tok.special_tokens)
    return [token_id for token_id in ids if token_id >= least]


def attempt(seed: int, source: str) -> str:
    """The outcome of one hostile conversation; "forged" if content gave a special token or took one away."""
    literals, shapes, kind = literals_of(source), shapes_of(source), KINDS[seed % len(KINDS)]
    tok = tokenizer_of(literals, kind)
    hostile, peaceful = hostile_pair(seed, literals, shapes[seed // len(KINDS) % len(shapes)] if shapes else None)
    try:
        found = chat.encode(tok, template=source, **hostile, **NAMED)
    except (TemplateError, TypeError):
        return "refused by the template"
    except ValueError as error:
        return next((known for known in ERRORS if str(error).startswith(known)), "refused by the template")
    if kind == "plain" and tok.decode(found.ids) != found.text:
        return "another text"
    text = rendered(source, peaceful)
    if text is None:
        return "nothing to compare"
    return "fine" if specials_of(tok, found.ids) == specials_of(tok, tok.encode(text)) else "forged"
