"""The rates of several libraries as a picture: a panel for each text, a group of bars for each row of the table."""
from __future__ import annotations

from collections.abc import Sequence
from html import escape

__all__ = ["svg"]

#: One for each library, in order; they differ in lightness too.
COLOURS = ["#1b4f72", "#e08214", "#7fbc41", "#c51b7d", "#8073ac", "#999999", "#40b0a6"]

BAR, GAP, LEFT, TOP, PANEL, MARGIN = 10, 12, 130, 52, 215, 60


def svg(panels: dict[str, Sequence[tuple[str, dict[str, float]]]], names: Sequence[str], notes: Sequence[str]) -> str:
    """An SVG picture of horizontal bars.

    Args:
        panels: Text -> (label, library -> MB/s) of every row; the same labels for each text.
        names: The libraries, in the order of their bars.
        notes: Lines of small print below.
    """
    colour = dict(zip(names, COLOURS, strict=False))
    parts: list[str] = []
    for number, name in enumerate(names):
        x = LEFT + number * 92
        parts.append(f'<rect x="{x}" y="8" width="10" height="10" fill="{colour[name]}"/>')
        parts.append(f'<text x="{x + 14}" y="17">{escape(name)}</text>')
    has: dict[str, set[str]] = {}
    for label, rates in (row for rows in panels.values() for row in rows):
        has.setdefault(label, set()).update(rates)
    height = float(TOP)
    for number, (title, rows) in enumerate(panels.items()):
        left = LEFT + number * (PANEL + MARGIN)
        parts.append(f'<text x="{left}" y="{TOP - 12}" font-weight="bold">{escape(title)}, MB/s</text>')
        most = max(max(rates.values()) for _, rates in rows)
        y = float(TOP)
        for label, rates in rows:
            shown = [name for name in names if name in has[label]]
            if number == 0:
                middle = y + BAR * len(shown) / 2 + 4
                parts.append(f'<text x="{LEFT - 8}" y="{middle:.0f}" text-anchor="end">{escape(label)}</text>')
            for name in shown:
                if name in rates:
                    length = max(1.0, rates[name] / most * PANEL)
                    shape = f'x="{left}" y="{y:.0f}" width="{length:.1f}" height="{BAR - 1}"'
                    parts.append(f'<rect {shape} fill="{colour[name]}"/>')
                    at = f'x="{left + length + 4:.1f}" y="{y + 8:.0f}"'
                    parts.append(f'<text {at} font-size="9">{rates[name]:,.0f}</text>')
                y += BAR
            y += GAP
        height = max(height, y)
    for note in notes:
        parts.append(f'<text x="10" y="{height + 6:.0f}" font-size="10" fill="#555">{escape(note)}</text>')
        height += 14
    width = LEFT + len(panels) * (PANEL + MARGIN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height + 8:.0f}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
        + "".join(parts)
        + "</svg>\n"
    )
