"""A user's own scores next to ours, tile by tile, and what most likely makes the difference.

A user's pipeline resizes, normalises or reads another level. Each of these is tried in our place; the one that brings
our scores nearest to theirs is the likely cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from inference.models.checks.tolerance import Difference, compare_scores
from inference.models.execution.scoring import score_tiles
from inference.models.package import read_package
from inference.models.registry import load_model
from tessera.local_run.inputs import SlideInput, UsageError
from tessera.local_run.inputs.tables import read_rows
from tessera.local_run.sources import Sources
from tessera.models.normalisations import NORMALISATIONS
from tessera.models.tiles import read_tiles_at
from wsi.errors import ModelError
from wsi.records.model_card import Activation, Boxes, Channels, ModelCard, ReadLevel, Resize
from wsi.records.stain_normalisation import PUBLISHED

EQUAL: Final = 1e-3  #: of the largest difference, below which nothing is looked for
TRIED: Final = 64  #: tiles for which causes are tried
_WORTH: Final = 0.5  #: a cause must at least halve the mean difference
_CAUSES: Final = 3  #: that may come together
_EXAMPLE: Final = "minx,miny,prob_Tumor"

Scores = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, slots=True)
class Theirs:
    origins: NDArray[np.int32]  #: [n, 2] level-0 x, y of the tiles, ascending, each once
    side: int | None  #: level-0 px of their width; None where they say none
    scores: Scores  #: [n, columns of the card]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    name: str  #: "resize pillow-bicubic"
    found: Difference  #: what is left with it


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    card: ModelCard
    found: Difference
    side: int  #: level-0 px of our tiles
    causes: tuple[Cause, ...]  #: each with those before it
    furthest: tuple[tuple[int, int, Scores, Scores], ...]  #: x, y, theirs, ours


def read_scores(path: Path, card: ModelCard) -> Theirs:
    """Read minx, miny in level-0 px, and a column of scores for each of the card's, by its name. Raises UsageError."""
    names = [_plain(column.name) for column in card.columns]
    if not names:
        raise UsageError(f"The model's output is {card.output}: only columns of scores can be compared with yours.")
    rows: dict[tuple[int, int], list[float]] = {}
    sides: set[int] = set()
    for line, row in read_rows(path, "minx", _EXAMPLE):
        missing = [name for name in ("miny", *names) if name not in row]
        if missing:
            raise UsageError(
                f"{path} has no column named {', '.join(missing)}; it needs minx, miny, {', '.join(names)}"
            )
        try:
            place = round(float(row["minx"])), round(float(row["miny"]))
            rows[place] = [float(row[name].replace(",", ".")) for name in names]
            if row.get("width"):
                sides.add(round(float(row["width"])))
        except ValueError:
            raise UsageError(f"{path}, line {line}: a cell is no number") from None
    if not rows:
        raise UsageError(f"{path} holds no tiles")
    places = sorted(rows)
    return Theirs(
        origins=np.array(places, np.int32),
        side=sides.pop() if len(sides) == 1 else None,
        scores=np.array([rows[place] for place in places], np.float32),
    )


def compare(folder: Path, slide: SlideInput, theirs: Theirs, count: int) -> Comparison:
    """Score their tiles, `count` of them at most, and look for causes where the scores differ. Raises what a run
    raises, and UsageError for tiles that lie off the slide."""
    card = read_package(folder)
    taken = np.unique(np.linspace(0, len(theirs.origins) - 1, min(count, len(theirs.origins))).astype(int))
    pixels, kept, side = read_tiles_at(slide, card, theirs.origins[taken], Sources())
    wanted, origins = theirs.scores[taken][kept], theirs.origins[taken][kept]
    scores = score_tiles(load_model(card, folder, "cpu"), pixels)
    found = compare_scores(card, scores, wanted)
    worst = np.argsort(-np.abs(scores - wanted).max(axis=1), kind="stable")[:5]
    causes: list[Cause] = []
    if not found.max_difference <= EQUAL:
        few = np.linspace(0, len(kept) - 1, min(TRIED, len(kept))).astype(int)
        causes = list(_causes(folder, slide, card, origins[few], wanted[few]))
    return Comparison(
        card=card,
        found=found,
        side=side,
        causes=tuple(causes),
        furthest=tuple((int(origins[n, 0]), int(origins[n, 1]), wanted[n], scores[n]) for n in worst),
    )


