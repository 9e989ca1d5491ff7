from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import simplejpeg
import tifffile

from tests.shared_slides import shared_slide
from tests.slides import damage, write_svs
from wsi.errors import RejectReason, SlideRejected
from wsi.inspection.examination import examine
from wsi.slide.opening import open_local_source, open_slide


def test_tissue_area_is_that_of_the_block_on_the_slide(tmp_path):
    path = write_svs(
        tmp_path / "a.svs", width=4000, height=3000, levels=(1, 4), tissue=(1000, 500, 3000, 2500), mpp=0.5
    )
    found = examine(open_slide(open_local_source(path)), max_px=1000)
    block_um2 = 2000 * 2000 * 0.25
    assert found.inspection.tissue_um2 == pytest.approx(block_um2, rel=0.05)
    assert found.inspection.tissue_fraction == pytest.approx(2000 * 2000 / (4000 * 3000), rel=0.05)
    assert found.mask.pixels.shape == (750, 1000)
    assert simplejpeg.decode_jpeg(found.thumbnail_jpeg).shape == (750, 1000, 3)


def test_what_can_not_be_decoded_stays_in_the_mask_and_out_of_the_tissue_area():
    whole = examine(open_slide(open_local_source(shared_slide("real/aperio-jpeg-20x.CMU-1-Small-Region.svs"))))
    hurt = examine(open_slide(open_local_source(shared_slide("derived/cmu-small-region.two-tiles-damaged.svs"))))
    assert "2 of the 130 tiles" in hurt.inspection.warnings[0]
    assert hurt.mask.pixels[720:840, 600:840].all()
    assert hurt.inspection.tissue_um2 < whole.inspection.tissue_um2
    # Elsewhere the masks agree, but for the two pixels that the blur reaches.
    rows, columns = np.nonzero(hurt.mask.pixels != whole.mask.pixels)
    assert rows.min() >= 718
    assert rows.max() < 842
    assert columns.min() >= 598
    assert columns.max() < 842


def test_a_slide_without_resolution_is_rejected_before_a_tile_is_read():
    reader = open_slide(open_local_source(shared_slide("derived/cmu-small-region.crop512-nompp-lzw.tif")))
    with pytest.raises(SlideRejected) as caught:
        examine(reader)
    assert caught.value.reason is RejectReason.NO_MPP
    reader.close()


def test_a_slide_of_which_nothing_can_be_decoded_is_rejected(tmp_path):
    path = write_svs(tmp_path / "a.svs", width=400, height=400, associated=False)

    def break_every_tile(data: bytearray) -> None:
        at = data.find(b"\xff\xc0")
        while at >= 0:
            data[at : at + 2] = b"\xff\xc3"
            at = data.find(b"\xff\xc0", at + 2)

    with pytest.raises(SlideRejected) as caught:
        examine(open_slide(open_local_source(damage(path, break_every_tile))))
    assert caught.value.reason is RejectReason.DAMAGED


def write_flat(path: Path, pixels: np.ndarray, *, mpp: float = 0.5) -> Path:
    tifffile.imwrite(
        path,
        pixels,
        tile=(256, 256),
        photometric="rgb",
        compression="jpeg",
        resolution=(10_000 / mpp, 10_000 / mpp),
        resolutionunit="CENTIMETER",
        metadata=None,
    )
    return path


@pytest.mark.parametrize(
    ("signal", "reason"),
    [
        ((0, 0, 0), RejectReason.UNSUPPORTED_PIXELS),
        ((1, 1, 1), RejectReason.UNSUPPORTED_PIXELS),
        ((20, 200, 60), RejectReason.FLUORESCENCE),
        ((255, 120, 255), RejectReason.FLUORESCENCE),
    ],
)
def test_a_dark_background_is_rejected_and_not_called_tissue(tmp_path, signal, reason):
    pixels = np.zeros((512, 512, 3), np.uint8)
    pixels[100:350, 100:350] = signal
    with pytest.raises(SlideRejected) as caught:
        examine(open_slide(open_local_source(write_flat(tmp_path / "dark.tif", pixels))))
    assert caught.value.reason is reason


def test_pen_marks_are_left_out_and_their_share_is_told(tmp_path):
    pixels = np.full((1024, 1024, 3), 240, np.uint8)
    pixels[300:700, 300:700] = (170, 90, 150)
    pixels[100:180, 100:900] = (20, 120, 70)
    found = examine(open_slide(open_local_source(write_flat(tmp_path / "pen.tif", pixels, mpp=5))))
    assert not found.mask.pixels[105:175, 105:895].any()
    assert found.mask.pixels[305:695, 305:695].all()
    assert found.mask.pen_fraction == pytest.approx(80 * 800 / 1024**2, rel=0.1)
    assert found.inspection.warnings[-1].startswith("Pen marks cover 2")


def test_black_padding_around_a_scan_is_neither_tissue_nor_a_reason_to_reject(tmp_path):
    """Scanners and converters fill with black what was not looked at, sometimes most of the picture."""
    pixels = np.zeros((1024, 1024, 3), np.uint8)
    pixels[300:700, 300:700] = 240
    pixels[400:500, 400:500] = (170, 90, 150)
    found = examine(open_slide(open_local_source(write_flat(tmp_path / "padded.tif", pixels))))
    scale = found.mask.pixels.shape[0] / 1024
    inside = found.mask.pixels[round(405 * scale) : round(495 * scale), round(405 * scale) : round(495 * scale)]
    assert inside.all()
    assert found.mask.pixels.sum() <= (110 * scale) ** 2


def test_blank_glass_has_no_tissue(tmp_path):
    path = write_svs(tmp_path / "a.svs", width=1000, height=800, tissue=(0, 0, 0, 0))
    found = examine(open_slide(open_local_source(path)))
    assert found.inspection.tissue_um2 == 0
    assert not found.mask.pixels.any()
