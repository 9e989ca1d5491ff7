"""A package of the WSInfer zoo's layout, registered, runs through the stack and gives what it gives in one process."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adapters.postgres.connections import Connections
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.s3.objects import S3Objects
from client.cli import app
from gpu_worker.models.package import read_package
from gpu_worker.models.wsinfer import FILES
from local.options import DATABASE, MODELS
from tests.gpu_worker.packages import write_package
from tests.shared_slides import shared_slide
from tests.stack.lab import Lab
from wsi.records.models import ModelVersion
from wsi.states import JobState

pytestmark = pytest.mark.stack


def register(lab: Lab, package: Path) -> str:
    card = read_package(package)
    objects = S3Objects(lab.stack.clients, MODELS)
    for name in FILES:
        objects.put(f"{card.digest}/{name}", (package / name).read_bytes())
    connections = Connections(lab.stack.postgres.dsn("tessera_system", DATABASE))
    try:
        PostgresSystemLedger(connections).register_model(
            ModelVersion(
                name=card.name,
                version=card.version,
                digest=card.digest,
                card=card.as_json(),
                package_uri=f"s3://{MODELS}/{card.digest}/",
            )
        )
    finally:
        connections.close()
    return card.name


def table(text: str) -> list[dict[str, float]]:
    return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]


def test_a_registered_package_gives_on_the_stack_what_it_gives_in_one_process(lab: Lab, tmp_path: Path) -> None:
    package = write_package(tmp_path / "tumor-demo")
    slide = shared_slide("real/aperio-jpeg-20x.CMU-1-Small-Region.svs")
    out = tmp_path / "out"
    ran = CliRunner().invoke(app, ["run", str(slide), "--model", str(package), "--out", str(out)])
    assert ran.exit_code == 0, ran.output

    model = register(lab, package)
    lab.stack.workers.start()
    job = lab.run(lab.upload(slide), model=model)
    assert job.status == JobState.COMPLETED

    alone, through = table((out / "tiles.csv").read_text()), table(lab.results(job)["tiles.csv"].decode())
    assert len(alone) == len(through) == job.tiles_planned > 0
    for one, other in zip(alone, through, strict=True):
        assert one.keys() == other.keys()
        assert one == pytest.approx(other, abs=1e-5)
        assert one["prob_Other"] + one["prob_Tumor"] == pytest.approx(1, abs=1e-5)