def _causes(
    folder: Path, slide: SlideInput, card: ModelCard, origins: NDArray[np.int32], wanted: Scores
) -> Iterator[Cause]:
    """Yield what brings our scores nearest to theirs, then what does so together with that."""
    read: dict[tuple[ReadLevel, Resize | None], tuple[NDArray[np.uint8], NDArray[np.intp]]] = {}

    def measure_difference(one: ModelCard) -> Difference | None:
        resampled = one.resize if one.boxes is Boxes.RESAMPLED else None
        if (one.read_level, resampled) not in read:
            read[one.read_level, resampled] = read_tiles_at(slide, one, origins, Sources())[:2]
        pixels, kept = read[one.read_level, resampled]
        try:
            return compare_scores(one, score_tiles(load_model(one, folder, "cpu"), pixels), wanted[kept])
        except ModelError:  # such a network is refused: it is not what they run
            return None

    current = measure_difference(card)
    for _ in range(_CAUSES):
        if current is None or current.max_difference <= EQUAL:
            return
        tried = [(name, one, measure_difference(one)) for name, one in _variants(card) if one != card]
        name, best, found = min(
            ((name, one, found) for name, one, found in tried if found is not None),
            key=lambda each: each[2].mean_difference,
            default=("", card, None),
        )
        if found is None or found.mean_difference > _WORTH * current.mean_difference:
            return
        card, current = best, found
        yield Cause(name=name, found=found)


def _variants(card: ModelCard) -> Iterator[tuple[str, ModelCard]]:
    for resize in Resize:
        yield f"resize {resize}", replace(card, resize=resize)
    for level in ReadLevel:
        yield f"read_level {level}", replace(card, read_level=level)
    for boxes in Boxes:
        yield f"boxes {boxes}", replace(card, boxes=boxes)
    for channels in Channels:
        yield f"channels {channels}", replace(card, channels=channels)
    for activation in Activation:
        yield f"activation {activation}", replace(card, activation=activation)
    for name, (mean, std) in NORMALISATIONS.items():
        values = " (0..1)" if name == "none" else ""
        yield f"mean and std of {name}{values}", replace(card, mean=mean, std=std)
    # Of a reference that nobody states only the published one can be guessed.
    yield "no stain normalisation", replace(card, stain_normalisation=None)
    yield "stain normalisation macenko towards torchstain's own reference", replace(card, stain_normalisation=PUBLISHED)


def _plain(name: str) -> str:
    """Return the name as `read_rows` spells names of columns."""
    return "_".join(name.strip().casefold().replace("-", " ").replace("_", " ").split())


def describe_comparison(comparison: Comparison, theirs: Theirs) -> Sequence[str]:
    """Return the findings in sentences."""
    card, found = comparison.card, comparison.found
    said = [
        f"{found.tiles:,} tiles: scores differ by up to {found.max_difference:.2g}, by {found.mean_difference:.2g} on "
        f"average, and {found.top1_changes} change their class."
    ]
    if theirs.side is not None and theirs.side != comparison.side:
        said.append(
            f"Your tiles are {theirs.side} px wide at level 0, ours {comparison.side}: tile_px {card.tile_px} at mpp "
            f"{card.mpp:g}. Scores are compared all the same."
        )
    for number, cause in enumerate(comparison.causes):
        left = f"{cause.found.max_difference:.2g} at most, {cause.found.mean_difference:.2g} on average"
        said.append(f"{'With' if number == 0 else 'And with'} {cause.name} in our place there are {left}.")
    if comparison.causes:
        stated = " and ".join(cause.name for cause in comparison.causes)
        said.append(f"Most likely your pipeline has {stated}, and the card says something else.")
    elif not found.max_difference <= EQUAL:
        said.append(
            "No other resize, level, box, order of channels, normalisation, stain normalisation or activation brings "
            "them nearer."
        )
    for x, y, mine, ours in comparison.furthest if not found.max_difference <= EQUAL else ():
        said.append(f"at {x}, {y}: yours {_numbers(mine)}, ours {_numbers(ours)}")
    return said


def _numbers(values: Any) -> str:
    shown = ", ".join(f"{float(value):.4f}" for value in values[:4])
    return f"{shown}, …" if len(values) > 4 else shown
