"""TIFFs of several images: pages of any order, flag, scale and description, whose pixels are lossless."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from numpy.typing import NDArray

from tests.slides import he_tissue

MPP = 0.25
WIDTH, HEIGHT = 1500, 1000


def scan(width: int = WIDTH, height: int = HEIGHT, seed: int = 0) -> NDArray[np.uint8]:
    """[height, width, 3], drawn at a quarter of its size: tissue costs a second a megapixel. Each pixel differs."""
    rng = np.random.default_rng(seed)
    drawn = he_tissue(rng, -(-height // 4), -(-width // 4)).repeat(4, axis=0).repeat(4, axis=1)[:height, :width]
    return drawn - (drawn > 3) * rng.integers(0, 4, drawn.shape, np.uint8)


@dataclass(frozen=True, kw_only=True)
class Page:
    pixels: NDArray[np.uint8]
    mpp: float | None = None
    flag: int = 0  #: NewSubfileType
    description: str | None = None
    tiled: bool = True
    subifds: int = 0


def level(pixels: NDArray[np.uint8], step: int, *, flag: int = 0, mpp: float | None = MPP, **more: Any) -> Page:
    scale = mpp * step if mpp is not None else None
    return Page(pixels=np.ascontiguousarray(pixels[::step, ::step]), mpp=scale, flag=flag, **more)


def write_pages(path: Path, pages: Sequence[Page]) -> Path:
    """Lossless, so that pixels can be compared."""
    with tifffile.TiffWriter(path) as writer:
        for page in pages:
            scale: dict[str, Any] = (
                {"resolution": (1e4 / page.mpp, 1e4 / page.mpp), "resolutionunit": "CENTIMETER"} if page.mpp else {}
            )
            writer.write(
                page.pixels,
                photometric="rgb",
                compression="zlib",
                tile=(256, 256) if page.tiled else None,
                rowsperstrip=None if page.tiled else 16,
                subfiletype=page.flag,
                description=page.description,
                subifds=page.subifds or None,
                metadata=None,
                software=False,
                **scale,
            )
    return path


BASE = scan()

APERIO = "Aperio Image Library v12.0.15\r\n{0}x{1} [0,0,{0}x{1}] (256x256) JPEG/RGB Q=70|AppMag = 40|MPP = 0.25"


def aperio(pixels: NDArray[np.uint8], step: int, more: str = "", **how: Any) -> Page:
    height, width = pixels[::step, ::step].shape[:2]
    return level(pixels, step, mpp=None, description=APERIO.format(width, height) + more, **how)


PLANES = {height: scan(seed=place) for place, height in enumerate((0.0, 0.9, -0.9))}


def focal_stack(path: Path, heights: Sequence[float]) -> Path:
    pages: list[Page] = []
    for height in heights:
        more = f"|OffsetZ = {height:g}"
        pages += [aperio(PLANES[height], 1, more), aperio(PLANES[height], 4, more)]
    pages.insert(1, aperio(PLANES[heights[0]], 8, tiled=False))
    return write_pages(path, pages)


QPI = (
    '<?xml version="1.0" encoding="utf-8"?><PerkinElmer-QPI-ImageDescription><Name>J. Doe</Name>'
    "<ImageType>{}</ImageType></PerkinElmer-QPI-ImageDescription>"
)
