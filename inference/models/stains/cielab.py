"""Converts red, green and blue in 8 bits to CIELAB in 8 bits and back, as OpenCV does: L x 2.55, a + 128, b + 128.

The formulas are those of its documentation (D65, the gamma of sRGB). The steps in whole numbers are those of OpenCV for
8 bits, since networks were trained with their results:
https://docs.opencv.org/4.x/de/d25/imgproc_color_conversions.html
L, a, b differ from OpenCV 5.0 by one in 4 of 100,000 values, R, G, B in none. Whole numbers are the same on every
device.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

SCALES: Final = (2.55, 1.0, 1.0)  #: of L, a and b in 8 bits
SHIFTS: Final = (0, 128, 128)

_TO_XYZ: Final = ((0.412453, 0.357580, 0.180423), (0.212671, 0.715160, 0.072169), (0.019334, 0.119193, 0.950227))
_TO_RGB: Final = ((3.240479, -1.53715, -0.498535), (-0.969256, 1.875991, 0.041556), (0.055648, -0.204043, 1.057311))
_WHITE: Final = (0.950456, 1.0, 1.088754)
_DARK, _SLOPE, _OFFSET, _DARK_L = 0.008856, 7.787, 16 / 116, 903.3  #: below _DARK the cube root becomes a line

#: Bits of a fraction: of factors, of light going to Lab, of roots, of light coming from Lab, of light before the gamma.
_FACTOR, _LIGHT, _ROOT, _BACK, _GAMMA = 12, 3, 15, 14, 12
_ONE: Final = 1 << _BACK
_LEAST: Final = -8192  #: of a root coming from Lab, in 1 / _ONE; the largest is below 3 * _ONE


class Lab:
    """Conversions on one device."""

    def __init__(self, device: torch.device) -> None:
        self._to_xyz = _whole(np.array(_TO_XYZ) / np.array(_WHITE)[:, None] * (1 << _FACTOR)).tolist()
        self._to_rgb = _whole(np.array(_TO_RGB) * np.array(_WHITE) * (1 << _FACTOR)).tolist()
        tables = (_lights(), _roots(), *_of_lightness(), _of_roots(), _greys())
        self._light, self._root, self._y, self._fy, self._of_root, self._grey = (
            torch.from_numpy(table).to(device) for table in tables
        )

    def from_rgb(self, pixels: torch.Tensor) -> torch.Tensor:
        """Convert R, G, B to L, a, b: both [n, 3, pixels] int64, in 0..255."""
        light = self._light[pixels]
        fx, fy, fz = (self._root[_round_bits(_mix(light, row), _FACTOR)] for row in self._to_xyz)
        lightness = 296 * fy - ((16 * 255 * (1 << _ROOT) + 50) // 100)  # 116 * 2.55, in whole numbers
        middle = 128 << _ROOT
        lab = torch.stack([lightness, 500 * (fx - fy) + middle, 200 * (fy - fz) + middle], dim=1)
        return _round_bits(lab, _ROOT).clamp(0, 255)

    def to_rgb(self, lab: torch.Tensor) -> torch.Tensor:
        """Convert L, a, b to R, G, B: both [n, 3, pixels] int64, in 0..255."""
        lightness, a, b = lab[:, 0], lab[:, 1], lab[:, 2]
        y, fy = self._y[lightness], self._fy[lightness]
        # a / 500 and b / 200 in 1 / _ONE, by factors that stand for the divisions.
        fx = fy + ((5 * a * 53_687 + (1 << 7)) >> 13) - 128 * _ONE // 500
        fz = fy - (((b * 41_943 + (1 << 4)) >> 9) - 128 * _ONE // 200 + 1)
        xyz = torch.stack([self._of_root[fx - _LEAST], y, self._of_root[fz - _LEAST]], dim=1)
        light = [_round_bits(_mix(xyz, row), _FACTOR + _BACK - _GAMMA) for row in self._to_rgb]
        return self._grey[torch.stack(light, dim=1).clamp(0, (1 << _GAMMA) - 1)]


def _mix(parts: torch.Tensor, row: list[int]) -> torch.Tensor:
    return parts[:, 0] * row[0] + parts[:, 1] * row[1] + parts[:, 2] * row[2]


def _round_bits(values: torch.Tensor, bits: int) -> torch.Tensor:
    return (values + (1 << bits - 1)) >> bits


def _whole(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(values).astype(np.int64)


def _lights() -> NDArray[np.int64]:
    """Return the light of each grey value, [256]."""
    grey = np.arange(256) / 255
    light = np.where(grey <= 0.04045, grey / 12.92, ((grey + 0.055) / 1.055) ** 2.4)
    return _whole(light * (255 << _LIGHT))


def _roots() -> NDArray[np.int64]:
    """Return the cube roots of X, Y or Z over white, from 0 to one and a half times white."""
    light = np.arange((256 * 3 // 2) << _LIGHT) / (255 << _LIGHT)
    return _whole(np.where(light < _DARK, light * _SLOPE + _OFFSET, np.cbrt(light)) * (1 << _ROOT))


def _of_lightness() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return Y and its root for each L, [256] each."""
    lightness = np.arange(256) * 100 / 255
    dark, y = lightness <= 8, lightness / _DARK_L
    root = np.where(dark, _OFFSET + _SLOPE * y, (16 + lightness) / 116)
    return _whole(np.where(dark, y, root**3) * _ONE), _whole(root * _ONE)


def _of_roots() -> NDArray[np.int64]:
    """Return X or Z over white for each root from _LEAST on."""
    root = np.arange(_LEAST, 3 * _ONE)
    line = np.trunc(root * 108 / 841).astype(np.int64) - _ONE * 16 // 116 * 108 // 841
    return np.where(root <= 6 * _ONE // 29, line, (root * root // _ONE) * root // _ONE)


def _greys() -> NDArray[np.int64]:
    """Return the grey values of light in 0..1, by the gamma of sRGB."""
    light = np.arange(1 << _GAMMA) / (1 << _GAMMA)
    return _whole(np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055) * 255)
