"""Uploads on the in-memory ports."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.installation import ANALYST, STRANGER, VIEWER, Installation, part_bytes
from tests.wsi.test_texts import NAMES
from wsi.digests import PART_SIZE, compute_composite_digest, compute_slide_digest
from wsi.errors import Conflict, Forbidden, Invalid, NotFound, SourceMissing
from wsi.records.slides import Slide
from wsi.states import SlideState
from wsi.uploads.rules import NewFile, PartAsked, check_files, choose_display_name, compute_part_size, count_parts
from wsi.uploads.uploads import abort_upload, grant_parts, list_stored_parts, open_upload

SHA = "0" * 64


@pytest.fixture
def installation():
    return Installation()


def ask(installation: Installation, slide: Slide, *parts: tuple[int, int, int]):
    asked = [PartAsked(file=file, n=n, size=size, sha256=SHA) for file, n, size in parts]
    return grant_parts(ANALYST, slide.id, asked, ledger=installation.ledger, slides=installation.slides)


def held(installation: Installation, slide: Slide, after=(0, 0), limit=100):
    return list_stored_parts(
        ANALYST, slide.id, after=after, limit=limit, ledger=installation.ledger, slides=installation.slides
    )


@given(st.integers(1, 10_000 * PART_SIZE))
def test_parts_add_up_to_the_file(size):
    count = count_parts(size)
    assert 1 <= compute_part_size(size, count) <= PART_SIZE
    assert (count - 1) * PART_SIZE + compute_part_size(size, count) == size


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (["a.svs"], "a.svs"),
        (["case/a.svs"], "a.svs"),
        (["a.mrxs", "a/Slidedat.ini", "a/Data0000.dat"], "a.mrxs"),
        (["H&E/1.dcm", "H&E/2.dcm"], "H&E"),
        (["case-7/H&E/1.2.840.dcm", "case-7/H&E/1.2.841.dcm"], "H&E"),
        (["case/c.vms", "case/c(1,0).jpg"], "c.vms"),
        (["case-7/1.dcm", "case-70/2.dcm"], "1.dcm"),
        (["1.dcm", "2.dcm"], "1.dcm"),
    ],
)
def test_a_series_is_called_as_its_folder_any_other_slide_as_the_file_that_is_opened(files, name):
    assert choose_display_name(files) == name


def test_keys_are_ours_and_say_nothing_of_the_name(installation):
    files = [NewFile(name="case/Jane Doe.mrxs", size=10), NewFile(name="case/Jane Doe/Data0000.dat", size=20)]
    slide = open_upload(ANALYST, files, mpp=0.25, ledger=installation.ledger, slides=installation.slides)
    assert slide.state is SlideState.UPLOADING
    assert slide.name == "Jane Doe.mrxs"
    assert slide.mpp == 0.25
    assert all(re.fullmatch(rf"s3://[a-z-]+/{ANALYST.tenant}/slides/{slide.id}/\d+", f.uri) for f in slide.files)
    assert len({file.upload_id for file in slide.files}) == 2


@pytest.mark.parametrize("name", NAMES)
def test_names_as_other_systems_write_them_are_accepted(name):
    check_files([NewFile(name=f"folder {name}/{name}", size=1)])


@pytest.mark.parametrize(
    "files",
    [
        [],
        [("a.svs", 0)],
        [("a.svs", -1)],
        [("a.svs", 10_000 * PART_SIZE + 1)],
        [("", 1)],
        [("  ", 1)],
        [("/etc/passwd", 1)],
        [("a/../b", 1)],
        [("a\\b", 1)],
        [("a\nb", 1)],
        [("a\x9bb", 1)],
        [("a\ud800b", 1)],
        [("x" * 1025, 1)],
        [("é" * 128 + ".svs", 1)],
        [("a.svs", 1), ("a.svs/Data0000.dat", 2)],
        [("a.svs", 1), ("a.svs", 2)],
        [(f"{n}", 1) for n in range(10_001)],
    ],
)
def test_files_that_can_not_be_a_slide_are_refused_by_number_not_by_name(installation, files):
    new = [NewFile(name=name, size=size) for name, size in files]
    with pytest.raises(Invalid) as refused:
        open_upload(ANALYST, new, mpp=None, ledger=installation.ledger, slides=installation.slides)
    assert "svs" not in refused.value.sentence
    assert "passwd" not in refused.value.sentence


def test_a_part_is_granted_with_the_checksum_that_its_url_signs(installation):
    slide = installation.opened(PART_SIZE + 5)
    data = b"12345"
    asked = PartAsked(file=0, n=2, size=5, sha256=hashlib.sha256(data).hexdigest())
    (granted,) = grant_parts(ANALYST, slide.id, [asked], ledger=installation.ledger, slides=installation.slides)
    assert "seconds=900" in granted.url
    assert granted.headers == {"x-amz-checksum-sha256": base64.b64encode(hashlib.sha256(data).digest()).decode()}
    with pytest.raises(Forbidden):
        installation.slides.put_part(granted.url, b"54321")
    installation.slides.put_part(granted.url, data)


def test_at_most_100_parts_are_granted_at_a_time(installation):
    slide = installation.opened(101 * PART_SIZE)
    parts = [(0, n, PART_SIZE) for n in range(1, 102)]
    assert len(ask(installation, slide, *parts[:100])) == 100
    with pytest.raises(Invalid, match="1 to 100 parts at a time; this request asks for 101"):
        ask(installation, slide, *parts)
    with pytest.raises(Invalid):
        ask(installation, slide)


@pytest.mark.parametrize(("n", "size"), [(0, PART_SIZE), (3, 1), (1, PART_SIZE - 1), (2, PART_SIZE), (2, 6)])
def test_a_part_that_does_not_fit_its_file_is_refused(installation, n, size):
    slide = installation.opened(PART_SIZE + 5)
    with pytest.raises(Invalid):
        ask(installation, slide, (0, n, size))


def test_a_file_that_does_not_exist_is_not_found(installation):
    with pytest.raises(NotFound):
        ask(installation, installation.opened(5), (1, 1, 5))


def test_completing_gives_the_digest_that_the_client_can_compute_too(installation):
    slide = installation.uploaded(PART_SIZE + 5, 7)
    files = [
        [part_bytes(0, 1, PART_SIZE), part_bytes(0, 2, 5)],
        [part_bytes(1, 1, 7)],
    ]
    digests = [compute_composite_digest([hashlib.sha256(part).hexdigest() for part in parts]) for parts in files]
    assert slide.state is SlideState.UPLOADED
    assert slide.digest == compute_slide_digest(digests)
    assert [file.etag for file in slide.files] == [installation.slides.head(file.uri).etag for file in slide.files]


def test_completing_wakes_the_relay_once(installation):
    slide = installation.uploaded(5)
    assert installation.queues.depth("wake") == 1
    again = installation.complete(slide.id)
    assert (again.state, again.digest, again.version) == (slide.state, slide.digest, slide.version)
    assert installation.queues.depth("wake") == 1


def test_missing_parts_are_named(installation):
    slide = installation.opened(5, 25 * PART_SIZE)
    installation.send_part(slide, 0, 1, b"12345")
    installation.send_part(slide, 1, 2, part_bytes(1, 2, PART_SIZE))
    with pytest.raises(Conflict, match=r"File number 1 lacks 24 of its 25 parts: 1, 3, 4, .*, 21 and 4 more\."):
        installation.complete(slide.id)
    assert installation.ledger.get_slide(ANALYST, slide.id).state is SlideState.UPLOADING


@pytest.mark.parametrize("died_after", [1, 2])
def test_completing_goes_on_where_a_death_left_it(installation, died_after):
    slide = installation.opened(PART_SIZE + 5, 7)
    installation.send_parts(slide)
    for file in slide.files[:died_after]:
        parts = installation.slides.list_parts(file.uri, file.upload_id or "")
        installation.slides.complete_upload(file.uri, file.upload_id or "", parts)
    items, following = held(installation, slide)
    assert [(part.file, part.n) for part in items] == [(0, 1), (0, 2), (1, 1)]
    assert following is None
    assert installation.complete(slide.id).digest == installation.uploaded(PART_SIZE + 5, 7).digest


def test_an_upload_that_s3_gave_up_has_expired(installation):
    slide = installation.opened(5)
    installation.slides.abort_upload(slide.files[0].uri, slide.files[0].upload_id or "")
    with pytest.raises(Conflict, match="expired"):
        installation.complete(slide.id)


def test_stored_parts_come_in_pages_over_all_files(installation):
    slide = installation.opened(3 * PART_SIZE, 5, 2 * PART_SIZE)
    installation.send_parts(slide, leave_out=frozenset({(0, 2)}))
    found, after = [], (0, 0)
    for _ in range(10):
        page, after = held(installation, slide, after, limit=2)
        assert len(page) <= 2
        found += [(part.file, part.n) for part in page]
        if after is None:
            break
    assert found == [(0, 1), (0, 3), (1, 1), (2, 1), (2, 2)]


def test_an_aborted_upload_is_gone_and_stays_so(installation):
    slide = installation.opened(5)
    for _ in range(2):
        abort_upload(ANALYST, slide.id, ledger=installation.ledger, slides=installation.slides)
    with pytest.raises(SourceMissing):
        installation.slides.list_parts(slide.files[0].uri, slide.files[0].upload_id or "")
    with pytest.raises(Conflict, match="aborted"):
        installation.complete(slide.id)


def test_a_completed_upload_is_not_aborted(installation):
    slide = installation.uploaded(5)
    with pytest.raises(Conflict, match="Delete the slide"):
        abort_upload(ANALYST, slide.id, ledger=installation.ledger, slides=installation.slides)
    with pytest.raises(Conflict, match="already complete"):
        ask(installation, slide, (0, 1, 5))


def test_another_tenants_upload_does_not_exist(installation):
    slide = installation.opened(5)
    with pytest.raises(NotFound):
        installation.complete(slide.id, STRANGER)


def test_a_viewer_does_not_upload(installation):
    with pytest.raises(Forbidden, match="Your role is viewer"):
        installation.opened(5, actor=VIEWER)
