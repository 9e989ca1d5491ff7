"""The viewer as a test sees it: what is drawn, where one looks, and a slide with results to look at."""

from __future__ import annotations

import csv
import io
import os
import re
from dataclasses import dataclass

from playwright.sync_api import Page, expect

from local.stack import Stack
from tessera.api.rest import RemoteJob, RemoteSlide
from tests.shared_slides import shared_slide
from tests.stack.lab import Lab
from tests.web.person import Person

SLIDE = "real/aperio-jpeg-20x.CMU-1-Small-Region.svs"

SCORED = re.compile(r"^[\d,]+ tiles with scores")

#: Of the overlay: how many of its pixels are not empty, and the sum of their colours, so that a change is seen.
OVERLAY = """
() => {
  const canvas = document.querySelector('canvas[data-overlay]');
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  let painted = 0, sum = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] > 0) { painted += 1; sum += data[at] + 2 * data[at + 1] + 3 * data[at + 2] + 5 * data[at + 3]; }
  }
  return [painted, sum];
}
"""

#: The pixels of the overlay that have a colour: red, green, blue.
COLOURED = """
([red, green, blue]) => {
  const canvas = document.querySelector('canvas[data-overlay]');
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let at = 0; at < data.length; at += 4) {
    const near = Math.abs(data[at] - red) + Math.abs(data[at + 1] - green) + Math.abs(data[at + 2] - blue) < 30;
    if (data[at + 3] > 120 && near) found += 1;
  }
  return found;
}
"""

#: ms from the begin of the load to the frame in which the slide is first seen.
FIRST_TILE = """
() => new Promise((resolve, reject) => {
  setTimeout(() => { reject(new Error('the slide is not seen in the middle of the stage within 20 s')); }, 20000);
  const pixel = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const look = () => {
    const canvas = document.querySelector('.openseadragon-canvas canvas:not([data-overlay])');
    if (canvas && canvas.width > 0) {
      pixel.drawImage(canvas, -(canvas.width >> 1), -(canvas.height >> 1));
      if (pixel.getImageData(0, 0, 1, 1).data[3] > 0) return resolve(performance.now());
    }
    requestAnimationFrame(look);
  };
  look();
})
"""

#: ms between frames, from now on until `frames_kept()`.
WATCH_FRAMES = """() => {
  const kept = [];
  let before = performance.now(), goes = true;
  const look = (now) => { kept.push(now - before); before = now; if (goes) requestAnimationFrame(look); };
  requestAnimationFrame((now) => { before = now; requestAnimationFrame(look); });
  window.frames_kept = () => { goes = false; return kept; };
}"""


@dataclass(frozen=True)
class Scene:
    slide: RemoteSlide
    job: RemoteJob
    other: RemoteJob  #: of the same slide
    tiles: list[dict[str, str]]  #: rows of tiles.csv of `job`


def make_scene(lab: Lab) -> Scene:
    slide = lab.upload(shared_slide(SLIDE))
    job = lab.run(slide)
    other = lab.run(slide, mpp=0.25)  # so that its tiles are twice as large
    table = lab.results(job)["tiles.csv"].decode()
    return Scene(slide=slide, job=job, other=other, tiles=list(csv.DictReader(io.StringIO(table))))


def page_origin(stack: Stack) -> str:
    return stack.as_json()["page_url"].rstrip("/")


def overlay(page: Page) -> tuple[int, int]:
    painted, total = page.evaluate(OVERLAY)
    return painted, total


def settled(page: Page) -> tuple[int, int]:
    """The overlay once two looks at it agree."""
    before = overlay(page)
    for _ in range(40):
        page.wait_for_timeout(100)
        now = overlay(page)
        if now == before and now[0] > 0:
            return now
        before = now
    raise AssertionError(f"the overlay does not come to rest, or stays empty: {before}")


def look_at(person: Person, scene: Scene, query: str = "", place: str = "") -> Page:
    person.page.goto(f"{person.origin}/view/{scene.slide.slide_id}?{query}{place}")
    person.page.evaluate(FIRST_TILE)
    return person.page


def patience() -> float:
    """How many times longer than on an idle machine a thing may take: what waits for a core is not the page's fault."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def at(page: Page, x: float, y: float) -> tuple[float, float]:
    """Where a level-0 pixel is on the screen. The address says what lies in the middle of the stage."""
    expect(page).to_have_url(re.compile("&z="))
    middle_x, middle_y, zoom = (float(part.split("=")[1]) for part in page.url.split("#")[1].split("&"))
    box = page.get_by_role("application").first.bounding_box()
    assert box is not None
    left, top = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    return left + (x - middle_x) * zoom, top + (y - middle_y) * zoom


def middle_of(tile: dict[str, str]) -> tuple[float, float]:
    return float(tile["minx"]) + float(tile["width"]) / 2, float(tile["miny"]) + float(tile["height"]) / 2


def placed(page: Page) -> tuple[float, float, float]:
    """Level-0 pixel in the middle of the stage, and pixels on the screen a level-0 pixel, as the address says."""
    x, y, zoom = (float(part.split("=")[1]) for part in page.url.split("#")[1].split("&"))
    return x, y, zoom
