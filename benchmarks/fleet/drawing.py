"""GPU nodes and waiting shards over a day, drawn as SVG: a panel for each day."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from benchmarks.fleet.samples import FleetSample

WIDTH, PANEL, LEFT, RIGHT, TOP, BOTTOM = 860, 190, 70, 70, 40, 26
HOURS = 24
STEP = 5  #: samples a point of the lines: five minutes
NODES, RUNNING, WAITING, INK, GRID = "#9ecae1", "#08519c", "#d94801", "#333333", "#dddddd"


def draw_days(days: Mapping[str, Sequence[FleetSample]]) -> str:
    """Return the drawing. Each panel has two scales of its own: nodes at the left, waiting shards at the right."""
    height = len(days) * PANEL + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif"'
        ' font-size="12" role="img" aria-label="GPU nodes and waiting shards over the day">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number, (name, samples) in enumerate(days.items()):
        parts += _draw_panel(name, samples[::STEP], top=number * PANEL)
    parts += _draw_legend(height - 14)
    return "\n".join((*parts, "</svg>", ""))


def _draw_panel(name: str, samples: Sequence[FleetSample], *, top: int) -> Iterator[str]:
    below, above = top + PANEL - BOTTOM, top + TOP
    samples = [sample for sample in samples if sample.at <= HOURS * 3_600]
    most_nodes = _round_up(max(sample.spot + sample.on_demand for sample in samples))
    most_shards = _round_up(max(sample.waiting for sample in samples))

    def place(sample: FleetSample, value: float, most: int) -> str:
        x = LEFT + (WIDTH - LEFT - RIGHT) * sample.at / (HOURS * 3_600)
        return f"{x:.1f},{below - (below - above) * value / most:.1f}"

    nodes = [place(sample, sample.spot + sample.on_demand, most_nodes) for sample in samples]
    running = [place(sample, sample.running, most_nodes) for sample in samples]
    waiting = [place(sample, sample.waiting, most_shards) for sample in samples]
    yield f'<text x="{LEFT}" y="{top + 24}" fill="{INK}" font-weight="bold">{escape(name)}</text>'
    for hour in range(0, HOURS + 1, 3):
        x = LEFT + (WIDTH - LEFT - RIGHT) * hour / HOURS
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{above}" y2="{below}" stroke="{GRID}"/>'
        yield f'<text x="{x:.1f}" y="{below + 16}" fill="{INK}" text-anchor="middle">{hour}:00</text>'
    for share in (0.5, 1.0):
        y = below - (below - above) * share + 4
        yield f'<text x="{LEFT - 6}" y="{y:.1f}" fill="{RUNNING}" text-anchor="end">{most_nodes * share:,.0f}</text>'
        yield f'<text x="{WIDTH - RIGHT + 6}" y="{y:.1f}" fill="{WAITING}">{most_shards * share:,.0f}</text>'
    first, last = nodes[0].split(",")[0], nodes[-1].split(",")[0]
    yield f'<polygon points="{first},{below} {" ".join(nodes)} {last},{below}" fill="{NODES}"/>'
    yield f'<polyline points="{" ".join(running)}" fill="none" stroke="{RUNNING}" stroke-width="1.5"/>'
    yield f'<polyline points="{" ".join(waiting)}" fill="none" stroke="{WAITING}" stroke-width="1.5"/>'
    yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{below}" y2="{below}" stroke="{INK}"/>'


def _draw_legend(y: int) -> Iterator[str]:
    for x, colour, text in (
        (LEFT, NODES, "GPU nodes (left)"),
        (LEFT + 160, RUNNING, "shards that run (left)"),
        (LEFT + 350, WAITING, "shards that wait (right)"),
    ):
        yield f'<rect x="{x}" y="{y - 9}" width="14" height="10" fill="{colour}"/>'
        yield f'<text x="{x + 20}" y="{y}" fill="{INK}">{text}</text>'


def _round_up(value: float) -> int:
    """Return the end of a scale: the next number of one digit and zeros, 2 at least."""
    if value <= 2:
        return 2
    step = 10 ** int(math.log10(value))
    return math.ceil(value / step) * step
