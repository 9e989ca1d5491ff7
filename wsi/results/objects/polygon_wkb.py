"""Polygons as Well-Known Binary (OGC 06-103r4, 8.2), made of whole columns and not one by one."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wsi.objects.rings import PARTS, close_rings, place_vertices
from wsi.objects.table import ObjectTable, PixelLattice

_POLYGON: Final = 3
_LITTLE_ENDIAN: Final = 1
_WORD: Final = 4  #: bytes


class Binaries(NamedTuple):
    """Byte strings in one buffer: the layout of Arrow's binary arrays."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int32]  #: [n + 1] string k is data[offsets[k]:offsets[k + 1]]


def encode_polygons(table: ObjectTable, lattice: PixelLattice) -> Binaries:
    """Return the polygons in level-0 px. All but the first byte of a polygon are words of four, so that they are placed
    as words, and the bytes are put between them last."""
    rings = close_rings(table)
    points = place_vertices(table, lattice)[rings.places] / PARTS
    ring_counts = np.diff(table.first_rings).astype(np.int64)
    ring_objects = np.repeat(np.arange(len(table)), ring_counts)
    ring_sizes = np.diff(rings.first_places)
    # Two words before an object's rings, one before a ring's points, four for a point.
    ring_starts = 2 * (ring_objects + 1) + np.arange(len(ring_sizes)) + 4 * rings.first_places[:-1]
    words = np.empty(2 * len(table) + len(ring_sizes) + 4 * len(points), "<u4")
    is_point = np.ones(len(words), np.bool_)
    is_point[ring_starts] = False
    words[ring_starts] = ring_sizes
    starts = ring_starts[table.first_rings[:-1]] - 2
    is_point[starts] = is_point[starts + 1] = False
    words[starts], words[starts + 1] = _POLYGON, ring_counts
    words[is_point] = points.astype("<f8").view("<u4").ravel()
    offsets = np.append(starts, len(words)) * _WORD + np.arange(len(table) + 1)
    data = np.empty(int(offsets[-1]), np.uint8)
    is_word = np.ones(len(data), np.bool_)
    is_word[offsets[:-1]] = False
    data[offsets[:-1]] = _LITTLE_ENDIAN
    data[is_word] = words.view(np.uint8)
    return Binaries(data, offsets.astype(np.int32))
