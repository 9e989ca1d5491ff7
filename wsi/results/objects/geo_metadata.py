"""The metadata of geometries in a Parquet file, as GeoParquet 1.1 asks (geoparquet.org/releases/v1.1.0)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

GEOMETRY: Final = "geometry"
BOX: Final = ("xmin", "ymin", "xmax", "ymax")


class GeoMetadata(dict[str, str]):
    """The metadata "geo", once all objects were seen."""

    def __init__(self, kinds: Sequence[str]) -> None:
        """Take the kinds of geometries that the file holds."""
        super().__init__()
        self._kinds = list(kinds)
        self._box: NDArray[np.float64] | None = None
        self.update(geo=self._describe())

    def add(self, boxes: NDArray[np.float64]) -> None:
        """Extend it over boxes, [n, 4] in the order of BOX."""
        both = boxes if self._box is None else np.concatenate([self._box[np.newaxis], boxes])
        self._box = np.concatenate([both[:, :2].min(axis=0), both[:, 2:].max(axis=0)])
        self.update(geo=self._describe())

    def _describe(self) -> str:
        column: dict[str, Any] = {
            "encoding": "WKB",
            "geometry_types": self._kinds,
            "crs": None,
            "edges": "planar",
            "covering": {"bbox": {side: ["bbox", side] for side in BOX}},
        }
        if self._box is not None:
            column["bbox"] = self._box.tolist()
        return json.dumps({"version": "1.1.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: column}})
