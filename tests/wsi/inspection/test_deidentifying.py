"""De-identification from the upload to READY on the in-memory ports: what is left in the store, and deaths, duplicates
and deletions at every step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
import tifffile

from tests.fakes.slides import MemorySlideStore
from tests.installation import ANALYST, Installation
from tests.slides import write_pyramid_tiff, write_svs
from tests.slides.identified import (
    FORMATS,
    SAID,
    SECRETS,
    Identified,
    noise,
    write_identified_series,
    write_identified_svs,
)
from tests.slides.ome import write_ome
from wsi import keys
from wsi.digests import PART_SIZE, compute_file_digest, compute_slide_digest
from wsi.errors import ObjectLocked, RejectReason
from wsi.inspection.inspecting import inspect_slide
from wsi.records.slides import Choice, Removed, Slide
from wsi.slide.files.scratch import ScratchSpace
from wsi.slide.opening import open_local_source
from wsi.slide.ranges import ByteRange
from wsi.slides.erasing import delete_slide
from wsi.states import SlideState


class Died(Exception):
    """The process ended here."""


class Calls:
    """A port that does something before its nth call."""

    def __init__(self, port: Any, before: Callable[[int], None], counter: list[int]) -> None:
        self._port, self._before, self._counter = port, before, counter

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)

        def call(*arguments: Any, **named: Any) -> Any:
            self._before(self._counter[0])
            self._counter[0] += 1
            return found(*arguments, **named)

        return call


@pytest.fixture
def installation() -> Installation:
    return Installation()


@pytest.fixture
def identified(tmp_path: Path) -> Identified:
    return write_identified_svs(tmp_path)


def take_in(installation: Installation, path: Path, **how: Any) -> UUID:
    sources = [source for _, source in open_local_source(path).files]
    return send(installation, *(source.read(ByteRange(0, source.size)) for source in sources), **how)


def send(installation: Installation, *files: bytes, deidentify: bool = True, choice: Choice | None = None) -> UUID:
    slide = installation.opened(*map(len, files), deidentify=deidentify, choice=choice)
    for number, data in enumerate(files):
        for n, start in enumerate(range(0, len(data), PART_SIZE), 1):
            installation.send_part(slide, number, n, data[start : start + PART_SIZE])
    return installation.complete(slide.id).id


def inspect(
    installation: Installation,
    slide_id: UUID,
    scratch: Path,
    before: Callable[[int], None] = lambda number: None,
) -> SlideState | None:
    counter = [0]
    return inspect_slide(
        slide_id,
        ledger=cast("Any", Calls(installation.ledger, before, counter)),
        slides=cast("Any", Calls(installation.slides, before, counter)),
        objects=installation.objects,
        scratch=ScratchSpace(scratch),
    )


def slide_of(installation: Installation, slide_id: UUID) -> Slide:
    return installation.ledger.get_slide(ANALYST, slide_id)


def stored(installation: Installation) -> dict[str, bytes]:
    sources = {uri: installation.slides.open(uri) for uri in installation.slides.held}
    return {uri: source.read(ByteRange(0, source.size)) for uri, source in sources.items()}


def is_clean(installation: Installation, slide: Slide) -> None:
    """READY, and nothing in the store that is not its files."""
    assert (slide.state, slide.deidentified, slide.removed) == (SlideState.READY, True, Removed(images=2, tags=48))
    assert installation.slides.held == {file.uri for file in slide.files}
    data = stored(installation)[slide.files[0].uri]
    assert not any(secret in data for secret in SECRETS)
    assert slide.digest == compute_slide_digest([compute_file_digest([data])])
    assert slide.files[0].etag == installation.slides.head(slide.files[0].uri).etag


def test_a_slide_is_ready_without_label_and_names(installation, identified, tmp_path):
    slide_id = take_in(installation, identified.path)
    assert inspect(installation, slide_id, tmp_path) is SlideState.READY
    slide = slide_of(installation, slide_id)
    is_clean(installation, slide)
    assert slide.name == f"{slide_id}.svs"
    assert [file.name for file in slide.files] == ["00000.svs"]
    assert slide.files[0].uri == installation.slides.make_uri(keys.of_clean_file(slide.tenant, slide_id, 0))
    assert slide.inspection is not None
    assert (slide.inspection["width"], slide.inspection["mpp_x"]) == (1200, 0.499)
    assert not installation.slides.uploading
    line = next(line for line in installation.ledger.books.audit if line.action == "slide.deidentify")
    assert (line.subject, line.detail) == (str(slide_id), {"images": 2, "tags": 48, "files": 0})


def test_without_the_wish_the_slide_stays_as_it_came(installation, identified, tmp_path):
    slide_id = take_in(installation, identified.path, deidentify=False)
    assert inspect(installation, slide_id, tmp_path) is SlideState.READY
    (data,) = stored(installation).values()
    assert data == identified.path.read_bytes()
    assert not slide_of(installation, slide_id).deidentified


@pytest.mark.parametrize("deidentify", [False, True])
def test_two_slides_in_one_upload_are_refused_before_anything_is_ready(installation, identified, tmp_path, deidentify):
    other = write_pyramid_tiff(tmp_path / "other.tif", width=700, height=500).read_bytes()
    slide_id = send(installation, other, identified.path.read_bytes(), deidentify=deidentify)
    assert inspect(installation, slide_id, tmp_path) is SlideState.REJECTED
    slide = slide_of(installation, slide_id)
    assert (slide.reason, slide.inspection, slide.thumbnail_key) == ("several_slides", None, None)
    assert "2 slides" in (slide.sentence or "")
    assert len(installation.slides.held) == (0 if deidentify else 2)


def test_a_slide_behind_another_file_is_the_one_that_stays(installation, identified, tmp_path):
    slide_id = send(installation, b"a note of Doeringer", identified.path.read_bytes())
    assert inspect(installation, slide_id, tmp_path) is SlideState.READY
    slide = slide_of(installation, slide_id)
    assert [file.name for file in slide.files] == ["00000.svs"]
    assert slide.removed == Removed(images=2, tags=48, files=1)
    assert not any(secret in data for data in stored(installation).values() for secret in SECRETS)


def test_of_a_series_that_is_tiff_too_no_label_stays_though_it_is_first(installation, tmp_path):
    found = FORMATS["dicom and tiff, label first"](tmp_path)
    slide_id = take_in(installation, found.path)
    assert inspect(installation, slide_id, tmp_path) is SlideState.READY
    slide = slide_of(installation, slide_id)
    assert [file.name for file in slide.files] == ["00000.dcm", "00001.dcm"]
    assert slide.removed is not None
    assert (slide.removed.images, (slide.inspection or {})["width"]) == (2, 256)
    kept = b"".join(stored(installation).values())
    assert not any(secret in kept for secret in (*found.secrets, *(picture[:64] for picture in found.pictures)))


def test_of_a_series_the_levels_stay(installation, tmp_path):
    slide_id = take_in(installation, write_identified_series(tmp_path).path)
    assert inspect(installation, slide_id, tmp_path) is SlideState.READY
    slide = slide_of(installation, slide_id)
    assert (slide.name, [file.name for file in slide.files]) == (f"{slide_id}.dcm", ["00000.dcm", "00001.dcm"])
    assert slide.removed is not None
    assert (slide.removed.images, slide.removed.files) == (3, 1)
    held = stored(installation)
    assert held.keys() == {file.uri for file in slide.files}
    assert not any(secret in data for data in held.values() for secret in SECRETS)


def test_of_two_scans_the_chosen_one_alone_stays(installation, tmp_path):
    scans = [noise(600, 800, seed=1), noise(500, 700, seed=2)]
    path = tmp_path / "two.tif"
    with tifffile.TiffWriter(path) as writer:
        for pixels in scans:
            writer.write(pixels, tile=(256, 256), photometric="rgb", resolution=(20_000, 20_000), metadata=None)
    slide_id = take_in(installation, path, choice=Choice(picture=2))
    assert inspect(installation, slide_id, tmp_path) is SlideState.READY
    slide = slide_of(installation, slide_id)
    assert (slide.deidentified, slide.choice) == (True, None)
    assert slide.inspection is not None
    assert (slide.inspection["width"], slide.inspection["height"]) == (700, 500)
    (data,) = stored(installation).values()
    assert scans[1][256, :256].tobytes() in data
    assert scans[0][256, :256].tobytes() not in data


def test_of_a_large_slide_only_the_parts_that_change_are_sent(installation, tmp_path):
    path = tmp_path / "large.ome.tif"
    write_ome(path, [noise(4200, 5000)], compression=None, more=[("label", noise(64, 64))])
    sent: list[tuple[str, int]] = []
    write, copy = installation.slides.write_part, installation.slides.copy_part

    def written(uri: str, upload_id: str, *, n: int, data: bytes) -> None:
        sent.append(("written", n))
        write(uri, upload_id, n=n, data=data)

    def copied(uri: str, upload_id: str, *, n: int, source: str, etag: str, byte_range: ByteRange | None) -> None:
        sent.append(("copied", n))
        copy(uri, upload_id, n=n, source=source, etag=etag, byte_range=byte_range)

    slide_id = take_in(installation, path)
    installation.slides.write_part, installation.slides.copy_part = written, copied
    assert inspect(installation, slide_id, tmp_path) is not None
    # Copies go through the other one here, too. The directories are in the first part, the label is in the last.
    assert {n for how, n in sent if how == "copied"} == {2, 3}
    assert {n for how, n in sent if how == "written"} == {1, 2, 3, 4}


def test_any_death_costs_only_a_second_run(identified, tmp_path):
    deaths = 0
    while True:
        installation = Installation()
        slide_id = take_in(installation, identified.path)

        def die(number: int, deadly: int = deaths) -> None:
            if number == deadly:
                raise Died

        try:
            inspect(installation, slide_id, tmp_path, die)
        except Died:
            deaths += 1
            assert slide_of(installation, slide_id).state is SlideState.UPLOADED
            assert inspect(installation, slide_id, tmp_path) is SlideState.READY
            is_clean(installation, slide_of(installation, slide_id))
            continue
        break
    assert deaths > 12, "it makes more calls than that"


def test_a_second_run_at_the_same_time_does_no_harm(identified, tmp_path):
    for moment in range(40):
        installation = Installation()
        slide_id = take_in(installation, identified.path)
        came = []

        def meanwhile(number: int, at: int = moment, installation=installation, slide_id=slide_id, came=came) -> None:
            if number == at:
                came.append(inspect(installation, slide_id, tmp_path))

        mine = inspect(installation, slide_id, tmp_path, meanwhile)
        if not came:
            assert moment > 12
            return
        assert sorted(map(str, (mine, *came))) == ["None", "READY"]
        is_clean(installation, slide_of(installation, slide_id))


class LockedFromTheStart(MemorySlideStore):
    """The bucket of an owner who gave it a default retention."""

    def delete(self, uri: str) -> None:
        raise ObjectLocked("S3 Object Lock keeps some of the objects: they can be deleted once their lock has ended.")


def test_a_slide_whose_identified_files_s3_keeps_is_refused_and_says_why(installation, identified, tmp_path):
    installation.slides = LockedFromTheStart(clock=installation.clock)
    slide_id = take_in(installation, identified.path)
    assert inspect(installation, slide_id, tmp_path) is SlideState.REJECTED
    slide = slide_of(installation, slide_id)
    assert slide.reason == RejectReason.CAN_NOT_DEIDENTIFY
    assert slide.sentence == (
        "S3 Object Lock keeps the uploaded files, so the slide cannot be de-identified here. "
        "De-identify it before you upload it."
    )
    assert inspect(installation, slide_id, tmp_path) is None  # the message after a refusal


def test_a_slide_deleted_meanwhile_leaves_nothing(identified, tmp_path):
    for moment in range(40):
        installation = Installation()
        slide_id = take_in(installation, identified.path)
        came = []

        def delete(number: int, at: int = moment, installation=installation, slide_id=slide_id, came=came) -> None:
            if number == at:
                came.append(True)
                delete_slide(
                    ANALYST,
                    slide_id,
                    ledger=installation.ledger,
                    slides=installation.slides,
                    objects=installation.objects,
                    locks=None,
                )

        state = inspect(installation, slide_id, tmp_path, delete)
        if not came:
            assert moment > 12
            return
        assert state is None
        assert not installation.slides.held
        assert not installation.slides.uploading


@pytest.mark.parametrize("what", ["another maker", "not a slide"])
def test_a_slide_that_can_not_be_cleaned_is_refused_and_nothing_of_it_is_kept(what, installation, tmp_path):
    path = tmp_path / f"{SAID}.tif"
    if what == "another maker":
        path = write_svs(path, width=600, height=400)
        with path.open("r+b") as file:  # left to OpenSlide
            data = file.read().replace(b"Aperio Image Library", b"<Philips data='1.0'>")
            file.seek(0)
            file.write(data)
    else:
        path.write_bytes(b"Dear colleague, " * 100)
    slide_id = take_in(installation, path)
    assert inspect(installation, slide_id, tmp_path) is SlideState.REJECTED
    slide = slide_of(installation, slide_id)
    assert slide.reason == ("can_not_deidentify" if what == "another maker" else "not_a_slide")
    assert slide.name == str(slide_id)
    assert [file.name for file in slide.files] == ["00000"]
    assert not installation.slides.held


def test_a_death_before_refused_files_are_gone_is_made_up_for(installation, tmp_path):
    path = tmp_path / "a.tif"
    path.write_bytes(b"Dear colleague, " * 100)
    slide_id = take_in(installation, path)

    def die(number: int) -> None:
        if slide_of(installation, slide_id).state is SlideState.REJECTED:
            raise Died

    with pytest.raises(Died):
        inspect(installation, slide_id, tmp_path, die)
    assert installation.slides.held
    again = [entry.row for entry in installation.ledger.books.outbox if entry.row.topic == "inspect"]
    assert [row.body["slide_id"] for row in again] == [str(slide_id)] * 2
    assert inspect(installation, slide_id, tmp_path) is None
    assert not installation.slides.held


def test_a_slide_refused_for_its_scale_is_clean_already(installation, tmp_path):
    path = write_svs(tmp_path / f"{SAID}.svs", width=1200, height=900, mpp=None)
    slide_id = take_in(installation, path)
    assert inspect(installation, slide_id, tmp_path) is SlideState.REJECTED
    slide = slide_of(installation, slide_id)
    assert (slide.reason, slide.deidentified, slide.name) == ("no_mpp", True, f"{slide_id}.svs")
    assert installation.slides.held == {slide.files[0].uri}
