"""Checks of a network by running it: a tile's scores depend on its own pixels alone, are the same each
time, are numbers, and behave as the card says.

A network that was exported in training mode still drops values at random and normalises by the other tiles of its
batch: it runs, and every score is wrong. A card that adds a softmax to one that the network has makes every class
look unsure. Neither is seen in a table of scores; both are refused here, at loading and by `tessera models check`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from inference.models.activations import apply_activation
from inference.models.checks.tolerance import compare_scores
from inference.models.loaded import LoadedModel
from wsi.errors import ModelFailed
from wsi.records.model_card import Activation, ModelCard, OutputKind

Tiles = NDArray[np.uint8]

#: How far a sum of probabilities may lie from 1, and a probability outside 0..1: sixteen bits keep three digits.
ROUNDING: Final = 2e-3
EXPORT: Final = "call model.eval() and export it again"

RANDOM: Final = (
    "The network gives other scores when it is asked again: it holds something random, as dropout does in training "
    f"mode; {EXPORT}."
)
SAME: Final = (
    "The network gives the same values for every tile: it does not look at its input, or its weights are not those "
    "that were trained."
)
MOST_TILES: Final = 32  #: real tiles that a network is run on several times
_ALONE: Final = 4  #: of them


@runtime_checkable
class Inspectable(Protocol):
    """A network whose output before its card's activation can be inspected."""

    @property
    def card(self) -> ModelCard: ...

    @property
    def last_step(self) -> Activation | None:
        """The activation that the network itself ends with; None if it has none, or its file does not tell."""
        ...

    def compute_output(self, pixels: Tiles) -> NDArray[np.float32]:
        """Return the output before the activation, [n, columns], of tiles [n, height, width, 3]. Raises ModelFailed,
        UnsuitableDevice, DeviceLost."""
        ...


def choose_trial_rows(card: ModelCard) -> int:
    """Return a number of tiles that is not the number of columns, so that [columns, tiles] can be told apart from
    [tiles, columns]."""
    return 2 if card.width != 2 else 3


def check_shape(shape: Sequence[int], rows: int, card: ModelCard) -> None:
    """Raise ModelFailed unless the output has a row of the card's columns, or a vector of its length, for each tile.
    Sides of 1 do not count."""
    columns = card.width
    if shape and shape[0] == rows and math.prod(shape[1:]) == columns:
        return
    found = f"[{', '.join(map(str, shape))}] for {rows} tiles"
    if len(shape) == 2 and shape == (columns, rows):
        raise ModelFailed(f"The network gives {found}, a row a class: transpose its output to [tiles, {columns}].")
    if shape and shape[0] == rows:
        found, wanted = f"{math.prod(shape[1:]):,} values a tile", f"names {columns:,} columns"
        if card.embedding is not None:
            wanted = f"says {columns:,} dimensions"
            if len(shape) == 3 and shape[-1] == columns:
                found += f", {shape[1]:,} vectors of that length: it must pool them into one"
        raise ModelFailed(f"The network gives {found}; its card {wanted}.")
    raise ModelFailed(f"The network gives {found}: it must give [tiles, {columns}], for any number of tiles.")


def check_network(network: Inspectable) -> None:
    """Check the network on three synthetic tiles, alone and in batches: the cheap check, at each loading. Raises
    ModelFailed with what is wrong and how to fix it, UnsuitableDevice, DeviceLost."""
    card = network.card
    one, two, three = make_tiles(card.tile_px)
    batches = (np.stack([one, two]), np.stack([three, one]), one[None])
    first, moved, alone = outputs = [network.compute_output(batch) for batch in batches]
    check_values(card, np.concatenate(outputs), network.last_step)
    # All of them: dropout just before two columns leaves a batch of two tiles as it was one time in sixteen.
    if any(
        network.compute_output(batch).tobytes() != before.tobytes()
        for batch, before in zip(batches, outputs, strict=True)
    ):
        raise ModelFailed(RANDOM)
    rows = apply_activation(np.stack([first[0], moved[1], alone[0]]), card.activation)
    check_independence(card, rows[1:], np.repeat(rows[:1], 2, axis=0))
    if (first == first[0]).all() and (moved == first[0]).all():  # not bytes: 0 is -0
        raise ModelFailed(SAME)


