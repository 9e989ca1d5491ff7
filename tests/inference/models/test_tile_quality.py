from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inference.models.tile_quality import QualitySums
from wsi.results.tile_quality import SUMS, WHITE, compute_columns, make_lattice, measure

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
DEVICES = ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, needs_cuda])]


def measured(pixels: np.ndarray, device: str) -> np.ndarray:
    """By torch."""
    height, width = pixels.shape[1:3]
    sums = QualitySums(height, width, torch.device(device))(torch.from_numpy(pixels).to(device))
    assert sums.dtype == torch.int64
    assert sums.shape == (len(pixels), len(SUMS))
    return compute_columns(sums.cpu().numpy(), make_lattice(height, width))


def pictures(kind: str, count: int, height: int, width: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, 256, (count, height, width, 3), dtype=np.uint8)
    if kind == "few colours":  # that the tables' rules are about: ink, grey, glass
        return rng.choice(np.array([0, 20, 60, 130, WHITE - 1, WHITE, 255], np.uint8), noise.shape)
    return np.full_like(noise, {"white": 255, "black": 0}[kind]) if kind != "noise" else noise


@pytest.mark.parametrize("device", DEVICES)
@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(["noise", "few colours", "white", "black"]),
    count=st.integers(1, 5),
    height=st.integers(1, 3) | st.integers(1, 130),
    width=st.integers(1, 3) | st.integers(1, 130),
    seed=st.integers(0, 2**32 - 1),
)
@example(kind="noise", count=2, height=1, width=1, seed=0)
@example(kind="noise", count=2, height=2, width=59, seed=0)
@example(kind="noise", count=3, height=256, width=256, seed=0)
@example(kind="few colours", count=2, height=512, width=350, seed=0)
@example(kind="white", count=2, height=59, width=59, seed=0)  # the largest sums
def test_torch_gives_the_bytes_of_numpy(device, kind, count, height, width, seed):
    pixels = pictures(kind, count, height, width, seed)
    assert measured(pixels, device).tobytes() == measure(pixels).tobytes()


@pytest.mark.parametrize("device", DEVICES)
def test_every_pair_of_channels_looks_the_same_to_torch(device):
    """The rules are tables of two channels: each entry is met, with the third channel at what decides."""
    first, second = (axis.ravel() for axis in np.mgrid[:256, :256].astype(np.uint8))
    third = np.stack([np.zeros_like(first), first, second, np.full_like(first, 255)])
    colours = np.concatenate([np.stack([first, second, blue], axis=-1) for blue in third])
    colours = np.concatenate([colours, colours[:, ::-1]])
    tiles = colours.reshape(-1, 4, 4, 3)
    found = measured(tiles, device)
    assert found.tobytes() == measure(tiles).tobytes()
    assert np.isfinite(found).all()


def test_a_pixel_without_neighbours_bends_nothing():
    for height, width, whole in ((1, 1, 0), (2, 40, 0), (3, 3, 1), (40, 41, 38 * 39), (256, 256, 529)):
        assert make_lattice(height, width).bends == whole
    pixels = pictures("noise", 4, 2, 40, 1)
    assert not measured(pixels, "cpu")[:, 0].any()
