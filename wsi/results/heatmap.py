"""heatmap.ome.tif: a pyramid of one pixel a tile, one channel a column, 0 where nothing was analysed.

The OME-XML is written here and not by tifffile, which would put a random UUID into every file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from wsi.planning.plan import Plan
from wsi.results.scored_tiles import ScoredTiles

NAME = "heatmap.ome.tif"
MEDIA_TYPE = "image/tiff"
TILE = 256  #: px; a level that fits into one tile is the last

Gray = NDArray[np.uint8]  #: [height, width]


def write(tiles: ScoredTiles, file: IO[bytes]) -> None:
    import tifffile  # here, since it takes half a second that readers of tables need not wait

    plan = tiles.plan
    shapes = [(plan.grid.rows, plan.grid.columns)]
    while max(shapes[-1]) > TILE:
        shapes.append(((shapes[-1][0] + 1) // 2, (shapes[-1][1] + 1) // 2))
    microns = plan.grid.stride * plan.mpp, plan.grid.stride_y * plan.mpp_y
    with tifffile.TiffWriter(file, ome=False, bigtiff=False) as tiff:
        for level, shape in enumerate(shapes):
            tiff.write(
                _blocks(tiles, level),
                shape=(len(plan.card.columns), *shape),
                dtype=np.uint8,
                photometric="minisblack",
                tile=(TILE, TILE),
                compression="adobe_deflate",
                maxworkers=1,
                resolution=(1e4 / (microns[0] * 2**level), 1e4 / (microns[1] * 2**level)),
                resolutionunit="CENTIMETER",
                subifds=len(shapes) - 1 if level == 0 else None,
                subfiletype=1 if level else 0,
                description=_ome_xml(plan, microns) if level == 0 else None,
                metadata=None,
                software="Tessera" if level == 0 else False,
            )


def scale_scores(scores: NDArray[np.float32], low: float, high: float) -> Gray:
    """Return grey values 1..255 for scores from `low` to `high`, clipped to them."""
    part = np.clip((scores.astype(np.float64) - low) / (high - low), 0.0, 1.0)
    return (1 + np.rint(part * 254)).astype(np.uint8)


def halve_image(image: Gray) -> Gray:
    """Return the image at half its size, rounded up: the mean of the analysed ones among 2 x 2 pixels, 0 only where
    none of them is."""
    height, width = image.shape
    padded = np.pad(image, ((0, height % 2), (0, width % 2))).astype(np.uint16)
    quads = padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2)
    total = quads.sum(axis=(1, 3), dtype=np.uint16)
    count = (quads > 0).sum(axis=(1, 3), dtype=np.uint16)
    return ((total + count // 2) // np.maximum(count, 1)).astype(np.uint8)


def _blocks(tiles: ScoredTiles, level: int) -> Iterator[Gray]:
    """Yield the file's tiles of all channels of one level, row-major, each full size. One channel is in memory at a
    time."""
    grid = tiles.plan.grid
    column, row = (tiles.plan.tiles[tiles.inferred] // (grid.stride, grid.stride_y)).T
    for channel, limits in enumerate(tiles.plan.card.columns):
        image = np.zeros((grid.rows, grid.columns), dtype=np.uint8)
        image[row, column] = scale_scores(tiles.scores[:, channel], limits.low, limits.high)
        for _ in range(level):
            image = halve_image(image)
        for y in range(0, image.shape[0], TILE):
            for x in range(0, image.shape[1], TILE):
                block = np.zeros((TILE, TILE), dtype=np.uint8)
                part = image[y : y + TILE, x : x + TILE]
                block[: part.shape[0], : part.shape[1]] = part
                yield block


def _ome_xml(plan: Plan, microns: tuple[float, float]) -> str:
    """Return the image description by OME 2016-06. Plain ASCII, as TIFF tag 270 requires; microns are the schema's
    default unit of PhysicalSize."""
    channels = "".join(
        f'<Channel ID="Channel:0:{number}" Name={_attribute(column.name)} SamplesPerPixel="1"/>'
        for number, column in enumerate(plan.card.columns)
    )
    count = len(plan.card.columns)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" Creator="Tessera" '
        'xsi:schemaLocation="http://www.openmicroscopy.org/Schemas/OME/2016-06 '
        'http://www.openmicroscopy.org/Schemas/OME/2016-06/ome.xsd">'
        f'<Image ID="Image:0" Name={_attribute(plan.card.name)}>'
        '<Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint8" '
        f'SizeX="{plan.grid.columns}" SizeY="{plan.grid.rows}" SizeZ="1" SizeC="{count}" SizeT="1" '
        f'PhysicalSizeX="{microns[0]!r}" PhysicalSizeY="{microns[1]!r}">'
        f'{channels}<TiffData IFD="0" PlaneCount="{count}"/>'
        "</Pixels></Image></OME>"
    )


def _attribute(text: str) -> str:
    """Return the text as an XML attribute; XML allows no U+FFFE and no U+FFFF, however they are written."""
    known = text.translate({0xFFFE: "\ufffd", 0xFFFF: "\ufffd"})
    return quoteattr(known).encode("ascii", "xmlcharrefreplace").decode("ascii")
