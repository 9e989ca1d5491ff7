"""Upload in presigned parts against a real HTTP server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tessera.api.rest import Api
from tessera.api.transport import ATTEMPTS, Transport
from tessera.api.upload import upload
from tests.tessera.server import SLIDE, Installation, served
from wsi.digests import PART_SIZE
from wsi.errors import SourceUnavailable
from wsi.slide.ranges import FileSource

SIZES = {"a.mrxs": PART_SIZE + 7, "a/Data0.dat": 2 * PART_SIZE + 1}  #: 2 and 3 parts


@pytest.fixture
def files(tmp_path: Path) -> Iterator[list[tuple[str, FileSource]]]:
    with ExitStack() as stack:
        opened: list[tuple[str, FileSource]] = []
        for number, (name, size) in enumerate(SIZES.items()):
            path = tmp_path / str(number)
            path.write_bytes((f"{name}:".encode() * (size // 4))[:size])
            source = FileSource(path)
            stack.callback(source.close)
            opened.append((name, source))
        yield opened


@contextmanager
def api_of(installation: Installation) -> Iterator[Api]:
    with served(installation) as url:
        transport = Transport(url, "tsk_abc_secret", sleep=lambda seconds: None)
        try:
            yield Api(transport)
        finally:
            transport.close()


def whole(installation: Installation, file: int) -> bytes:
    parts = sorted(key for key in installation.stored if key[0] == file)
    return b"".join(installation.stored[key] for key in parts)


def test_every_byte_of_every_file_arrives(files: list[tuple[str, FileSource]], tmp_path: Path) -> None:
    installation, progress = Installation(), list[int]()
    with api_of(installation) as api:
        assert upload(api, files, on_progress=progress.append) == SLIDE
    assert [whole(installation, file) for file in (0, 1)] == [(tmp_path / str(file)).read_bytes() for file in (0, 1)]
    assert sum(progress) == sum(SIZES.values())
    assert installation.calls[-1] == f"POST /uploads/{SLIDE}/complete"
    assert installation.credentials == {"Bearer tsk_abc_secret"}


def test_a_part_that_fails_is_sent_again_with_a_fresh_url(files: list[tuple[str, FileSource]]) -> None:
    installation = Installation(refuse_puts={(1, 2): 2})
    with api_of(installation) as api:
        upload(api, files, sleep=lambda seconds: None)
    assert installation.granted.count((1, 2)) == 3
    assert installation.granted.count((0, 1)) == 1
    assert len(set(installation.stored)) == 5


def test_a_part_that_never_arrives_fails_the_upload_before_it_is_completed(
    files: list[tuple[str, FileSource]],
) -> None:
    installation = Installation(refuse_puts={(0, 2): ATTEMPTS})
    begun: list[str] = []
    with api_of(installation) as api, pytest.raises(SourceUnavailable, match="Part 2 of file 0"):
        upload(api, files, on_begin=begun.append, sleep=lambda seconds: None)
    assert begun == [SLIDE]
    assert f"POST /uploads/{SLIDE}/complete" not in installation.calls


def test_an_upload_goes_on_without_sending_again_what_has_arrived(files: list[tuple[str, FileSource]]) -> None:
    installation, progress = Installation(), list[int]()
    with api_of(installation) as api:
        upload(api, files)
        installation.completed = False
        del installation.stored[1, 2]
        installation.stored[0, 2] = b"other b"  # of the same length: the file was changed since
        installation.granted.clear()
        assert upload(api, files, resume=SLIDE, on_progress=progress.append) == SLIDE
    assert sorted(installation.granted) == [(0, 2), (1, 2)]
    assert sum(progress) == sum(SIZES.values())
    assert installation.calls.count("POST /uploads") == 1


def test_complete_upload_is_not_sent_again_when_it_is_resumed(files: list[tuple[str, FileSource]]) -> None:
    installation = Installation()
    with api_of(installation) as api:
        upload(api, files)
        sent = len(installation.granted)
        assert upload(api, files, resume=SLIDE) == SLIDE
    assert len(installation.granted) == sent
    assert installation.calls.count(f"POST /uploads/{SLIDE}/complete") == 1
