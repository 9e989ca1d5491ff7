"""The cost of preparing a slide: inspection and planning, as `lambdas.inspect` and `lambdas.plan` do it.
`python -m benchmarks.preparing [--processors N] [--single-level]`.

The slide is an SVS of 100,000 x 100,000 px with levels 1/4/16/64 and 152,881 tiles of 256 px in level 0, tissue all
over, of which a plan takes 37,409 tiles. With `--single-level` it has 50,000 px and no overviews: its 38,416 tiles, of
5 KB each and in order, must all be read. It lies in `benchmarks.slow_store`. Each of the two calls is a process of its
own with some processors (`benchmarks.invocations`): on Lambda ten calls at once have ten times as many, and S3 answers
them all alike, so that each takes what one takes alone. The ledger is in memory: on Postgres each call takes two
transactions.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import lambdas.inspect
import lambdas.plan
from adapters.aws_clients import AwsClients
from adapters.s3.objects import S3Objects
from adapters.s3.slides import S3SlideStore
from benchmarks.invocations import invoke_twice, measure_invocation
from benchmarks.machine import describe_machine
from benchmarks.one_job import JOB, NOW, SLIDE, TENANT, make_job
from benchmarks.slow_store import BUCKET, BYTES_A_SECOND, FIRST_BYTE_SECONDS, TAG, serve_bucket
from tests.fakes.queues import MemoryQueues
from tests.slides.giant import write_giant
from wsi import keys
from wsi.models.builtin import STAIN_DENSITY
from wsi.ports.ledger import PlanningBrief
from wsi.records.models import ModelVersion
from wsi.records.slides import Slide, SlideFile
from wsi.slide.files.scratch import NO_COPIES
from wsi.states import JobState, SlideState

CALLS = ("inspect", "plan")


class OneSlideLedger:
    """The ledger of one slide that waits for its inspection, and of one job on it that waits for its plan."""

    def __init__(self, slide: Slide) -> None:
        self._slide = slide
        self.digest = ""  #: of what the last call committed

    def find_uninspected_slide(self, slide_id: UUID) -> Slide:
        return self._slide

    def accept_slide(self, slide_id: UUID, inspection: Mapping[str, Any], thumbnail_key: str, *, version: int) -> bool:
        self.digest = hashlib.sha256(repr(inspection).encode()).hexdigest()[:16]
        return True

    def reject_slide(self, *found: object, **more: object) -> bool:
        raise AssertionError(found)

    def fail_job(self, *found: object) -> bool:
        raise AssertionError(found)

    def begin_planning(self, job_id: UUID) -> PlanningBrief:
        card = STAIN_DENSITY
        job = make_job(JobState.PLANNING)
        model = ModelVersion(
            name=card.name, version=card.version, digest=card.digest, card=card.as_json(), package_uri=None
        )
        return PlanningBrief(job=job, slide=self._slide, model=model)

    def commit_plan(self, job_id: UUID, *, plan_key: str, plan_digest: str, shard_tiles: Sequence[int]) -> bool:
        self.digest = f"{sum(shard_tiles):,} tiles {plan_digest[:16]}"
        return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processors", type=int, default=2, help="that an invocation may use")
    parser.add_argument("--single-level", action="store_true")
    parser.add_argument("--invoke", nargs=3, metavar=("CALL", "URL", "BYTES"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.invoke:
        invoke(given.invoke[0], given.invoke[1], int(given.invoke[2]))
        return
    print(
        f"{describe_machine()}; {given.processors} of them for the call; {FIRST_BYTE_SECONDS * 1000:.0f} ms a request"
        f" and {BYTES_A_SECOND / 1e6:.0f} MB/s a connection"
    )
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / keys.of_slide_file(TENANT, SLIDE, 0)
        path.parent.mkdir(parents=True)
        if given.single_level:
            write_giant(path, levels=(1,), side=50_000, in_order=True)
        else:
            write_giant(path, levels=(1, 4, 16, 64), distinct=True)
        with serve_bucket(Path(name)) as url:
            for call in CALLS:
                print(call)
                arguments = ["--invoke", call, url, str(path.stat().st_size)]
                measure_invocation("benchmarks.preparing", arguments, url, given.processors)


def invoke(call: str, url: str, size: int) -> None:
    """Run the handler of `call`, as `invoke_twice` does."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "benchmark", "AWS_SECRET_ACCESS_KEY": "benchmark"}
    clients = AwsClients("eu-central-1", url)
    objects, slides = S3Objects(clients, BUCKET), S3SlideStore(clients, BUCKET)
    folder = keys.make_inspection_folder(TENANT, SLIDE, 1)
    key = keys.of_slide_file(TENANT, SLIDE, 0)
    slide = Slide(
        id=SLIDE,
        tenant=TENANT,
        name="scan.svs",
        state=SlideState.READY if call == "plan" else SlideState.UPLOADED,
        files=(SlideFile(name="scan.svs", uri=f"s3://{BUCKET}/{key}", size=size, etag=TAG.strip('"')),),
        digest="5e" * 32,
        thumbnail_key=keys.of_thumbnail(folder) if call == "plan" else None,
        created_by="benchmark",
        created_at=NOW,
    )
    ledger: Any = OneSlideLedger(slide)
    ports: dict[str, Any] = {"ledger": ledger, "slides": slides, "objects": objects, "scratch": NO_COPIES}
    if call == "inspect":
        handler = lambdas.inspect.make_handler(**ports)
        invoke_twice(handler, {"slide_id": str(SLIDE)}, lambda: ledger.digest)
    else:
        handler = lambdas.plan.make_handler(**ports, queues=MemoryQueues(lambda: NOW))
        invoke_twice(handler, {"job_id": str(JOB)}, lambda: ledger.digest)


if __name__ == "__main__":
    main()
