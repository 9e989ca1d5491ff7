"""Generic tiled TIFFs of every packing that is read, and tiles of JPEG 2000 as Aperio packs them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal

import imagecodecs
import numpy as np
import tifffile
from numpy.typing import NDArray

from tests.slides import GLASS, he_tissue

TILE: Final = (48, 64)  #: px down and across
SHAPE: Final = (150, 200)  #: so that the last tiles of rows and columns are cut
OLD_DEFLATE: Final = 32946
APERIO_YCBCR, APERIO_RGB = 33003, 33005


def tissue(samples: int = 3, *, seed: int = 0) -> NDArray[np.uint8]:
    """[150, 200, samples], or [150, 200] for one: H&E, grey H&E; the last of two or four is an alpha that varies."""
    colours = he_tissue(np.random.default_rng(seed), *SHAPE)
    alpha = np.add.outer(np.arange(SHAPE[0]), np.arange(SHAPE[1])).clip(0, 255).astype(np.uint8)
    if samples == 1:
        return colours[..., 1]
    colours = colours if samples > 2 else colours[..., 1:2]
    return colours if samples == 3 else np.concatenate((colours, alpha[..., None]), axis=2)


def write_tiled(path: Path, pixels: NDArray[Any], **how: Any) -> Path:
    """One page; `how` is tifffile's. Tiles of 64 x 48 px unless it says otherwise."""
    byte_order: Literal["<", ">"] = how.pop("byte_order", "<")
    big = how.pop("big", False)
    with tifffile.TiffWriter(path, byteorder=byte_order, bigtiff=big) as writer:
        writer.write(pixels, **{"tile": TILE, "metadata": None, "software": False, **how})
    return path


def change_tag(path: Path, tag: int, value: int) -> Path:
    """Another first value for a tag of the first page that lies in its directory or behind it."""
    with tifffile.TiffFile(path) as file:
        found = file.pages.first.tags[tag]
        order, code, place = file.byteorder, {1: "B", 3: "H", 4: "I"}[int(found.dtype)], found.valueoffset
    data = bytearray(path.read_bytes())
    struct.pack_into(order + code, data, place, value)
    path.write_bytes(data)
    return path


def write_aperio_jpeg2000(path: Path, tiles: Iterable[bytes], *, compression: int, side: int, across: int) -> Path:
    """An SVS of so many square tiles across and down."""
    with tifffile.TiffWriter(path) as writer:
        writer.write(
            iter(tiles),
            shape=(side * across, side * across, 3),
            dtype=np.uint8,
            tile=(side, side),
            photometric="rgb",
            compression=compression,
            description=f"Aperio Image Library v12.0.15\r\n{side * across}x{side * across}|AppMag = 20|MPP = 0.5",
            metadata=None,
            software=False,
        )
    return path


def ycbcr_planes(side: int, *, halved: bool, seed: int = 0) -> tuple[NDArray[np.uint8], ...]:
    """Y, Cb, Cr of H&E, each [side, side]; Cb and Cr [side, side / 2] when halved."""
    pixels = he_tissue(np.random.default_rng(seed), side, side)
    pixels[: side // 4] = GLASS
    red, green, blue = (pixels[..., number].astype(float) for number in range(3))
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    planes = (luma, 128 + (blue - luma) / 1.772, 128 + (red - luma) / 1.402)
    step = 2 if halved else 1
    return tuple(
        plane[:, :: step if number else 1].round().clip(0, 255).astype(np.uint8) for number, plane in enumerate(planes)
    )


def join_components(planes: tuple[NDArray[np.uint8], ...]) -> bytes:
    """A lossless JPEG 2000 code stream of components of several widths, as Aperio's 33003 has them and as no encoder
    at hand makes them: three streams of one component each, one behind the other, in component order (T.800, B.12)."""
    lossless: dict[str, Any] = {"level": 0, "codecformat": "j2k", "reversible": True, "resolutions": 3}
    parts = [_parts(bytes(imagecodecs.jpeg2k_encode(np.ascontiguousarray(plane), **lossless))) for plane in planes]
    height, width = planes[0].shape
    steps = b"".join(struct.pack("BBB", 7, width // plane.shape[1], height // plane.shape[0]) for plane in planes)
    size = struct.pack(">HHIIIIIIIIH", 38 + len(steps), 0, width, height, 0, 0, width, height, 0, 0, len(planes))
    segments, _ = parts[0]
    style = bytearray(segments[0x52])
    style[5] = 4  # progression: component, position, resolution, layer
    data = b"".join(packets for _, packets in parts)
    tile = b"\xff\x90" + struct.pack(">HHIBB", 10, 0, 14 + len(data), 0, 1) + b"\xff\x93" + data
    return b"\xff\x4f\xff\x51" + size + steps + bytes(style) + segments[0x5C] + tile + b"\xff\xd9"


def _parts(stream: bytes) -> tuple[dict[int, bytes], bytes]:
    """(marker segments of the main header, packets of the only tile)."""
    at, segments = 2, dict[int, bytes]()
    while stream[at + 1] != 0x90:
        end = at + 2 + int.from_bytes(stream[at + 2 : at + 4], "big")
        segments[stream[at + 1]] = stream[at:end]
        at = end
    return segments, stream[stream.index(b"\xff\x93", at) + 2 : -2]
