"""Contradictions within a card. Each field is right by itself; together they cannot be meant."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from wsi.errors import ModelError
from wsi.records.model_card import Activation, ModelCard
from wsi.records.outputs import ObjectOutput
from wsi.records.stain_normalisation import Macenko

#: Columns that tables of tiles begin with (`wsi.results.tables`).
PLACES: Final = frozenset({"minx", "miny", "width", "height"})
#: Numbers that objectives have and no model's um per px: 20x is about 0.5, and the coarsest models are at 8 to 10.
_OBJECTIVES: Final = frozenset({20.0, 40.0, 60.0, 63.0, 80.0, 100.0})
_RARE_OBJECTIVES: Final = frozenset({5.0, 10.0})
#: A mean of colours in 0..1 is at most 1. Spreads of 0..255 are 50 and more; 2 would be a network's own choice.
_HIGHEST_MEAN, _WIDEST_STD = 1.0, 2.0
#: How far a stain vector's length may lie from 1: published ones have four digits, and some two.
_LENGTH: Final = 0.02


def check_card(card: ModelCard) -> None:
    """Raise ModelError with the first contradiction, if the card has one."""
    for sentence in _contradictions(card):
        raise ModelError(sentence)


def collect_doubts(card: ModelCard) -> tuple[str, ...]:
    """Return the values that are probably mistakes, a sentence each."""
    return tuple(_doubts(card))


def _contradictions(card: ModelCard) -> Iterator[str]:
    if max(map(abs, card.mean)) > _HIGHEST_MEAN or max(card.std) > _WIDEST_STD:
        large = {"mean": max(map(abs, card.mean)) > _HIGHEST_MEAN, "std": max(card.std) > _WIDEST_STD}
        values = {"mean": card.mean, "std": card.std}
        names = [name for name in large if large[name]]
        written = [f"{name} {[round(value / 255, 4) for value in values[name]]}" for name in names]
        are, belong = ("are", "a card's are") if len(names) > 1 else ("is", "a card's is")
        yield f"{' and '.join(names)} {are} of colours in 0..255; {belong} of 0..1: write {' and '.join(written)}."
    if card.mpp in _OBJECTIVES:
        yield (
            f"mpp is microns per pixel, and {card.mpp:g} looks like a magnification: of most scanners 20x is 0.5, and "
            "40x is 0.25."
        )
    if card.activation is Activation.SOFTMAX and len(card.columns) == 1:
        yield "A softmax over one column is always 1: write sigmoid as activation, or name a column for each class."
    if taken := sorted(PLACES & {column.name for column in card.columns}):
        yield f"columns names {', '.join(taken)}, which tables of tiles hold already: take another name."
    if card.mpp_range is not None and card.mpp < card.mpp_range[0] and not card.allow_upsampling:
        low, high = card.mpp_range
        yield (
            f"mpp {card.mpp:g} lies below mpp_range {low:g} to {high:g}: every such slide is coarser than the model "
            "and would be refused. Set allow_upsampling, or mend one of the two."
        )
    if card.objects is not None:
        yield from _unfit_objects(card, card.objects)
    if isinstance(card.stain_normalisation, Macenko):
        yield from _unfit_stains(card.stain_normalisation)


def _unfit_objects(card: ModelCard, objects: ObjectOutput) -> Iterator[str]:
    if card.input_px % objects.stride:
        yield (
            f"The side of the network's input, {card.input_px} px, is no multiple of objects.stride_px, "
            f"{objects.stride}: tiles would not join."
        )
    least = 2 * objects.halo + objects.stride
    if card.input_px < least:
        yield (
            f"A tile of {card.input_px} px holds nothing but its border of {objects.halo} px on each side, which is "
            "margin_px, reach, least_core and the largest object: make the network's input at least "
            f"{least} px, or the largest object smaller."
        )
    if objects.rule.reach < 1 and objects.rule.core > objects.rule.inside:
        yield "objects.reach is 0, so that objects are their cores alone: state how many px around a core belong to it."


def _unfit_stains(stated: Macenko) -> Iterator[str]:
    vectors = stated.stain_vectors
    lengths = [math.hypot(*vector) for vector in vectors]
    if min(lengths) == 0:
        yield "stain_normalisation.stain_vectors holds a vector of zeros, which is the colour of no stain."
        return
    if max(abs(length - 1) for length in lengths) > _LENGTH:
        unit = [[round(part / length, 4) for part in vector] for vector, length in zip(vectors, lengths, strict=True)]
        shown = " and ".join(f"{length:.3g}" for length in lengths)
        yield (
            f"stain_normalisation.stain_vectors are of length {shown}, and max_concentrations belong to vectors of "
            f"length 1: write {unit}, with the concentrations of these."
        )
    if vectors[0][0] <= vectors[1][0]:
        yield (
            "stain_normalisation names haematoxylin first, which takes more of the red than eosin: swap the "
            "stain_vectors, and the max_concentrations with them."
        )


def _doubts(card: ModelCard) -> Iterator[str]:
    if card.mpp in _RARE_OBJECTIVES:
        yield f"mpp is microns per pixel; {card.mpp:g} is unusual, unless it is a magnification written by mistake."
    if card.mpp_range is not None and card.mpp > card.mpp_range[1]:
        low, high = card.mpp_range
        yield (
            f"mpp {card.mpp:g} lies above mpp_range {low:g} to {high:g}: every slide in it is shrunk. mpp_range is of "
            "slides, not of the model."
        )
