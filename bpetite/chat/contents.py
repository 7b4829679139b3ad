"""The contents of messages, and generation blocks, in the text of a conversation."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .masks import Masked, code_points, equal_but_for, free_characters, texts_in
from .templates import generation_edges

Messages = list[dict[str, Any]]
Render = Callable[[Messages | None], str]
#: (start, end) in characters.
Span = tuple[int, int]
Literals = Callable[[str], list[Span]]

#: Stands for characters that JSON escapes in two characters, as it escapes this one.
STAND_IN, ESCAPED_IN_TWO = "\b", '"\\\n\r\t'


def content_spans(messages: Messages, text: str, render: Render, literals: Literals) -> dict[int, Span]:
    """Return {index of a message: span of its content in the text}, without contents that are not found.

    Render the conversation with a mark for each message in place of all characters of its content. The text must be
    equal but for the marks. If it is not, keep white space and the spans that ``literals`` finds, because templates
    look for some special tokens. Last, mark one message at a time.
    """
    chars = free_characters("".join(texts_in(messages)) + text)
    every = {index: next(chars) for index, message in enumerate(messages) if any(map(str.strip, _texts(message)))}

    def spans(marks: dict[int, str]) -> dict[int, Span]:
        return _marked_spans(messages, marks, text, render) or _marked_spans(messages, marks, text, render, literals)

    return spans(every) or {index: span for mark in every.items() for index, span in spans(dict([mark])).items()}


def block_spans(text: str, render: Render) -> list[Span]:
    """The spans of the generation blocks; ValueError if the template reads what a block puts out."""
    chars = free_characters(text)
    edges = next(chars), next(chars)
    with generation_edges(*edges):
        marked = render(None)
    if marked.replace(edges[0], "").replace(edges[1], "") != text:
        raise ValueError("the template changes what its generation blocks put out, so their tokens are unknown")
    places = np.flatnonzero(np.isin(code_points(marked), code_points("".join(edges))))
    at = [int(place) - number for number, place in enumerate(places)]
    return [*zip(at[::2], at[1::2], strict=True)]


def _texts(message: dict[str, Any]) -> list[str]:
    """The texts of a content, which is a text or a list of parts with texts."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]


def _with_texts(message: dict[str, Any], texts: Iterable[str]) -> dict[str, Any]:
    content, rest = message["content"], iter(texts)
    if isinstance(content, str):
        return message | {"content": next(rest)}
    has_text = [isinstance(part, dict) and isinstance(part.get("text"), str) for part in content]
    parts = [part | {"text": next(rest)} if has else part for part, has in zip(content, has_text, strict=True)]
    return message | {"content": parts}


def _marked_spans(
    messages: Messages, marks: dict[int, str], text: str, render: Render, literals: Literals | None = None
) -> dict[int, Span]:
    """Render with a mark for each message; return where each mark appears, or {} if anything else changed."""
    marked_messages = [*messages]
    for index, mark in marks.items():
        texts = _texts(messages[index])
        masked = ["".join([STAND_IN if char in ESCAPED_IN_TWO else mark for char in one]) for one in texts]
        if literals is not None:
            masked = [_unmasked(one, other, literals(one)) for one, other in zip(texts, masked, strict=True)]
        marked_messages[index] = _with_texts(messages[index], map(Masked.of, masked, texts))
    rendered = render(marked_messages)
    every = "".join(marks.values())
    if STAND_IN in text or not equal_but_for(text, rendered, f"{every}{STAND_IN}b"):
        return {}
    points = code_points(rendered)
    spans = {}
    for index, mark in marks.items():
        at = np.flatnonzero(points == ord(mark))
        if not len(at):
            continue
        given, (start, end) = "".join(_texts(messages[index])), (int(at[0]), int(at[-1]) + 1)
        part, core, others = text[start:end], given.strip(), code_points(every.replace(mark, ""))
        shown = "".join([text[place] for place in at]).casefold()
        marked = "".join([char for char in given if char not in ESCAPED_IN_TWO]).casefold()
        first = start - max(core.find(part), 0)
        last = first + len(core)
        if part in core and text[first:last] == core and not np.isin(points[first:last], others).any():
            start, end = first, last  # perhaps taken apart, and put together again
        elif (part not in core if literals else shown not in marked) or np.isin(points[start:end], others).any():
            continue
        before = len(given) - len(given.lstrip(ESCAPED_IN_TWO))
        after = len(given) - len(given.rstrip(ESCAPED_IN_TWO))
        spans[index] = _widened(text, rendered, start, -1, before), _widened(text, rendered, end, 1, after)
    return spans


def _unmasked(text: str, masked: str, spans: list[Span]) -> str:
    """The masks of a text, without those in some spans and of white space."""
    kept = {at for span in spans for at in range(*span)}
    pairs = enumerate(zip(text, masked, strict=True))
    return "".join([char if at in kept or char.isspace() else mask for at, (char, mask) in pairs])


def _widened(text: str, rendered: str, at: int, step: int, most: int) -> int:
    """The edge of a span, moved over at most that many stand-ins and escapes of them."""
    for _ in range(most):
        first = at - 1 if step < 0 else at
        escape = at - 2 if step < 0 else at
        if rendered[first : first + 1] == STAND_IN:
            at += step
        elif rendered[escape : escape + 2] == "\\b" and text[escape + 1] != "b":
            at += 2 * step
    return at
