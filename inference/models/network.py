"""A torch module as a model: pixels in, scores or maps out, in the card's precision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from inference.models.card.own_words import describe_error
from inference.models.checks.last_step import find_last_step
from inference.models.checks.network_check import check_shape, choose_trial_rows
from inference.models.dense.maps import check_map_shape
from inference.models.execution.devices import translate_error
from inference.models.execution.fusing import fuse_layers
from inference.models.preprocessing import Preprocessing
from wsi.errors import DeviceLost, ModelError, ModelFailed, UnsuitableDevice
from wsi.planning.plan import Numerics
from wsi.records.model_card import Activation, ModelCard

_DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
_ACTIVATIONS = {
    Activation.NONE: lambda logits: logits,
    Activation.SOFTMAX: lambda logits: torch.softmax(logits, dim=1),
    Activation.SIGMOID: torch.sigmoid,
}
#: GPUs from compute capability 8.0 on calculate in bf16; older ones imitate it, or fail.
_BF16 = (8, 0)


class Network:
    """Preprocessing, forward and activation, all on `device`; the last in fp32. It never waits for the device: its
    callers (`cpu`, `cuda`) decide when to."""

    def __init__(self, card: ModelCard, module: torch.nn.Module, device: torch.device) -> None:
        """Move the module to the device, and try it. Raises ModelError if it does not fit its card; UnsuitableDevice,
        DeviceLost."""
        if card.precision not in _DTYPES:
            raise ModelError(f"This worker runs networks in {', '.join(_DTYPES)}, not in {card.precision}.")
        if device.type == "cuda" and card.precision == "bf16" and torch.cuda.get_device_capability(device) < _BF16:
            raise UnsuitableDevice("The model runs in bf16, which this GPU does not have: take a newer one.")
        self.card = card
        self.device = device
        self._dtype = _DTYPES[card.precision]
        self.last_step = find_last_step(module)
        # Convolutions are fastest in channels last, on CPUs too (docs/decisions/0090).
        self._module = module.eval().to(device, self._dtype)
        self._module = self._module.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        self._preprocessing = Preprocessing(card, device, self._dtype)
        self._try()
        if device.type == "cuda" and self._dtype != torch.float32:
            side = card.input_px
            example = torch.zeros(2, 3, side, side, device=device, dtype=self._dtype)
            self._module = fuse_layers(self._module, example.contiguous(memory_format=torch.channels_last))

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the scores, [batch, columns] fp32, of tiles [batch, height, width, 3] uint8, both on the device; of a
        card with objects the maps, [batch, maps, input_px, input_px]."""
        with _inference():
            return _ACTIVATIONS[self.card.activation](self.compute_output(pixels))

    def compute_output(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the output before the activation, as `__call__` returns that after it."""
        with _inference():
            planes = self._preprocessing(pixels).contiguous(memory_format=torch.channels_last)
            output = self._module(planes)
            return (output if self.card.objects is not None else output.reshape(len(pixels), -1)).float()

    def check(self, numerics: Numerics) -> None:
        """Raise ModelError if the plan wants another precision than the card's."""
        if numerics.precision != self.card.precision:
            raise ModelError(f"The model runs in {self.card.precision}; the plan asks for {numerics.precision}.")

    def _try(self) -> None:
        """Run the network on zeros, so that an unfit one is found at loading and not in the third shard. There are
        several rows, since a network that was traced for one tile, or gives one value for all of them, fits no
        batch."""
        card, rows = self.card, choose_trial_rows(self.card)
        with _inference():
            planes = torch.zeros(rows, 3, card.input_px, card.input_px, device=self.device, dtype=self._dtype)
            try:
                logits = self._module(planes)
            except Exception as error:
                known = translate_error(error, rows, self.device)
                if isinstance(known, UnsuitableDevice | DeviceLost):
                    raise known from error
                raise ModelFailed(
                    f"The network broke off at {rows} RGB tiles of {card.input_px} px in {card.precision}: "
                    f"{describe_error(error)}."
                ) from error
        if not isinstance(logits, torch.Tensor) or logits.is_complex():
            found = "complex numbers" if isinstance(logits, torch.Tensor) else type(logits).__name__
            raise ModelError(f"The network gives {found}; a model's output must be a tensor of real numbers.")
        if not logits.is_floating_point():
            raise ModelError(
                "The network gives whole numbers, as an argmax does: export it without that, so that it gives a score "
                "for each column."
            )
        check = check_shape if card.objects is None else check_map_shape
        check(tuple(logits.shape), rows, card)


@contextmanager
def _inference() -> Iterator[None]:
    """Run the block without gradients, and without the profiling executor, which uses other kernels for the first calls
    than for later ones."""
    with torch.inference_mode(), torch.jit.optimized_execution(False):  # pyright: ignore[reportPrivateImportUsage]
        yield
