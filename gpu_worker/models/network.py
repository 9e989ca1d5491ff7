"""A torch module as a model: pixels in, scores out, in the card's precision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from gpu_worker.models.devices import translated
from gpu_worker.models.fusing import fused
from gpu_worker.models.last_step import last_step
from gpu_worker.models.network_check import check_shape, rows_to_try
from gpu_worker.models.own_words import own_words
from gpu_worker.models.preprocessing import Preprocessing
from wsi.errors import DeviceLost, ModelError, ModelFailed, UnsuitableDevice
from wsi.model_card import Activation, ModelCard
from wsi.plan import Numerics

_DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
_ACTIVATIONS = {
    Activation.NONE: lambda logits: logits,
    Activation.SOFTMAX: lambda logits: torch.softmax(logits, dim=1),
    Activation.SIGMOID: torch.sigmoid,
}
#: GPUs from compute capability 8.0 on calculate in bf16; older ones imitate it, or fail.
_BF16 = (8, 0)


class Network:
    """Preprocessing, forward and activation, all on `device`; the last in fp32. Waits for nothing: what runs it decides
    when (`cpu`, `cuda`)."""

    def __init__(self, card: ModelCard, module: torch.nn.Module, device: torch.device) -> None:
        """Raises ModelError for a network that does not fit its card, UnsuitableDevice, DeviceLost."""
        if card.precision not in _DTYPES:
            raise ModelError(f"This worker runs networks in {', '.join(_DTYPES)}, not in {card.precision}.")
        if device.type == "cuda" and card.precision == "bf16" and torch.cuda.get_device_capability(device) < _BF16:
            raise UnsuitableDevice("The model runs in bf16, which this GPU does not have: take a newer one.")
        self.card = card
        self.device = device
        self._dtype = _DTYPES[card.precision]
        self.last_step = last_step(module)
        # Channels last is what convolutions are fastest in, on CPUs too (docs/decisions/0090).
        self._module = module.eval().to(device, self._dtype)
        self._module = self._module.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        self._preprocessing = Preprocessing(card, device, self._dtype)
        self._try()
        if device.type == "cuda" and self._dtype != torch.float32:
            side = card.input_px
            example = torch.zeros(2, 3, side, side, device=device, dtype=self._dtype)
            self._module = fused(self._module, example.contiguous(memory_format=torch.channels_last))

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        """[batch, height, width, 3] uint8 on the device -> [batch, columns] fp32 there."""
        with _inference():
            return _ACTIVATIONS[self.card.activation](self.output(pixels))

    def output(self, pixels: torch.Tensor) -> torch.Tensor:
        """[batch, height, width, 3] uint8 on the device -> [batch, columns] fp32 there, before the activation."""
        with _inference():
            planes = self._preprocessing(pixels).contiguous(memory_format=torch.channels_last)
            return self._module(planes).reshape(len(pixels), -1).float()

    def check(self, numerics: Numerics) -> None:
        """Raises ModelError for a plan that asks for another precision than the card's."""
        if numerics.precision != self.card.precision:
            raise ModelError(f"The model runs in {self.card.precision}; the plan asks for {numerics.precision}.")

    def _try(self) -> None:
        """Zeros, so that an unfit network is found at loading and not in the third shard: several rows, since a network
        that was traced for one tile, or that answers with one value for all of them, fits no batch."""
        card, rows = self.card, rows_to_try(self.card)
        with _inference():
            planes = torch.zeros(rows, 3, card.input_px, card.input_px, device=self.device, dtype=self._dtype)
            try:
                logits = self._module(planes)
            except Exception as error:
                known = translated(error, rows, self.device)
                if isinstance(known, UnsuitableDevice | DeviceLost):
                    raise known from error
                raise ModelFailed(
                    f"The network broke off at {rows} RGB tiles of {card.input_px} px in {card.precision}: "
                    f"{own_words(error)}."
                ) from error
        if not isinstance(logits, torch.Tensor) or logits.is_complex():
            found = "complex numbers" if isinstance(logits, torch.Tensor) else type(logits).__name__
            raise ModelError(f"The network gives {found}; a model's output must be a tensor of real numbers.")
        if not logits.is_floating_point():
            raise ModelError(
                "The network gives whole numbers, as an argmax does: export it without that, so that it gives a score "
                "for each column."
            )
        check_shape(tuple(logits.shape), rows, card)


@contextmanager
def _inference() -> Iterator[None]:
    """No gradients, and no profiling executor: that runs the first calls and the later ones as different kernels."""
    with torch.inference_mode(), torch.jit.optimized_execution(False):  # pyright: ignore[reportPrivateImportUsage]
        yield
