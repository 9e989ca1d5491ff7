"""The real stacks on MiniStack, and a slide through what was deployed: all of `make deploy-emulated`, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.inference.packages import write_package
from tests.prerequisites import CDK_COMMAND, EMULATOR
from tests.shared_slides import shared_slide

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.stack,
    EMULATOR.mark,
    CDK_COMMAND.mark,
]


def test_everything_is_deployed_and_gone_through(tmp_path):
    slide = shared_slide("real/aperio-jpeg-20x.CMU-1-Small-Region.svs")
    package = write_package(tmp_path / "net")
    at = ("--folder", str(tmp_path / "emulated"), "--slide", str(slide), "--package", str(package))
    done = subprocess.run(
        [sys.executable, "-m", "local.emulated", *at],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "MISSING" not in done.stdout


def test_a_slide_that_is_not_there_is_noticed_before_anything_starts(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "local.emulated", "--folder", str(tmp_path / "emulated"), "--slide", "missing.svs"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "missing.svs" in done.stderr
    assert list(tmp_path.iterdir()) == []
