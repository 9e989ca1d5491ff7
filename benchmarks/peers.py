"""The peers' way through a slide, for `benchmarks.tiles_per_second`: tiles by OpenSlide in a torch DataLoader, and the
parts of any such way alone.

- `loader(..., how="floats")`: PIL, ToTensor, Normalize in the workers; the model in fp32 or under fp16 autocast. The
  tutorials, WSInfer and most of the published pipelines do so.
- `loader(..., how="bytes")`: uint8 out of the workers, normalised on the device.
- `run_model_alone`: one batch that is on the device already, again and again; as a CUDA graph on a GPU.
- `benchmarks.peers_decode`: decoding alone, in N processes.

Each gives a `Took`. Needs torch, torchvision, Pillow and OpenSlide, no network and no other package.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torchvision.models import resnet50
from torchvision.transforms import Compose, Normalize, ToTensor

from inference.models.stains.density import NUCLEAR_OD, STAINS

MEAN: Final = (0.485, 0.456, 0.406)
DEVIATION: Final = (0.229, 0.224, 0.225)
WORKERS: Final = (4, 8, 16)
BATCH: Final = 64
AHEAD: Final = 2  #: batches that each worker of a DataLoader makes ahead, torch's own default

How = Literal["floats", "bytes"]
Precision = Literal["fp32", "fp16"]
Infer = Callable[[Tensor], object]  #: a batch on the device -> scores, still there


@dataclass(frozen=True, kw_only=True, slots=True)
class Took:
    """One arm's run. `seconds` is the steady part, without the start of processes and the first batch; `cpu_seconds`
    covers all processes and all patches."""

    name: str
    patches: int
    seconds: float
    cpu_patches: int
    cpu_seconds: float

    @property
    def rate(self) -> float:
        """Patches a second."""
        return self.patches / self.seconds

    @property
    def cpu_seconds_a_thousand(self) -> float:
        return 1000 * self.cpu_seconds / self.cpu_patches

    def __str__(self) -> str:
        return f"{self.name:56} {self.rate:10,.0f} {self.cpu_seconds_a_thousand:10.2f}"


HEAD: Final = f"{'arm':56} {'patches/s':>10} {'CPU s/1000':>10}"


def make_network(device: str) -> nn.Module:
    """Return ResNet50 with seeded weights, whose values do not change its speed."""
    torch.manual_seed(0)
    return resnet50(weights=None).eval().to(device)


class FromBytes(nn.Module):
    """A model of [n, height, width, 3] uint8: `inner` on the pixels normalised in its precision. Channels stay last."""

    def __init__(self, inner: nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self.inner = inner.to(dtype=dtype, memory_format=torch.channels_last)
        scale = 1 / (255 * torch.tensor(DEVIATION))
        self.register_buffer("scale", scale.to(dtype).view(1, 3, 1, 1))
        self.register_buffer("shift", (-torch.tensor(MEAN) / torch.tensor(DEVIATION)).to(dtype).view(1, 3, 1, 1))
        self._dtype = dtype

    def forward(self, pixels: Tensor) -> Tensor:
        return self.inner(pixels.permute(0, 3, 1, 2).to(self._dtype) * self.scale + self.shift)


def make_float_model(device: str, precision: Precision) -> Infer:
    """Return a model that takes [n, 3, height, width] float32, normalised; fp16 is by autocast."""
    model = make_network(device)

    def infer(batch: Tensor) -> Tensor:
        with torch.inference_mode(), torch.autocast(_kind(device), torch.float16, enabled=precision == "fp16"):
            return model(batch)

    return infer


def make_byte_model(device: str, *, compiled: bool = False) -> Infer:
    """Return a model that takes [n, height, width, 3] uint8, with channels last: fp16 on a GPU, fp32 elsewhere.
    `compiled` needs a C compiler."""
    model: Any = FromBytes(make_network(device), torch.float16 if _kind(device) == "cuda" else torch.float32).to(device)
    if compiled:
        model = torch.compile(model)

    def infer(batch: Tensor) -> Tensor:
        with torch.inference_mode():
            return model(batch)

    return infer


def compute_stains(batch: Tensor) -> Tensor:
    """Compute `stain-density` of [n, 3, height, width] float32, normalised, as one writes it in torch: [n, 4]. It goes
    tile by tile, since a batch does not stay in a cache."""
    mean, deviation = torch.tensor(MEAN).view(3, 1), torch.tensor(DEVIATION).view(3, 1)
    unmix = torch.from_numpy(np.linalg.inv(STAINS / np.linalg.norm(STAINS, axis=1, keepdims=True)).T).float()
    scores = torch.empty(len(batch), 4)
    for tile, row in zip(batch, scores, strict=True):
        light = (tile.reshape(3, -1) * deviation).add_(mean).clamp_(1 / 255, 1)
        amounts = (unmix @ light.log10_().neg_()).clamp_(min=0)
        row[:3], row[3] = amounts.mean(dim=1), (amounts[0] > NUCLEAR_OD).float().mean()
    return scores


def make_tilewise_model(infer: Callable[[NDArray[np.uint8]], object]) -> Infer:
    """Return a model of a batch of bytes on the CPU that runs a numpy model of one tile ([height, width, 3] uint8)."""
    return lambda batch: [infer(tile) for tile in batch.numpy()]


class Patches(Dataset[Any]):
    """The patches of a slide, by one OpenSlide handle a process: each needs its own, opened at its first patch."""

    def __init__(self, slide: Path, origins: NDArray[np.int32], box: int, patch: int, how: How) -> None:
        self._slide, self._origins, self._box, self._patch = slide, origins, box, patch
        self._transform = Compose([ToTensor(), Normalize(MEAN, DEVIATION)]) if how == "floats" else np.array
        self._handle: Any = None

    def __len__(self) -> int:
        return len(self._origins)

    def __getitem__(self, index: int) -> Any:
        from openslide import OpenSlide

        if self._handle is None:
            self._handle = OpenSlide(self._slide)
        x, y = self._origins[index].tolist()
        picture = self._handle.read_region((x, y), 0, (self._box, self._box)).convert("RGB")
        if self._patch != self._box:
            picture = picture.resize((self._patch, self._patch))
        return self._transform(picture)


def run_loader(
    slide: Path,
    origins: NDArray[np.int32],
    *,
    box: int,
    patch: int,
    how: How,
    workers: int,
    infer: Infer,
    device: str = "cpu",
    batch: int = BATCH,
    name: str = "",
) -> Took:
    """Run all patches of `origins` ([n, 2] x, y of level 0) through a DataLoader and the model. The steady part begins
    after the batches that the workers have ready before the first one is requested. Raises ValueError unless there are
    more."""
    ready = 1 + workers * AHEAD
    if len(origins) <= ready * batch:
        raise ValueError(f"a steady part needs more than {ready} batches")
    on_gpu = _kind(device) == "cuda"
    patches: Any = Patches(slide, origins, box, patch, how)
    spent, done, given, first, began = measure_cpu_seconds(), 0, 0, 0, 0.0
    batches = iter(
        DataLoader(
            patches,
            batch_size=batch,
            num_workers=workers,
            pin_memory=on_gpu,
            prefetch_factor=AHEAD if workers else None,
            # Forked, as on Linux by default until 3.14, so that no worker's import of torch is measured. Workers touch
            # no GPU.
            multiprocessing_context="fork" if workers else None,
        )
    )
    for pixels in batches:
        infer(pixels.to(device, non_blocking=True))
        done, given = done + len(pixels), given + 1
        if given == ready:
            _wait(device)
            first, began = done, time.perf_counter()
    _wait(device)
    seconds = time.perf_counter() - began
    del batches  # ends its workers, whose time is known only then
    return Took(
        name=name or f"DataLoader, {how}, {workers} workers",
        patches=done - first,
        seconds=seconds,
        cpu_patches=done,
        cpu_seconds=measure_cpu_seconds() - spent,
    )


def choose_fastest(arm: Callable[[int], Took], workers: Sequence[int] = WORKERS) -> Took:
    """Run the arm with each of these numbers of workers; return the fastest run."""
    return max((arm(number) for number in workers), key=lambda took: took.rate)


def run_model_alone(
    infer: Infer, *, batch: int, height: int, width: int, device: str, seconds: float = 2.0, name: str = ""
) -> Took:
    """Run `infer` over one batch of uint8 that stays on the device: the upper limit of any way of feeding it."""
    pixels = torch.randint(0, 256, (batch, height, width, 3), dtype=torch.uint8, device=device)
    run = _graph(infer, pixels) if _kind(device) == "cuda" else lambda: infer(pixels)
    run()
    _wait(device)
    spent, began, batches = measure_cpu_seconds(), time.perf_counter(), 0
    while (took := time.perf_counter() - began) < seconds or not batches:
        for _ in range(4):  # so that waiting for the device costs nothing
            run()
        _wait(device)
        batches += 4
    count = batches * batch
    return Took(
        name=name or f"model alone, batch {batch}",
        patches=count,
        seconds=took,
        cpu_patches=count,
        cpu_seconds=measure_cpu_seconds() - spent,
    )


def _graph(infer: Infer, pixels: Tensor) -> Callable[[], object]:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):  # libraries choose their kernels
            infer(pixels)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        infer(pixels)
    return graph.replay


def _kind(device: str) -> str:
    return torch.device(device).type


def _wait(device: str) -> None:
    if _kind(device) == "cuda":
        torch.cuda.synchronize(device)


def measure_cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that ended."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)
