"""De-identification of slides of several files from the upload to READY: DICOM series, whose files change in size, and
MIRAX folders."""

from __future__ import annotations

import io
from pathlib import Path
from uuid import UUID

import numpy as np
import pydicom
import pytest

from tests.installation import ANALYST, Installation
from tests.slides.dicoms import EXPLICIT, SERIES, Writing, write_picture
from tests.slides.identified import SECRETS, noise, write_identified_series
from tests.slides.identified_mirax import WORD, write_identified_mirax
from tests.wsi.inspection.test_deidentifying import Died, inspect, slide_of, stored, take_in
from wsi.digests import PART_SIZE, compute_file_digest, compute_slide_digest
from wsi.slide.deidentification.dicom.values import replace_uids
from wsi.slide.opening import open_local_source
from wsi.slide.ranges import ByteRange
from wsi.states import SlideState
from wsi.uploads.rules import NewFile
from wsi.uploads.uploads import open_upload


@pytest.fixture
def installation() -> Installation:
    return Installation()


def take_named(installation: Installation, path: Path) -> UUID:
    """Upload the files under their own names."""
    files = open_local_source(path).files
    asked = [NewFile(name=name, size=source.size) for name, source in files]
    how = {"mpp": None, "choice": None, "deidentify": True}
    slide = open_upload(ANALYST, asked, **how, ledger=installation.ledger, slides=installation.slides)
    for number, (_, source) in enumerate(files):
        installation.send_part(slide, number, 1, source.read(ByteRange(0, source.size)))
    return installation.complete(slide.id).id


def is_whole(installation: Installation, slide_id: UUID) -> None:
    """READY; sizes, digests and names in SQL are those of the clean files."""
    slide, held = slide_of(installation, slide_id), stored(installation)
    assert (slide.state, slide.deidentified) == (SlideState.READY, True)
    assert held.keys() == {file.uri for file in slide.files}
    assert [file.size for file in slide.files] == [len(held[file.uri]) for file in slide.files]
    assert slide.digest == compute_slide_digest([compute_file_digest([held[file.uri]]) for file in slide.files])
    assert not any(secret in data for data in held.values() for secret in (*SECRETS, WORD))


def test_a_mirax_slide_is_ready_without_cover_label_and_names(installation, tmp_path):
    slide_id = take_named(installation, write_identified_mirax(tmp_path / "before").path)
    assert inspect(installation, slide_id, tmp_path) is SlideState.READY
    is_whole(installation, slide_id)
    slide = slide_of(installation, slide_id)
    assert slide.name == f"{slide_id}.mrxs"
    names = ["00000.mrxs", *(f"00000/{name}" for name in ("Data0000.dat", "Data0001.dat", "Index.dat", "Slidedat.ini"))]
    assert sorted(file.name for file in slide.files) == names
    assert slide.inspection is not None
    assert (slide.inspection["format"], slide.inspection["width"]) == ("mrxs", 768)
    assert slide.removed is not None
    assert (slide.removed.images, slide.removed.files) == (4, 1)


def test_uids_cannot_be_computed_from_the_slides_id(installation, tmp_path):
    slide_id = take_in(installation, write_identified_series(tmp_path).path)
    assert inspect(installation, slide_id, tmp_path) is SlideState.READY
    is_whole(installation, slide_id)
    series = {pydicom.dcmread(io.BytesIO(data)).SeriesInstanceUID for data in stored(installation).values()}
    assert len(series) == 1
    assert series != {replace_uids(SERIES.encode(), salt).decode() for salt in (slide_id.bytes, b"")}
    assert not installation.slides.uploading


def test_any_death_costs_only_a_second_run_which_comes_to_the_same_uids(tmp_path):
    found = write_identified_series(tmp_path).path
    deaths = 0
    while True:
        installation = Installation()
        slide_id = take_in(installation, found)

        def die(number: int, deadly: int = deaths) -> None:
            if number == deadly:
                raise Died

        try:
            inspect(installation, slide_id, tmp_path, die)
        except Died:
            deaths += 3
            assert inspect(installation, slide_id, tmp_path) is SlideState.READY
            is_whole(installation, slide_id)
            kept = [pydicom.dcmread(io.BytesIO(data)) for data in stored(installation).values()]
            assert len({dataset.SeriesInstanceUID for dataset in kept}) == 1
            continue
        break
    assert deaths > 15, "it makes more calls than that"


def test_of_a_large_file_whose_header_shrinks_s3_copies_what_moved(installation, tmp_path):
    how = Writing(syntax=EXPLICIT, photometric="RGB", tile=1024, more={"PatientComments": "Doeringer " * 500})
    path = write_picture(tmp_path / "large.dcm", np.tile(noise(256, 256), (8, 12, 1)), how)  # of 18 MiB
    before = pydicom.dcmread(path)
    copied: list[tuple[int, ByteRange | None]] = []
    copy = installation.slides.copy_part

    def note(uri: str, upload_id: str, *, n: int, source: str, etag: str, byte_range: ByteRange | None) -> None:
        copied.append((n, byte_range))
        copy(uri, upload_id, n=n, source=source, etag=etag, byte_range=byte_range)

    slide_id = take_in(installation, path)
    installation.slides.copy_part = note
    assert inspect(installation, slide_id, tmp_path) is SlideState.READY
    (data,) = stored(installation).values()
    after = pydicom.dcmread(io.BytesIO(data))
    assert np.array_equal(before.pixel_array, after.pixel_array)
    moved = path.stat().st_size - len(data)
    assert moved > 4_000
    assert copied == [(2, ByteRange(PART_SIZE + moved, len(data) + moved))]


def test_parts_that_another_release_sent_are_sent_again(installation, tmp_path):
    found = write_identified_series(tmp_path).path
    slide_id = take_in(installation, found)

    def die(number: int) -> None:
        if any(file.clean is not None for file in slide_of(installation, slide_id).files):
            raise Died

    with pytest.raises(Died):
        inspect(installation, slide_id, tmp_path, die)
    for file in slide_of(installation, slide_id).files:
        if file.clean is not None:
            for n in (1, 2):
                installation.slides.write_part(file.clean.uri, file.clean.upload_id, n=n, data=b"Doeringer" * 9)
    assert inspect(installation, slide_id, tmp_path) is SlideState.READY
    is_whole(installation, slide_id)
