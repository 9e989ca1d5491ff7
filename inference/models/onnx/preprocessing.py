"""The preprocessing of decoded pixels to the input of a network in ONNX, on the CPU or the session's device."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from inference.models.onnx.input import make_input_graph
from inference.models.onnx.network import OnnxNetwork
from wsi.errors import ModelError
from wsi.planning.plan import Numerics
from wsi.records.model_card import ModelCard, Resize
from wsi.slide.resample import resample_box, resize_as_pillow


class OnnxPreprocessing:
    """[batch, height, width, 3] uint8 to [batch, 3, input_px, input_px] float32, as the card says."""

    def __init__(self, card: ModelCard, device: str) -> None:
        """Prepare the card's steps. Raises ModelError for a precision other than fp32, UnsuitableDevice."""
        if card.precision != "fp32":
            raise ModelError(f"This worker runs ONNX in fp32; the card asks for {card.precision}.")
        self._card = card
        self._device = device
        self._inputs: dict[tuple[int, int], OnnxNetwork] = {}
        self._normalised = _make_normaliser(card)

    def __call__(self, pixels: NDArray[np.uint8], threads: int) -> NDArray[np.float32]:
        card = self._card
        if card.resize is not Resize.EXACT:
            pixels = resize_as_pillow(pixels, card.input_px, card.resize)
        if self._normalised is not None:
            pixels = self._normalised(_whole(pixels, card), threads)
        return self._input_for(*pixels.shape[1:3]).run(pixels, threads)

    def _input_for(self, height: int, width: int) -> OnnxNetwork:
        if (height, width) not in self._inputs:
            self._inputs[height, width] = OnnxNetwork(make_input_graph(self._card, height, width), self._device)
        return self._inputs[height, width]


def check_numerics(numerics: Numerics) -> None:
    """Raise ModelError for a precision other than fp32."""
    if numerics.precision != "fp32":
        raise ModelError(f"This worker runs ONNX in fp32; the plan asks for {numerics.precision}.")


def read_own_batch(shape: tuple[int | None, ...], card: ModelCard) -> int | None:
    """Return the rows of the network's own batch, given its input's shape; None if it accepts any. Raises ModelError
    for another input than the card's, or a batch that does not divide the card's."""
    if len(shape) != 4 or any(
        side not in (None, wanted) for side, wanted in zip(shape[1:], (3, card.input_px, card.input_px), strict=True)
    ):
        sides = " x ".join("any" if side is None else str(side) for side in shape)
        raise ModelError(f"The network takes {sides}; its card asks for any x 3 x {card.input_px} x {card.input_px}.")
    rows = shape[0]
    if rows is not None and (rows < 1 or card.batch % rows):
        raise ModelError(f"The network takes batches of {rows} tiles, into which the card's {card.batch} do not part.")
    return rows


def _whole(pixels: NDArray[np.uint8], card: ModelCard) -> NDArray[np.uint8]:
    """Resize tiles [n, height, width, 3] to [n, input_px, input_px, 3], exactly, then round to whole grey values."""
    height, width = pixels.shape[1:3]
    if height == width == card.input_px:
        return pixels
    box = np.array((0, 0, width, height), np.float64)
    return np.stack([resample_box(tile, box, card.input_px, Resize.EXACT) for tile in pixels])


def _make_normaliser(card: ModelCard) -> Callable[[NDArray[np.uint8], int], NDArray[np.uint8]] | None:
    """Return a function that normalises the stains of tiles [n, height, width, 3] with a number of threads, on the CPU;
    None if the card states none. torch is loaded only if it does."""
    if card.stain_normalisation is None:
        return None
    import torch

    from inference.models.stains.normalisation import StainNormaliser

    normaliser = StainNormaliser(card.stain_normalisation, torch.device("cpu"))

    def normalise(pixels: NDArray[np.uint8], threads: int) -> NDArray[np.uint8]:
        torch.set_num_threads(threads)
        return normaliser(torch.from_numpy(np.ascontiguousarray(pixels))).numpy()

    return normalise
