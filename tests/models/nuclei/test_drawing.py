from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from models.nuclei.drawing import COLOUR, SCALE, PixelRectangle, draw_outlines

SQUARE = [[20, 20], [30, 20], [30, 30], [20, 30], [20, 20]]


@pytest.fixture
def slide(tmp_path: Path) -> Path:
    path = tmp_path / "slide.tif"
    pixels = np.full((512, 512, 3), 200, np.uint8)
    tifffile.imwrite(path, pixels, tile=(256, 256), photometric="rgb", resolution=(2e4, 2e4), resolutionunit=3)
    return path


def write_squares(results: Path, name: str, *moves: int) -> None:
    results.mkdir(exist_ok=True)
    rings = [[[x + move, y + move] for x, y in SQUARE] for move in moves]
    features = [{"geometry": {"type": "Polygon", "coordinates": [ring]}} for ring in rings]
    (results / name).write_bytes(gzip.compress(json.dumps({"features": features}).encode()))


def read_drawn(path: Path) -> np.ndarray:
    return (np.asarray(Image.open(path).convert("RGB")) == COLOUR).all(axis=2)


def test_outlines_are_drawn_where_the_objects_are(slide: Path, tmp_path: Path) -> None:
    write_squares(tmp_path / "results", "objects.geojson.gz", 0, 400)
    out = tmp_path / "out.png"
    assert draw_outlines(slide, tmp_path / "results", out, PixelRectangle(10, 10, 60, 40)) == 1
    drawn = read_drawn(out)
    assert drawn.shape == (SCALE * 40, SCALE * 60)
    ys, xs = np.nonzero(drawn)
    assert (abs(np.array([xs.min(), ys.min(), xs.max(), ys.max()]) - [20, 20, 40, 40]) <= 1).all()
    assert not drawn[25:36, 25:36].any()


def test_the_file_with_level_0_px_is_preferred(slide: Path, tmp_path: Path) -> None:
    write_squares(tmp_path / "results", "objects.geojson.gz", 0, 0)
    write_squares(tmp_path / "results", "objects.full.geojson.gz", 0)
    assert draw_outlines(slide, tmp_path / "results", tmp_path / "out.png", PixelRectangle(0, 0, 60, 60)) == 1


def test_results_without_objects_are_refused(slide: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"objects\.geojson\.gz"):
        draw_outlines(slide, tmp_path, tmp_path / "out.png", PixelRectangle(0, 0, 60, 60))
