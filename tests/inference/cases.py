"""Slides and plans that the worker's tests share."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from inference.models.loaded import LoadedModel
from inference.models.stains.density import StainDensity, measure_densities
from inference.pipeline import run_shard
from tests.slides import write_svs
from wsi.errors import TileUnreadable
from wsi.inspection.examination import Examination
from wsi.inspection.mask import SlideMask
from wsi.jobs.planning import make_plan
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import Numerics, Plan
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ModelCard
from wsi.records.slides import Inspection
from wsi.results.shard_result import ShardResult
from wsi.slide.coding import Reduction
from wsi.slide.encoded import EncodedTiles
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.slide import RGB, WHITE, EncodedTile, SlideReader

#: 8 x 7 boxes of 256 px, the last column and row past the edge; 9 x 7 file tiles of 240 px.
WIDTH, HEIGHT = 2000, 1600


def small_slide(folder: Path, *, width: int = WIDTH, height: int = HEIGHT) -> Path:
    path = folder / "slide.svs"
    path.write_bytes(_small_slide(width, height))
    return path


@cache
def _small_slide(width: int, height: int) -> bytes:
    """Drawn once: it takes a third of a second."""
    with TemporaryDirectory() as folder:
        return write_svs(Path(folder) / "slide.svs", width=width, height=height, associated=False).read_bytes()


def open_path(path: Path) -> SlideReader:
    return open_slide(open_local_source(path))


def whole_plan(
    reader: SlideReader,
    *,
    card: ModelCard = STAIN_DENSITY,
    batch: int = 8,
    shard_tiles: int | None = 20,
    uri: str = "memory",
    etag: str = "1",
    package_uri: str | None = None,
    mpp_y: float | None = None,
    fast: bool = False,
) -> Plan:
    """All boxes of the slide, tissue or not; `mpp_y` where its pixels are not square."""
    examination = Examination(
        inspection=replace(reader.inspection, tissue_fraction=1.0, mpp_y=mpp_y or reader.inspection.mpp_y),
        thumbnail_jpeg=b"",
        mask=SlideMask(np.ones((16, 16), bool)),
    )
    return make_plan(
        slide_digest="0" * 64 + "-1",
        slide_uris=[("slide.svs", uri, etag)],
        reader=reader,
        examination=examination,
        card=replace(card, batch=batch),
        package_uri=package_uri,
        options=JobOptions(fast=fast),
        shard_tiles=shard_tiles,
        threads=1,
    )


def run_all(
    plan: Plan, reader: SlideReader, *, model: LoadedModel | None = None, decode_workers: int = 2
) -> ShardResult:
    """All shards of a plan as one result. `model`: None for stain density."""
    model = model or StainDensity(plan.card)
    results = [
        run_shard(plan, index, reader, model, decode_workers=decode_workers, stop=threading.Event())
        for index in range(len(plan.shard_sizes))
    ]
    tiles = np.concatenate([result.tiles for result in results])
    order = np.argsort(tiles)
    return ShardResult(
        plan_digest=plan.digest,
        tiles=tiles[order],
        scores=np.concatenate([result.scores for result in results])[order],
        quality=np.concatenate([result.quality for result in results if result.quality is not None])[order],
        unreadable={tile: reason for result in results for tile, reason in sorted(result.unreadable.items())},
    )


def boxes(plan: Plan, reader: SlideReader, fill: int = 255) -> NDArray[np.uint8]:
    """[tiles, height, width, 3] cut out of the whole decoded level: the direct way, without the pipeline."""
    grid = plan.grid
    level, reduction = plan.inspection.levels[grid.level], grid.reduction
    columns = -(-level.width // level.tile_width)
    rows = -(-level.height // level.tile_height)
    tile_width, tile_height = level.tile_width // reduction, level.tile_height // reduction
    width, height = grid.level_side, grid.level_side_y
    canvas = np.full((rows * tile_height + height, columns * tile_width + width, 3), fill, np.uint8)
    for tile in reader.read_tiles(grid.level, range(columns * rows)):
        y, x = tile.index // columns * tile_height, tile.index % columns * tile_width
        canvas[y : y + tile_height, x : x + tile_width] = reader.decode(tile, reduction)
    canvas[-(-level.height // reduction) :] = fill
    canvas[:, -(-level.width // reduction) :] = fill
    origins = np.rint(plan.tiles / (grid.level_downsample, grid.level_downsample_y)).astype(int)
    return np.stack([canvas[y : y + height, x : x + width] for x, y in origins])


def direct(plan: Plan, reader: SlideReader) -> NDArray[np.float32]:
    """[tiles, 4] stain densities."""
    return np.stack([measure_densities(box) for box in boxes(plan, reader)])


class DamagedReader:
    """A reader some of whose file tiles cannot be decoded."""

    def __init__(self, reader: SlideReader, broken: Sequence[int]) -> None:
        self._reader = reader
        self._broken = frozenset(broken)

    @property
    def inspection(self) -> Inspection:
        return self._reader.inspection

    def sort_tiles(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._reader.sort_tiles(level, tiles)

    def read_runs(self, level: int, tiles: NDArray[np.int64]) -> Iterator[EncodedTiles]:
        return (EncodedTiles.of(level, [tile]) for tile in self.read_tiles(level, tiles.tolist()))

    def read_tiles(self, level: int, tiles: Sequence[int]) -> Iterator[EncodedTile]:
        return self._reader.read_tiles(level, tiles)

    def find_decoding(self, level: int) -> None:
        return None

    def decode(self, tile: EncodedTile, reduction: Reduction = 1, fill: int = WHITE) -> RGB:
        if tile.index in self._broken:
            raise TileUnreadable("bad Huffman code")
        return self._reader.decode(tile, reduction, fill)

    def reduces(self, level: int) -> bool:
        return self._reader.reduces(level)

    def estimate_level_bytes(self, level: int) -> int:
        return self._reader.estimate_level_bytes(level)

    def map_duplicates(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        return tiles

    def serialize_index(self) -> bytes | None:
        return self._reader.serialize_index()

    def close(self) -> None:
        self._reader.close()


class CountingModel:
    """Stain density that counts its batches; `after(n)` is called after batch n (from 1)."""

    def __init__(self, card: ModelCard, after=lambda number: None) -> None:
        self._model = StainDensity(card)
        self._after = after
        self.batches = 0

    @property
    def card(self) -> ModelCard:
        return self._model.card

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        scores = self._model.infer(pixels, numerics)
        self.batches += 1
        self._after(self.batches)
        return scores
