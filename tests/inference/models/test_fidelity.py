"""A card gives the probabilities of the same pipeline in plain OpenSlide, PIL, numpy and torch. The table in
docs/reference/models.md is made by `python -m benchmarks.fidelity`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inference.fidelity import CASES, OTHERS, Case, compared
from tests.shared_slides import shared_slide
from tests.slides import write_pyramid_tiff

IDS = [case.name for case in CASES]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,101 x 1,703 px at 0.5 um; a pixel of the second level is 2.002 of the first."""
    return write_pyramid_tiff(
        tmp_path_factory.mktemp("slide") / "drawn.tiff", width=2101, height=1703, levels=(1, 2), mpp=0.5
    )


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_card_gives_what_its_pipeline_gives_in_plain_code(tmp_path: Path, drawn: Path, case: Case) -> None:
    found = compared(case, drawn, tmp_path)
    assert found.furthest < case.most
    assert found.changed == 0
    assert found.tiles > 20
    assert found.spread > 0.02  # the network tells the tiles apart


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_on_a_real_slide_as_well(tmp_path: Path, case: Case) -> None:
    slide = shared_slide("derived/cmu-small-region.pyramid-jpeg-ycbcr.tif")
    found = compared(case, slide, tmp_path)
    assert found.furthest < case.most
    assert (found.changed, found.tiles) == (0, 53)
    assert found.spread > 0.05


def test_a_card_of_another_pipeline_does_not(tmp_path: Path) -> None:
    """The network is sensitive: the equality above is none of its own."""
    slide = shared_slide("derived/cmu-small-region.pyramid-jpeg-ycbcr.tif")
    assert compared(OTHERS[0], slide, tmp_path).furthest > 0.02
