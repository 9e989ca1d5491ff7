"""Levels as a viewer sees them, put together from their tiles by another decoder than ours."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.slide import SlideReader
from wsi.viewer.deep_zoom import ViewLevel, build_levels
from wsi.viewer.view_tiles import ViewTile, make_file_tile

Pixels = NDArray[np.uint8]


def opened(path: Path) -> tuple[SlideReader, tuple[ViewLevel, ...]]:
    reader = open_slide(open_local_source(path))
    return reader, build_levels(reader.inspection.levels)


def tile(reader: SlideReader, shown: ViewLevel, column: int, row: int) -> ViewTile:
    box = shown.find_box(column, row)
    assert box is not None
    assert shown.level is not None
    return make_file_tile(reader, shown.level, box, shown.reduction)


def decoded(jpeg: bytes) -> Pixels:
    """As a browser does: by what the JPEG says of itself."""
    return np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))


def level_seen(reader: SlideReader, shown: ViewLevel) -> Pixels:
    seen = np.zeros((shown.height, shown.width, 3), np.uint8)
    for row in range(shown.rows):
        for column in range(shown.columns):
            box = shown.find_box(column, row)
            assert box is not None
            pixels = decoded(tile(reader, shown, column, row).jpeg)
            assert pixels.shape == (box.height, box.width, 3)
            seen[box.top : box.bottom, box.left : box.right] = pixels
    return seen
