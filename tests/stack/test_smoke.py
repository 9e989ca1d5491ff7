"""The script that a deployer runs after each deployment, against the embedded stack."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lambdas.api import BASE_PATH
from tests.slides import write_svs
from tests.stack.lab import Lab

pytestmark = pytest.mark.stack

SCRIPT = Path(__file__).parents[2] / "scripts/smoke.sh"


def smoke(lab: Lab, slide: Path, key: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT), lab.stack.api_url.removesuffix(BASE_PATH), str(slide)],
        env={**os.environ, "TESSERA_API_KEY": key},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_svs(tmp_path_factory.mktemp("smoke") / "smoke.svs", width=1024, height=1024, tissue=(0, 0, 1024, 1024))


def test_a_stack_that_works_passes(lab: Lab, slide: Path) -> None:
    lab.stack.workers.start()
    done = smoke(lab, slide, lab.stack.api_key)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\nok ") + done.stdout.startswith("ok ") == 17
    assert "FAILED" not in done.stdout


def test_a_key_that_opens_nothing_fails(lab: Lab, slide: Path) -> None:
    done = smoke(lab, slide, "tsk_000000_wrong")
    assert done.returncode == 1
    assert "FAILED  the key opens the list of jobs" in done.stdout
    assert "ok      health is open" in done.stdout
