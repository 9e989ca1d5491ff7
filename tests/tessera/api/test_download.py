"""What an installation may make a download write: the announced bytes, in files of the folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web

from tessera.api.download import download
from tessera.api.rest import Api
from tessera.api.transport import ATTEMPTS, Transport
from tests.tessera.server import JOB, Installation, served
from wsi.errors import SourceError, SourceUnavailable

TABLE = b"minx,miny\n1,2\n"


@dataclass
class Announcing(Installation):
    """Announces what it is told to, and sends `sent`."""

    names: tuple[str, ...] = ("tiles.csv",)
    size: int = len(TABLE)
    sha256: str = hashlib.sha256(TABLE).hexdigest()
    sent: bytes = TABLE
    repeats: int = 1
    written: int = 0  #: times

    async def links(self, request: web.Request) -> web.Response:
        said = {"size": self.size, "sha256": self.sha256, "media_type": "text/csv"}
        items = [{**said, "name": name, "url": f"{self.url}/s3/results/x"} for name in self.names]
        return web.json_response({"items": items, "next_cursor": None})

    async def fetch(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        with suppress(ConnectionError):  # the client has gone
            for _ in range(self.repeats):
                await answer.write(self.sent)
                self.written += 1
        return answer


@contextmanager
def downloading(installation: Installation, folder: Path) -> Iterator[tuple[Path, ...]]:
    with served(installation) as url, closing(Transport(url, "tsk_a_b")) as transport:
        yield download(Api(transport), JOB, folder, sleep=lambda _: None)


def count_fetches(installation: Installation) -> int:
    return sum("/s3/results/" in call for call in installation.calls)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../up.csv",
        "sub/tiles.csv",
        "/tmp/tiles.csv",
        "a\0.csv",
        "a\\b",
        "NUL",
        "com1.csv",
        "C:x",
        ".ssh",
    ],
)
def test_a_name_that_leads_elsewhere_ends_the_download_before_its_first_byte(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    installation = Announcing(names=("tiles.csv", name))
    with pytest.raises(SourceError, match="no name of a file"), downloading(installation, folder):
        pass
    assert list(tmp_path.rglob("*")) == []
    assert count_fetches(installation) == 0


def test_two_results_that_are_one_file_on_some_systems_are_refused(tmp_path: Path) -> None:
    installation = Announcing(names=("tiles.csv", "Tiles.CSV"))
    with pytest.raises(SourceError, match="alike"), downloading(installation, tmp_path / "out"):
        pass


@pytest.mark.parametrize("size", [0, len(TABLE) - 1, len(TABLE) + 1])
def test_a_file_of_another_size_than_announced_is_not_published(size: int, tmp_path: Path) -> None:
    installation = Announcing(size=size)
    with pytest.raises(SourceUnavailable, match=r"tiles\.csv"), downloading(installation, tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
    assert count_fetches(installation) == ATTEMPTS


def test_a_file_that_does_not_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    installation = Announcing(sent=b"a" * 2**20, repeats=256)
    with pytest.raises(SourceUnavailable), downloading(installation, tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
    assert 0 < installation.written < ATTEMPTS * installation.repeats / 4  # MiB: what fits into buffers on the way


def test_the_announced_file_is_written(tmp_path: Path) -> None:
    with downloading(Announcing(), tmp_path) as paths:
        assert paths == (tmp_path / "tiles.csv",)
    assert (tmp_path / "tiles.csv").read_bytes() == TABLE
