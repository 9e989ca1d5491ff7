"""The viewer's tiles: `python -m benchmarks.tile_route [--seconds 20]`.

First the function alone, on one slide that is 20 ms away: the time of a Lambda for a tile of each kind, one at a time.
Then the embedded stack, through gateway, authorizer, Postgres and MiniStack's S3, all on this machine with the client:
the first tile of a slide that nobody has viewed; tiles at a steady 40 a second, more than a viewer requests while a
user pans; and as many tiles as eight callers get.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx

from adapters.s3.ranges import RangeReads, S3RangeSource
from lambdas.tiles import TilesWiring, make_handler
from local.options import StackOptions
from local.stack import Stack
from tessera.api.rest import Api
from tessera.api.transport import Transport
from tessera.api.upload import upload
from tests.installation import ANALYST, Installation
from tests.lambdas.rest import rest_event
from tests.range_server import facts
from tests.slide_server import range_reads, serve
from tests.slides import write_svs
from wsi.ports.objects import StoredObject
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.ranges import RangeSource

SIDE = 16_384  #: px of the slide
RATE = 40  #: tiles a second
CALLERS = 8
AWAY_MS = 20
EACH = 200  #: tiles of each kind
PICTURE = {"Accept": "image/jpeg"}


@dataclass(frozen=True)
class Served:
    """A `SlideStore` that only opens, by the production's S3 reader."""

    reads: RangeReads
    path: Path

    def open(self, uri: str, *, tenant: UUID | None = None, etag: str | None = None) -> RangeSource:
        size, stored = facts(self.path)
        return S3RangeSource(self.reads, "bucket", self.path.name, StoredObject(size=size, etag=stored))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=20.0, help="of a steady rate, and of as many as there are")
    seconds = arguments.parse_args().seconds
    os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    with tempfile.TemporaryDirectory() as folder:
        slide = write_svs(Path(folder) / "slide.svs", width=SIDE, height=SIDE, tile=256, levels=(1, 4, 16))
        size = slide.stat().st_size / 1e6
        with serve(Path(folder), milliseconds=AWAY_MS) as url:
            rows = list(measure_alone(Served(range_reads(url), slide)))
        with _stack(Path(folder) / "stack") as stack:
            rows += measure_on_stack(stack, slide, seconds)
    print(f"{os.cpu_count()} cores, a slide of {SIDE:,} px and {size:.0f} MB\n")  # behind the logs of the stack
    print("\n".join(("| | p50 ms | p99 ms | KB | tiles |", "|---|---|---|---|---|", *rows)))


def measure_alone(store: Served) -> Iterator[str]:
    installation = Installation()
    taken = installation.uploaded(5)
    inspection = open_slide(open_local_source(store.path)).inspection
    installation.ledger.accept_slide(taken.id, inspection.as_json(), "thumbnail.jpeg", version=taken.version)
    handle = make_handler(
        TilesWiring(ledger=installation.ledger, slides=store, objects=installation.objects)  # pyright: ignore[reportArgumentType]
    )

    def ask(address: str) -> int:
        path, _, etag = address.partition("?v=")
        answer = handle(rest_event("GET", path, query={"v": etag} if etag else None, actor=ANALYST), None)
        assert answer["statusCode"] == 200, answer
        return len(answer["body"]) * 3 // 4

    body = handle(rest_event("GET", f"/api/v1/wsi/slides/{taken.id}/pyramid", actor=ANALYST), None)["body"]
    pyramid = httpx.Response(200, text=body).json()
    kinds = [(level["source"], number) for number, level in enumerate(pyramid["levels"])]
    for kind, numbers in groupby(sorted(kinds), key=lambda each: each[0]):
        what = "the file's own JPEG, or cut at its edge" if kind == "file" else "shrunk from 4 to 64 of the file's"
        places = _places(pyramid, [number for _, number in numbers])
        yield _row(
            f"function alone, slide {AWAY_MS} ms away: {what}", [_time_request(ask, place) for place in places[:EACH]]
        )


