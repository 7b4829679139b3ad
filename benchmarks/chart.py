"""The rates of several libraries as a picture: a panel for each text, a bar for each library."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

__all__ = ["svg"]

LEFT, TOP, BAR, PANEL, GAP = 92, 46, 20, 190, 62

#: Readable on light and on dark pages, which the viewer's system decides.
STYLE = """
.page { fill: #ffffff } .text { fill: #24292f } .note { fill: #57606a } .bar { fill: #a8b3c2 } .mine { fill: #0b62a8 }
@media (prefers-color-scheme: dark) {
.page { fill: #14181f } .text { fill: #e6e9ee } .note { fill: #9aa4b2 } .bar { fill: #566273 } .mine { fill: #4aa3e8 }
}
"""


def svg(title: str, panels: Mapping[str, Mapping[str, float]], names: Sequence[str], note: str) -> str:
    """An SVG picture of horizontal bars.

    Args:
        title: What is shown, and its unit.
        panels: Text -> library -> rate.
        names: The libraries, from top to bottom; the first one has a colour of its own. The best value is bold.
        note: Small print.
    """
    parts = [f'<text class="text" x="10" y="18" font-size="13" font-weight="bold">{escape(title)}</text>']
    for row, name in enumerate(names):
        weight = ' font-weight="bold"' if row == 0 else ""
        y = TOP + row * BAR + 13
        parts.append(f'<text class="text" x="{LEFT - 8}" y="{y}" text-anchor="end"{weight}>{escape(name)}</text>')
    for column, (text, rates) in enumerate(panels.items()):
        left = LEFT + column * (PANEL + GAP)
        parts.append(f'<text class="note" x="{left}" y="{TOP - 8}">{escape(text)}</text>')
        most = max(rates.values())
        for row, name in enumerate(names):
            if name in rates:
                length = max(1.0, rates[name] / most * PANEL)
                y = TOP + row * BAR
                kind = "mine" if row == 0 else "bar"
                shape = f'x="{left}" y="{y}" width="{length:.1f}" height="{BAR - 4}"'
                parts.append(f'<rect class="{kind}" {shape} rx="2"/>')
                weight = ' font-weight="bold"' if rates[name] == most else ""  # the best value
                place = f'x="{left + length + 5:.1f}" y="{y + 13}"{weight}'
                parts.append(f'<text class="text" {place}>{rates[name]:,.0f}</text>')
    height = TOP + len(names) * BAR + 12
    parts.append(f'<text class="note" x="10" y="{height + 6}" font-size="10">{escape(note)}</text>')
    width = LEFT + len(panels) * (PANEL + GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 18}" width="{width}" '
        f'font-family="system-ui, sans-serif" font-size="11"><style>{STYLE}</style>'
        f'<rect class="page" width="100%" height="100%" rx="6"/>{"".join(parts)}</svg>\n'
    )
