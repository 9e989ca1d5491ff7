"""A pixel's output depends on a bounded neighbourhood, and on no more of the tile."""

from __future__ import annotations

import torch

from inference.models.dense.unet import UNet

WIDTHS = (4, 6, 8)
STRIDE = 4
#: Convolutions of radius 1, two at each level on both ways, in pixels of their level; and what pooling rounds.
RADIUS = 2 * (1 + 2) * 2 + 2 * 4 + STRIDE


def make_network() -> UNet:
    torch.manual_seed(0)
    return UNet(WIDTHS, 2).double().eval()


def test_the_output_has_the_inputs_size() -> None:
    assert make_network()(torch.zeros(2, 3, 16, 24, dtype=torch.double)).shape == (2, 2, 16, 24)


def test_a_pixel_far_from_the_border_is_the_same_in_any_window_at_the_stride() -> None:
    network = make_network()
    planes = torch.rand(1, 3, 96, 96, dtype=torch.double)
    with torch.inference_mode():
        whole = network(planes)
        for top, left in ((0, 0), (STRIDE, 3 * STRIDE), (8 * STRIDE, 8 * STRIDE)):
            window = network(planes[..., top : top + 64, left : left + 64])
            inner = slice(RADIUS, 64 - RADIUS)
            same = whole[..., top : top + 64, left : left + 64]
            assert torch.allclose(window[..., inner, inner], same[..., inner, inner], rtol=0, atol=1e-12)


def test_a_changed_pixel_changes_nothing_beyond_the_radius() -> None:
    network = make_network()
    planes = torch.rand(1, 3, 96, 96, dtype=torch.double)
    changed = planes.clone()
    changed[..., 48, 48] += 1
    with torch.inference_mode():
        moved = (network(planes) != network(changed)).any(dim=1)[0].nonzero() - 48
    assert moved.abs().max() <= RADIUS