def measure_on_stack(stack: Stack, slide: Path, seconds: float) -> Iterator[str]:
    api = Api(Transport(stack.api_url, stack.api_key))
    firsts = list[tuple[float, int]]()
    pyramid: dict[str, Any] = {}
    with httpx.Client(base_url=stack.api_url, headers={"Authorization": f"Bearer {stack.api_key}", **PICTURE}) as http:
        for _ in range(5):
            slide_id = upload(api, open_local_source(slide).files)
            _wait_until_ready(http, slide_id)
            began = time.perf_counter()
            pyramid = http.get(f"/slides/{slide_id}/pyramid").json()
            first = http.get(_below(_address(pyramid, 0, 0, 0)))
            firsts.append((time.perf_counter() - began, len(first.content)))
    yield _row("embedded stack: pyramid and first tile of a new slide", firsts)
    places = _places(pyramid, range(len(pyramid["levels"])))
    steady, took = asyncio.run(_steadily(stack, places, seconds))
    yield _row(f"embedded stack: {RATE} asked for a second, {len(steady) / took:.1f} answered", steady)
    most, took = asyncio.run(_as_many(stack, places, seconds))
    yield _row(f"embedded stack: {CALLERS} callers, {len(most) / took:.0f} tiles/s", most)


@contextmanager
def _stack(folder: Path) -> Iterator[Stack]:
    stack = Stack(folder, StackOptions(workers=0, durable=False))
    stack.start()
    try:
        yield stack
    finally:
        stack.stop()


def _wait_until_ready(http: httpx.Client, slide_id: str) -> None:
    while http.get(f"/slides/{slide_id}", headers={"Accept": "application/json"}).json()["status"] != "READY":
        time.sleep(0.1)


async def _steadily(stack: Stack, places: Sequence[str], seconds: float) -> tuple[list[tuple[float, int]], float]:
    """Request tiles at `RATE`. Each request begins when it is due, whatever became of earlier ones, and is timed from
    then on."""
    async with _client(stack) as http:
        began = time.perf_counter()

        async def ask(number: int) -> tuple[float, int]:
            due = began + number / RATE
            await asyncio.sleep(due - time.perf_counter())
            answer = await http.get(_below(places[number % len(places)]))
            assert answer.status_code == 200, answer.text
            return time.perf_counter() - due, len(answer.content)

        answers = await asyncio.gather(*(ask(number) for number in range(int(RATE * seconds))))
        return answers, time.perf_counter() - began


async def _as_many(stack: Stack, places: Sequence[str], seconds: float) -> tuple[list[tuple[float, int]], float]:
    found: list[tuple[float, int]] = []
    async with _client(stack) as http:
        began = time.perf_counter()

        async def ask(caller: int) -> None:
            number = caller
            while time.perf_counter() - began < seconds:
                asked = time.perf_counter()
                answer = await http.get(_below(places[number % len(places)]))
                assert answer.status_code == 200, answer.text
                found.append((time.perf_counter() - asked, len(answer.content)))
                number += CALLERS

        await asyncio.gather(*(ask(caller) for caller in range(CALLERS)))
        return found, time.perf_counter() - began


def _client(stack: Stack) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=stack.api_url, headers={"Authorization": f"Bearer {stack.api_key}", **PICTURE}, timeout=30
    )


def _places(pyramid: dict[str, Any], numbers: Sequence[int]) -> list[str]:
    """Return addresses of tiles: each level as often as another, as a user zooms, and at random within a level."""
    chance = random.Random(0)
    found: list[str] = []
    for _ in range(4_000 // len(numbers)):
        for number in numbers:
            level = pyramid["levels"][number]
            found.append(_address(pyramid, number, chance.randrange(level["columns"]), chance.randrange(level["rows"])))
    return found


def _address(pyramid: dict[str, Any], level: int, x: int, y: int) -> str:
    return pyramid["tile_url"].format(level=level, x=x, y=y)


def _below(address: str) -> str:
    return address.removeprefix("/api/v1/wsi")


def _time_request(ask: Callable[[str], int], place: str) -> tuple[float, int]:
    began = time.perf_counter()
    size = ask(place)
    return time.perf_counter() - began, size


def _row(what: str, answers: Sequence[tuple[float, int]]) -> str:
    milliseconds = sorted(1e3 * seconds for seconds, _ in answers)
    size = statistics.mean(size for _, size in answers) / 1e3
    last = milliseconds[min(len(milliseconds) - 1, round(0.99 * len(milliseconds)))]
    return f"| {what} | {statistics.median(milliseconds):.0f} | {last:.0f} | {size:.0f} | {len(answers):,} |"


if __name__ == "__main__":
    main()
