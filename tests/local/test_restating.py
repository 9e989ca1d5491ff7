"""`tessera restate` over HTTP against the API's own handler, with real inspections of a file of two scans."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import numpy as np
import pytest
import tifffile
from typer.testing import CliRunner, Result

from adapters.settings.problems import BASE_PATH
from lambdas.wiring import ApiWiring
from local.gateway.http_api import make_api_app
from local.gateway.http_server import HttpServer
from tessera.cli import app
from tests.installation import ANALYST, SCALING, Installation
from tests.lambdas.rest import whole_handler
from tests.slides import he_tissue
from tests.wsi.inspection.test_inspecting import inspect, take_in
from wsi.states import SlideState

POLICY = {
    "principalId": ANALYST.subject,
    "policyDocument": {"Statement": [{"Action": "execute-api:Invoke", "Effect": "Allow", "Resource": "*"}]},
    "context": {"tenant": str(ANALYST.tenant), "subject": ANALYST.subject, "role": ANALYST.role.value},
}


@pytest.fixture
def installation() -> Installation:
    return Installation()


@pytest.fixture
def url(installation: Installation) -> Iterator[str]:
    wiring = ApiWiring(
        ledger=installation.ledger,
        slides=installation.slides,
        packages=installation.packages,
        objects=installation.objects,
        queues=installation.queues,
        dollars_per_gpu_hour=1.0,
        scaling=SCALING,
        realtime_url=None,
        clock=installation.clock,
    )
    handler = whole_handler(wiring)

    def authorize(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return POLICY

    server = HttpServer("api", lambda: make_api_app(handler, authorize, public_paths=()))
    server.start()
    yield server.url
    server.stop()


@pytest.fixture
def two_scans(tmp_path: Path) -> Path:
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path) as writer:
        for height, width in ((400, 500), (600, 300)):
            pixels = he_tissue(np.random.default_rng(height), height, width)
            writer.write(pixels, photometric="rgb", tile=(256, 256), metadata=None, software=False)
    return path


def restated(installation: Installation, url: str, slide: UUID, scratch: Path, *options: object) -> Result:
    """What the command says, while inspection takes what it is sent."""
    ended = threading.Event()

    def inspecting() -> None:
        while not ended.wait(0.05):
            inspect(installation, slide, scratch)

    thread = threading.Thread(target=inspecting)
    thread.start()
    try:
        arguments = ["restate", str(slide), "--api", url, "--api-key", "tsk_a_b", *map(str, options)]
        return CliRunner().invoke(app, arguments)
    finally:
        ended.set()
        thread.join()


def test_a_file_of_two_scans_without_a_scale_becomes_ready_step_by_step(
    installation: Installation, url: str, two_scans: Path, tmp_path: Path
) -> None:
    slide = take_in(installation, two_scans)
    assert inspect(installation, slide, tmp_path) is SlideState.REJECTED
    parts = set(installation.slides._objects)  # pyright: ignore[reportPrivateUsage]

    result = restated(installation, url, slide, tmp_path, "--picture", 2)
    assert result.exit_code == 3
    assert "rejected (no_mpp)" in result.stderr
    assert "--mpp" in result.stderr

    result = restated(installation, url, slide, tmp_path, "--mpp", 0.25)
    assert (result.exit_code, result.stdout) == (0, f"slide {slide} READY: 0.25 µm per pixel, image 2\n")
    found = installation.ledger.get_slide(ANALYST, slide).inspection
    assert found is not None
    assert (found["width"], found["height"]) == (300, 600)

    result = restated(installation, url, slide, tmp_path, "--picture", 1)
    assert result.stdout == f"slide {slide} READY: 0.25 µm per pixel, image 1\n"

    result = restated(installation, url, slide, tmp_path, "--picture", 9)
    assert (result.exit_code, "rejected (no_such_choice)" in result.stderr) == (3, True)

    result = restated(installation, url, slide, tmp_path, "--clear", "picture")
    assert (result.exit_code, "rejected (several_pictures)" in result.stderr) == (3, True)
    assert set(installation.slides._objects) == parts  # pyright: ignore[reportPrivateUsage]


def test_a_refusal_of_the_api_is_printed_as_it_is(installation: Installation, url: str, tmp_path: Path) -> None:
    slide = installation.opened(1000).id
    result = restated(installation, url, slide, tmp_path, "--mpp", 0.5)
    assert (result.exit_code, "complete the upload" in result.stderr) == (4, True)


def test_no_page_of_another_origin_may_ask_for_it(url: str) -> None:
    asked = {"Access-Control-Request-Method": "PATCH", "Origin": "https://evil.example"}
    answer = httpx.options(f"{url}{BASE_PATH}/slides/1", headers=asked)
    assert not answer.is_success
    assert not [name for name in answer.headers if name.startswith("access-control")]
