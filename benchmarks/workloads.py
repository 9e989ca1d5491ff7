"""Slides for `benchmarks.tiles_per_second`: as many tiles and bytes as a large slide has.

Thousands of distinct tiles are encoded in parallel and written again and again, row by row, as scanners write them.
Each has its own place: tiles that shared their bytes would be read once for many, and in another order than a scanner's
(a reader goes by offset). The whole slide is tissue.

Needs numpy and Pillow only.
"""

from __future__ import annotations

import io
import math
import multiprocessing
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.bigtiff import FIRST_LINK, HEAD, write_directory
from tests.tissue import he_tissue, split_tables

Codec = Literal["ycbcr", "rgb", "jpeg2000"]

PATCHES: Final = 200_000
DISTINCT: Final = 4_096
#: Crops of one generated piece of tissue, whose side is two tiles: making it takes as long as encoding hundreds.
CROPS: Final = 64
OVERVIEW: Final = 16  #: downsample of the other level, too coarse for any model here


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    title: str
    codec: Codec
    tile: int  #: px of a side of the file's tiles
    mpp: float  #: of level 0
    box: int  #: px of level 0 of a patch's side
    patch: int  #: px that the model takes
    quality: int  #: of the JPEG; for JPEG 2000 the rate, by which the raw bytes are divided

    @property
    def tiles_a_patch(self) -> float:
        """File tiles that must be decoded for a patch, when each is decoded once."""
        return (self.box / self.tile) ** 2


