from __future__ import annotations

import os
from pathlib import Path

import pytest

from cdk.deployment import Deployment
from tests.tools.account.fake_aws import AwsAnswers, MixedClients
from tests.tools.account.world import failed, results
from tools.account.account import Account
from tools.account.docker import check_docker

BOTH = "linux/amd64*, linux/amd64/v2, linux/arm64, linux/386"
ECR = "111122223333.dkr.ecr.eu-central-1.amazonaws.com"


@pytest.fixture
def deployed(fake: AwsAnswers) -> Account:
    clients = MixedClients(fake)
    return Account(Deployment.from_context({"environment": "dev"}), clients, clients)


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    docker = folder / "docker"
    docker.write_text(f"#!/bin/sh\n{script}\n")
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("platforms", "missing"),
    [(BOTH, None), ("linux/amd64, linux/386", None), ("linux/arm64", "linux/amd64 missing")],
)
def test_the_platform_of_the_worker_is_needed(
    deployed: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platforms: str, missing: str | None
) -> None:
    install(tmp_path, monkeypatch, f"echo 'Name: default'; echo '  Platforms: {platforms}'")
    result = results(check_docker, deployed)["docker platform"]
    assert (result.is_met, result.found if missing else None) == (missing is None, missing)
    assert "binfmt" in result.remedy


def test_a_docker_that_does_not_run_fails(deployed: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    assert results(check_docker, deployed)["docker"].found == "Cannot connect to the Docker daemon"


def test_a_machine_without_docker_fails(deployed: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = results(check_docker, deployed)["docker"]
    assert (result.found, "-c worker_image=codebuild" in result.remedy) == ("not installed", True)


@pytest.mark.parametrize("image", ["codebuild", f"{ECR}/worker:1"])
def test_an_image_that_docker_does_not_build_needs_no_docker(
    deployed: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    context = {"environment": "dev", "worker_image": image}
    own = Account(Deployment.from_context(context), deployed.clients, deployed.home)
    assert failed(check_docker, own) == []
