"""The viewer with half a million tiles: `python -m benchmarks.viewer_page [--tiles 500000]`.

The embedded stack plans a job of tiles so small that a generated slide has that many. This process writes and commits
the shards in place of workers, with scores made of waves, and the stack stitches them. The built page in chromium shows
the job when half of its shards are there, and when it is complete. Measured are the time until the scores are drawn,
the memory of the tab, and the time of each frame while the slide, the threshold and the pointer are moved. Chromium
draws without a GPU here, on cores that it shares with the stack.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
from playwright.sync_api import Page, expect, sync_playwright

from adapters.postgres.connections import Connections
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.s3.objects import S3Objects
from benchmarks.page_upload import RENDERER, measure_memory
from local.options import DATABASE, RESULTS, StackOptions
from local.stack import Stack
from tessera.api.rest import RemoteJob
from tests.slides import write_svs
from tests.stack.lab import Lab, eventually
from tests.web.conftest import ARGUMENTS, CHROMIUM, SIZE
from tests.web.person import Person
from tests.web.viewing import WATCH_FRAMES
from wsi import keys
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import Plan
from wsi.planning.shards import MOST
from wsi.records.identity import Role
from wsi.records.model_card import ModelCard
from wsi.records.shards import Lease, ShardCount
from wsi.results.shard_result import ShardResult
from wsi.states import JobState

SIDE = 24_000  #: px of the slide, 0.5 um each
BROKEN = 1000  #: one tile in this many is unreadable
ASKS = 120  #: steps of a drag


@dataclass(frozen=True)
class StandInWorkers:
    """The stand-in for a job's workers: it commits shards without a slide and a model."""

    stack: Stack
    ledger: PostgresSystemLedger
    job_id: UUID

    def commit_shards(self, begin: float, end: float) -> int:
        """Commit the shards between two fractions, from 0 to 1. Return the number of tiles in the whole plan."""
        tenant = self.stack.tenants["first"]
        objects = S3Objects(self.stack.clients, RESULTS)
        made = Plan.from_bytes(objects.get(keys.of_plan(tenant, self.job_id)))
        shards = len(made.shard_sizes)
        for index in range(round(begin * shards), round(end * shards)):
            lease = self.ledger.lease_shard(self.job_id, index, owner="benchmark", seconds=600)
            assert isinstance(lease, Lease), lease
            result = _result(made, index)
            key = keys.of_shard_result(tenant, self.job_id, index, lease.attempt)
            objects.put(key, result.to_bytes())
            count = ShardCount(inferred=len(result.tiles), unreadable=len(result.unreadable))
            assert self.ledger.commit_shard(lease, result_key=key, count=count, tiles_per_second=1000.0)
        return len(made.tiles)


