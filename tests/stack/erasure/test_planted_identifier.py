"""An identifier in a file, in its name and in every field of the API: where it is while the slide is there, when it was
de-identified, and after it was deleted."""

from __future__ import annotations

import gzip
import io
import logging
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from local.options import DATABASE, MODELS, RESULTS, SHARED, SLIDES
from local.postgres import SUPERUSER
from tessera.api.rest import RemoteSlide
from tessera.api.upload import upload
from tessera.local_run.sources import open_local_source
from tests.adapters.postgres.erasure.test_planted import find_said
from tests.slides.identified import SAID as IN_THE_FILE
from tests.slides.identified import write_identified_svs
from tests.stack.lab import Lab, eventually
from wsi.slide.files.source import SlideSource
from wsi.states import JobState, SlideState

pytestmark = pytest.mark.stack

SAID = "Zyxwlgrtq"  #: as long as the name in the file, which it replaces; other tests plant that one
#: Where people put it, and the file itself: nowhere else.
WITH_THE_SLIDE = {
    *(("slides", "name"), ("slide_files", "name"), ("jobs", "label"), ("idempotency_keys", "key")),
    *(("jobs", "notify_email"), ("jobs", "notify_webhook"), ("deliveries", "target")),
}


@pytest.fixture
def identified(tmp_path: Path) -> SlideSource:
    """A slide that says it in each tag, on its label, and in the name of its file."""
    came = write_identified_svs(tmp_path).path
    path = tmp_path / f"{SAID}.svs"
    path.write_bytes(came.read_bytes().replace(IN_THE_FILE.encode(), SAID.encode()))
    assert path.read_bytes().count(SAID.encode()) > 10
    return open_local_source(path)


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What functions log meanwhile, in the form that CloudWatch gets."""
    written = io.StringIO()
    with capture_logs(written):
        yield written


@contextmanager
def capture_logs(written: io.StringIO) -> Iterator[None]:
    added = list[tuple[logging.Logger, logging.Handler]]()
    for one in list(logging.root.manager.loggerDict.values()):
        if isinstance(one, logging.Logger) and one.handlers:
            handler = logging.StreamHandler(written)
            handler.setFormatter(one.handlers[0].formatter)
            one.addHandler(handler)
            added.append((one, handler))
    try:
        yield
    finally:
        for one, handler in added:
            one.removeHandler(handler)


def send(lab: Lab, source: SlideSource, *, deidentify: bool) -> RemoteSlide:
    slide_id = upload(lab.api, source.files, mpp=None, deidentify=deidentify)

    def inspected() -> RemoteSlide | None:
        slide = lab.api.get_slide(slide_id)
        return slide if slide.status != SlideState.UPLOADED else None

    slide = eventually(inspected, seconds=60, what="inspection")
    assert slide.status == SlideState.READY
    return slide


def analyse(lab: Lab, slide: RemoteSlide, *, says: str) -> str:
    """The id of a finished job whose every text is `says`."""
    corners = [[0, 0], [1200, 0], [1200, 900], [0, 900], [0, 0]]
    drawn = {
        "type": "Feature",
        "id": says,
        "properties": {"name": says, "classification": {"name": says}},
        "geometry": {"type": "Polygon", "coordinates": [corners]},
    }
    body: dict[str, Any] = {
        "slide_id": slide.slide_id,
        "model": "stain-density",
        "label": says,
        "region_geojson": drawn,
        "notify": {"email": f"{says}@hospital.example"},
        "force": True,
    }
    headers = {"Idempotency-Key": f"{says}-1"}
    job_id = lab.transport.call("POST", "/jobs", body=body, headers=headers, repeatable=True)["job_id"]
    eventually(lambda: JobState(lab.api.get_job(job_id).status).is_final, seconds=60, what="the end of the job")
    assert lab.api.get_job(job_id).status == JobState.COMPLETED
    for path in ("results", "partial", "events"):  # links are audited, and served
        lab.transport.call("GET", f"/jobs/{job_id}/{path}", repeatable=True)
    eventually(
        lambda: len(lab.sql("SELECT 1 FROM deliveries WHERE job_id = %s AND attempt > 0", job_id)) == 1,
        seconds=30,
        what="a try of the mail",
    )
    # Once nobody calls it any more: this machine looks up no name. tests/wsi/notices has the bytes of a webhook.
    lab.sql("UPDATE jobs SET notify_webhook = %s WHERE id = %s", f"https://{says}.example/hook", job_id)
    return job_id


def columns(lab: Lab) -> set[tuple[str, str]]:
    with psycopg.connect(lab.stack.postgres.make_dsn(SUPERUSER, DATABASE), autocommit=True) as connection:
        return find_said(connection, SAID)


def objects(lab: Lab) -> set[str]:
    """Bucket and key of every version, hidden ones too, that holds it: packed or not, or in its key."""
    s3 = lab.stack.clients.s3
    found = set[str]()
    for bucket in (SLIDES, RESULTS, MODELS, SHARED):
        for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
            for entry in page.get("Versions", []):
                data = s3.get_object(Bucket=bucket, Key=entry["Key"], VersionId=entry["VersionId"])["Body"].read()
                if SAID.encode() in entry["Key"].encode() + b"".join(unpack(data)):
                    found.add(f"{bucket}/{entry['Key']}")
        for begun in s3.list_multipart_uploads(Bucket=bucket).get("Uploads", []):
            assert SAID not in begun["Key"]
    return found


def unpack(data: bytes) -> Iterator[bytes]:
    yield data
    if data[:2] == b"\x1f\x8b":
        yield gzip.decompress(data)
    elif data[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield from (archive.read(name) for name in archive.namelist())


def files_of_the_stack(lab: Lab) -> set[str]:
    """Names of logs, of traces and of Postgres's log that hold it."""
    logs = [*(lab.stack.folder / "logs").rglob("*"), *lab.stack.traces.rglob("*"), lab.stack.postgres.log]
    assert any(path.is_file() and path.stat().st_size for path in logs)
    return {path.name for path in logs if path.is_file() and SAID.encode() in path.read_bytes()}


