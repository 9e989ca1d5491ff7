"""A torch module on its device, ready for batches."""

from __future__ import annotations

import torch

from inference.models.dense.cuda_maps import MapsOnCuda
from inference.models.dense.torch_maps import TorchMaps
from inference.models.execution.cpu import OnCpu
from inference.models.execution.cuda import OnCuda, get_lane
from inference.models.execution.devices import translate_errors
from inference.models.loaded import DenseModel, LoadedModel
from inference.models.network import Network
from wsi.records.model_card import ModelCard


def run_on(device: torch.device, card: ModelCard, module: torch.nn.Module) -> LoadedModel:
    """Return the model on its device. Raises ModelError if it does not fit its card; UnsuitableDevice, DeviceLost."""
    if card.objects is not None:
        return run_dense_on(device, card, module)
    with translate_errors(card.batch, device):
        if device.type != "cuda":
            return OnCpu(Network(card, module, device))
        with get_lane(device).lock:
            return OnCuda(Network(card, module, device))


def run_dense_on(device: torch.device, card: ModelCard, module: torch.nn.Module) -> DenseModel:
    """Return a model that gives maps, on its device. Raises as `run_on` does."""
    with translate_errors(card.batch, device):
        if device.type != "cuda":
            return TorchMaps(Network(card, module, device))
        with get_lane(device).lock:
            return MapsOnCuda(Network(card, module, device))
