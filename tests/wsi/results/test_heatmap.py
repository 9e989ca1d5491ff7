from __future__ import annotations

import io
import itertools
import xml.etree.ElementTree as ElementTree

import numpy as np
import openslide
import pytest
import tifffile

from tests.wsi.plans import collect_all, inspection, plan, scores_of, shard_results, small_card
from wsi.records.model_card import OutputColumn
from wsi.results import heatmap
from wsi.results.heatmap import halve_image, scale_scores

OME = "{http://www.openmicroscopy.org/Schemas/OME/2016-06}"


def _bytes(tiles):
    file = io.BytesIO()
    heatmap.write(tiles, file)
    return file.getvalue()


def test_values_lie_at_their_tile_and_nothing_analysed_is_zero():
    mask = np.zeros((3, 4), dtype=np.bool_)
    mask[1, 2] = mask[2, 3] = True
    made = plan(inspection(1024, 768), mask=mask)
    scores = np.array([[0.0, 1.0, 2.0, 0.5], [-1.0, 3.0, 0.2, 1.0]], dtype=np.float32)
    with tifffile.TiffFile(io.BytesIO(_bytes(collect_all(made, shard_results(made, scores))))) as tiff:
        image = tiff.series[0].asarray()
    assert image.shape == (4, 3, 4)
    assert image.dtype == np.uint8
    assert np.count_nonzero(image.any(axis=0)) == 2
    assert image[:, 1, 2].tolist() == [1, 128, 255, 128]
    assert image[:, 2, 3].tolist() == [1, 255, 26, 255]


def test_an_unreadable_tile_is_zero():
    made = plan(inspection(512, 512))
    tiles = collect_all(made, shard_results(made, scores_of(made), {1: "file tile 3: bad"}))
    with tifffile.TiffFile(io.BytesIO(_bytes(tiles))) as tiff:
        image = tiff.series[0].asarray()
    assert (image == 0).any(axis=0).tolist() == [[False, False], [True, False]]


def test_physical_size_is_stride_times_mpp_and_channels_are_the_columns():
    made = plan(inspection(mpp=0.25), card=small_card(columns=(OutputColumn(name='prob_<Tumör> & "x"'),)))
    with tifffile.TiffFile(io.BytesIO(_bytes(collect_all(made, shard_results(made, scores_of(made)))))) as tiff:
        assert tiff.is_ome
        root = ElementTree.fromstring(tiff.ome_metadata)
    pixels = root.find(f"{OME}Image/{OME}Pixels")
    assert float(pixels.get("PhysicalSizeX")) == float(pixels.get("PhysicalSizeY")) == made.grid.stride * 0.25 == 32.0
    assert [channel.get("Name") for channel in pixels.iter(f"{OME}Channel")] == ['prob_<Tumör> & "x"']


@pytest.fixture(scope="module")
def large():
    made = plan(inspection(64 * 600, 64 * 301), card=small_card())
    return collect_all(made, shard_results(made, scores_of(made)))


def test_a_large_one_is_a_pyramid_of_tiles(large):
    with tifffile.TiffFile(io.BytesIO(_bytes(large))) as tiff:
        (series,) = tiff.series
        assert [level.shape for level in series.levels] == [(4, 301, 600), (4, 151, 300), (4, 76, 150)]
        assert series.axes == "CYX"
        assert all(level.keyframe.is_tiled for level in series.levels)
        assert len(tiff.pages) == 4  # the smaller levels are SubIFDs
        for above, below in itertools.pairwise(series.levels):
            expected = np.stack([halve_image(channel) for channel in above.asarray()])
            assert np.array_equal(below.asarray(), expected)


def test_openslide_opens_it_at_its_physical_size(large, tmp_path):
    path = tmp_path / heatmap.NAME
    path.write_bytes(_bytes(large))
    with openslide.OpenSlide(path) as slide:
        assert slide.dimensions == (600, 301)
        assert float(slide.properties["openslide.mpp-x"]) == pytest.approx(32.0)


def test_it_holds_no_date_no_uuid_and_the_same_bytes_every_time(large):
    data = _bytes(large)
    assert data == _bytes(large)
    with tifffile.TiffFile(io.BytesIO(data)) as tiff:
        assert "DateTime" not in tiff.pages[0].tags
        assert tiff.pages[0].tags["Software"].value == "Tessera"
        assert "uuid" not in tiff.ome_metadata.lower()


def test_scale_is_1_to_255_and_clips():
    assert scale_scores(np.array([-9, 0, 1, 2, 9], dtype=np.float32), 0.0, 2.0).tolist() == [1, 1, 128, 255, 255]


def test_halving_takes_the_mean_of_what_was_analysed_and_loses_no_lone_pixel():
    image = np.array([[10, 20, 7], [0, 0, 0], [0, 0, 9]], dtype=np.uint8)
    assert halve_image(image).tolist() == [[15, 7], [0, 9]]
    assert halve_image(np.full((2, 2), 255, dtype=np.uint8)).tolist() == [[255]]
