"""Boxes cut out of a slide by the worker's own way: placed in arrays, decoded once, copied into rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from inference.decoding.decode_tasks import Recipe, Rows, ScatterTiles
from wsi.records.slides import LevelInfo
from wsi.slide.placement import place
from wsi.slide.slide import RGB, WHITE, SlideReader


def cut(
    reader: SlideReader, level: int, info: LevelInfo, boxes: NDArray[np.int32], side: int, fill: int = WHITE
) -> Iterator[tuple[int, RGB | str]]:
    """(place in `boxes`, pixels or why there are none)."""
    placed = place(info, boxes, side, side, lambda tiles: reader.sort_tiles(level, tiles))
    rows = Rows(len(boxes), side, side)
    memory = np.full(len(boxes) * rows.row_bytes, fill, np.uint8)
    broken: dict[int, dict[int, str]] = {}
    at = 0
    for encoded in reader.read_runs(level, placed.tiles):
        np.testing.assert_array_equal(encoded.tiles, placed.tiles[at : at + len(encoded)])
        first = placed.first[at : at + len(encoded) + 1]
        pieces = placed.pieces[int(first[0]) : int(first[-1])]
        whole = bool((np.diff(encoded.first) > 0).all())
        decoding = (reader.find_decoding(level) if whole else None) or reader.decode
        job = ScatterTiles(Recipe(rows, level, decoding, 1, fill), encoded, first - first[0], pieces)
        why = dict(job.run(memory))
        for number, tile in enumerate(encoded.tiles.tolist()):
            if tile in why:
                for box in pieces.box[int(first[number] - first[0]) : int(first[number + 1] - first[0])].tolist():
                    broken.setdefault(box, {})[tile] = why[tile]
        at += len(encoded)
    assert at == len(placed.tiles)
    for row, position in enumerate(placed.order.tolist()):
        if row in broken:
            yield position, "; ".join(f"file tile {tile}: {why}" for tile, why in sorted(broken[row].items()))
        else:
            yield position, rows.view(memory)[row]
