"""Finds the nuclei of a picture by trained weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from inference.models.dense.unet import UNet
from models.nuclei.training import OUTPUTS, RULE, WIDTHS, normalise
from wsi.objects.cores import divide_objects
from wsi.objects.table import Labels

#: With the product, which runs them.
WEIGHTS = Path(__file__).parents[2] / "inference/models/builtin/nuclei.safetensors"


def load_network(weights: Path) -> UNet:
    """Return the network with the weights of a safetensors file, on the CPU."""
    network = UNet(WIDTHS, OUTPUTS).eval()
    network.load_state_dict(load_file(weights), strict=False)
    return network


def find_nuclei(network: UNet, pixels: NDArray[np.uint8]) -> Labels:
    """Return [height, width], 0 between nuclei and a number for each, of [height, width, 3] RGB."""
    inside, depth = compute_dense(network, pixels)
    return divide_objects(inside, depth, RULE)


def compute_dense(network: UNet, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return both outputs in parts of 255, [2, height, width], of [height, width, 3] RGB."""
    height, width, _ = pixels.shape
    stride = 2 ** (len(WIDTHS) - 1)
    framed = np.pad(pixels, ((0, -height % stride), (0, -width % stride), (0, 0)), mode="reflect")
    planes = torch.from_numpy(np.moveaxis(framed, 2, 0).astype(np.float32) / 255)[None]
    with torch.inference_mode():
        chances = torch.sigmoid(network(normalise(planes)))[0, :, :height, :width]
    return (chances * 255).round().to(torch.uint8).numpy()
