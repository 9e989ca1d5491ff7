"""features.h5: the vectors of tiles, as TRIDENT and CLAM lay them out (TRIDENT a91fa84, IO.py and Processor.py; CLAM
dataset_generic.py).

`/coords` int64 [n, 2]: x, y of each box's corner in level-0 px. `/features` [n, dimensions]. Attributes stand on the
datasets. Slide encoders divide coords by `patch_size_level0` to find a tile's cell, so that it is the grid's stride, of
which all coords are multiples. Tiles around objects lie on no grid: `grid` is False then, and `/objects` and
`/object_numbers` hold the id and the place in the user's file of each row's object.
"""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from wsi.planning.plan import Plan
from wsi.results.scored_tiles import ScoredTiles

NAME = "features.h5"
MEDIA_TYPE = "application/x-hdf5"
#: Rows of a chunk. TRIDENT's own files have one; 20,000 rows of 1,280 read in 0.04 s so, and in 0.47 s with one.
CHUNK_ROWS = 256
_CHUNKS_AT_ONCE = 16
#: Microns times magnification: 20x is 0.5 um per px.
_OBJECTIVE = 10.0


def write(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """Write the features of all inferred tiles, ordered by x, then y. Equal tiles give equal bytes."""
    import h5py  # here, since functions that write tables do not have it  # pyright: ignore[reportMissingTypeStubs]

    plan, rows = tiles.plan, tiles.features
    if rows is None:
        raise AssertionError("tiles of an embedding were collected without their features")
    count = len(tiles.inferred)
    opened: Any = h5py.File(file, "w")
    with opened as stored:
        coords = stored.create_dataset("coords", data=plan.tiles[tiles.inferred].astype(np.int64))
        coords.attrs.update(_describe_coords(plan))
        chunk = (max(1, min(CHUNK_ROWS, count)), rows.dimensions)
        features = stored.create_dataset(
            "features", (count, rows.dimensions), rows.type, chunks=chunk, maxshape=(None, rows.dimensions)
        )
        features.attrs.update(_describe_features(plan))
        step = CHUNK_ROWS * _CHUNKS_AT_ONCE
        for start in range(0, count, step):
            numbers = tiles.inferred[start : start + step]
            features[start : start + len(numbers)] = rows.read(numbers)
        if plan.objects is not None and tiles.given is not None:
            coords.attrs["grid"] = False
            objects = plan.objects.numbers[tiles.inferred]
            ids = [tiles.given.ids[number] for number in objects.tolist()]
            stored.create_dataset("objects", data=np.array(ids, object), dtype=h5py.string_dtype())  # pyright: ignore[reportUnknownMemberType]
            stored.create_dataset("object_numbers", data=objects)


def _describe_coords(plan: Plan) -> dict[str, Any]:
    grid, card = plan.grid, plan.card
    return {
        "patch_size": card.tile_px,
        "patch_size_level0": grid.stride,
        "level0_magnification": _OBJECTIVE / plan.mpp,
        "target_magnification": _OBJECTIVE / card.mpp,
        "overlap": 0,
        "name": plan.slide_digest,
        "savetodir": "",
        "level0_width": plan.inspection.width,
        "level0_height": plan.inspection.height,
        # Ours: the readers above pass over them.
        "patch_size_level0_y": grid.stride_y,
        "mpp_x": plan.mpp,
        "mpp_y": plan.mpp_y,
        "target_mpp": card.mpp,
        "plan_digest": plan.digest,
    }


def _describe_features(plan: Plan) -> dict[str, Any]:
    card = plan.card
    return {
        "name": plan.slide_digest,
        "savetodir": "",
        "encoder": card.name,
        "encoder_version": card.version,
        "model_digest": card.digest,
        "pooling": card.embedding.pooling if card.embedding is not None else "",
        "licence": card.licence or "",
        "plan_digest": plan.digest,
    }
