"""Golden tiles: a package's own proof that it computes here what it computed where it was made.

`golden.npz` holds `tiles` [n, height, width, 3] uint8, pixels as decoded, and `scores` [n, columns] float32, those of
the network in fp32 on a CPU. A model is ready once it reproduced them within its card's tolerance, twice the same.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from inference.models.checks.tolerance import compare_scores
from inference.models.execution.scoring import score_tiles
from inference.models.loaded import LoadedModel, Queueing
from wsi.errors import ModelError
from wsi.models.package_files import GOLDEN
from wsi.records.model_card import Boxes, ModelCard

#: Tiles of a golden file and bytes of their pixels. It is run whenever a worker loads the model.
MOST_TILES, MOST_BYTES = 256, 256 * 1024**2
#: What zipfile and numpy raise for files that are no archive of arrays, or damaged.
_UNREADABLE = (OSError, ValueError, KeyError, EOFError, RuntimeError, SyntaxError, TokenError, BadZipFile, zlib.error)


@dataclass(frozen=True, kw_only=True, slots=True)
class Golden:
    tiles: NDArray[np.uint8]  #: [n, height, width, 3]
    scores: NDArray[np.float32]  #: [n, columns]


def warm_up(model: LoadedModel, package: Path | None) -> None:
    """Check the model against its golden tiles. Without them, run a model that queues on a device once, at its batch
    shape. So missing memory and missing kernels are found before a job is taken. Raises ModelError that names the
    difference, UnsuitableDevice, DeviceLost."""
    card = model.card
    if package is not None and GOLDEN in card.files:
        check_golden(model, read_golden(package / GOLDEN, card))
    elif isinstance(model, Queueing):
        side = card.tile_px if card.boxes is Boxes.WHOLE else card.input_px
        score_tiles(model, np.zeros((1, side, side, 3), np.uint8))


def check_golden(model: LoadedModel, golden: Golden) -> None:
    scores = score_tiles(model, golden.tiles)
    beyond = compare_scores(model.card, scores, golden.scores).describe_excess(model.card.tolerance)
    if beyond is not None:
        raise ModelError(f"The model does not reproduce its golden tiles: {beyond}.")
    if scores.tobytes() != score_tiles(model, golden.tiles).tobytes():
        raise ModelError("The model gives other scores when it is asked again: it holds something random.")


def write_golden(path: Path, golden: Golden) -> None:
    np.savez_compressed(path, tiles=golden.tiles, scores=golden.scores)


def read_golden(path: Path, card: ModelCard) -> Golden:
    """Read a golden file. Raises ModelError if it is damaged, holds something else, or does not fit the card."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(part.file_size for part in archive.infolist()) > 2 * MOST_BYTES or archive.testzip() is not None:
                raise BadZipFile
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            golden = Golden(tiles=stored["tiles"], scores=stored["scores"])
    except _UNREADABLE as error:
        raise ModelError(f"{GOLDEN} does not hold tiles and scores, or it is damaged.") from error
    tiles, scores = golden.tiles, golden.scores
    fits = (
        tiles.dtype == np.uint8
        and tiles.ndim == 4
        and tiles.shape[-1] == 3
        and 1 <= len(tiles) <= MOST_TILES
        and 0 < tiles.nbytes <= MOST_BYTES
        and scores.dtype == np.float32
        and scores.shape == (len(tiles), card.width)
        and bool(np.isfinite(scores).all())
    )
    if not fits:
        raise ModelError(
            f"{GOLDEN} must hold 1 to {MOST_TILES} RGB tiles of 8 bits and the {card.width} columns of each in fp32."
        )
    return golden
