"""Small plots as SVG: bars and one curve, in the page's colours, with a label for screen readers."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from .markup import COLOURS

__all__ = ["bars", "columns", "zipf"]

WIDTH, HEIGHT = 360, 200
LEFT, RIGHT, TOP, BOTTOM = 40, 8, 10, 34
GROUND, FULL = HEIGHT - BOTTOM, HEIGHT - BOTTOM - TOP  # the level of the x axis, and the height above it
INSIDE = WIDTH - LEFT - RIGHT


def _svg(height: int, label: str, parts: Sequence[str]) -> str:
    named = escape(label, quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{named}">{"".join(parts)}</svg>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, css: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{css}"/>'


def _grid(ticks: Sequence[tuple[float, float]]) -> list[str]:
    """Grid lines with numbers at the left. A tick is a number and its height, a fraction of the plot's."""
    parts = []
    for number, fraction in ticks:
        level = GROUND - FULL * fraction
        parts += [_line(LEFT, level, WIDTH - RIGHT, level, "grid"), _text(LEFT - 6, level + 4, short(number), "end")]
    return parts


def _x_axis(name: str) -> list[str]:
    return [_line(LEFT, GROUND, WIDTH - RIGHT, GROUND, "axis"), _text(WIDTH / 2, HEIGHT - 4, name)]


def short(number: float) -> str:
    """A number in few characters.

    >>> short(1234567), short(950), short(0.25)
    ('1.2M', '950', '0.25')
    """
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:.2g}{name}" if number < 10 * unit else f"{number / unit:.0f}{name}"
    return f"{number:.3g}"


def _ticks(highest: float, about: int = 4) -> list[float]:
    """Round numbers from 0 to a highest value.

    >>> _ticks(7300)
    [0.0, 2000.0, 4000.0, 6000.0]
    """
    if highest <= 0:
        return [0.0]
    raw = highest / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    return [step * at for at in range(int(highest / step) + 1)]


def columns(values: Mapping[int, int], *, x: str, y: str, most: int = 32) -> str:
    """Draw a histogram: a column for each number from 1 on; the last one counts ``most`` and more."""
    counts = [0] * most
    for number, count in values.items():
        if number >= 1:
            counts[min(number, most) - 1] += count
    while len(counts) > 1 and not counts[-1]:
        counts.pop()
    highest = max(counts, default=0) or 1
    width = INSIDE / len(counts)
    parts = _grid([(tick, tick / highest) for tick in _ticks(highest)])
    for number, count in enumerate(counts, 1):
        height = FULL * count / highest
        left = LEFT + (number - 1) * width
        name = f"{number}+" if number == most else str(number)
        parts.append(
            f'<rect x="{left + 0.5:.1f}" y="{GROUND - height:.1f}" width="{max(width - 1, 0.5):.1f}" '
            f'height="{height:.1f}" class="fill"><title>{name}: {count:,}</title></rect>'
        )
        if len(counts) <= 16 or number in (1, len(counts)) or number % 4 == 0:
            parts.append(_text(left + width / 2, GROUND + 14, name))
    label = f"{y} by {x}: " + ", ".join(f"{number}: {count}" for number, count in enumerate(counts, 1))
    return _svg(HEIGHT, label, parts + _x_axis(x))


def bars(
    groups: Sequence[tuple[str, Sequence[float]]], *, x: str, names: Sequence[str] = (), digits: int = 2
) -> str:
    """Draw horizontal bars, a group of them for each name at the left, in the order given.

    Args:
        groups: (name, a value for each bar of the group).
        x: The name of the values.
        names: The names of a group's bars, for a legend; each has a colour.
        digits: Digits after the point.
    """
    thick, gap, small = (8, 8, ' class="small"') if names else (16, 6, "")
    step = thick + bool(names)
    left = 16 + math.ceil(6.5 * max((len(group) for group, _ in groups), default=0))  # a letter is some 6.5 wide
    above = 16 * len(names) + 6
    line = step * max(len(names), 1) + gap
    height = above + line * len(groups) + 20
    highest = max((value for _, values in groups for value in values), default=0) or 1
    parts = []
    for number, name in enumerate(names):
        parts += [
            f'<rect x="{left}" y="{16 * number + 3}" width="10" height="10" rx="2" class="fill{number % COLOURS}"/>',
            _text(left + 16, 16 * number + 12, name, "start"),
        ]
    for number, (group, values) in enumerate(groups):
        top = above + number * line
        parts.append(_text(left - 8, top + (line - gap) / 2 + 4, group, "end"))
        for at, value in enumerate(values):
            length = max((WIDTH - left - 40) * value / highest, 1)
            level = top + at * step
            title = f"<title>{escape(names[at])}: {value:.3f}</title>" if names else ""
            parts += [
                f'<rect x="{left}" y="{level}" width="{length:.1f}" height="{thick}" rx="{thick // 5}" '
                f'class="fill{at % COLOURS}">{title}</rect>',
                f'<text x="{left + length + 6:.1f}" y="{level + thick * 0.75:.1f}"{small}>{value:.{digits}f}</text>',
            ]
    parts.append(_text(left, height - 4, x, "start"))
    told = []
    for group, values in groups:
        written = [f"{value:.{digits}f}" for value in values]
        pairs = zip(names, written, strict=True) if names else ()
        told.append(f"{group} {', '.join(map(' '.join, pairs)) or written[0]}")
    return _svg(height, f"{x}: {'; '.join(told)}", parts)


def zipf(counts: Sequence[int]) -> str:
    """Draw the occurrences of the most frequent token, the second, and so on, both axes logarithmic."""
    ordered = sorted((count for count in counts if count), reverse=True)
    if len(ordered) < 2:
        return ""
    wide, high = math.log10(len(ordered)), math.log10(ordered[0]) or 1.0
    ranks = sorted({min(len(ordered), max(1, round(10 ** (wide * step / 160)))) for step in range(161)})
    points = " ".join(
        f"{LEFT + INSIDE * math.log10(rank) / wide:.1f},{GROUND - FULL * math.log10(ordered[rank - 1]) / high:.1f}"
        for rank in ranks
    )
    parts = _grid([(10**power, power / high) for power in range(int(high) + 1)])
    powers = range(int(wide) + 1)
    parts += [_text(LEFT + INSIDE * power / wide, GROUND + 14, short(10**power)) for power in powers]
    parts.append(f'<polyline class="curve" points="{points}"/>')
    label = "occurrences by rank: " + ", ".join(f"rank {10**power}: {ordered[10**power - 1]}" for power in powers)
    return _svg(HEIGHT, label, parts + _x_axis("rank"))
