"""The stride and the margin of networks, found by changing their input, are those that their layers add up to."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from inference.models.checks.receptive_field import ReceptiveField, measure_receptive_field
from inference.models.execution.running import run_on
from inference.models.package import read_package
from inference.models.registry import load_model
from tests.inference.dense_packages import AS_ONNX, MARGIN, STRIDE, Normalised, make_unet, write_dense_package
from wsi.errors import ModelFailed


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    return read_package(write_dense_package(tmp_path_factory.mktemp("cards") / "net"))


def on_cpu(card, module):
    return run_on(torch.device("cpu"), card, module.eval())


@pytest.mark.parametrize("kind", [{}, AS_ONNX], ids=["safetensors", "onnx"])
def test_of_a_u_net_both_are_what_its_layers_add_up_to(tmp_path, kind):
    folder = write_dense_package(tmp_path / "net", **kind)
    found = measure_receptive_field(load_model(read_package(folder), folder, "cpu"))
    assert found == ReceptiveField(stride=STRIDE, margin=MARGIN)


@pytest.mark.parametrize(("kernel", "dilation", "margin"), [(1, 1, 0), (3, 1, 1), (5, 1, 2), (3, 9, 9)])
def test_of_one_convolution_the_margin_is_half_its_kernel_and_the_stride_is_one(card, kernel, dilation, margin):
    torch.manual_seed(0)
    convolution = torch.nn.Conv2d(3, 2, kernel, padding=margin, dilation=dilation)
    assert measure_receptive_field(on_cpu(card, convolution)) == ReceptiveField(stride=1, margin=margin)


def test_a_stride_need_be_no_power_of_two(card):
    torch.manual_seed(0)
    three = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 3, stride=3), torch.nn.Upsample(scale_factor=3))
    card = replace(card, tile_px=120, input_px=120)
    assert measure_receptive_field(on_cpu(card, three)).stride == 3


def test_a_network_that_normalises_over_its_tile_has_no_margin_and_its_card_is_told_so(card):
    torch.manual_seed(0)
    found = measure_receptive_field(on_cpu(card, Normalised()))
    assert found.margin is None
    (doubt,) = found.check(card)
    assert "Keep tile_px at 128" in doubt


def test_a_network_that_looks_at_its_place_in_the_tile_has_no_stride(card):
    class Placed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Conv2d(3, 2, 3, padding=1)
            self.place = torch.nn.Parameter(torch.randn(1, 2, 128, 128))

        def forward(self, planes):
            return self.layer(planes) + self.place

    torch.manual_seed(0)
    found = measure_receptive_field(on_cpu(card, Placed()))
    assert found == ReceptiveField(stride=None, margin=1)
    (doubt,) = found.check(card)
    assert "their seams show" in doubt


def test_a_card_whose_margin_or_stride_is_too_small_is_refused_and_says_what_to_write(card):
    found = ReceptiveField(stride=STRIDE, margin=MARGIN)
    assert found.check(card) == ()
    for change, words in (
        ({"margin": MARGIN - 1}, f'"margin_px": {MARGIN}'),
        ({"stride": 2}, f'"stride_px": {STRIDE}'),
    ):
        with pytest.raises(ModelFailed, match=words):
            found.check(replace(card, objects=replace(card.objects, **change)))
    roomy = replace(card.objects, margin=40, stride=16)
    assert found.check(replace(card, objects=roomy)) == ()


def test_sixteen_bits_do_not_pass_for_a_wider_field(card):
    found = measure_receptive_field(on_cpu(replace(card, precision="bf16"), make_unet()))
    assert found.margin is not None
    assert found.margin <= MARGIN