#: Qualities give 17, 15, 31 and 25 KB a tile on average; scanners write 16 to 31.
WORKLOADS: Final[Mapping[str, Workload]] = MappingProxyType(
    {
        "A": Workload(
            title="aligned 256 px, JPEG 4:2:0", codec="ycbcr", tile=256, mpp=0.5, box=256, patch=256, quality=94
        ),
        "B": Workload(
            title="240 px at 0.25 um/px to 224 px at 0.5",
            codec="ycbcr",
            tile=240,
            mpp=0.25,
            box=448,
            patch=224,
            quality=94,
        ),
        "C": Workload(
            title="aligned 256 px, JPEG RGB 4:4:4", codec="rgb", tile=256, mpp=0.5, box=256, patch=256, quality=88
        ),
        "D": Workload(
            title="aligned 256 px, JPEG 2000", codec="jpeg2000", tile=256, mpp=0.5, box=256, patch=256, quality=8
        ),
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkloadSlide:
    path: Path
    workload: Workload
    origins: NDArray[np.int32]  #: [n, 2] x, y of level 0 of the patches, by rows
    distinct: int
    mean_tile_bytes: float


def write(
    folder: Path,
    workload: Workload,
    *,
    patches: int = PATCHES,
    distinct: int = DISTINCT,
    processes: int | None = None,
    seed: int = 0,
) -> WorkloadSlide:
    """Write an Aperio SVS with at least `patches` patches in a square. The same arguments give the same bytes."""
    across = math.isqrt(patches - 1) + 1
    side = across * workload.box
    tables, tiles = _encode_tiles(workload, distinct, seed, processes or os.cpu_count() or 1)
    sizes = np.array([len(tile) for tile in tiles])
    levels = [max(1, side // downsample) for downsample in (1, OVERVIEW)]
    counts = [math.ceil(width / workload.tile) ** 2 for width in levels]
    picks = np.arange(sum(counts)) % len(tiles)
    data = bytearray()
    for _ in range(2):  # where the tiles begin is known once the directories are laid out
        places = len(data) + np.cumsum(sizes[picks]) - sizes[picks]
        data, link, done = bytearray(HEAD), FIRST_LINK, 0
        for width, count in zip(levels, counts, strict=True):
            its = slice(done, done + count)
            fields = _fields(workload, side, width, tables, places[its].tolist(), sizes[picks[its]].tolist())
            link, done = write_directory(data, link, fields), done + count
    path = folder / "slide.svs"
    block = b"".join(tiles)
    whole, rest = divmod(len(picks), len(tiles))
    with path.open("wb") as file:
        file.write(data)
        for _ in range(whole):
            file.write(block)
        file.write(block[: int(sizes[:rest].sum())])
    y, x = np.divmod(np.arange(across * across, dtype=np.int32), across)
    origins = np.stack([x, y], axis=1) * workload.box
    return WorkloadSlide(
        path=path, workload=workload, origins=origins, distinct=len(tiles), mean_tile_bytes=float(sizes.mean())
    )


def _fields(
    workload: Workload, side: int, width: int, tables: bytes, places: list[int], sizes: list[int]
) -> tuple[tuple[int, str, list[int] | bytes], ...]:
    """Return the fields of the directory of a level of `width` px, for a slide of `side` px."""
    shape = f"{side}x{side} [0,0 {side}x{side}] ({workload.tile}x{workload.tile})"
    facts = f"Aperio Image Library v12.0.15\r\n{shape} -> {width}x{width}|AppMag = 20|MPP = {workload.mpp}"
    return (
        (256, "long", [width]),
        (257, "long", [width]),
        (258, "short", [8, 8, 8]),
        (259, "short", [33005 if workload.codec == "jpeg2000" else 7]),
        (262, "short", [6 if workload.codec == "ycbcr" else 2]),
        (270, "ascii", facts.encode() + b"\0"),
        (277, "short", [3]),
        (284, "short", [1]),
        (322, "long", [workload.tile]),
        (323, "long", [workload.tile]),
        (324, "long8", places),
        (325, "long", sizes),
        *([(347, "bytes", tables)] if tables else []),
        *([(530, "short", [2, 2])] if workload.codec == "ycbcr" else []),
    )


def _encode_tiles(workload: Workload, distinct: int, seed: int, processes: int) -> tuple[bytes, list[bytes]]:
    """Encode the distinct tiles; return JPEGTables (empty for JPEG 2000) and the tiles."""
    pieces = [(seed, number, min(CROPS, distinct - first)) for number, first in enumerate(range(0, distinct, CROPS))]
    make = partial(_piece, workload)
    # Spawned: torch, which the caller may have loaded, does not like to be forked with its threads.
    with multiprocessing.get_context("spawn").Pool(min(processes, len(pieces))) as pool:
        made = pool.starmap(make, pieces, chunksize=1)
    tiles = [tile for _, tile in (pair for piece in made for pair in piece)]
    return made[0][0][0], tiles


def _piece(workload: Workload, seed: int, number: int, count: int) -> list[tuple[bytes, bytes]]:
    """Encode `count` crops of one piece of tissue at random places, half of them mirrored; return (JPEGTables, tile) of
    each."""
    rng = np.random.default_rng((seed, number))
    size = workload.tile
    tissue = he_tissue(rng, 2 * size, 2 * size)
    crops: list[tuple[bytes, bytes]] = []
    for top, left, mirrored in rng.integers((0, 0, 0), (size, size, 2), (count, 3)).tolist():
        crop = tissue[top : top + size, left : left + size]
        crops.append(_encode_crop(np.ascontiguousarray(crop[:, ::-1] if mirrored else crop), workload))
    return crops


def _encode_crop(pixels: NDArray[np.uint8], workload: Workload) -> tuple[bytes, bytes]:
    """Encode a tile. Return JPEGTables and the abbreviated tile as Aperio writes it, without markers that state
    colours; for JPEG 2000, no tables and a codestream."""
    file = io.BytesIO()
    picture = Image.fromarray(pixels)
    if workload.codec == "jpeg2000":
        rate = {"quality_mode": "rates", "quality_layers": [workload.quality]}
        picture.save(file, "JPEG2000", no_jp2=True, irreversible=True, mct=1, **rate)
        return b"", file.getvalue()
    rgb = workload.codec == "rgb"
    # Standard Huffman tables, so that all tiles share theirs.
    space = {"keep_rgb": True, "subsampling": "4:4:4"} if rgb else {"subsampling": "4:2:0"}
    picture.save(file, "JPEG", quality=workload.quality, optimize=False, **space)
    return split_tables(file.getvalue())
