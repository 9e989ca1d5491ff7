"""Writes stains.npz: what torchstain 1.4.1 and OpenCV 5.0 make of drawn tiles and of colours.

In an environment of its own (neither is installed here): `pip install opencv-python-headless==5.0.0.93`, `pip install
--no-deps torchstain==1.4.1`, then `PYTHONPATH=. python tests/inference/goldens/make_stains.py`. Reinhard is in the
steps of TIAToolbox's and StainTools' normaliser.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2  # pyright: ignore[reportMissingImports]
import numpy as np
from torchstain.numpy.normalizers.macenko import NumpyMacenkoNormalizer  # pyright: ignore[reportMissingImports]

from tests.tissue import stained_tissue

MEANS, STDS = (66.0, 21.5, -12.25), (13.5, 8.0, 5.5)


def reinhard(tile: np.ndarray) -> np.ndarray:
    channels: list[Any] = list(cv2.split(cv2.cvtColor(tile, cv2.COLOR_RGB2LAB).astype(np.float32)))
    for number, (scale, shift) in enumerate(((2.55, 0), (1, 128), (1, 128))):
        plain = channels[number] / scale - shift
        mean, deviation = cv2.meanStdDev(plain)
        moved = (plain - mean) * (STDS[number] / deviation) + MEANS[number]
        channels[number] = ((moved + shift) * scale).astype(np.float32)
    return cv2.cvtColor(np.clip(cv2.merge(channels), 0, 255).astype(np.uint8), cv2.COLOR_LAB2RGB)


if __name__ == "__main__":
    tiles = stained_tissue(4, 48)
    steps = [*range(0, 256, 32), 255]
    colours = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), -1).reshape(1, -1, 3).astype(np.uint8)
    np.savez_compressed(
        Path(__file__).with_name("stains.npz"),
        torchstain=np.stack([NumpyMacenkoNormalizer().normalize(tile, stains=False)[0] for tile in tiles]),
        opencv=np.stack([reinhard(tile) for tile in tiles]),
        lab=cv2.cvtColor(colours, cv2.COLOR_RGB2LAB)[0],
        rgb=cv2.cvtColor(colours, cv2.COLOR_LAB2RGB)[0],
    )
