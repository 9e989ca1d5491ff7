"""Philips TIFF as its scanners export it: XML of DICOM attributes in the first page's description."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import simplejpeg
import tifffile
from numpy.typing import NDArray

TILE = 128  #: px


def write_philips(path: Path, levels: list[NDArray[np.uint8]], *, spacing: tuple[str, str]) -> Path:
    """`levels` have whole tiles; `spacing` is in mm, between rows first. Nothing else says the scale."""
    with tifffile.TiffWriter(path, bigtiff=True) as writer:
        for number, pixels in enumerate(levels):
            writer.write(
                _tiles(pixels),
                shape=pixels.shape,
                dtype=np.uint8,
                tile=(TILE, TILE),
                photometric="ycbcr",
                subsampling=(2, 2),
                compression="jpeg",
                subfiletype=int(number > 0),
                description=_description(levels, spacing) if number == 0 else None,
                metadata=None,
                software="Philips DP v1.0" if number == 0 else False,
            )
    return path


def _tiles(pixels: NDArray[np.uint8]):
    for y in range(0, pixels.shape[0], TILE):
        for x in range(0, pixels.shape[1], TILE):
            yield simplejpeg.encode_jpeg(np.ascontiguousarray(pixels[y : y + TILE, x : x + TILE]), 90, "RGB", "420")


def _description(levels: list[NDArray[np.uint8]], spacing: tuple[str, str]) -> str:
    said = " ".join(f"&quot;{value}&quot;" for value in spacing)
    shown = "".join(
        '<DataObject ObjectType="PixelDataRepresentation">'
        + _attribute("DICOM_PIXEL_SPACING", " ".join(f"&quot;{float(value) * 2**level}&quot;" for value in spacing))
        + _attribute("PIIM_DP_PIXEL_DATA_REPRESENTATION_POSITION", "&quot;0&quot; &quot;0&quot; &quot;0&quot;")
        + _attribute("PIIM_PIXEL_DATA_REPRESENTATION_COLUMNS", str(pixels.shape[1]), "IString")
        + _attribute("PIIM_PIXEL_DATA_REPRESENTATION_NUMBER", str(level), "IUInt16")
        + _attribute("PIIM_PIXEL_DATA_REPRESENTATION_ROWS", str(pixels.shape[0]), "IString")
        + "</DataObject>"
        for level, pixels in enumerate(levels)
    )
    image = (
        '<DataObject ObjectType="DPScannedImage">'
        + _attribute("DICOM_PIXEL_SPACING", said)
        + _attribute("PIM_DP_IMAGE_TYPE", "WSI")
        + '<Attribute Name="PIIM_PIXEL_DATA_REPRESENTATION_SEQUENCE" Group="0x1001" Element="0x8B01" '
        f'PMSVR="IDataObjectArray"><Array>{shown}</Array></Attribute></DataObject>'
    )
    return (
        '<?xml version="1.0" encoding="UTF-8" ?><DataObject ObjectType="DPUfsImport">'
        + _attribute("DICOM_MANUFACTURER", "PHILIPS")
        + '<Attribute Name="PIM_DP_SCANNED_IMAGES" Group="0x301D" Element="0x1003" PMSVR="IDataObjectArray">'
        f"<Array>{image}</Array></Attribute></DataObject>"
    )


def _attribute(name: str, value: str, kind: str = "IString") -> str:
    return f'<Attribute Name="{name}" Group="0x0028" Element="0x0030" PMSVR="{kind}">{value}</Attribute>'
