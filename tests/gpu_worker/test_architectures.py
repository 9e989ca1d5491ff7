from __future__ import annotations

import pytest
import torch
from safetensors.torch import save_file

from gpu_worker.models.package import read_package
from gpu_worker.models.registry import load_model
from tests.gpu_worker.packages_with_card import vit, write_card_package
from wsi.errors import ModelError


def load(folder):
    return load_model(read_package(folder), folder, "cpu")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"architecture": "timm/no_such_net"}, r"timm .* has no architecture no_such_net"),
        ({"architecture": "torchvision/test_vit"}, "has img_size; of torchvision"),
        (
            {"architecture": "torchvision/resnet1000", "architecture_arguments": {}},
            "torchvision .* has no architecture",
        ),
        ({"architecture_arguments": {"checkpoint_path": "/etc/passwd"}}, "has checkpoint_path; of timm a card may say"),
        ({"architecture_arguments": {"num_classes": 3, "pretrained": True}}, "has pretrained"),
        ({"architecture_arguments": {"num_classes": 3, "global_pool": "no such pool"}}, "can not be built"),
        (
            {"architecture_arguments": {"num_classes": 4, "img_size": 32}},
            r"2 of another shape \(head.bias, head.weight\)",
        ),
        ({"columns": [{"name": "a"}]}, "3 values a tile; its card names 1 columns"),
        (
            {"architecture": "torchvision/vit_b_16", "architecture_arguments": {"num_classes": 3, "image_size": 33}},
            "can not be built",
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


@pytest.mark.parametrize("damage", [b"", b"<html>", b"\x80\x04\x95pickle"])
def test_a_file_that_holds_no_safetensors_is_named(tmp_path, damage):
    folder = write_card_package(tmp_path / "net", vit())
    (folder / "model.safetensors").write_bytes(damage)
    with pytest.raises(ModelError, match=r"model\.safetensors is damaged"):
        load(folder)


def test_a_file_that_was_cut_short_is_named(tmp_path):
    folder = write_card_package(tmp_path / "net", vit())
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(ModelError, match=r"model\.safetensors is damaged"):
        load(folder)
