"""What is held out is never seen."""

from __future__ import annotations

import numpy as np
import torch

from models.nuclei.pictures import Annotated
from models.nuclei.sampling import SIDE, Pieces

CPU = torch.device("cpu")


def draw_annotated(side: int = 1000) -> Annotated:
    chance = np.random.default_rng(0)
    pixels = chance.integers(120, 240, (side, side, 3)).astype(np.uint8)
    return Annotated(
        pixels=pixels, nuclei=np.kron(chance.integers(0, 9, (side // 20, side // 20)), np.ones((20, 20), int))
    )


def test_no_piece_holds_a_pixel_that_is_held_out() -> None:
    annotated = draw_annotated()
    learned = np.ones(annotated.nuclei.shape, np.bool_)
    learned[700:, 700:] = False
    pieces = Pieces.of(annotated, learned, 1, CPU)
    places = torch.from_numpy(~learned).float()[None, None].expand(200, -1, -1, -1)
    seen = torch.nn.functional.grid_sample(places, pieces.make_grids(200), align_corners=False)
    assert seen.sum() == 0


def test_a_seed_gives_the_same_pieces() -> None:
    annotated = draw_annotated()
    learned = np.ones(annotated.nuclei.shape, np.bool_)
    (first, marks), (again, marks_again) = (Pieces.of(annotated, learned, 7, CPU).draw(2) for _ in range(2))
    assert torch.equal(first, again)
    assert torch.equal(marks, marks_again)
    assert first.shape == (2, 3, SIDE, SIDE)
    assert marks.shape == (2, 2, SIDE, SIDE)
    assert 0 <= first.min() <= first.max() <= 1
