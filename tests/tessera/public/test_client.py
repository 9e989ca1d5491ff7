"""`tessera.Client` against a small real server: upload, submit, watch, results."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import tessera
from tessera.api.rest import RemoteSlide
from tests.tessera.api.test_submit import job
from tests.tessera.server import JOB, SLIDE, Installation, served
from wsi.errors import Conflict, NotFound, SourceUnavailable

KEY = "tsk_a_b"
SUMMARY = {"status": "COMPLETED", "tiles": {"inferred": 0}, "model": {"columns": [{"name": "score"}]}}
RESULTS = {"tiles.csv": b"minx,miny,width,height,score\n0,0,8,8,0.5\n", "summary.json": json.dumps(SUMMARY).encode()}


@pytest.fixture
def slide(tmp_path: Path) -> Path:
    path = tmp_path / "a.svs"
    path.write_bytes(b"any bytes: the server looks at them, not the client")
    return path


@pytest.fixture
def installation() -> Installation:
    return Installation(job=job("COMPLETED", tiles_planned=7, tiles_inferred=7), results=RESULTS)


@pytest.fixture
def client(installation: Installation) -> Iterator[tessera.Client]:
    with served(installation) as url, tessera.Client(url, KEY) as client:
        yield client


def test_a_slide_goes_up_and_its_results_come_down(
    client: tessera.Client, installation: Installation, slide: Path, tmp_path: Path
) -> None:
    sent = client.upload(slide, mpp=0.5)
    assert (sent.slide_id, sent.status) == (SLIDE, "READY")
    assert installation.begun == {"mpp": 0.5}
    submitted = client.submit(sent, "stain-density", options={"fast": True}, label="mine", priority="high")
    assert submitted.job_id == JOB
    assert installation.asked == {
        "slide_id": SLIDE,
        "model": "stain-density",
        "priority": "high",
        "force": False,
        "options": {"fast": True},
        "label": "mine",
    }
    assert client.watch(submitted).wait().status == "COMPLETED"
    result = client.results(submitted, into=tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == RESULTS
    assert result.tile_arrays["score"].tolist() == [0.5]
    assert installation.credentials == {f"Bearer {KEY}"}


def test_a_path_is_uploaded_and_an_id_is_not(client: tessera.Client, installation: Installation, slide: Path) -> None:
    client.submit(slide, "stain-density", idempotency_key="mine")
    assert (installation.asked["slide_id"], installation.job["key"]) == (SLIDE, "mine")
    stored = str(uuid4())
    with pytest.raises(NotFound):  # the server has one slide alone
        client.submit(stored, "stain-density")
    assert installation.calls[-1] == f"GET /slides/{stored}"
    with pytest.raises(tessera.UsageError, match="no file or folder nowhere"):
        client.submit("nowhere.svs", "stain-density")


@pytest.mark.parametrize(
    ("look", "kind", "sentence"),
    [
        ({"status": "REJECTED", "reason": "damaged", "sentence": "Send it again."}, tessera.SlideRejected, "Send it"),
        ({"status": "REJECTED", "reason": "no_mpp", "sentence": "Why."}, tessera.SlideRejected, "tessera restate"),
        ({"status": "ARCHIVED"}, Conflict, "The slide is ARCHIVED"),
    ],
)
def test_a_slide_that_takes_no_jobs_is_a_typed_error(
    client: tessera.Client, installation: Installation, slide: Path, look: dict[str, Any], kind: Any, sentence: str
) -> None:
    installation.looks = [look] * 2  # the end of the upload is the first
    with pytest.raises(kind, match=sentence):
        client.upload(slide)


def test_an_upload_that_breaks_off_says_how_to_resume(slide: Path) -> None:
    installation = Installation(fail_calls={f"POST /uploads/{SLIDE}/complete": 99})
    with served(installation) as url, tessera.Client(url, KEY) as client:
        with pytest.raises(SourceUnavailable) as broken:
            client.upload(slide)
        assert broken.value.__notes__ == [f"The upload broke off: upload(…, resume='{SLIDE}') resumes it."]
        installation.fail_calls.clear()
        put = len(installation.granted)
        assert client.upload(slide, resume=SLIDE).status == "READY"
        assert len(installation.granted) == put  # nothing is sent twice


def test_each_state_is_told_until_the_last(client: tessera.Client, installation: Installation) -> None:
    installation.job = job("RUNNING", tiles_planned=8, tiles_inferred=2)
    states: list[tuple[str, int]] = []
    for update in client.watch(JOB):
        states.append((update.status, update.tiles_inferred))
        installation.job = job("COMPLETED", version=4, tiles_planned=8, tiles_inferred=8)
    assert states == [("RUNNING", 2), ("COMPLETED", 8)]


def test_a_watch_that_is_left_ends_its_thread(client: tessera.Client, installation: Installation) -> None:
    installation.job = job("RUNNING")
    for _ in client.watch(JOB):
        assert any(thread.name == f"watch {JOB}" for thread in threading.enumerate())
        break
    assert not any(thread.name == f"watch {JOB}" for thread in threading.enumerate())


def test_a_job_is_awaited_inside_a_running_loop_as_a_notebook_has_one(client: tessera.Client) -> None:
    async def cell() -> str:
        return client.watch(JOB).wait().status

    assert asyncio.run(cell()) == "COMPLETED"


@pytest.mark.parametrize(
    ("ended", "kind", "sentence"),
    [
        (job("FAILED", reason="poison_shard", sentence="A shard failed."), tessera.JobFailed, "A shard failed."),
        (job("FAILED", reason="of a later release", sentence="New."), Conflict, "New."),
        (job("CANCELLED"), Conflict, "The job is CANCELLED."),
    ],
)
def test_a_job_without_results_is_a_typed_error(
    client: tessera.Client, installation: Installation, ended: dict[str, Any], kind: Any, sentence: str
) -> None:
    installation.job = ended
    with pytest.raises(kind, match=sentence):
        client.watch(JOB).wait()


def test_what_the_api_refuses_reaches_the_caller(client: tessera.Client) -> None:
    with pytest.raises(NotFound):
        client.watch(str(uuid4())).wait()


def test_bars_are_drawn_where_somebody_watches(
    installation: Installation, slide: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for progress, bars in ((None, ()), (False, ()), (True, ("uploading a", "7/7", "downloading"))):
        with served(installation) as url, tessera.Client(url, KEY, progress=progress) as client:
            sent = client.upload(slide)
            assert isinstance(sent, RemoteSlide)
            client.results(client.watch(client.submit(sent, "stain-density")).wait(), into=tmp_path / "out")
        told = capfd.readouterr()
        assert told.out == ""
        assert all(bar in told.err for bar in bars)
        assert bool(told.err) is bool(bars)


def test_a_key_that_cannot_be_one_is_a_wrong_call() -> None:
    with pytest.raises(tessera.UsageError, match="API key"):
        tessera.Client("http://127.0.0.1:1", "käse")
