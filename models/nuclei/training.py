"""Trains the network on all quadrants but one."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy

import numpy as np
import torch
from torch.nn import functional

from inference.models.dense.unet import UNet
from models.nuclei.pictures import Annotated
from models.nuclei.sampling import Pieces
from wsi.records.outputs import CoreRule

WIDTHS = (16, 32, 64, 128)
OUTPUTS = 2  #: nucleus, depth
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  #: of colours in 0..1
#: Chosen over all four ways to hold a quadrant out, of 18 pairs of thresholds.
RULE = CoreRule(inside=128, core=140, least_core=6, reach=18)
BATCH = 32
RATE = 2e-3
KEPT = 0.999  #: of the running mean of the weights, a step


def run_training(
    annotated: Annotated,
    held_out: int | None,
    *,
    steps: int,
    seed: int,
    device: torch.device,
    tell: Callable[[int, float], None],
) -> UNet:
    """Return the network, learned from all quadrants but `held_out`, numbered as in QUADRANTS; from all if None.
    `tell` takes the step and the loss."""
    torch.manual_seed(seed)
    learned = np.ones(annotated.nuclei.shape, np.bool_)
    if held_out is not None:
        learned[annotated.cut(held_out)] = False
    pieces = Pieces.of(annotated, learned, seed, device)
    network = UNet(WIDTHS, OUTPUTS).to(device).train()
    average = deepcopy(network).eval()
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=1e-2)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, step / 200) * 0.5 * (1 + math.cos(math.pi * step / steps))
        colours, marks = pieces.draw(BATCH)
        loss = compute_loss(network(normalise(colours)), marks)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        _follow(average, network, min(KEPT, step / (step + 10)))
        if step % 100 == 0 or step == steps - 1:
            tell(step, loss.item())
    return average


def normalise(colours: torch.Tensor) -> torch.Tensor:
    mean, std = (torch.tensor(values, device=colours.device).view(1, 3, 1, 1) for values in (MEAN, STD))
    return (colours - mean) / std


def compute_loss(logits: torch.Tensor, marks: torch.Tensor) -> torch.Tensor:
    """Return the loss: cross entropy of both outputs and the overlap of nuclei. Depth counts more inside nuclei, where
    it says which of them touch."""
    nucleus, depth = marks[:, 0], marks[:, 1]
    chance = torch.sigmoid(logits[:, 0])
    overlap = (2 * (chance * nucleus).sum() + 1) / (chance.sum() + nucleus.sum() + 1)
    weights = 1 + 2 * nucleus
    of_depth = functional.binary_cross_entropy_with_logits(logits[:, 1], depth, weights)
    return functional.binary_cross_entropy_with_logits(logits[:, 0], nucleus) + (1 - overlap) + of_depth


@torch.no_grad()
def _follow(average: UNet, network: UNet, kept: float) -> None:
    own = network.state_dict()
    for name, value in average.state_dict().items():
        if value.is_floating_point():
            value.lerp_(own[name], 1 - kept)
        else:
            value.copy_(own[name])
