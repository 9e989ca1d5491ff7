from __future__ import annotations

from pathlib import Path

import pytest

from gpu_worker.stages.decode import AHEAD, MOST, decode
from tests.gpu_worker.cases import DamagedReader
from tests.slides import write_svs
from wsi.errors import TileUnreadable
from wsi.slide.opening import local_source, open_slide


@pytest.mark.parametrize("tile", [240, 768])
def test_tiles_leave_in_the_order_they_came_in_with_a_broken_one_as_its_error(tmp_path: Path, tile: int):
    side = 4 * tile
    path = write_svs(tmp_path / "slide.svs", width=side, height=side, tile=tile, pool=1, associated=False)
    reader = DamagedReader(open_slide(local_source(path)), broken=[7])
    decoded = list(decode(reader, reader.encoded(0, range(16)), workers=2))
    assert [found.index for found in decoded] == list(range(16))
    assert [found.index for found in decoded if isinstance(found.pixels, TileUnreadable)] == [7]


@pytest.mark.parametrize(("tile", "together"), [(240, MOST), (512, 2), (768, 1)])
def test_small_tiles_are_decoded_some_at_a_time_and_large_ones_alone(tmp_path: Path, tile: int, together: int):
    side = 4 * tile
    path = write_svs(tmp_path / "slide.svs", width=side, height=side, tile=tile, pool=1, associated=False)
    reader = open_slide(local_source(path))
    taken = 0

    def counted():
        nonlocal taken
        for encoded in reader.encoded(0, range(16)):
            taken += 1
            yield encoded

    next(decode(reader, counted(), workers=1))
    assert taken == AHEAD * together
