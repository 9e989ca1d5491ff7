"""A square of two axes from 0 to 1 in SVG, with lines and a legend below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np
from numpy.typing import NDArray

SIDE, LEFT, TOP, BOTTOM, RIGHT, LINE = 420, 64, 40, 52, 20, 20
INK, GRID, FAINT = "#333333", "#dddddd", "#999999"
#: Of the classes, in their order: Okabe and Ito's, which people with any colour vision tell apart.
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_MOST_POINTS: Final = 600  #: of a line; more cannot be seen


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PlottedLine:
    name: str  #: for the legend
    x: NDArray[np.float64]  #: 0 to 1
    y: NDArray[np.float64]
    dots: bool = False  #: a dot at each point


def draw_axes(title: str, across: str, down: str, lines: Sequence[PlottedLine], *, diagonal: bool = False) -> str:
    """Return the drawing. Points that are NaN are left out."""
    width, height = LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM + LINE * len(lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"'
        f' font-size="12" role="img" aria-label="{escape(title)}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="24" fill="{INK}" font-weight="bold">{escape(title)}</text>',
        *_draw_grid(across, down),
    ]
    if diagonal:
        parts.append(
            f'<line x1="{LEFT}" y1="{TOP + SIDE}" x2="{LEFT + SIDE}" y2="{TOP}" stroke="{FAINT}"'
            ' stroke-dasharray="4 4"/>'
        )
    for number, line in enumerate(lines):
        parts += _draw_line(line, number)
    return "\n".join((*parts, "</svg>", ""))


def _draw_grid(across: str, down: str) -> Iterator[str]:
    for step in range(6):
        share = step / 5
        x, y = LEFT + SIDE * share, TOP + SIDE * (1 - share)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{TOP + SIDE}" stroke="{GRID}"/>'
        yield f'<line x1="{LEFT}" x2="{LEFT + SIDE}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}"/>'
        yield f'<text x="{x:.1f}" y="{TOP + SIDE + 16}" fill="{INK}" text-anchor="middle">{share:.1f}</text>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" fill="{INK}" text-anchor="end">{share:.1f}</text>'
    middle = f"translate(20 {TOP + SIDE / 2}) rotate(-90)"
    yield f'<text x="{LEFT + SIDE / 2}" y="{TOP + SIDE + 36}" fill="{INK}" text-anchor="middle">{escape(across)}</text>'
    yield f'<text transform="{middle}" fill="{INK}" text-anchor="middle">{escape(down)}</text>'


def _draw_line(line: PlottedLine, number: int) -> Iterator[str]:
    colour = COLOURS[number % len(COLOURS)]
    defined = ~(np.isnan(line.x) | np.isnan(line.y))
    points = np.stack([LEFT + SIDE * line.x[defined], TOP + SIDE * (1 - line.y[defined])], axis=1)
    if len(points) > _MOST_POINTS:
        points = points[np.unique(np.linspace(0, len(points) - 1, _MOST_POINTS).astype(np.intp))]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>'
    if line.dots:
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points)
    y = TOP + SIDE + BOTTOM + LINE * number
    yield f'<rect x="{LEFT}" y="{y - 9}" width="14" height="10" fill="{colour}"/>'
    yield f'<text x="{LEFT + 20}" y="{y}" fill="{INK}">{escape(line.name)}</text>'
