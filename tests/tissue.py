"""What test slides show, and their JPEGs taken apart; no codec is imported, for machines that have none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GLASS = 243  #: grey value of the glass


def he_tissue(rng: np.random.Generator, height: int, width: int) -> NDArray[np.uint8]:
    """[height, width, 3] something like H&E: eosin that varies slowly, round nuclei, noise."""
    rows, columns = np.mgrid[:height, :width].astype(np.float32)
    eosin = 0.35 + 0.15 * np.sin(rows / rng.uniform(12, 40) + rng.uniform(0, 6)) * np.cos(columns / rng.uniform(12, 40))
    haematoxylin = np.full((height, width), 0.05, np.float32)
    for _ in range(int(height * width * rng.uniform(0.0002, 0.0015))):
        row, column, radius = rng.uniform(0, height), rng.uniform(0, width), rng.uniform(3, 7)
        box = tuple(slice(max(0, int(at - radius)), int(at + radius) + 2) for at in (row, column))
        near = (rows[box] - row) ** 2 + (columns[box] - column) ** 2 < radius**2
        haematoxylin[box][near] = rng.uniform(0.5, 0.9)
    # Stain vectors of Ruifrok & Johnston 2001, optical density to base 10.
    density = haematoxylin[..., None] * (0.65, 0.70, 0.29) + eosin[..., None] * (0.07, 0.99, 0.11)
    return np.clip(GLASS * 10**-density + rng.normal(0, 2, (height, width, 3)), 0, 255).astype(np.uint8)


def stained_tissue(count: int, side: int, strength: float = 2.2) -> NDArray[np.uint8]:
    """[count, side, side, 3], stained so strongly that eosin alone counts as tissue."""
    drawn = np.stack([he_tissue(np.random.default_rng(seed), side, side) for seed in range(count)])
    return (240 * (drawn / 255) ** strength).astype(np.uint8)


def split_tables(jpeg: bytes) -> tuple[bytes, bytes]:
    """A whole JPEG as (JPEGTables, abbreviated tile), without APP markers and with components numbered 0, 1, 2 when
    they were named R, G, B."""
    tables, frame, at = b"", b"", 2
    while True:
        marker, size = jpeg[at + 1], int.from_bytes(jpeg[at + 2 : at + 4], "big")
        segment = bytearray(jpeg[at : at + 2 + size])
        at += 2 + size
        if marker in (0xDB, 0xC4):
            tables += segment
        elif marker in (0xC0, 0xDA):
            _number_components(segment, first=10 if marker == 0xC0 else 5, step=3 if marker == 0xC0 else 2)
            frame += segment
        if marker == 0xDA:
            return b"\xff\xd8" + tables + b"\xff\xd9", b"\xff\xd8" + frame + jpeg[at:]


def _number_components(segment: bytearray, *, first: int, step: int) -> None:
    ids = [segment[first + step * k] for k in range(3)]
    if ids == list(b"RGB"):
        for k in range(3):
            segment[first + step * k] = k
