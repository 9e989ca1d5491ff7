"""A torch module on its device, ready for batches."""

from __future__ import annotations

import torch

from gpu_worker.models.cpu import OnCpu
from gpu_worker.models.cuda import OnCuda
from gpu_worker.models.loaded import LoadedModel
from gpu_worker.models.network import Network
from wsi.model_card import ModelCard


def run_on(device: torch.device, card: ModelCard, module: torch.nn.Module) -> LoadedModel:
    """Raises ModelError for a network that does not fit its card, UnsuitableDevice, DeviceLost."""
    network = Network(card, module, device)
    return OnCuda(network) if device.type == "cuda" else OnCpu(network)
