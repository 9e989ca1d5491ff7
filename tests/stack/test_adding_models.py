"""Models that an admin adds to the stack by the command line and by the API, and jobs with them."""

from __future__ import annotations

import csv
import hashlib
import io
import zipfile
from pathlib import Path
from threading import Thread

import httpx
import pytest
import torch
from click.testing import Result
from typer.testing import CliRunner

from tessera.cli import app
from tessera.local_run.outcomes import FAILED
from tests.inference.packages import network, write_package
from tests.shared_slides import shared_slide
from tests.stack.lab import Lab, eventually
from wsi.states import JobState

pytestmark = pytest.mark.stack


def command(lab: Lab, *arguments: object) -> Result:
    where = ("--api", lab.stack.api_url, "--api-key", lab.stack.admin_api_key)
    return CliRunner().invoke(app, ["models", *map(str, arguments), *where], env={"COLUMNS": "200"})


def table(text: str) -> list[dict[str, float]]:
    return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]


def test_a_package_added_by_the_command_line_gives_what_it_gives_in_one_process(lab: Lab, tmp_path: Path) -> None:
    package = write_package(tmp_path / "Added Net")
    lab.stack.workers.start()
    added = command(lab, "add", package)
    assert added.exit_code == 0, added.output
    assert "added-net" in added.output
    assert "READY" in added.output
    assert "jobs that name only the model take it" in added.output
    model = lab.transport.call("GET", "/models/added-net", repeatable=True)
    assert model["card"]["tiles_per_second"] > 0

    slide = shared_slide("real/aperio-jpeg-20x.CMU-1-Small-Region.svs")
    out = tmp_path / "out"
    ran = CliRunner().invoke(app, ["run", str(slide), "--model", str(package), "--out", str(out)])
    assert ran.exit_code == 0, ran.output
    job = lab.run(lab.upload(slide), model="added-net")
    assert job.status == JobState.COMPLETED
    alone, through = table((out / "tiles.csv").read_text()), table(lab.results(job)["tiles.csv"].decode())
    assert len(alone) == len(through) == job.tiles_planned > 0
    for one, other in zip(alone, through, strict=True):
        assert one == pytest.approx(other, abs=1e-5)

    again = command(lab, "add", package)
    assert (again.exit_code, "READY" in again.output) == (0, True)


def test_a_zip_with_a_folder_in_it_is_added_as_another_version_and_chosen(lab: Lab, tmp_path: Path) -> None:
    lab.stack.workers.start()
    assert command(lab, "add", write_package(tmp_path / "zipped"), "--version", "1.0").exit_code == 0
    write_package(tmp_path / "other" / "net", network(seed=1))
    archive = tmp_path / "net.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in (tmp_path / "other" / "net").iterdir():
            packed.write(path, f"net/{path.name}")
        packed.writestr("README.md", "Not of the package.")
    added = command(lab, "add", archive, "--name", "zipped", "--version", "1.1")
    assert added.exit_code == 0, added.output
    assert "no: `tessera models default` chooses it" in added.output
    assert lab.transport.call("GET", "/models/zipped", repeatable=True)["version"] == "1.0"
    assert command(lab, "default", "zipped", "1.1").exit_code == 0
    again = command(lab, "add", tmp_path / "zipped", "--version", "1.0", "--default")
    assert "yes: jobs that name only the model take it" in again.output
    assert command(lab, "default", "zipped", "1.1").exit_code == 0
    assert lab.transport.call("GET", "/models/zipped", repeatable=True)["version"] == "1.1"


class Same(torch.nn.Module):
    """A network that looks at nothing."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(x.shape[0], 2)


def test_a_network_that_looks_at_nothing_is_refused_with_its_sentence(lab: Lab, tmp_path: Path) -> None:
    lab.stack.workers.start()
    refused = command(lab, "add", write_package(tmp_path / "same", Same()))
    assert refused.exit_code == FAILED
    assert "REJECTED (model_failed): The network gives the same values for every tile" in refused.output
    reply = httpx.get(f"{lab.stack.api_url}/models/same", headers={"Authorization": f"Bearer {lab.stack.api_key}"})
    assert reply.status_code == 404


def test_a_package_is_added_by_the_api_alone(lab: Lab, tmp_path: Path) -> None:
    package = write_package(tmp_path / "net")
    files = {path.name: path.read_bytes() for path in sorted(package.iterdir())}
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    listed = [{"name": name, "size": len(data), "sha256": digests[name]} for name, data in files.items()]
    at = "/models/by-api/versions/1"
    with httpx.Client(
        base_url=lab.stack.api_url, headers={"Authorization": f"Bearer {lab.stack.admin_api_key}"}
    ) as http:
        opened = http.put(f"{at}", json={"files": listed}).json()
        assert opened["status"] == "UPLOADING"
        for number, (name, data) in enumerate(files.items()):
            part = {"file": number, "n": 1, "size": len(data), "sha256": digests[name]}
            granted = http.post(f"{at}/parts", json={"parts": [part]}).json()["parts"][0]
            assert httpx.put(granted["url"], content=data, headers=granted["headers"]).status_code == 200
        assert http.post(f"{at}/complete").json()["status"] == "CHECKING"
        lab.stack.workers.start()
        ready = eventually(
            lambda: found if (found := http.get(at).json())["status"] == "READY" else None, seconds=60, what="READY"
        )
    assert ready["measured"]["device"].startswith("CPU")


def test_a_worker_that_is_killed_in_a_trial_costs_nothing(lab: Lab, tmp_path: Path) -> None:
    """Another one tries the package once the message is visible again."""
    package = write_package(tmp_path / "killed")
    number = lab.stack.workers.start()

    def begun() -> bool:
        return lab.sql("SELECT 1 AS one FROM model_registrations WHERE name = 'killed' AND tries > 0") != []

    outcome: list[Result] = []
    adding = Thread(target=lambda: outcome.append(command(lab, "add", package)))
    adding.start()
    eventually(begun, seconds=60, what="a trial")
    lab.stack.workers.kill(number)
    lab.stack.workers.start()
    adding.join(120)
    assert outcome
    assert outcome[0].exit_code == 0, outcome[0].output
