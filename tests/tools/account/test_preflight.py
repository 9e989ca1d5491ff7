"""The report as a whole, and the two scripts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.tools.account.fake_aws import AwsAnswers
from tools.account.account import Account, CheckResult
from tools.account.context import WrongDeployment, read_deployment
from tools.account.docker import check_docker
from tools.account.preflight import CHECKS, run_checks

ROOT = Path(__file__).parents[3]
OF_THE_ACCOUNT = tuple(check for check in CHECKS if check is not check_docker)


def test_a_prepared_account_lacks_nothing(account: Account) -> None:
    found = list(run_checks(account, OF_THE_ACCOUNT))
    assert [one.format_lines() for one in found if not one.is_met] == []
    assert len(found) >= 16


def test_what_may_not_be_read_is_a_failed_line_and_the_rest_goes_on(account: Account, fake: AwsAnswers) -> None:
    fake.answers["GetAccountSettings"] = (403, "AccessDeniedException")
    found = list(run_checks(account, OF_THE_ACCOUNT))
    [denied] = [one for one in found if not one.is_met]
    assert denied.found == "GetAccountSettings answered AccessDeniedException"
    assert found[-1].name == "log groups"


def test_a_failed_line_says_what_to_do() -> None:
    assert CheckResult("x", False, "bad", "Do this.").format_lines() == "FAILED  x: bad\n        Do this."
    assert CheckResult("x", True, "good", "Do this.").format_lines() == "ok      x: good"


def test_settings_are_those_of_the_cdks_command() -> None:
    assert read_deployment(["-c", "environment=lab", "-c", "preset=prod"]).prefix == "tessera-lab"
    for wrong in (["environment=dev"], ["-c", "environment"], ["-c"], ["-c", "environmnt=dev"]):
        with pytest.raises(WrongDeployment):
            read_deployment(wrong)


def run(script: str, *arguments: str, answer: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", ROOT / "scripts" / script, *arguments],
        input=answer,
        env={**os.environ, "AWS_EC2_METADATA_DISABLED": "true", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_preflight_refuses_a_misspelt_setting() -> None:
    done = run("preflight.sh", "-c", "environmnt=dev")
    assert (done.returncode, "Did you mean environment?" in done.stderr) == (2, True)


def test_preflight_without_credentials_says_so(tmp_path: Path) -> None:
    nothing = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"), "")
    files = {"AWS_CONFIG_FILE": str(tmp_path / "no"), "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "no")}
    done = run("preflight.sh", HOME=str(tmp_path), **{k: v for k, v in nothing.items() if k in os.environ}, **files)
    assert (done.returncode, "Sign in with the AWS command line" in done.stderr) == (2, True)


@pytest.fixture
def commands(tmp_path: Path) -> dict[str, str]:
    """Stand-ins for the CDK's command and for Python, which write down how they were called."""
    for name in ("cdk", "python"):
        command = tmp_path / name
        command.write_text(f'#!/bin/sh\necho "{name} $*" >> {tmp_path}/calls\n[ ! -e {tmp_path}/fail-{name} ]\n')
        command.chmod(0o755)
    return {"CDK": str(tmp_path / "cdk"), "PYTHON": str(tmp_path / "python")}


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []


def test_destroy_goes_in_the_order_that_the_stacks_need(tmp_path: Path, commands: dict[str, str]) -> None:
    done = run("destroy.sh", "dev", "-c", "nat_gateways=2", answer="dev\n", **commands)
    assert done.returncode == 0, done.stderr
    context = "-c environment=dev -c nat_gateways=2"
    assert calls(tmp_path) == [
        f"python -m tools.account.cleaning page {context}",
        f"cdk destroy --force tessera-dev-observability tessera-dev-web tessera-dev-workload {context}",
        f"cdk destroy --force tessera-dev-cluster tessera-dev-api tessera-dev-realtime tessera-dev-auth {context}",
        f"python -m tools.account.cleaning data {context}",
        f"cdk destroy --force tessera-dev-data tessera-dev-network {context}",
        f"python -m tools.account.cleaning leftovers {context}",
    ]


def test_destroy_does_nothing_without_the_environments_name(tmp_path: Path, commands: dict[str, str]) -> None:
    done = run("destroy.sh", "prod", answer="yes\n", **commands)
    assert (done.returncode, calls(tmp_path)) == (2, [])
    assert run("destroy.sh", **commands).returncode == 2


def test_destroy_stops_at_the_first_failure_and_says_how_to_go_on(tmp_path: Path, commands: dict[str, str]) -> None:
    (tmp_path / "fail-cdk").touch()
    done = run("destroy.sh", "dev", answer="dev\n", **commands)
    assert (done.returncode, len(calls(tmp_path))) == (1, 2)
    assert "run the same command again" in done.stderr


def test_leftovers_alone_destroy_no_stack(tmp_path: Path, commands: dict[str, str]) -> None:
    done = run("destroy.sh", "dev", "--leftovers", "-c", "region=eu-central-1", **commands)
    assert done.returncode == 0
    assert calls(tmp_path) == ["python -m tools.account.cleaning leftovers -c environment=dev -c region=eu-central-1"]
