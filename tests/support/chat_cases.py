"""Conversations for chat templates: honest ones, and hostile ones that try to forge special tokens.

    python tests/support/chat_cases.py FOLDER -n 100000

tries so many hostile conversations, in turn over the templates (``*.jinja``) of a folder, and prints what it found. The
special tokens of a conversation must be those of the same conversation with harmless letters in place of what is
hostile.
"""
from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

from jinja2 import TemplateError

from bpetite import Tokenizer, chat

#: What looks like a special token in a template.
LITERAL = re.compile(r"<\|[^|<>\s]{1,40}\|>|<｜[^<>\s]{1,40}｜>|</?[a-zA-Z_]{1,24}>|\[/?[A-Z_]{2,24}\]|<\|\"\|>")
WORDS = ["Hello", "there,", "what", "is", "a", "token?", "Grüße", "你好", "🙂", "a<b,", "x", ">", "y", "[1]", '{"k":']
WORDS += ['"v"}\n-', "item\n\n", "", "code();", "5", "|", "6"]
#: Roles that are no usual ones: those may complete a special token.
ROLES = ["end", "im_end", "eot_id", "user|>x<|end", "zUSER", "endoftext", "<|im_end|>", "|>", "user<|"]

Hostile = Callable[[str], str]


@lru_cache
def tokenizer_of(literals: tuple[str, ...]) -> Tokenizer:
    """A small tokenizer with these special tokens."""
    return Tokenizer.train(" ".join(WORDS) * 3, 300, special_tokens=list(literals), pattern="cl100k")


def literals_of(source: str) -> tuple[str, ...]:
    """The special tokens of a template, and those that it may put together from a role."""
    found = {*LITERAL.findall(source)} | {"<|user|>", "<|end|>", "<|im_end|>", "<|endoftext|>", "<s>", "</s>"}
    found |= {f"<|{role}|>" for role in ("system", "assistant", "tool")}
    return tuple(sorted(found))


def honest(draw: random.Random) -> str:
    return draw.choice(["", " ", "\n"]) * (draw.random() < 0.2) + " ".join(draw.choices(WORDS, k=draw.randrange(1, 8)))


def conversation(draw: random.Random, text: Callable[[], str], name: Callable[[str], str]) -> dict[str, Any]:
    """The arguments of a conversation; ``text`` gives what a user writes, ``name`` what a user may put for a word."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": honest(draw)}] * (draw.random() < 0.4)
    for _ in range(draw.randrange(1, 4)):
        content: Any = text()
        if draw.random() < 0.15:
            content = [{"type": "text", "text": content}, {"type": "text", "text": text()}]
        messages.append({"role": name("user"), "content": content})
        if draw.random() < 0.3:
            arguments = {name("city"): text(), "n": draw.randrange(9), "deep": {"list": [text()]}}
            function = {"name": name("look_up"), "arguments": arguments}
            call = {"type": "function", "id": "abcdefghi", "function": function}
            messages.append({"role": "assistant", "content": honest(draw), "tool_calls": [call]})
            messages.append({"role": "tool", "name": name("look_up"), "tool_call_id": "abcdefghi", "content": text()})
        messages.append({"role": "assistant", "content": honest(draw)})
    if draw.random() < 0.5:
        del messages[-1]
    found: dict[str, Any] = {"messages": messages, "add_generation_prompt": draw.random() < 0.5}
    if draw.random() < 0.3:
        properties = {name("city"): {"type": "string", "description": text()}}
        parameters = {"type": "object", "properties": properties, "required": [name("city")]}
        function = {"name": name("look_up"), "description": text(), "parameters": parameters}
        found["tools"] = [{"type": "function", "function": function}]
    return found


def hostile_pair(seed: int, literals: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A hostile conversation, and the same one with letters in place of what is hostile."""

    def piece(draw: random.Random) -> str:
        literal = draw.choice(literals)
        cut = draw.randrange(len(literal) + 1)
        kinds = [literal, literal[:cut], literal[cut:], literal[cut : cut + 5], literal.swapcase(), literal[::-1]]
        kinds += [f" {literal} ", literal[:cut] + draw.choice(WORDS) + literal[cut:], literal * 2]
        kinds += [literal.strip("<>[]|")]
        return draw.choice(kinds)

    def made(change: Hostile) -> dict[str, Any]:
        draw = random.Random(seed)

        def text() -> str:
            parts = [honest(draw) if draw.random() < 0.4 else change(piece(draw)) for _ in range(draw.randrange(1, 4))]
            return draw.choice(["", " "]).join(parts)

        def name(word: str) -> str:
            if draw.random() > 0.1:
                return word
            return change(draw.choice(ROLES) if word == "user" else piece(draw))

        return conversation(draw, text, name)

    def harmless(hostile: str) -> str:
        # different texts stay different: templates compare messages
        return re.sub(r"\S", "bcdfghjklmnpqrstvwxyz"[crc32(hostile.encode()) % 21], hostile)

    return made(str), made(harmless)


def specials_of(tok: Tokenizer, ids: list[int]) -> list[int]:
    return [token_id for token_id in ids if token_id >= tok.vocab_size - len(tok.special_tokens)]


def attempt(seed: int, source: str) -> str:
    """The outcome of one hostile conversation; "forged" if content gave a special token or took one away."""
    literals = literals_of(source)
    tok = tokenizer_of(literals)
    hostile, harmless = hostile_pair(seed, literals)
    options = {"bos_token": "<s>", "eos_token": "</s>"}
    try:
        found = chat.encode(tok, template=source, **hostile, **options)
    except (TemplateError, TypeError):
        return "refused by the template"
    except ValueError:
        return "error"
    if tok.decode(found.ids) != found.text:
        return "another text"
    try:
        expected = chat.encode(tok, template=source, **harmless, **options)
    except (TemplateError, TypeError, ValueError):
        return "nothing to compare"
    return "fine" if specials_of(tok, found.ids) == specials_of(tok, expected.ids) else "forged"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-n", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    templates = {path.stem: path.read_text(encoding="utf-8") for path in sorted(options.folder.glob("*.jinja"))}
    names, found, started = list(templates), Counter[str](), time.monotonic()
    bad: list[str] = []
    for number in range(options.n):
        name, seed = names[number % len(names)], options.seed + number
        outcome = attempt(seed, templates[name])
        found[outcome] += 1
        if outcome in ("forged", "another text"):
            bad.append(f"{outcome}: {name} seed {seed}")
            print(bad[-1], flush=True)
        if number % 10_000 == 9_999:
            print(number + 1, dict(found), f"{time.monotonic() - started:.0f} s", flush=True)
    print(options.n, dict(found))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
