"""The weights in the repository, on the quadrant that they did not learn from."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import models.nuclei
from models.nuclei.finding import WEIGHTS, find_nuclei, load_network
from models.nuclei.measuring import Agreement, compare
from models.nuclei.pictures import MASK, PICTURE, QUADRANTS, read_annotated
from tests.shared_slides import shared_slide

MOST_BYTES = 2_000_000


@pytest.fixture(scope="module")
def held_out() -> Agreement:
    folder = shared_slide(f"pictures/{MASK}").parent
    assert shared_slide(f"pictures/{PICTURE}").parent == folder
    annotated = read_annotated(folder)
    cut = annotated.cut(QUADRANTS.index("bottom-right"))
    return compare(find_nuclei(load_network(WEIGHTS), annotated.pixels[cut]), annotated.nuclei[cut])


def test_it_finds_more_than_three_quarters_and_invents_fewer_than_a_quarter(held_out: Agreement) -> None:
    assert held_out.matched > 0.75 * held_out.annotated
    assert held_out.matched > 0.75 * held_out.found


def test_its_figures_are_those_of_the_document(held_out: Agreement) -> None:
    text = Path(models.nuclei.__file__).with_name("README.md").read_text()
    row = next(line for line in text.splitlines() if line.startswith("| **nuclei** |"))
    dice, f1, _ = (float(cell.strip(" *")) for cell in row.strip("|").split("|")[1:])
    # The document's are of the whole picture: a nucleus at the quadrant's border sees what lies beyond it there.
    assert held_out.dice == pytest.approx(dice, abs=0.01)
    assert held_out.f1 == pytest.approx(f1, abs=0.02)


def test_it_is_small_enough_for_the_repository() -> None:
    assert WEIGHTS.stat().st_size <= MOST_BYTES
    assert all(value.dtype == torch.float32 for value in load_file(WEIGHTS).values())
