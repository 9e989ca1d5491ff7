"""How little of a remote slide an inspection asks for: requests and bytes, of one of 40,000 px and of a real one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.shared_slides import shared_slide
from tests.slides import he_tissue, write_svs
from tests.slides.ome import write_ome
from wsi.inspection.examination import examine
from wsi.slide.coalescing import MAX_RUN
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_slide
from wsi.slide.ranges import FileSource
from wsi.slide.reads import ReadCounter, attach_counter
from wsi.slide.slide import SlideReader

MB = 1_000_000


@dataclass(frozen=True)
class Asked:
    requests: int
    bytes: int
    to_open: tuple[int, int]  #: requests and bytes, of them
    index: bytes
    tiles: int


def inspected(path: Path, index: bytes | None = None) -> Asked:
    reads = ReadCounter()
    source = SlideSource(files=((path.name, FileSource(path)),))
    reader = open_slide(attach_counter(source, reads), index=index)
    to_open = reads.requests, reads.bytes
    examine(reader)
    kept = reader.serialize_index()
    assert kept is not None
    return Asked(reads.requests, reads.bytes, to_open, kept, _tiles(reader))


def _tiles(reader: SlideReader) -> int:
    levels = reader.inspection.levels
    return sum(-(-info.width // info.tile_width) * -(-info.height // info.tile_height) for info in levels)


@pytest.fixture(scope="module", params=["4:4:4", "4:4:4 BigTIFF", "4:2:0"])
def slide(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three levels, thumbnail, label and macro; 28,343 tiles. Its overview's level takes 0.98 or 0.4 MB."""
    path = tmp_path_factory.mktemp("slides") / "a.svs"
    rgb, big = "4:4:4" in request.param, "BigTIFF" in request.param
    write_svs(path, width=40_000, height=38_000, levels=(1, 4, 16), mpp=0.25, pool=4, rgb=rgb, big=big)
    return path


def test_a_slide_is_inspected_in_ten_requests_of_one_megabyte_beside_index_and_overview(slide: Path):
    asked = inspected(slide)
    requests, size = asked.to_open
    assert requests <= 7
    assert size <= 0.02 * MB + 12 * asked.tiles
    assert asked.requests <= 10
    assert asked.bytes <= MB + 12 * asked.tiles


def test_with_the_index_only_the_overview_is_asked_for(slide: Path):
    asked = inspected(slide, inspected(slide).index)
    assert asked.to_open == (0, 0)
    assert asked.requests <= 4
    assert asked.bytes <= MB


def test_of_a_slide_in_three_pages_the_planes_of_the_overview_take_two_megabytes_together(tmp_path: Path):
    tissue = np.tile(he_tissue(np.random.default_rng(0), 320, 320), (8, 8, 1))
    levels = [np.ascontiguousarray(tissue[::step, ::step]) for step in (1, 2, 4)]
    path = write_ome(tmp_path / "planes.ome.tif", levels, layout="channels")
    asked = inspected(path)
    assert path.stat().st_size > 10 * MB
    assert asked.bytes - asked.to_open[1] <= 2 * MB
    assert asked.bytes <= 2 * MB + 12 * 3 * asked.tiles + 0.1 * MB


def test_the_index_takes_less_than_12_bytes_a_tile(slide: Path):
    asked = inspected(slide)
    assert len(asked.index) <= 12 * asked.tiles


def test_a_real_slide_opens_in_five_requests():
    path = shared_slide("real/aperio-jpeg-20x.CMU-1-Small-Region.svs")
    asked = inspected(path)
    assert asked.to_open[0] <= 5
    overview = asked.requests - asked.to_open[0]  # its only level, so all of it
    assert overview <= -(-path.stat().st_size // MAX_RUN) + 1
