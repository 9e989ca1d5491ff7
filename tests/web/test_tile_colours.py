"""The tiles that leave as the file has them, in a browser's own decoder: its colours are those that OpenSlide sees."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

from tests.shared_slides import shared_slide
from tests.slides import write_svs
from tests.slides.ndpi import ndpi_levels, write_ndpi
from tests.wsi.slide.sources import read_level
from tests.wsi.viewer.viewers import opened, tile

#: Draws the picture and hands out red, green and blue of its pixels as base64.
PIXELS = """async (jpeg) => {
  const bytes = Uint8Array.from(atob(jpeg), (each) => each.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes], { type: "image/jpeg" }));
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  const { data } = context.getImageData(0, 0, picture.width, picture.height);
  let text = "";
  for (let at = 0; at < data.length; at += 4) text += String.fromCharCode(data[at], data[at + 1], data[at + 2]);
  return [picture.width, picture.height, btoa(text)];
}"""
SAME = 1.0  #: grey value on average: a browser may widen chroma a little otherwise than libjpeg


@pytest.fixture
def slides(tmp_path: Path) -> dict[str, Path]:
    return {
        "rgb without any marker (Aperio)": write_svs(tmp_path / "a.svs", width=720, height=480),
        "rgb, as scanned": shared_slide("real/aperio-jpeg-20x.CMU-1-Small-Region.svs"),
        "ycbcr": shared_slide("derived/cmu-small-region.pyramid-jpeg-ycbcr.tif"),
        "grey": shared_slide("real/mask-grey-pyramid-jpeg.empaia-mask_test.tif"),
        "ndpi": write_ndpi(tmp_path / "a.ndpi", ndpi_levels(1024, 512)),
        "dicom": shared_slide("dicom/camelyon-jpeg-lowpower/multi_frame_jpeg_camelyon.dcm"),
    }


def test_a_browser_sees_the_slides_colours(browser: Browser, slides: dict[str, Path]) -> None:
    page = browser.new_page()
    apart: dict[str, float] = {}
    for name, path in slides.items():
        reader, levels = opened(path)
        box = levels[0].find_box(0, 0)
        assert box is not None
        jpeg = base64.b64encode(tile(reader, levels[0], 0, 0).jpeg).decode()
        width, height, text = page.evaluate(PIXELS, jpeg)
        seen = np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width, 3)
        expected = read_level(reader, 0)[: box.bottom, : box.right]
        apart[name] = float(np.abs(seen.astype(int) - expected.astype(int)).mean())
    page.close()
    assert max(apart.values()) < SAME, apart