def test_it_is_where_people_put_it_and_gone_once_the_slide_is_deleted(
    lab: Lab, identified: SlideSource, logged: io.StringIO
) -> None:
    lab.stack.workers.start()
    slide = send(lab, identified, deidentify=False)
    lab.api.restate_slide(slide.slide_id, {"name": f"{SAID}, restated"})
    analyse(lab, slide, says=SAID)
    kept = f"{slide_folder(lab, slide)}00000"
    assert columns(lab) == WITH_THE_SLIDE
    assert objects(lab) == {kept}

    lab.transport.call("DELETE", f"/slides/{slide.slide_id}", repeatable=True)
    assert columns(lab) == set()
    assert objects(lab) == set()
    assert versions_below(lab, slide) == []
    listed = lab.transport.call("GET", "/slides", query={"status": "DELETED", "limit": "100"}, repeatable=True)
    assert slide.slide_id in str(listed)
    assert SAID not in str(listed)
    assert SAID not in logged.getvalue()
    assert slide.slide_id in logged.getvalue()
    assert files_of_the_stack(lab) == set()


def test_of_a_de_identified_slide_it_is_nowhere(lab: Lab, identified: SlideSource, logged: io.StringIO) -> None:
    lab.stack.workers.start()
    slide = send(lab, identified, deidentify=True)
    analyse(lab, slide, says="asked")
    assert columns(lab) == set()
    assert objects(lab) == set()
    assert SAID not in logged.getvalue()
    assert files_of_the_stack(lab) == set()


def test_a_deleted_job_takes_what_people_said_with_it(lab: Lab, tmp_path: Path) -> None:
    lab.stack.workers.start()
    slide = send(lab, open_local_source(write_identified_svs(tmp_path).path), deidentify=True)
    job_id = analyse(lab, slide, says=SAID)
    assert columns(lab) == WITH_THE_SLIDE - {("slides", "name"), ("slide_files", "name")}
    assert [key for key in keys_of_results(lab) if job_id in key]
    lab.transport.call("DELETE", f"/jobs/{job_id}", repeatable=True)
    assert columns(lab) == set()
    assert not [key for key in keys_of_results(lab) if job_id in key]


def slide_folder(lab: Lab, slide: RemoteSlide) -> str:
    (row,) = lab.sql("SELECT tenant FROM slides WHERE id = %s", slide.slide_id)
    return f"{SLIDES}/{row['tenant']}/slides/{slide.slide_id}/"


def versions_below(lab: Lab, slide: RemoteSlide) -> list[str]:
    prefix = slide_folder(lab, slide).removeprefix(f"{SLIDES}/")
    answers = (lab.stack.clients.s3.list_object_versions(Bucket=bucket, Prefix=prefix) for bucket in (SLIDES, RESULTS))
    return [entry["Key"] for answer in answers for entry in answer.get("Versions", [])]


def keys_of_results(lab: Lab) -> list[str]:
    pages = lab.stack.clients.s3.get_paginator("list_object_versions").paginate(Bucket=RESULTS)
    return [entry["Key"] for page in pages for entry in page.get("Versions", [])]
