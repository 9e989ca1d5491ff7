"""The results of one model over one slide, as a notebook looks at them."""

from __future__ import annotations

import csv
import json
import os
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tessera.public.frames import make_frame
from wsi.results.features.features_h5 import NAME as FEATURES
from wsi.results.objects.parquet import NAME as OBJECTS
from wsi.results.summary import NAME as SUMMARY
from wsi.results.tables import NAME as TILES

_BOX: Final = ("minx", "miny", "width", "height")  #: columns of `tiles.csv` before the model's, level-0 px


class RunResult:
    """A folder of results. `tessera.run` and `Client.results` return one; `RunResult("results")` opens a folder that
    is there already. Each file is read when it is first needed."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)  #: where the files are: summary.json, tiles.csv, heatmap.ome.tif, …

    def __repr__(self) -> str:
        counts = self.summary["tiles"]
        return f"<RunResult {self.summary['status']}: {counts['inferred']:,} tiles in {str(self.folder)!r}>"

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The contents of summary.json: status, counts, unreadable tiles with their reasons, slide, model, grid,
        numerics."""
        return json.loads((self.folder / SUMMARY).read_bytes())

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the model's columns."""
        return tuple(column["name"] for column in self.summary["model"]["columns"])

    @property
    def tiles(self) -> Any:
        """A row for each analysed tile: minx, miny, width, height of its box in level-0 px, then the model's columns.

        A pandas DataFrame where pandas is installed, else a polars DataFrame where that is, else `tile_arrays`. All
        three give a column by its name.
        """
        return make_frame(self.tile_arrays)

    @cached_property
    def tile_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The columns of `tiles` by name, [tiles] each: the box as int64, the model's columns as float32."""
        with (self.folder / TILES).open(encoding="utf-8", newline="") as file:
            head = next(csv.reader(file))
            rows = file.readlines()  # numbers alone: below the header no cell is quoted
        names = (*_BOX, *self.columns)  # the table's head quotes a name that a spreadsheet would calculate
        if len(names) != len(head):
            raise ValueError(f"{TILES} has {len(head)} columns in place of {len(names)}: is it of another model?")
        values = np.loadtxt(rows, delimiter=",", ndmin=2) if rows else np.empty((0, len(names)))
        kinds = [np.int64] * len(_BOX) + [np.float32] * (len(names) - len(_BOX))
        return {name: column.astype(kind) for name, column, kind in zip(names, values.T, kinds, strict=True)}

    @cached_property
    def features(self) -> NDArray[np.floating[Any]]:
        """The vectors of an encoder, [tiles, dimensions] in float32 or float16: a row for each row of `tiles`. Raises
        FileNotFoundError for results of another kind of model."""
        import h5py  # pyright: ignore[reportMissingTypeStubs]

        with (self.folder / FEATURES).open("rb") as file, h5py.File(file, "r") as stored:
            return np.asarray(stored["features"])

    @property
    def objects(self) -> Any:
        """A row for each object that a model found, with its outline in level-0 px, its class and its measurements.

        A geopandas GeoDataFrame where geopandas is installed, else a pyarrow Table whose outlines are WKB. Raises
        FileNotFoundError for results of another kind of model.
        """
        path = self.folder / OBJECTS
        if not path.is_file():
            raise FileNotFoundError(f"There is no {OBJECTS} in {self.folder}: the model finds no objects.")
        try:
            from geopandas import read_parquet
        except ModuleNotFoundError:
            from pyarrow.parquet import read_table

            return read_table(path)
        return read_parquet(path)

    def heatmap(self, column: str | None = None) -> NDArray[np.float32]:
        """Return [rows, columns] of the grid, a value a tile: those of the model's first column unless another is
        named. NaN where nothing was analysed. Tile [r, c] begins at x = c * stride, y = r * stride_y of
        `summary["grid"]`, in level-0 px. Raises KeyError for a column that the model does not have, and ValueError for
        tiles around objects, which lie on no grid."""
        if "given_objects" in self.summary:
            raise ValueError("These tiles are around objects and lie on no grid: read objects.parquet")
        name = self.columns[0] if column is None else column
        if name not in self.columns:
            raise KeyError(f"The model has no column {name}; it has {', '.join(self.columns)}")
        grid, tiles = self.summary["grid"], self.tile_arrays
        heatmap = np.full((grid["rows"], grid["columns"]), np.nan, np.float32)
        heatmap[tiles["miny"] // grid["stride_y"], tiles["minx"] // grid["stride"]] = tiles[name]
        return heatmap
