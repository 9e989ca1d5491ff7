"""Reports on uploads: names that stores refuse, parts of odd sizes, resuming, files that change or come twice."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from lambdas.wiring import ApiWiring
from tessera.api.rest import Api
from tessera.api.transport import Transport
from tessera.api.upload import upload
from tests.cases.reported import reported
from tests.installation import ANALYST, SCALING, Installation
from tests.lambdas.rest import Caller, whole_handler
from tests.tessera.server import SLIDE, served
from tests.tessera.server import Installation as Server
from wsi.digests import PART_SIZE
from wsi.errors import Conflict, SourceChanged
from wsi.slide.ranges import ByteRange, FileSource


@pytest.fixture
def installation() -> Installation:
    return Installation()


@pytest.fixture
def api(installation: Installation) -> Caller:
    wiring = ApiWiring(
        ledger=installation.ledger,
        slides=installation.slides,
        packages=installation.packages,
        objects=installation.objects,
        queues=installation.queues,
        dollars_per_gpu_hour=1.0,
        scaling=SCALING,
        realtime_url="wss://push.example/graphql/realtime",
        clock=installation.clock,
    )
    return Caller(whole_handler(wiring), ANALYST)


@contextmanager
def client_of(server: Server) -> Iterator[Api]:
    with served(server) as url, closing(Transport(url, "tsk_abc_secret", sleep=lambda seconds: None)) as transport:
        yield Api(transport)


def begin(api: Caller, *names: str, size: int = 5) -> Any:
    return api("POST", "/uploads", {"files": [{"name": name, "size": size} for name in names]})


NAMES = {
    "supabase#34595": "example-über-test.svs",
    "supabase/storage#133": "Aufnahme-ÄÖÜ-´-å.svs",
    "supabase#14524": "灯泡.svs",
    "supabase-js#960": "2024-01-29T10:48:15.595Z.svs",
    "supabase/storage#437": "my_*_file.svs",
    "uploadthing#153": unicodedata.normalize("NFD", "копия й.svs"),
    "uppy#2380": "شريحة 12.svs",
    "uppy#5005": "slide!'()*.svs",
    "uppy PR#4493": "Я помню чудное мгновенье.svs",
    "medusa PR#14209": "what?&#=+%20.svs",
    "minio-py#212": "世界世界/世界.svs",
    "fine-uploader#973": "naïve – “quoted”.svs",
    "Qupath_to_LMD#25": "01_XP24_tiles25x19_20x_entiere lung_10% maxshift and % minimal.svs",
}


@pytest.mark.parametrize("name", [pytest.param(name, id=source) for source, name in NAMES.items()])
def test_a_name_comes_back_as_it_was_and_is_no_part_of_the_key(
    api: Caller, installation: Installation, name: str
) -> None:
    reply = begin(api, name)
    assert reply.status == 201, reply.body
    slide = api("GET", f"/slides/{reply.body['slide_id']}").body
    assert slide["name"] == name.rpartition("/")[2]
    (file,) = installation.ledger.get_slide(ANALYST, UUID(reply.body["slide_id"])).files
    assert file.name == name
    assert file.uri.isascii()
    assert Path(file.uri).name.isalnum()


@reported("uploadthing#153", "supabase#34595")
def test_a_name_of_decomposed_letters_as_macos_has_them_is_found_by_typing_it(api: Caller) -> None:
    begin(api, unicodedata.normalize("NFD", "Überblick й.svs"))
    for typed in ("überblick", "Й", unicodedata.normalize("NFD", "й")):
        assert len(api("GET", "/slides", query={"q": typed}).body["items"]) == 1
    assert api("GET", "/slides", query={"q": "и.svs"}).body["items"] == []


@reported("gsutil#1625", "internetarchive#284", "pages-build-container#98")
def test_a_file_whose_name_is_no_unicode_is_sent_under_a_readable_name(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9 12.svs")  # Latin-1, as old archives unpack
    path.write_bytes(b"1" * 1000)
    server = Server()
    with client_of(server) as api, closing(FileSource(path)) as file:
        assert upload(api, [(path.name, file)]) == SLIDE
    assert server.files == ["caf\ufffd 12.svs"]


@reported("supabase#18643")
@pytest.mark.parametrize("name", ["/", "", " ", "a//b.svs", "/a.svs"])
def test_a_name_that_names_nothing_is_refused_in_words(api: Caller, name: str) -> None:
    reply = begin(api, name)
    assert reply.status == 422
    assert "name" in reply.body["detail"].lower()


@reported("rse-grand-challenge#1421", "COPO#25")
def test_two_uploads_of_one_name_are_two_slides(api: Caller) -> None:
    first, second = begin(api, "file.svs").body, begin(api, "file.svs").body
    assert first["slide_id"] != second["slide_id"]
    names = [each["name"] for each in api("GET", "/slides").body["items"]]
    assert names == ["file.svs", "file.svs"]


@reported("studio-ui-bundle#3172")
def test_equal_names_in_other_folders_of_a_series_stay_apart(api: Caller) -> None:
    assert begin(api, "case/a/1.dcm", "case/b/1.dcm").status == 201
    assert begin(api, "case/a/1.dcm", "case/a/1.dcm").status == 422


@reported("girder#3679", "vendure PR#713")
@pytest.mark.parametrize("size", [1, PART_SIZE - 1, PART_SIZE, PART_SIZE + 1, 2 * PART_SIZE])
def test_files_around_the_size_of_a_part_arrive_whole(installation: Installation, size: int) -> None:
    slide = installation.uploaded(size)
    assert installation.slides.head(slide.files[0].uri).size == size


@reported("girder PR#353", "girder#332")
def test_an_upload_without_its_last_part_is_not_complete(installation: Installation) -> None:
    slide = installation.opened(PART_SIZE + 1)
    installation.send_parts(slide, leave_out=frozenset({(0, 2)}))
    with pytest.raises(Conflict, match="lacks 1 of its 2 parts: 2"):
        installation.complete(slide.id)


@reported("tus-php#444")
def test_a_part_that_is_sent_twice_replaces_itself_and_is_not_appended(installation: Installation) -> None:
    slide = installation.opened(1000)
    for seed in (0, 1):
        installation.send_parts(slide, seed=seed)
    (file,) = installation.complete(slide.id).files
    assert installation.slides.head(file.uri).size == 1000


@reported("tus.io#93")
def test_a_file_that_changes_while_it_is_sent_ends_the_upload(tmp_path: Path) -> None:
    path = tmp_path / "a.svs"
    path.write_bytes(b"1" * 1000)

    class Changing(FileSource):
        """Somebody writes to the file once the first part is read."""

        def read(self, byte_range: ByteRange) -> bytes:
            data = super().read(byte_range)
            path.write_bytes(b"2" * 1000)
            os.utime(path, ns=(1, 1))
            return data

    server = Server()
    files = {"a.svs": Changing(path), "b.svs": FileSource(path)}
    with client_of(server) as api, pytest.raises(SourceChanged):
        upload(api, tuple(files.items()), parallel=1)
    for file in files.values():
        file.close()
    assert f"POST /uploads/{SLIDE}/complete" not in server.calls


@reported("uppy#3190")
def test_a_request_for_urls_that_fails_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "a.svs").write_bytes(b"1" * 1000)
    server = Server(fail_calls={f"POST /uploads/{SLIDE}/parts": 2})
    with client_of(server) as api, closing(FileSource(tmp_path / "a.svs")) as file:
        assert upload(api, [("a.svs", file)]) == SLIDE
    assert server.stored[0, 1] == b"1" * 1000


@reported("uppy#1724", "synapsePythonClient PR#371")
def test_a_url_that_is_refused_is_asked_for_anew(tmp_path: Path) -> None:
    (tmp_path / "a.svs").write_bytes(b"1" * 1000)
    server = Server(refuse_puts={(0, 1): 2})
    with client_of(server) as api, closing(FileSource(tmp_path / "a.svs")) as file:
        upload(api, [("a.svs", file)], sleep=lambda seconds: None)
    assert server.granted == [(0, 1)] * 3


@reported("tus-js-client#730", "tus-js-client#142", "gcs-browser-upload#29", "B2_Command_Line_Tool#137")
def test_resuming_with_another_file_of_the_same_name_and_size_sends_what_differs(tmp_path: Path) -> None:
    server = Server()
    with client_of(server) as api:
        for content in (b"1", b"2", b"2"):
            (tmp_path / "a.svs").write_bytes(content * 1000)
            server.granted.clear()
            server.completed = False  # as after an upload that broke off before its end
            with closing(FileSource(tmp_path / "a.svs")) as file:
                upload(api, [("a.svs", file)], resume=SLIDE if server.stored else None)
            assert server.stored[0, 1] == content * 1000
    assert server.granted == []
