"""A confusion matrix drawn as a heat map: colour is the share of the true class, numbers are counts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tessera.evaluation.metrics.division import divide
from tessera.evaluation.report.axes import INK

_CELL: Final = 84
_TOP: Final = 96
_LETTER: Final = 7  #: px of a letter, about
_LONGEST: Final = 24  #: letters of a class's name that are drawn
_DARK: Final = (8, 81, 156)  #: RGB of a share of 1; 0 is white


def draw_confusion(names: Sequence[str], matrix: NDArray[np.float64]) -> str:
    """Return the drawing of [true, predicted] counts."""
    labels = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in names]
    left = 60 + _LETTER * max(map(len, labels))
    width, height = left + _CELL * len(names) + 20, _TOP + _CELL * len(names) + 20
    shares = np.nan_to_num(divide(matrix, matrix.sum(axis=1, keepdims=True)))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"'
        ' font-size="12" role="img" aria-label="Confusion matrix">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="20" y="24" fill="{INK}" font-weight="bold">Confusion matrix</text>',
        f'<text x="{left + _CELL * len(names) / 2}" y="52" fill="{INK}" text-anchor="middle">predicted</text>',
        f'<text transform="translate(22 {_TOP + _CELL * len(names) / 2}) rotate(-90)" fill="{INK}"'
        ' text-anchor="middle">true</text>',
    ]
    for row, label in enumerate(labels):
        middle = _TOP + _CELL * (row + 0.5)
        parts.append(f'<text x="{left - 8}" y="{middle + 4}" fill="{INK}" text-anchor="end">{escape(label)}</text>')
        across = left + _CELL * (row + 0.5)
        fits = f' textLength="{_CELL - 8}" lengthAdjust="spacingAndGlyphs"' if len(label) * _LETTER > _CELL - 8 else ""
        parts.append(
            f'<text x="{across}" y="{_TOP - 10}" fill="{INK}" text-anchor="middle"{fits}>{escape(label)}</text>'
        )
        for column, share in enumerate(shares[row]):
            x, y = left + _CELL * column, _TOP + _CELL * row
            colour = "#" + "".join(f"{round(255 + (dark - 255) * share):02x}" for dark in _DARK)
            ink = "#ffffff" if share > 0.55 else INK
            parts += [
                f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" fill="{colour}" stroke="#ffffff"/>',
                f'<text x="{x + _CELL / 2}" y="{middle}" fill="{ink}" text-anchor="middle">'
                f"{matrix[row, column]:,.0f}</text>",
                f'<text x="{x + _CELL / 2}" y="{middle + 16}" fill="{ink}" text-anchor="middle">{share:.1%}</text>',
            ]
    return "\n".join((*parts, "</svg>", ""))
