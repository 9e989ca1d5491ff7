"""The result files of each kind of output: their names, writers and order. `wsi.results.stitching` knows none of them.

A new kind of output is a new row of `WRITERS`; a new file is a `FileWriter` in the rows that have it. summary.json is
in no row: stitching writes it last, for every kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import IO

from wsi.planning.plan import Plan
from wsi.planning.windows import make_lattice
from wsi.records.model_card import OutputKind
from wsi.results import geojson, heatmap, mask, quality, tables, tiles_parquet
from wsi.results.features import features_h5
from wsi.results.given import geojson as given_geojson
from wsi.results.given import parquet as given_parquet
from wsi.results.given import table as given_table
from wsi.results.objects import geojson as object_geojson
from wsi.results.objects import parquet as object_parquet
from wsi.results.objects.slide_objects import SlideObjects
from wsi.results.scored_tiles import ScoredTiles


def _always(plan: Plan) -> bool:
    return True


def _has_tiles(plan: Plan) -> bool:
    """Return whether anything was to be computed. The functions that plan write the files of slides without tissue, and
    lack the libraries of vectors and objects."""
    return len(plan.tiles) > 0


def _has_mask(plan: Plan) -> bool:
    return plan.mask is not None


def _has_two_frames(plan: Plan) -> bool:
    return geojson.has_two_frames(plan.inspection)


def _has_two_frames_of_objects(plan: Plan) -> bool:
    return _has_tiles(plan) and _has_two_frames(plan)


@dataclass(frozen=True, slots=True)
class FileWriter:
    """A result file: its name, its writer, and the plans that it is due for."""

    name: str
    media_type: str
    write: Callable[[ScoredTiles, IO[bytes]], None]
    is_due: Callable[[Plan], bool] = _always  #: whether a job with this plan has the file


#: The files of models that give each tile a row of scores.
SCORED_TILES = (
    FileWriter(tables.NAME, tables.MEDIA_TYPE, tables.write),
    FileWriter(quality.NAME, quality.MEDIA_TYPE, quality.write),
    FileWriter(geojson.NAME, geojson.MEDIA_TYPE, geojson.write),
    FileWriter(heatmap.NAME, heatmap.MEDIA_TYPE, heatmap.write),
    FileWriter(mask.NAME, mask.MEDIA_TYPE, mask.write, _has_mask),
    FileWriter(geojson.FULL_NAME, geojson.MEDIA_TYPE, geojson.write_full, _has_two_frames),
)

#: The files of models that give each tile a vector.
FEATURES = (
    FileWriter(features_h5.NAME, features_h5.MEDIA_TYPE, features_h5.write, _has_tiles),
    FileWriter(quality.NAME, quality.MEDIA_TYPE, quality.write),
    FileWriter(tables.NAME, tables.MEDIA_TYPE, tables.write),
    FileWriter(tiles_parquet.NAME, tiles_parquet.MEDIA_TYPE, tiles_parquet.write, _has_tiles),
    FileWriter(mask.NAME, mask.MEDIA_TYPE, mask.write, _has_mask),
)


def _write_objects(write: Callable[[SlideObjects, IO[bytes]], None]) -> Callable[[ScoredTiles, IO[bytes]], None]:
    def write_of_tiles(tiles: ScoredTiles, file: IO[bytes]) -> None:
        assert tiles.objects is not None, "tiles of a detection are collected with their objects"
        write(SlideObjects(plan=tiles.plan, lattice=make_lattice(tiles.plan), blocks=tiles.objects), file)

    return write_of_tiles


#: The files of models that find objects.
OBJECTS = (
    FileWriter(object_geojson.NAME, geojson.MEDIA_TYPE, _write_objects(object_geojson.write), _has_tiles),
    FileWriter(object_parquet.NAME, object_parquet.MEDIA_TYPE, _write_objects(object_parquet.write), _has_tiles),
    FileWriter(quality.NAME, quality.MEDIA_TYPE, quality.write),
    FileWriter(tables.NAME, tables.MEDIA_TYPE, tables.write),
    FileWriter(tiles_parquet.NAME, tiles_parquet.MEDIA_TYPE, tiles_parquet.write, _has_tiles),
    FileWriter(mask.NAME, mask.MEDIA_TYPE, mask.write, _has_mask),
    FileWriter(
        object_geojson.FULL_NAME,
        geojson.MEDIA_TYPE,
        _write_objects(object_geojson.write_full),
        _has_two_frames_of_objects,
    ),
)

#: Of tiles around objects that a user gave, which lie on no grid and need no tissue: tables alone, and the objects.
_OF_GIVEN = (
    FileWriter(given_parquet.NAME, given_parquet.MEDIA_TYPE, given_parquet.write),
    FileWriter(given_table.NAME, given_table.MEDIA_TYPE, given_table.write),
    FileWriter(tables.NAME, tables.MEDIA_TYPE, tables.write),
    FileWriter(quality.NAME, quality.MEDIA_TYPE, quality.write),
)
GIVEN_SCORES = (
    FileWriter(given_geojson.NAME, geojson.MEDIA_TYPE, given_geojson.write),
    *_OF_GIVEN,
    FileWriter(given_geojson.FULL_NAME, geojson.MEDIA_TYPE, given_geojson.write_full, _has_two_frames),
)
GIVEN_FEATURES = (
    FileWriter(features_h5.NAME, features_h5.MEDIA_TYPE, features_h5.write),
    *_OF_GIVEN,
    FileWriter(tiles_parquet.NAME, tiles_parquet.MEDIA_TYPE, tiles_parquet.write),
)

#: Kind of output -> its files, in the order they are written.
WRITERS: Mapping[OutputKind, tuple[FileWriter, ...]] = MappingProxyType(
    {
        OutputKind.CLASSIFICATION: SCORED_TILES,
        OutputKind.REGRESSION: SCORED_TILES,
        OutputKind.EMBEDDING: FEATURES,
        OutputKind.DETECTION: OBJECTS,
    }
)

#: The same for plans of objects that a user gave.
GIVEN_WRITERS: Mapping[OutputKind, tuple[FileWriter, ...]] = MappingProxyType(
    {
        OutputKind.CLASSIFICATION: GIVEN_SCORES,
        OutputKind.REGRESSION: GIVEN_SCORES,
        OutputKind.EMBEDDING: GIVEN_FEATURES,
    }
)


def select_writers(plan: Plan) -> tuple[FileWriter, ...]:
    """Return the writers of the plan's result files, in the order they are written."""
    writers = WRITERS if plan.objects is None else GIVEN_WRITERS
    return tuple(writer for writer in writers[plan.card.output] if writer.is_due(plan))
