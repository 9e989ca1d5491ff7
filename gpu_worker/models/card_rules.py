"""What cards contradict themselves in. Each field is right by itself; together they cannot be meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wsi.errors import ModelError
from wsi.model_card import Activation, ModelCard

#: Columns that tables of tiles begin with (`wsi.results.tables`).
PLACES: Final = frozenset({"minx", "miny", "width", "height"})
#: Numbers that objectives have and no model's um per px: 20x is about 0.5, and the coarsest models are at 8 to 10.
_OBJECTIVES: Final = frozenset({20.0, 40.0, 60.0, 63.0, 80.0, 100.0})
_RARE_OBJECTIVES: Final = frozenset({5.0, 10.0})
#: A mean of colours in 0..1 is at most 1. Spreads of 0..255 are 50 and more; 2 would be a network's own choice.
_HIGHEST_MEAN, _WIDEST_STD = 1.0, 2.0


def check_card(card: ModelCard) -> None:
    """Raises ModelError with the first contradiction."""
    for sentence in _contradictions(card):
        raise ModelError(sentence)


def doubts(card: ModelCard) -> tuple[str, ...]:
    """Return what is probably not meant, a sentence each."""
    return tuple(_doubts(card))


def _contradictions(card: ModelCard) -> Iterator[str]:
    if max(map(abs, card.mean)) > _HIGHEST_MEAN or max(card.std) > _WIDEST_STD:
        mean, std = ([round(value / 255, 4) for value in values] for values in (card.mean, card.std))
        yield (
            f"mean and std are of colours in 0..255; a card's are of 0..1: write mean {mean} and std {std}."
            if max(map(abs, card.mean)) > _HIGHEST_MEAN
            else f"std is of colours in 0..255; a card's is of 0..1, as its mean: write std {std}."
        )
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


def _doubts(card: ModelCard) -> Iterator[str]:
    if card.mpp in _RARE_OBJECTIVES:
        yield f"mpp is microns per pixel; {card.mpp:g} is unusual, unless it is a magnification written by mistake."
    if card.mpp_range is not None and card.mpp > card.mpp_range[1]:
        low, high = card.mpp_range
        yield (
            f"mpp {card.mpp:g} lies above mpp_range {low:g} to {high:g}: every slide in it is shrunk. mpp_range is of "
            "slides, not of the model."
        )
