"""The resize of a card that says "pillow-…" gives Pillow's own bytes, on devices that Pillow does not run on too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from inference.models.pillow_resize import PillowResize, split_weights
from inference.models.preprocessing import Preprocessing
from wsi.errors import ModelError
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.model_card import Resize
from wsi.slide.resample import compute_pillow_weights, resize_as_pillow

CPU = torch.device("cpu")
KINDS = {Resize.PILLOW_BILINEAR: Image.Resampling.BILINEAR, Resize.PILLOW_BICUBIC: Image.Resampling.BICUBIC}
#: Weights of halves, so that sums lie at ties; weights that no binary fraction is; enlarged; by whole numbers.
SIDES = [(448, 224), (350, 224), (257, 96), (175, 224), (100, 300), (300, 7), (1, 5), (224, 223)]

kinds = st.sampled_from(list(KINDS))
sides = st.integers(1, 200)


def pictures(height: int, width: int, seed: int = 0) -> np.ndarray:
    """Noise, black and white noise, a ramp down, and one grey."""
    rng = np.random.default_rng(seed)
    shape = (height, width, 3)
    ramp = np.broadcast_to(np.linspace(0, 255, height).astype(np.uint8)[:, None, None], shape)
    noise = rng.integers(0, 256, shape, np.uint8)
    return np.stack([noise, np.where(noise < 128, 0, 255).astype(np.uint8), ramp, np.full(shape, 171, np.uint8)])


def products(pixels: np.ndarray, side: int, kind: Resize, device: torch.device = CPU) -> np.ndarray:
    made = PillowResize(kind, side, device)(torch.from_numpy(pixels).to(device))
    greys = made.cpu().numpy().astype(np.uint8)
    assert (greys == made.cpu().numpy()).all(), "not whole grey values"
    return greys


def by_pillow(pixels: np.ndarray, side: int, kind: Resize) -> np.ndarray:
    return np.stack([np.asarray(Image.fromarray(tile).resize((side, side), KINDS[kind])) for tile in pixels])


@settings(deadline=None, max_examples=200)
@given(sides, sides, kinds, st.integers(0, 2**32))
def test_products_give_the_bytes_of_pillow_for_squares_of_any_size(source, target, kind, seed):
    pixels = pictures(source, source, seed)
    np.testing.assert_array_equal(products(pixels, target, kind), by_pillow(pixels, target, kind))


@pytest.mark.parametrize(("source", "target"), SIDES)
@pytest.mark.parametrize("kind", KINDS)
def test_products_give_the_bytes_of_pillow_for_the_sides_of_models(source, target, kind):
    pixels = pictures(source, source)
    np.testing.assert_array_equal(products(pixels, target, kind), by_pillow(pixels, target, kind))


@settings(deadline=None, max_examples=100)
@given(sides, sides, sides, kinds, st.integers(0, 2**32))
def test_rectangles_are_resized_across_first(height, width, target, kind, seed):
    pixels = pictures(height, width, seed)
    expected = resize_as_pillow(pixels, target, kind)
    np.testing.assert_array_equal(products(pixels, target, kind), expected)


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 4096), st.integers(1, 512), kinds)
def test_what_the_halves_add_up_to_is_fp16s_and_fp32s_own(source, target, kind):
    weights = compute_pillow_weights(source, target, kind)
    try:
        parts = split_weights(weights)
    except ModelError:
        assert source > 250 * target
        return
    np.testing.assert_array_equal((parts.coarse << parts.shift) + parts.fine, weights)
    for half in (parts.coarse, parts.fine):
        np.testing.assert_array_equal(half.astype(np.float16).astype(np.int32), half)
        assert 255 * np.abs(half).sum(axis=1).max() < 2**24


def test_boxes_too_large_for_exact_sums_are_refused():
    with pytest.raises(ModelError, match="4096 px are too large to be shrunken to 5 px"):
        products(pictures(4096, 4096)[:1], 5, Resize.PILLOW_BICUBIC)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_networks_input_is_pillows_picture_in_every_precision(kind, dtype):
    card = replace(STAIN_DENSITY, input_px=96, std=(1 / 255, 1 / 255, 1 / 255), resize=kind)
    pixels = pictures(130, 130)
    made = Preprocessing(card, CPU, dtype)(torch.from_numpy(pixels)).float().permute(0, 2, 3, 1).numpy()
    np.testing.assert_allclose(made, by_pillow(pixels, 96, kind), rtol=1e-6)


def test_a_box_of_the_networks_own_side_is_left_as_it_is():
    pixels = torch.from_numpy(pictures(96, 96))
    assert PillowResize(Resize.PILLOW_BILINEAR, 96, CPU)(pixels) is pixels


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("source", "target"), SIDES)
@pytest.mark.parametrize("kind", KINDS)
def test_on_cuda_a_recorded_graph_gives_the_bytes_of_pillow(source, target, kind):
    device = torch.device("cuda")
    resize = PillowResize(kind, target, device)
    fed = torch.zeros((4, source, source, 3), dtype=torch.uint8, device=device)
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.inference_mode(), torch.cuda.stream(stream):
        resize(fed)
        with torch.cuda.graph(graph, stream=stream):
            made = resize(fed)
        for seed in range(2):
            pixels = pictures(source, source, seed)
            fed.copy_(torch.from_numpy(pixels))
            graph.replay()
            np.testing.assert_array_equal(made.cpu().numpy(), resize_as_pillow(pixels, target, kind))
