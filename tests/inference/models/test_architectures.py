from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file, save_file

from inference.models.package import read_package
from inference.models.registry import load_model
from tests.inference.packages_with_card import vit, write_card_package
from wsi.errors import ModelError


def load(folder):
    return load_model(read_package(folder), folder, "cpu")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"architecture": "timm/no_such_net"}, r"timm .* has no architecture no_such_net"),
        ({"architecture": "torchvision/test_vit"}, "has img_size; perhaps image_size is meant; of torchvision"),
        (
            {"architecture": "torchvision/resnet1000", "architecture_arguments": {}},
            "torchvision .* has no architecture",
        ),
        ({"architecture_arguments": {"checkpoint_path": "/etc/passwd"}}, "has checkpoint_path; of timm a card may say"),
        ({"architecture_arguments": {"num_classes": 3, "pretrained": True}}, "has pretrained"),
        ({"architecture_arguments": {"num_classes": 3, "global_pool": "no such pool"}}, "cannot be built"),
        (
            {"architecture_arguments": {"num_classes": 4, "img_size": 32}},
            r"2 of another shape \(head.bias, head.weight\)",
        ),
        ({"columns": [{"name": "a"}, {"name": "b"}]}, "3 values a tile; its card names 2 columns"),
        (
            {"architecture": "torchvision/vit_b_16", "architecture_arguments": {"num_classes": 3, "image_size": 33}},
            "cannot be built",
        ),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, changes, words):
    with pytest.raises(ModelError, match=words) as error:
        load(write_card_package(tmp_path / "net", vit(), **changes))
    assert error.value.sentence.endswith(".")


def test_names_that_would_be_looked_up_elsewhere_are_no_names(tmp_path):
    for name in ("timm/hf-hub:someone/net", "timm/hf_hub:net", "timm/local-dir:/tmp", "torch.hub/net", "timm/../x"):
        with pytest.raises(ModelError, match="architecture"):
            read_package(write_card_package(tmp_path / "net", vit(), architecture=name))


def test_weights_are_taken_to_the_last_tensor_or_not_at_all(tmp_path):
    folder = write_card_package(tmp_path / "net", vit())
    tensors = vit().state_dict()
    save_file({name: value for name, value in tensors.items() if name != "head.bias"}, folder / "model.safetensors")
    with pytest.raises(ModelError, match=r"1 missing \(head.bias\)"):
        load(folder)
    save_file({**tensors, "head.more": torch.zeros(1)}, folder / "model.safetensors")
    with pytest.raises(ModelError, match=r"1 unknown \(head.more\)"):
        load(folder)


@pytest.mark.parametrize(
    ("damage", "words"), [(b"", "is damaged"), (b"<html>", "is a web page"), (b"\x80\x04\x95pickle", "is a pickle")]
)
def test_a_file_that_holds_no_safetensors_is_named(tmp_path, damage, words):
    folder = write_card_package(tmp_path / "net", vit())
    (folder / "model.safetensors").write_bytes(damage)
    with pytest.raises(ModelError, match=rf"model\.safetensors {words}"):
        load(folder)


def test_quantised_weights_are_not_cast_without_a_word(tmp_path):
    folder = write_card_package(tmp_path / "net", vit())
    tensors = load_file(folder / "model.safetensors")
    save_file({**tensors, "head.weight": tensors["head.weight"].to(torch.int8)}, folder / "model.safetensors")
    with pytest.raises(ModelError, match=r"1 of whole numbers, as quantised weights are \(head\.weight\)"):
        load(folder)


def test_channels_of_the_input_are_not_chosen(tmp_path):
    folder = write_card_package(tmp_path / "net", vit(), architecture_arguments={"num_classes": 3, "in_chans": 3})
    with pytest.raises(ModelError, match="has in_chans: networks take RGB here, so leave it out"):
        load(folder)


def test_a_file_that_was_cut_short_is_named(tmp_path):
    folder = write_card_package(tmp_path / "net", vit())
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(ModelError, match=r"model\.safetensors is damaged"):
        load(folder)
