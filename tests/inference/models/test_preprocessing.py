from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from inference.models.preprocessing import Preprocessing
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.model_card import Channels
from wsi.slide.resample import resize

CPU = torch.device("cpu")
#: The network's input is grey values then, from 0 to 255.
GREY = replace(STAIN_DENSITY, input_px=96, std=(1 / 255, 1 / 255, 1 / 255))
SHAPES = [(96, 96), (112, 112), (103, 96), (96, 200), (48, 60)]


def pictures(height, width):
    """Noise of all greys, of dark ones and of bright ones, and a ramp."""
    rng = np.random.default_rng(0)
    noise = [rng.integers(low, high, (height, width, 3), np.uint8) for low, high in ((0, 256), (0, 40), (200, 256))]
    ramp = np.linspace(0, 255, width).astype(np.uint8)[None, :, None]
    return np.stack([*noise, np.broadcast_to(ramp, (height, width, 3))])


def exact(pixels):
    return torch.from_numpy(resize(pixels, GREY.input_px)).permute(0, 3, 1, 2)


def furthest(made, pixels):
    return float((made.float() - exact(pixels)).abs().max())


@pytest.mark.parametrize("shape", SHAPES)
def test_in_fp32_the_input_is_that_of_the_rule(shape):
    pixels = pictures(*shape)
    made = Preprocessing(GREY, CPU, torch.float32)(torch.from_numpy(pixels))
    assert (made.dtype, made.shape) == (torch.float32, (4, 3, 96, 96))
    assert furthest(made, pixels) < 1e-3


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("dtype", "step"), [(torch.float16, 0.125), (torch.bfloat16, 1.0)])
def test_in_sixteen_bits_the_input_is_off_by_its_rounding_alone(shape, dtype, step):
    """`step`: between neighbouring values of the type from 128 to 255."""
    pixels = pictures(*shape)
    made = Preprocessing(GREY, CPU, dtype)(torch.from_numpy(pixels))
    assert made.dtype == dtype
    assert made.is_contiguous(memory_format=torch.channels_last)
    assert furthest(made, pixels) <= step / 2 + 1e-3


@pytest.mark.parametrize("shape", SHAPES)
def test_products_in_fp16_cost_an_eighth_of_a_grey_value_at_most(shape):
    pixels = pictures(*shape)
    made = Preprocessing(GREY, CPU, torch.float16, products=torch.float16)(torch.from_numpy(pixels))
    assert furthest(made, pixels) <= 0.125 + 0.0625


def test_mean_and_deviation_are_of_each_channel():
    card = replace(GREY, mean=(0.1, 0.5, 0.9), std=(0.5, 0.25, 0.125))
    pixels = pictures(112, 112)
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (card.mean, card.std))
    for dtype, near in ((torch.float32, 1e-5), (torch.float16, 5e-3)):
        made = Preprocessing(card, CPU, dtype)(torch.from_numpy(pixels))
        assert float((made.float() - (exact(pixels) / 255 - mean) / std).abs().max()) < near


@pytest.mark.parametrize("shape", [(96, 96), (103, 120)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_network_that_takes_bgr_gets_the_turned_picture_by_the_values_of_its_own_order(shape, dtype):
    rgb = replace(GREY, mean=(0.1, 0.2, 0.3), std=(0.4, 0.5, 0.6))
    bgr = replace(rgb, channels=Channels.BGR)
    pixels = pictures(*shape)
    turned = np.ascontiguousarray(pixels[..., ::-1])
    expected = Preprocessing(rgb, CPU, dtype)(torch.from_numpy(turned))
    np.testing.assert_array_equal(Preprocessing(bgr, CPU, dtype)(torch.from_numpy(pixels)).float(), expected.float())