def check_on_tiles(model: LoadedModel, tiles: Tiles, scores: NDArray[np.float32]) -> tuple[str, ...]:
    """Check the model on real tiles [n, height, width, 3], at most MOST_TILES of them: again, in the other order, and a
    few alone. `scores` [n, columns] are those that it gave in whole batches. Return doubts, a sentence each. Raises as
    `check_network` does."""
    if not isinstance(model, Inspectable):
        return ()
    card, tiles, scores = model.card, tiles[:MOST_TILES], scores[:MOST_TILES]
    output = model.compute_output(tiles)
    check_values(card, output, model.last_step)
    if output.tobytes() != model.compute_output(tiles).tobytes():
        raise ModelFailed(RANDOM)
    few = slice(None, None, max(1, len(tiles) // _ALONE))
    alone = np.concatenate([model.compute_output(tile[None]) for tile in tiles[few]])
    turned = model.compute_output(np.ascontiguousarray(tiles[::-1]))[::-1]
    for other, reference in ((output, scores), (turned, scores), (alone, scores[few])):
        check_independence(card, apply_activation(other, card.activation), reference)
    _check_variety(output, tiles)
    return tuple(_doubts(card, scores, output))


def _check_variety(output: NDArray[np.float32], tiles: Tiles) -> None:
    if len(np.unique(tiles.reshape(len(tiles), -1), axis=0)) > 1 and len(np.unique(output, axis=0)) == 1:
        raise ModelFailed(SAME)


def _doubts(card: ModelCard, scores: NDArray[np.float32], output: NDArray[np.float32]) -> Iterator[str]:
    if card.activation is Activation.SIGMOID and (output >= 0).all() and (output <= 1).all():
        yield (
            "Everything that the network gives before the card's sigmoid lies in 0..1: if it ends with a sigmoid of "
            'its own, write "activation": "none".'
        )
    for number, column in enumerate(card.columns):
        low, high = float(scores[:, number].min()), float(scores[:, number].max())
        if card.output is OutputKind.REGRESSION and (low < column.low or high > column.high):
            yield (
                f"Column {column.name} reaches {low:.3g} to {high:.3g}; its card says {column.low:g} to "
                f"{column.high:g}, beyond which the heatmap shows no difference."
            )


def check_independence(card: ModelCard, scores: NDArray[np.float32], reference: NDArray[np.float32]) -> None:
    """Compare scores of the same tiles in other batches. Raises ModelFailed beyond the card's tolerance."""
    found = compare_scores(card, scores, reference)
    # Classes are not compared: one of two equal scores becomes the larger by rounding.
    if not found.max_difference <= card.tolerance.max_difference:
        raise ModelFailed(
            f"A tile's scores depend on the other tiles of its batch: they differ by up to {found.max_difference:.2g}. "
            f"A batch normalisation is in training mode or has no running statistics; {EXPORT}, or train it with "
            "track_running_stats."
        )


def check_values(card: ModelCard, output: NDArray[np.float32], last_step: Activation | None) -> None:
    """Raise ModelFailed if an output [n, columns], before the activation, contradicts the card."""
    if not np.isfinite(output).all():
        raise ModelFailed(
            "The network gives values that are not numbers: its weights hold some, are not those of this architecture, "
            f"or overflow in {card.precision}."
        )
    if last_step is card.activation is not Activation.NONE or (
        card.activation is Activation.SOFTMAX and _are_probabilities(output)
    ):
        name = card.activation.value
        raise ModelFailed(
            f"The network ends with a {name} and its card adds another one, which makes every class look unsure: "
            'write "activation": "none" into card.json.'
        )
    if card.embedding is not None and last_step is Activation.SOFTMAX:
        raise ModelFailed(
            "The network ends with a softmax, so that it gives classes where its card says embedding: export it "
            "without its last layer."
        )
    if card.output is OutputKind.CLASSIFICATION and card.activation is Activation.NONE:
        _check_probabilities(output)


def _check_probabilities(output: NDArray[np.float32]) -> None:
    if output.shape[1] == 1 and not (output % 1).any():
        raise ModelFailed(
            "The network gives whole numbers where its card says classification: it ends with an argmax or a "
            "threshold. Export it without that, so that it gives a score a class."
        )
    low, high = float(output.min()), float(output.max())
    if low < -ROUNDING or high > 1 + ROUNDING:
        raise ModelFailed(
            f"The network gives {low:.3g} to {high:.3g} where its card says classification without an activation, "
            'whose scores are 0 to 1: write "softmax" or "sigmoid" as activation, or "regression" as output.'
        )


def _are_probabilities(output: NDArray[np.float32]) -> bool:
    """Return whether every row sums to 1 and holds nothing below 0, as after a softmax."""
    return bool((output >= -ROUNDING).all() and (np.abs(output.sum(axis=1) - 1) <= ROUNDING).all())


def make_tiles(side: int) -> tuple[Tiles, Tiles, Tiles]:
    """Return three tiles [side, side, 3] that differ in colour and in grain: tissue in pink with nuclei, noise of all
    colours, and glass. They are the same on every machine."""
    rng = np.random.default_rng(20_261_129)
    coarse = rng.random((-(-side // 16), -(-side // 16), 1)).repeat(16, axis=0).repeat(16, axis=1)[:side, :side]
    grain = rng.integers(-12, 13, (side, side, 3))
    pink, purple, glass = (np.array(colour) for colour in ((226, 164, 197), (112, 72, 138), (242, 240, 243)))
    tissue = np.clip(np.where(coarse < 0.3, purple, pink) + grain, 0, 255).astype(np.uint8)
    noise = rng.integers(0, 256, (side, side, 3), dtype=np.uint8)
    return tissue, noise, np.clip(glass + grain // 4, 0, 255).astype(np.uint8)
