"""De-identified slides on the embedded stack: what S3 holds of them, in any version, and what jobs on them come to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from local.options import SLIDES
from tessera.api.rest import RemoteSlide
from tessera.api.upload import upload
from tessera.local_run.sources import open_local_source
from tests.shared_slides import shared_slide
from tests.slides import he_tissue
from tests.slides.identified import SAID, SECRETS, noise, write_identified_series, write_identified_svs
from tests.slides.ome import write_ome
from tests.stack.lab import Lab, eventually
from wsi.digests import PART_SIZE, compute_file_digest
from wsi.states import JobState, SlideState

pytestmark = pytest.mark.stack


def send(lab: Lab, path: Path, *, mpp: float | None = None) -> RemoteSlide:
    """The slide once it is inspected."""
    slide_id = upload(lab.api, open_local_source(path).files, mpp=mpp, deidentify=True)

    def inspected() -> RemoteSlide | None:
        slide = lab.api.get_slide(slide_id)
        return slide if slide.status != SlideState.UPLOADED else None

    return eventually(inspected, seconds=60, what="inspection")


def versions(lab: Lab, slide: RemoteSlide) -> list[tuple[str, str]]:
    """(key, version) of all bytes that are in the bucket of the slide, hidden ones too."""
    tenant = lab.sql("SELECT tenant FROM slides WHERE id = %s", slide.slide_id)[0]["tenant"]
    listed = lab.stack.clients.s3.list_object_versions(Bucket=SLIDES, Prefix=f"{tenant}/slides/{slide.slide_id}/")
    return [(entry["Key"].rsplit("/", 1)[-1], entry["VersionId"]) for entry in listed.get("Versions", [])]


def body(lab: Lab, slide: RemoteSlide, key: str) -> bytes:
    tenant = lab.sql("SELECT tenant FROM slides WHERE id = %s", slide.slide_id)[0]["tenant"]
    whole = f"{tenant}/slides/{slide.slide_id}/{key}"
    return lab.stack.clients.s3.get_object(Bucket=SLIDES, Key=whole)["Body"].read()


def test_no_version_of_an_object_says_whose_the_slide_is(lab: Lab, tmp_path: Path) -> None:
    came = write_identified_svs(tmp_path)
    slide = send(lab, came.path)
    assert (slide.status, slide.deidentified) == (SlideState.READY, True)
    assert slide.removed == {"images": 2, "tags": 48, "files": 0}
    assert [key for key, _ in versions(lab, slide)] == ["00000-clean"]
    data = body(lab, slide, "00000-clean")
    assert len(data) == came.path.stat().st_size
    assert not any(secret in data for secret in SECRETS)
    assert not any(picture[at : at + 32] in data for picture in came.pictures for at in range(0, 4096, 32))
    (row,) = lab.sql("SELECT name, digest FROM slides WHERE id = %s", slide.slide_id)
    assert row == {"name": f"{slide.slide_id}.svs", "digest": compute_file_digest([data])}
    (file,) = lab.sql("SELECT name FROM slide_files WHERE slide_id = %s", slide.slide_id)
    assert SAID not in file["name"]


def test_a_job_comes_to_the_same_tables(lab: Lab) -> None:
    lab.stack.workers.start()
    path = shared_slide("real/aperio-jpeg-20x.CMU-1-Small-Region.svs")
    before, after = lab.run(lab.upload(path)), lab.run(send(lab, path))
    assert before.status == after.status == JobState.COMPLETED
    files = lab.results(before), lab.results(after)
    for name in ("tiles.csv", "tile_quality.csv", "heatmap.ome.tif", "tissue.png"):
        assert files[0][name] == files[1][name]


def test_of_a_slide_of_several_parts_those_without_a_change_are_copied(lab: Lab, tmp_path: Path) -> None:
    tile = he_tissue(np.random.default_rng(0), 500, 500)
    path = write_ome(
        tmp_path / f"{SAID}.ome.tif",
        [np.tile(tile, (8, 9, 1))],
        compression=None,
        metadata={"Description": f"{SAID} S11-4711"},
        more=[("label", noise(64, 128))],
    )
    before = path.read_bytes()
    assert len(before) > 3 * PART_SIZE
    slide = send(lab, path)
    assert slide.status == SlideState.READY
    assert slide.removed is not None
    assert slide.removed["images"] == 1
    data = body(lab, slide, "00000-clean")
    assert data[PART_SIZE : 3 * PART_SIZE] == before[PART_SIZE : 3 * PART_SIZE]
    assert data != before
    assert SAID.encode() not in data
    parts = [data[start : start + PART_SIZE] for start in range(0, len(data), PART_SIZE)]
    (row,) = lab.sql("SELECT digest FROM slides WHERE id = %s", slide.slide_id)
    assert row["digest"] == compute_file_digest(parts)


def test_of_a_series_label_and_overview_are_gone(lab: Lab, tmp_path: Path) -> None:
    slide = send(lab, write_identified_series(tmp_path).path)
    assert slide.status == SlideState.READY
    assert sorted(key for key, _ in versions(lab, slide)) == ["00000-clean", "00001-clean"]
    assert not any(secret in body(lab, slide, f"0000{number}-clean") for number in (0, 1) for secret in SECRETS)


def test_of_a_slide_that_can_not_be_cleaned_nothing_is_kept(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / f"{SAID}.tif"
    path.write_bytes(shared_slide("real/strips-packbits-224.kather1.tif").read_bytes())
    slide = send(lab, path, mpp=0.5)
    assert (slide.status, slide.reason) == (SlideState.REJECTED, "can_not_deidentify")
    eventually(lambda: not versions(lab, slide), seconds=20, what="the files of the slide going")
    (row,) = lab.sql("SELECT name FROM slides WHERE id = %s", slide.slide_id)
    assert row["name"] == slide.slide_id


def test_a_deleted_slide_leaves_no_copy(lab: Lab, tmp_path: Path) -> None:
    slide = send(lab, write_identified_svs(tmp_path).path)
    lab.transport.call("DELETE", f"/slides/{slide.slide_id}", repeatable=True)
    assert versions(lab, slide) == []
