"""A torch module on its device, ready for batches."""

from __future__ import annotations

import torch

from gpu_worker.models.cpu import OnCpu
from gpu_worker.models.cuda import OnCuda, lane
from gpu_worker.models.devices import device_errors
from gpu_worker.models.loaded import LoadedModel
from gpu_worker.models.network import Network
from wsi.model_card import ModelCard


def run_on(device: torch.device, card: ModelCard, module: torch.nn.Module) -> LoadedModel:
    """Raises ModelError for a network that does not fit its card, UnsuitableDevice, DeviceLost."""
    with device_errors(card.batch, device):
        if device.type != "cuda":
            return OnCpu(Network(card, module, device))
        with lane(device).lock:
            return OnCuda(Network(card, module, device))
