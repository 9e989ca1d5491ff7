"""Rings with fewer points. Needs no numpy."""

from __future__ import annotations

from wsi.records.outline import Ring


def thin_ring(ring: Ring, tolerance: float) -> Ring:
    """Return the closed ring without points that are within `tolerance` px of the last one kept.

    The new line lies within `tolerance` of the old one and the old one within `tolerance` of the new one: what is left
    out lies near a point that stays, and so does the end of the edge that led on from it. Radial distance, in one pass.
    """
    kept = [ring[0]]
    x0, y0 = ring[0]
    near = tolerance * tolerance
    for point in ring[1:-1]:
        x, y = point
        if (x - x0) * (x - x0) + (y - y0) * (y - y0) > near:
            kept.append(point)
            x0, y0 = point
    return (*kept, ring[-1])
