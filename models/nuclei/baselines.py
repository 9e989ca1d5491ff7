"""Two methods to measure the network beside: haematoxylin with a watershed, and a network for fluorescence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage
from skimage.color import rgb2hed
from skimage.feature import peak_local_max
from skimage.filters import gaussian, threshold_otsu
from skimage.segmentation import watershed

TILE, BORDER, ENLARGED = 1024, 64, 3  #: of the ZEISS network, and how much larger its nuclei were


def find_by_watershed(pixels: NDArray[np.uint8], *, blur: float, apart: int) -> NDArray[np.int32]:
    """Return nuclei: haematoxylin above Otsu's threshold, parted at the peaks of the distance."""
    stain = gaussian(rgb2hed(pixels)[..., 0], blur)
    return _part(stain > threshold_otsu(stain), apart)


def compute_zeiss(pixels: NDArray[np.uint8], model: Path) -> NDArray[np.float32]:
    """Return the ZEISS network's probability of a nucleus, [ENLARGED height, ENLARGED width], of the haematoxylin."""
    stain = rgb2hed(pixels)[..., 0]
    stain = np.clip(stain / np.percentile(stain, 99), 0, 1).astype(np.float32)
    height, width = (ENLARGED * side for side in stain.shape)
    large = np.asarray(Image.fromarray(stain).resize((width, height), Image.Resampling.BICUBIC)).clip(0, 1)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    kept = TILE - 2 * BORDER
    framed = np.pad(large, ((BORDER, TILE), (BORDER, TILE)), mode="reflect")
    found = np.zeros((height + kept, width + kept), np.float32)
    for y in range(0, height, kept):
        for x in range(0, width, kept):
            piece = framed[y : y + TILE, x : x + TILE]
            (answer,) = session.run(None, {"input:0": piece[None, ..., None]})
            found[y : y + kept, x : x + kept] = answer[0, BORDER:-BORDER, BORDER:-BORDER, 1]
    return found[:height, :width]


def find_in_zeiss(chances: NDArray[np.float32], *, threshold: float, apart: int) -> NDArray[np.int32]:
    """Return nuclei of the probabilities, at the picture's own size."""
    return _part(chances > threshold, apart * ENLARGED)[1::ENLARGED, 1::ENLARGED]


def _part(inside: NDArray[np.bool_], apart: int) -> NDArray[np.int32]:
    inside = ndimage.binary_opening(inside, iterations=1)
    distance = gaussian(ndimage.distance_transform_edt(inside), 1)
    marks = np.zeros(inside.shape, np.int32)
    peaks = peak_local_max(distance, min_distance=apart, labels=inside.astype(np.int32), exclude_border=False)
    marks[tuple(peaks.T)] = np.arange(1, len(peaks) + 1)
    return watershed(-distance, marks, mask=inside).astype(np.int32)
