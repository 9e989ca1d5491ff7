"""The viewer's tiles from the embedded stack: real S3 reads, a real Postgres, the authorizer in front."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image

from tests.shared_slides import shared_slide
from tests.stack.lab import Lab
from tests.wsi.slide.sources import oracle_level

pytestmark = pytest.mark.stack

PICTURE = {"Accept": "image/jpeg"}


@pytest.fixture(scope="module")
def path() -> Path:
    return shared_slide("real/aperio-jpeg-20x.CMU-1-Small-Region.svs")


@pytest.fixture(scope="module")
def slide(lab: Lab, path: Path) -> str:
    return lab.upload(path).slide_id


def get(lab: Lab, address: str, *, key: str | None = None, **headers: str) -> httpx.Response:
    below = address.removeprefix("/api/v1/wsi")
    return httpx.get(
        f"{lab.stack.api_url}{below}", headers={"Authorization": f"Bearer {key or lab.stack.api_key}", **headers}
    )


def pyramid(lab: Lab, slide: str) -> dict[str, Any]:
    return get(lab, f"/slides/{slide}/pyramid").json()


def address(said: dict[str, Any], level: int, x: int, y: int) -> str:
    return said["tile_url"].format(level=level, x=x, y=y)


def test_the_slide_is_seen_tile_by_tile_as_openslide_sees_it(lab: Lab, slide: str, path: Path) -> None:
    said = pyramid(lab, slide)
    number, finest = len(said["levels"]) - 1, said["levels"][-1]
    side, expected = finest["tile_width"], oracle_level(path, 0)
    places = [(x, y) for y in range(finest["rows"] - 1) for x in range(finest["columns"] - 1)]
    with ThreadPoolExecutor(8) as beside:
        answers = list(beside.map(lambda place: get(lab, address(said, number, *place), **PICTURE), places))
    for (x, y), answer in zip(places, answers, strict=True):
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/jpeg")
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
        seen = np.asarray(Image.open(io.BytesIO(answer.content)).convert("RGB"))
        np.testing.assert_array_equal(seen, expected[y * side : (y + 1) * side, x * side : (x + 1) * side])


def test_the_first_tile_of_a_slide_is_there_with_its_upload(lab: Lab, path: Path) -> None:
    slide = lab.upload(path).slide_id
    said = pyramid(lab, slide)
    assert get(lab, address(said, 0, 0, 0), **PICTURE).status_code == 200


def test_a_second_tenant_sees_nothing(lab: Lab, slide: str) -> None:
    said = pyramid(lab, slide)
    for below in (f"/slides/{slide}/pyramid", f"/slides/{slide}/thumbnail", address(said, 0, 0, 0)):
        refused = get(lab, below, key=lab.stack.other_api_key, **PICTURE)
        assert (refused.status_code, refused.json()["type"]) == (404, "/problems/not_found")


def test_a_list_has_its_thumbnails(lab: Lab, slide: str) -> None:
    answer = get(lab, f"/slides/{slide}/thumbnail", **PICTURE)
    assert max(Image.open(io.BytesIO(answer.content)).size) <= 512
