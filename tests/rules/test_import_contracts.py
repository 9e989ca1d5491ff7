"""The import rules of the design are kept, and each of them fails on a planted violation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("wsi", "adapters", "lambdas", "inference", "gpu_worker", "cdk", "local", "tessera")

#: contract id -> (file to plant, its content)
PLANTED = {
    "layers": ("wsi/planted.py", "import adapters\n"),
    "domain": ("wsi/planted.py", "import torch\n"),
    "aws-and-sql-in-adapters": ("lambdas/planted.py", "import boto3\n"),
    "torch": ("tessera/planted.py", "import torch\n"),
    "cdk-only": ("gpu_worker/planted.py", "import aws_cdk\n"),
    "cdk-takes-settings-only": ("cdk/planted.py", "import adapters.sqs\n"),
    "settings-are-leaves": ("adapters/settings/planted.py", "import wsi.states\n"),
    "tessera-is-no-worker": ("tessera/planted.py", "import gpu_worker.drain\n"),
    "tessera-runs-models-lazily": ("tessera/planted.py", "import inference.pipeline\n"),
}


def lint(folder: Path, *contracts: str) -> subprocess.CompletedProcess[str]:
    chosen = [argument for contract in contracts for argument in ("--contract", contract)]
    return subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "pyproject.toml", "--no-cache", *chosen],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contracts")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_every_contract_is_kept(copy: Path) -> None:
    result = lint(copy)
    assert result.returncode == 0, result.stdout


def test_every_contract_has_a_planted_violation() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert {contract["id"] for contract in contracts} == set(PLANTED)


@pytest.mark.parametrize("contract", PLANTED)
def test_a_planted_violation_breaks_the_contract(copy: Path, contract: str) -> None:
    name, content = PLANTED[contract]
    planted = copy / name
    planted.write_text(content)
    try:
        result = lint(copy, contract)
    finally:
        planted.unlink()
    assert result.returncode == 1, result.stdout
    assert "BROKEN" in result.stdout


def imported_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_cdk_loads_neither_boto3_nor_psycopg() -> None:
    assert not imported_by("import cdk, adapters.settings.processes") & {"boto3", "botocore", "psycopg", "obstore"}


@pytest.mark.parametrize(
    "module", ["uploads.uploads", "slides.slides", "jobs.jobs", "models.versions", "notices.outbox", "jobs.sweeping"]
)
def test_what_the_api_needs_of_the_domain_loads_no_numpy(module: str) -> None:
    assert "numpy" not in imported_by(f"import wsi.{module}")


def test_the_command_line_loads_no_torch_until_a_model_runs() -> None:
    assert not imported_by("import tessera.cli") & {"torch", "inference", "gpu_worker"}