def _result(made: Plan, index: int) -> ShardResult:
    numbers = made.shard_tiles(index)
    broken = numbers[numbers % BROKEN == 0]
    whole = numbers[numbers % BROKEN != 0]
    x, y = made.tiles[whole].T / 3000  # waves of some thousand px
    scores = np.stack([(1 + np.sin(x * (1 + k)) * np.cos(y + k)) / 2 for k in range(len(made.card.columns))], axis=1)
    reason = "the file's tile cannot be decoded"
    return ShardResult(
        plan_digest=made.digest,
        tiles=whole,
        scores=scores.astype(np.float32),
        unreadable=dict.fromkeys(broken.tolist(), reason),
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--tiles", type=int, default=500_000)
    tiles = arguments.parse_args().tiles
    with tempfile.TemporaryDirectory() as folder, _lab(Path(folder)) as lab:
        slide = lab.upload(
            write_svs(Path(folder) / "slide.svs", width=SIDE, height=SIDE, levels=(1, 4, 16), tissue=(0, 0, SIDE, SIDE))
        )
        job = lab.submit(slide, model=lab.register(_card(tiles)))
        eventually(lambda: lab.api.get_job(job.job_id).status == JobState.RUNNING, seconds=120, what="the plan")
        connections = Connections(lab.stack.postgres.make_dsn("tessera_system", DATABASE))
        workers = StandInWorkers(lab.stack, PostgresSystemLedger(connections), UUID(job.job_id))
        with _person(lab.stack) as person:
            rows = list(_measure_job(lab, person, workers, job))
        connections.close()
    print("\n".join(("", "| | |", "|---|---|", *rows)))


def _card(tiles: int) -> ModelCard:
    """Return a card of tiles without overlap, so small that a slide of `SIDE` px has about `tiles`."""
    side = math.ceil(SIDE / math.sqrt(tiles))
    return replace(STAIN_DENSITY, name="small-tiles", digest=uuid4().hex * 2, tile_px=side, input_px=side, mpp=0.5)


def _measure_job(lab: Lab, person: Person, workers: StandInWorkers, job: RemoteJob) -> Iterator[str]:
    page = person.page
    planned = workers.commit_shards(0, 0.5)
    address = f"{person.origin}/view/{job.slide_id}?job={job.job_id}"
    yield f"| {os.cpu_count()} cores, load | {os.getloadavg()[0]:.1f} |"
    yield f"| tiles | {planned:,} in shards of at most {MOST:,} |"
    began = time.perf_counter()
    page.goto(address)
    now = lab.api.get_job(job.job_id)
    half = now.tiles_inferred + now.tiles_unreadable
    expect(page.get_by_text(f"{half:,} of {planned:,}")).to_be_visible(timeout=120_000)
    yield f"| running, half of the shards are there: drawn after | {time.perf_counter() - began:.1f} s |"
    workers.commit_shards(0.5, 1)
    lab.wait(job, seconds=300)
    page.goto("about:blank")
    began = time.perf_counter()
    page.goto(address)
    expect(page.get_by_text(re.compile(r"^[\d,]+ tiles with scores"))).to_be_visible(timeout=120_000)
    yield f"| complete: drawn after | {time.perf_counter() - began:.1f} s |"
    yield f"| the tab holds | {_describe_memory(lab, page)} |"
    yield from _measure_frames(page)
    yield f"| the tab holds afterwards | {_describe_memory(lab, page)} |"


def _measure_frames(page: Page) -> Iterator[str]:
    box = page.get_by_role("application").bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def pan() -> None:
        page.mouse.move(*middle)
        page.mouse.down()
        for corner in ((-200, -100), (200, 100), (-150, 150), (0, 0)):
            page.mouse.move(middle[0] + corner[0], middle[1] + corner[1], steps=ASKS // 4)
        page.mouse.up()

    def point() -> None:
        page.mouse.move(middle[0] - 200, middle[1] - 200)
        page.mouse.move(middle[0] + 200, middle[1] + 200, steps=ASKS)

    def drag_threshold() -> None:
        slider = page.get_by_label("Hide scores below").bounding_box()
        assert slider is not None
        left, top = slider["x"] + 9, slider["y"] + slider["height"] / 2
        page.mouse.move(left, top)
        page.mouse.down()
        page.mouse.move(left + slider["width"] * 0.7, top, steps=ASKS)
        page.mouse.up()

    heatmap = page.get_by_label("Heatmap", exact=True)
    heatmap.uncheck()
    pan()  # until tiles are there
    yield _row(page, "the slide alone is moved", pan)
    heatmap.check()
    yield _row(page, "slide and heatmap are moved", pan)
    yield _row(page, "the pointer goes over tiles", point)
    yield _row(page, "the threshold is dragged", drag_threshold)
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(2000)
    yield _row(page, "8 times enlarged: slide and heatmap are moved", pan)


def _row(page: Page, what: str, act: Callable[[], None]) -> str:
    page.wait_for_timeout(1000)
    page.evaluate(WATCH_FRAMES)
    act()
    frames = sorted(page.evaluate("window.frames_kept()"))
    p50, p95 = (frames[int(share * (len(frames) - 1))] for share in (0.5, 0.95))
    rate = 1000 * len(frames) / sum(frames)
    return f"| {what}: a frame takes, p50, p95, most | {p50:.0f}, {p95:.0f}, {frames[-1]:.0f} ms; {rate:.0f} a second |"


def _describe_memory(lab: Lab, page: Page) -> str:
    cdp = page.context.new_cdp_session(page)
    cdp.send("HeapProfiler.collectGarbage")
    heap = cdp.send("Runtime.getHeapUsage")
    cdp.detach()
    held = measure_memory(lab.stack)[RENDERER].pss / 1e6
    return f"{held:.0f} MB (PSS of the renderer), of which {heap['usedSize'] / 1e6:.0f} MB JavaScript's objects"


@contextmanager
def _lab(folder: Path) -> Iterator[Lab]:
    stack = Stack(folder / "stack", StackOptions(workers=0, durable=False))
    stack.start()
    lab = Lab(stack)
    try:
        yield lab
    finally:
        lab.transport.close()
        stack.stop()


@contextmanager
def _person(stack: Stack) -> Iterator[Person]:
    found = next(filter(None, map(shutil.which, CHROMIUM)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        page = browser.new_page(viewport=SIZE)
        person = Person(page=page, origin=stack.as_json()["page_url"].rstrip("/"), users=stack.access.users)
        person.sign_in(Role.ANALYST)
        yield person
        browser.close()


if __name__ == "__main__":
    main()
