"""The network `nuclei` of `models/nuclei` (Apache-2.0): torch on a CUDA device, and ONNX Runtime on the CPU, so that a
demonstration needs no torch. Both files hold the same weights; they differ in the order of their sums."""

from __future__ import annotations

from pathlib import Path

from inference.models.loaded import DenseModel
from wsi.records.model_card import ModelCard

GRAPH = Path(__file__).with_name("nuclei.onnx")
WEIGHTS = Path(__file__).with_name("nuclei.safetensors")
WIDTHS = (16, 32, 64, 128)


def load_on_cpu(card: ModelCard) -> DenseModel:
    """Load the network into ONNX Runtime. Raises ModelError."""
    from inference.models.dense.onnx_maps import OnnxMaps

    return OnnxMaps(card, GRAPH, "cpu")


def load_in_torch(card: ModelCard, device: str) -> DenseModel:
    """Load the network into torch. Raises ModelError, UnsuitableDevice, DeviceLost."""
    from safetensors.torch import load_file

    from inference.models.dense.unet import UNet
    from inference.models.execution.devices import prepare_device, translate_errors
    from inference.models.execution.running import run_dense_on

    chosen = prepare_device(device)
    assert card.objects is not None
    with translate_errors(card.batch, chosen):
        module = UNet(WIDTHS, card.objects.maps)
        module.load_state_dict(load_file(WEIGHTS), strict=False)  # all but the counters
    return run_dense_on(chosen, card, module)
