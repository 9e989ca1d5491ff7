"""The slides that the GPU benchmark reads are what they say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from openslide import OpenSlide
from PIL import Image

from benchmarks.workloads import OVERVIEW, WORKLOADS, WorkloadSlide, write
from wsi.slide.opening import open_local_source, open_slide

DISTINCT = 8


@pytest.fixture(scope="module", params=WORKLOADS)
def slide(request, tmp_path_factory) -> WorkloadSlide:
    return write(
        tmp_path_factory.mktemp("slides"), WORKLOADS[request.param], patches=30, distinct=DISTINCT, processes=1
    )


def test_there_are_as_many_patches_as_asked_for_and_all_lie_on_the_slide(slide):
    assert len(np.unique(slide.origins, axis=0)) == 36
    side = slide.workload.box
    with OpenSlide(slide.path) as opened:
        assert opened.dimensions == (6 * side, 6 * side)
        assert opened.level_downsamples == pytest.approx((1, OVERVIEW), rel=0.02)
        assert float(opened.properties["openslide.mpp-x"]) == slide.workload.mpp


def test_our_reader_takes_it_natively_and_sees_what_openslide_sees(slide):
    ours = open_slide(open_local_source(slide.path))
    level = ours.inspection.levels[0]
    across = -(-level.width // level.tile_width)
    side = slide.workload.tile
    assert (level.tile_width, level.tile_height) == (side, side)
    with OpenSlide(slide.path) as opened:
        for tile in ours.read_tiles(0, range(2 * across)):
            x, y = tile.index % across * side, tile.index // across * side
            theirs = np.array(opened.read_region((x, y), 0, (side, side)).convert("RGB"))
            held = (min(side, level.height - y), min(side, level.width - x))
            difference = np.abs(
                ours.decode(tile)[: held[0], : held[1]].astype(int) - theirs[: held[0], : held[1]].astype(int)
            )
            assert difference.max() <= 1, tile.index


def test_tiles_are_distinct_and_neighbours_in_the_file(slide):
    ours = open_slide(open_local_source(slide.path))
    found = {tile.index: b"".join(map(bytes, tile.pieces)) for tile in ours.read_tiles(0, range(2 * DISTINCT))}
    tiles = [found[index] for index in range(2 * DISTINCT)]
    assert len(set(tiles)) == DISTINCT == slide.distinct
    assert tiles[:DISTINCT] == tiles[DISTINCT:]
    whole = slide.path.read_bytes()
    ends = [whole.index(tile[-200:]) + 200 for tile in tiles[:DISTINCT]]
    sizes = [after - before for before, after in pairwise(ends)]
    assert all(0 < size <= len(tile) for size, tile in zip(sizes, tiles[1:], strict=False))


def test_a_patch_shows_tissue(slide):
    with OpenSlide(slide.path) as opened:
        side = slide.workload.box
        picture = opened.read_region(tuple(slide.origins[7].tolist()), 0, (side, side)).convert("RGB")
    red, green, blue = np.asarray(picture.resize((32, 32), Image.Resampling.BOX)).reshape(-1, 3).mean(axis=0)
    assert green < min(red, blue) - 50


def test_the_same_question_gives_the_same_bytes_for_any_number_of_processes(tmp_path):
    for name, processes in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        write(tmp_path / name, WORKLOADS["A"], patches=4, distinct=80, processes=processes)
    one, two = ((tmp_path / name / "slide.svs").read_bytes() for name in ("one", "two"))
    assert one == two
