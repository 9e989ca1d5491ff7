"""Tables of drawn objects, for tests and benchmarks that need no network."""

from __future__ import annotations

import numpy as np

from wsi.objects.table import ObjectTable


def draw_objects(
    count: int, *, seed: int = 0, vertices: int = 40, classes: int = 1, spread: int = 20_000, holes: bool = False
) -> ObjectTable:
    """Return objects at places within `spread` px of the lattice: rings around them, of which each vertex is nearer or
    farther. Every third object has a hole if there are holes."""
    draw = np.random.default_rng(seed)
    centres = draw.integers(100, spread + 100, (count, 2))
    radii = draw.uniform(16, 24, (count, 1)) * draw.uniform(0.85, 1.15, (count, vertices))
    angles = np.arange(vertices) * (2 * np.pi / vertices) + draw.uniform(0, 0.05, (count, vertices))
    rings = np.stack([radii * np.cos(angles) * draw.uniform(0.6, 1, (count, 1)), radii * np.sin(angles)], axis=2)
    rings = np.rint(rings).astype(np.int32) + 2 * centres[:, None].astype(np.int32)
    hole = np.array([[0, -4], [4, 0], [0, 4], [-4, 0]], np.int32)
    with_hole = (np.arange(count) % 3 == 0) & holes
    parts = []
    for ring, centre, pierced in zip(rings, 2 * centres, with_hole, strict=True) if holes else ():
        parts += [ring, hole + centre.astype(np.int32)] if pierced else [ring]
    sizes = np.array([len(part) for part in parts]) if holes else np.full(count, vertices)
    points = centres.astype(np.int32) - [0, 12]
    chances = draw.random((count, 1 + (classes if classes > 1 else 0)), dtype=np.float32)
    return ObjectTable(
        tiles=np.arange(count, dtype=np.int32) // 50,
        points=points.astype(np.int32),
        areas=draw.integers(200, 400, count).astype(np.int32),
        centroids=centres + draw.random((count, 2)),
        classes=draw.integers(0, classes, count).astype(np.uint8),
        chances=chances,
        first_rings=np.concatenate([[0], np.cumsum(1 + with_hole)]).astype(np.int32),
        first_vertices=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        vertices=np.concatenate(parts) if holes else rings.reshape(-1, 2),
    )
