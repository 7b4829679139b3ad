"""Bars as SVG, in the page's colours, with a label for screen readers."""
from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from .markup import COLOURS

__all__ = ["bars"]

WIDTH = 360


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>'


def bars(
    groups: Sequence[tuple[str, Sequence[float]]], *, x: str, names: Sequence[str] = (), digits: int = 2
) -> str:
    """Draw horizontal bars, a group of them for each name at the left, in the order given; "" without a group.

    Args:
        groups: (name, a value for each bar of the group).
        x: The name of the values.
        names: The names of a group's bars, for a legend; each has a colour.
        digits: Digits after the point.
    """
    if not groups:
        return ""
    thick, gap, small = (8, 8, ' class="small"') if names else (16, 6, "")
    step = thick + bool(names)
    left = 16 + math.ceil(6.5 * max(len(group) for group, _ in groups))  # a letter is some 6.5 wide
    above = 16 * len(names) + 6
    line = step * max(len(names), 1) + gap
    height = above + line * len(groups) + 20
    highest = max(value for _, values in groups for value in values) or 1
    written = [[f"{value:,.{digits}f}" for value in values] for _, values in groups]
    room = WIDTH - left - 14 - 6 * max(len(one) for group in written for one in group)
    parts = []
    for number, name in enumerate(names):
        parts += [
            f'<rect x="{left}" y="{16 * number + 3}" width="10" height="10" rx="2" class="fill{number % COLOURS}"/>',
            _text(left + 16, 16 * number + 12, name),
        ]
    told = []
    for number, (group, values) in enumerate(groups):
        top = above + number * line
        parts.append(_text(left - 8, top + (line - gap) / 2 + 4, group, ' text-anchor="end"'))
        for at, value in enumerate(values):
            length = max(room * value / highest, 1)
            level = top + at * step
            title = f"<title>{escape(names[at])}: {value:.3f}</title>" if names else ""
            parts += [
                f'<rect x="{left}" y="{level}" width="{length:.1f}" height="{thick}" rx="{thick // 5}" '
                f'class="fill{at % COLOURS}">{title}</rect>',
                _text(left + length + 6, level + thick * 0.75, written[number][at], small),
            ]
        pairs = zip(names, written[number], strict=True) if names else ()
        told.append(f"{group} {', '.join(map(' '.join, pairs)) or written[number][0]}")
    parts.append(_text(left, height - 4, x))
    label = escape(f"{x}: {'; '.join(told)}", quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
