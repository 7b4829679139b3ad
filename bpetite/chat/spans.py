"""The places of the contents of messages in a rendered conversation, proven by rendering it again."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .masks import Masked, code_points, equal_but_for, free_characters, texts_in

if TYPE_CHECKING:
    from .templates import ChatTemplate

__all__ = ["content_spans", "generation_spans"]

Messages = list[dict[str, Any]]
Render = Callable[[Messages | None], str]
#: (start, end) in characters.
Span = tuple[int, int]

#: Stand-ins for characters that a mask would change too much: JSON escapes these in two characters, and a filter
#: trims those.
STAND_INS = {"\b": '"\\\n\r\t', "\u2003": " \n\r\t\v\f"}


def content_spans(messages: Messages, text: str, render: Render) -> dict[int, Span]:
    """The part of the text that comes from the content of each message; none for those that are not found.

    Each content is rendered as masks, a character of its own in place of each of its characters. The text must be equal
    but for these.
    """
    chars = free_characters("".join(texts_in(messages)) + text)
    marks = {index: next(chars) for index, message in enumerate(messages) if any(map(str.strip, _texts(message)))}
    for stand_in in STAND_INS:
        found = _found(messages, marks, text, render, stand_in)
        if found is not None:
            return found
    spans: dict[int, Span] = {}
    for index, mark in marks.items():
        alone = (_found(messages, {index: mark}, text, render, stand_in) for stand_in in STAND_INS)
        spans |= next((one for one in alone if one), {})
    return spans


def generation_spans(text: str, render: Render, template: ChatTemplate) -> list[Span]:
    """The parts of the text that generation blocks put out.

    Raises:
        ValueError: The template reads what a block puts out.
    """
    chars = free_characters(text)
    edges = next(chars), next(chars)
    with template.generation_edges(*edges):
        marked = render(None)
    if marked.replace(edges[0], "").replace(edges[1], "") != text:
        raise ValueError("the template changes what its generation blocks put out, so that their tokens are not known")
    places = np.flatnonzero(np.isin(code_points(marked), code_points("".join(edges))))
    at = [int(place) - number for number, place in enumerate(places)]
    return [*zip(at[::2], at[1::2], strict=True)]


def _texts(message: dict[str, Any]) -> list[str]:
    """The texts of a content, which is one or a list with parts that have one."""
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


def _found(
    messages: Messages, marks: dict[int, str], text: str, render: Render, stand_in: str
) -> dict[int, Span] | None:
    """The spans of the marks; None if the text differs otherwise."""
    apart = STAND_INS[stand_in]
    made = [*messages]
    for index, mark in marks.items():
        texts = _texts(made[index])
        masked = ["".join([stand_in if char in apart else mark for char in one]) for one in texts]
        made[index] = _with_texts(made[index], map(Masked.of, masked, texts))
    rendered = render(made)
    every = "".join(marks.values())
    if stand_in in text or not equal_but_for(text, rendered, f"{every}{stand_in}b"):
        return None
    points = code_points(rendered)
    spans = {}
    for index, mark in marks.items():
        at = np.flatnonzero(points == ord(mark))
        given = "".join(_texts(messages[index]))
        start, end = (int(at[0]), int(at[-1]) + 1) if len(at) else (0, 0)
        shown = "".join([text[place] for place in at]).casefold()
        alone = not np.isin(points[start:end], code_points(every.replace(mark, ""))).any()
        if len(at) and alone and shown in "".join([char for char in given if char not in apart]).casefold():
            before, after = (len(given) - len(one) for one in (given.lstrip(apart), given.rstrip(apart)))
            start = _widened(text, rendered, start, -1, before, stand_in)
            spans[index] = start, _widened(text, rendered, end, 1, after, stand_in)
    return spans


def _widened(text: str, rendered: str, at: int, step: int, most: int, stand_in: str) -> int:
    """The edge moved over at most so many characters that something stands for, or its escape."""
    for _ in range(most):
        first = at - 1 if step < 0 else at
        escape = at - 2 if step < 0 else at
        if rendered[first : first + 1] == stand_in:
            at += step
        elif rendered[escape : escape + 2] == "\\b" and text[escape + 1] != "b":
            at += 2 * step
    return at
