"""Stain normalisation of one tile in plain numpy, as the papers and the published code have it: what ours is held
against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wsi.records.stain_normalisation import Macenko, Reinhard

Tile = NDArray[np.uint8]  #: [height, width, 3]


def optical_densities(tile: Tile, io: float) -> NDArray[np.float64]:
    """[pixels, 3]"""
    return -np.log((tile.reshape(-1, 3).astype(np.float64) + 1) / io)


def stains_of(tile: Tile, stated: Macenko) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return vectors [2, 3], concentrations [2, pixels], and their 99th percentiles [2]."""
    densities = optical_densities(tile, stated.io)
    tissue = densities[(densities >= stated.beta).all(axis=1)]
    _, axes = np.linalg.eigh(np.cov(tissue, rowvar=False))
    plane = axes[:, [2, 1]]
    plane = plane * np.sign(plane[:1])  # both axes towards more of the red
    angles = np.arctan2(tissue @ plane[:, 1], tissue @ plane[:, 0])
    ends = [plane @ (np.cos(at), np.sin(at)) for at in np.percentile(angles, [stated.alpha, 100 - stated.alpha])]
    vectors = np.array(sorted(ends, key=lambda vector: -vector[0]))
    concentrations = np.linalg.lstsq(vectors.T, densities.T, rcond=None)[0]
    return vectors, concentrations, np.percentile(concentrations, 99, axis=1)


def macenko(tile: Tile, stated: Macenko) -> Tile:
    if (optical_densities(tile, stated.io) >= stated.beta).all(axis=1).sum() < 2:
        return tile  # glass, at which the published code breaks off
    _, concentrations, largest = stains_of(tile, stated)
    scaled = concentrations * (np.array(stated.max_concentrations) / largest)[:, None]
    greys = stated.io * np.exp(-np.array(stated.stain_vectors).T @ scaled)
    return np.clip(greys, 0, 255).T.astype(np.uint8).reshape(tile.shape)


def lab_of(tile: Tile) -> NDArray[np.float64]:
    """[height, width, 3] whole numbers: CIELAB of sRGB under D65 by the textbook, scaled to 8 bits."""
    grey = tile / 255
    light = np.where(grey > 0.04045, ((grey + 0.055) / 1.055) ** 2.4, grey / 12.92)
    to_xyz = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
    xyz = light @ to_xyz.T / (0.950456, 1, 1.088754)
    roots = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    lightness = np.where(xyz[..., 1] > 0.008856, 116 * roots[..., 1] - 16, 903.3 * xyz[..., 1])
    a, b = 500 * (roots[..., 0] - roots[..., 1]), 200 * (roots[..., 1] - roots[..., 2])
    return np.rint(np.stack([lightness * 2.55, a + 128, b + 128], axis=-1))


def rgb_of(lab: NDArray[np.float64]) -> Tile:
    """The way back of `lab_of`."""
    fy = (lab[..., 0] / 2.55 + 16) / 116
    roots = np.stack([fy + (lab[..., 1] - 128) / 500, fy, fy - (lab[..., 2] - 128) / 200], axis=-1)
    xyz = np.where(roots > 6 / 29, roots**3, (roots - 16 / 116) / 7.787) * (0.950456, 1, 1.088754)
    to_xyz = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
    light = np.clip(xyz @ np.linalg.inv(to_xyz).T, 0, 1)
    grey = np.where(light > 0.0031308, 1.055 * light ** (1 / 2.4) - 0.055, 12.92 * light)
    return np.rint(grey * 255).astype(np.uint8)


def reinhard(tile: Tile, stated: Reinhard) -> Tile:
    lab = lab_of(tile) / (2.55, 1, 1) - (0, 128, 128)
    means, stds = lab.mean(axis=(0, 1)), lab.std(axis=(0, 1))
    moved = (lab - means) * (np.array(stated.stds) / stds) + stated.means
    return rgb_of(np.floor(np.clip((moved + np.array((0, 128, 128))) * (2.55, 1, 1), 0, 255)))
