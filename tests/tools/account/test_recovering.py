"""A second region: what it needs, how it is emptied, and the recovery by its function."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.tools.account.fake_aws import AwsAnswers, MixedClients, xml
from tests.tools.account.test_cleaning import holds_objects, make_bucket
from tests.tools.account.world import failed, make_account, stack, stack_resources
from tools.account.account import Account
from tools.account.cleaning import delete_replicas
from tools.account.recovering import run
from tools.account.recovery import check_recovery
from wsi.recovery.driving import RecoveryRefused

ROOT = Path(__file__).parents[3]
THERE = "eu-west-1"


def with_second_region(fake: AwsAnswers, **context: Any) -> Account:
    made = make_account(fake, recovery_region=THERE, **context)
    return Account(made.deployment, made.clients, made.home, MixedClients(fake, THERE))


def source_regions(copies: bool) -> str:
    tag = "SupportsDBInstanceAutomatedBackupsReplication"
    region = f"<{tag}>{str(copies).lower()}</{tag}>"
    return xml("DescribeSourceRegions", f"<SourceRegions><SourceRegion>{region}</SourceRegion></SourceRegions>")


# --- preflight


def test_without_a_second_region_nothing_is_checked(account: Account) -> None:
    assert list(check_recovery(account)) == []


def test_the_second_region_needs_a_bootstrap_and_copies_of_backups(account: Account, fake: AwsAnswers) -> None:
    there = with_second_region(fake)
    fake.answers["DescribeSourceRegions"] = source_regions(False)
    assert failed(check_recovery, there) == ["CDK bootstrap of the second region", "backups to the second region"]
    assert there.recovery is not None
    there.recovery.get_client("ssm").put_parameter(Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String")
    fake.answers["DescribeSourceRegions"] = source_regions(True)
    assert failed(check_recovery, there) == []


# --- destroying


def test_replicas_go_with_a_deployment_that_keeps_nothing(account: Account, fake: AwsAnswers) -> None:
    s3 = make_bucket(account, "replica")
    fake.answers["DescribeStacks/tessera-dev-recovery"] = stack("CREATE_COMPLETE")
    fake.answers["ListStackResources/tessera-dev-recovery"] = stack_resources(
        ("AWS::S3::Bucket", "replica", "CREATE_COMPLETE")
    )
    assert list(delete_replicas(with_second_region(fake, keeps_data=True))) == []
    assert holds_objects(s3, "replica")
    assert list(delete_replicas(with_second_region(fake))) == ["emptied replica: 4 versions"]


# --- the recovery


class _Function:
    """Lambda's client for the function recover, which answers action by action."""

    def __init__(self, *answers: dict[str, Any], failed: bool = False) -> None:
        self._answers = list(answers)
        self._failed = failed
        self.asked: list[dict[str, Any]] = []

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:
        assert FunctionName == "recover-it"
        self.asked.append(json.loads(Payload))
        body = self._answers.pop(0)
        answer: dict[str, Any] = {"Payload": _Body(json.dumps(body).encode())}
        return {**answer, "FunctionError": "Unhandled"} if self._failed else answer


class _Body:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self) -> bytes:
        return self._data


class _Clients:
    def __init__(self, function: _Function, outputs: list[dict[str, str]]) -> None:
        self._function = function
        self._outputs = outputs

    def get_client(self, service: str) -> Any:
        return self._function if service == "lambda" else self

    def describe_stacks(self, *, StackName: str) -> dict[str, Any]:
        assert StackName == "tessera-dev-data"
        return {"Stacks": [{"Outputs": self._outputs}]}


def run_with(fake: AwsAnswers, function: _Function, *, outputs: list[dict[str, str]] | None = None) -> int:
    given = [{"OutputKey": "OwnerRecoverFunctionAB12", "OutputValue": "recover-it"}] if outputs is None else outputs
    clients = _Clients(function, given)
    return run(Account(make_account(fake).deployment, clients, clients), reads_results=True)


def test_pages_are_asked_for_until_the_last_one(fake: AwsAnswers, capsys: pytest.CaptureFixture[str]) -> None:
    nothing: dict[str, Any] = {"findings": []}
    function = _Function(
        {"digest": "d"},
        {"models": 1, "files": 2, **nothing},
        {"slides": 200, "next": "x", **nothing},
        {"slides": 7, "next": None, **nothing},
        {"jobs": 3, "results": 5, "restarted": 1, "next": None, **nothing},
    )
    assert run_with(fake, function) == 0
    assert function.asked == [
        {"count_records": {}},
        {"recover_models": {}},
        {"recover_slides": {}},
        {"recover_slides": {"after": "x"}},
        {"recover_jobs": {"reads_results": True}},
    ]
    assert "207 slides" in capsys.readouterr().out


def test_missing_objects_are_listed_and_change_the_exit_code(
    fake: AwsAnswers, capsys: pytest.CaptureFixture[str]
) -> None:
    finding = {"kind": "slide", "subject": "s", "part": "0", "problem": "missing"}
    done: dict[str, Any] = {"findings": [], "next": None}
    assert run_with(fake, _Function({}, done, {**done, "findings": [finding]}, done)) == 3
    assert "missing  slide s 0" in capsys.readouterr().out


def test_a_function_that_refuses_or_crashes_ends_the_recovery(fake: AwsAnswers) -> None:
    with pytest.raises(RecoveryRefused, match="The store did not answer"):
        run_with(fake, _Function({}, {"error": "The store did not answer."}))
    with pytest.raises(RecoveryRefused, match="out of memory"):
        run_with(fake, _Function({"errorMessage": "out of memory"}, failed=True))
    with pytest.raises(RecoveryRefused, match="deploy this release"):
        run_with(fake, _Function(), outputs=[])


# --- the script

KEY = "arn:aws:kms:eu-west-1:111122223333:key/k"
BACKUP = "arn:aws:rds:eu-west-1:111122223333:auto-backup:ab-x"


@pytest.fixture
def commands(tmp_path: Path) -> dict[str, str]:
    """Stand-ins for three commands, which write down how they were called; that of AWS answers."""
    for name in ("cdk", "python"):
        command = tmp_path / name
        command.write_text(
            f'#!/bin/sh\necho "{name} $*" >> {tmp_path}/calls\n[ ! -e {tmp_path}/code-{name} ]'
            f" || exit $(cat {tmp_path}/code-{name})\n"
        )
        command.chmod(0o755)
    aws = tmp_path / "aws"
    backup = base64.b64encode(f"{BACKUP}\t2026-11-30T12:00:00Z".encode()).decode()
    aws.write_text(
        '#!/bin/sh\ncase "$*" in\n'
        "*SlidesBucket*) echo kept-slides;; *ResultsBucket*) echo kept-results;; *ModelsBucket*) echo kept-models;;\n"
        f"*KeyArn*) echo {KEY};;\n"
        f"*automated-backups*) [ -e {tmp_path}/no-backup ] && echo None None || echo {backup} | base64 -d;;\nesac\n"
    )
    aws.chmod(0o755)
    return {"CDK": str(tmp_path / "cdk"), "PYTHON": str(tmp_path / "python"), "AWS": str(aws)}


def restore(commands: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", ROOT / "scripts/restore.sh", *arguments],
        env={**os.environ, **commands},
        capture_output=True,
        text=True,
        check=False,
    )


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []


def test_records_are_right_before_anything_reads_them(tmp_path: Path, commands: dict[str, str]) -> None:
    done = restore(commands, "prod", "prodb", "-c", "preset=prod", "-c", f"region={THERE}")
    assert done.returncode == 0, done.stderr
    context = (
        f"-c environment=prodb -c preset=prod -c region={THERE}"
        f" -c adopted_buckets=kept-slides,kept-results,kept-models -c adopted_key_arn={KEY} -c restored_from={BACKUP}"
    )
    assert calls(tmp_path) == [
        f"cdk deploy --require-approval never {context} tessera-prodb-network tessera-prodb-data",
        f"python -m tools.account.recovering {context}",
        f"cdk deploy --require-approval never {context} --all",
    ]
    assert "2026-11-30T12:00:00Z" in done.stdout


@pytest.mark.parametrize(("code", "deployments"), [(1, 1), (3, 2)])
def test_missing_objects_do_not_hold_up_the_rest_and_a_failure_does(
    tmp_path: Path, commands: dict[str, str], code: int, deployments: int
) -> None:
    (tmp_path / "code-python").write_text(str(code))
    done = restore(commands, "prod", "prodb", "-c", f"region={THERE}")
    assert done.returncode == code
    assert sum(call.startswith("cdk deploy") for call in calls(tmp_path)) == deployments


def test_without_a_backup_or_a_region_nothing_begins(tmp_path: Path, commands: dict[str, str]) -> None:
    (tmp_path / "no-backup").touch()
    done = restore(commands, "prod", "prodb", "-c", f"region={THERE}")
    assert (done.returncode, "no replicated backup" in done.stderr) == (1, True)
    assert restore(commands, "prod", "prodb").returncode == 2
    assert restore(commands, "prod").returncode == 2
    assert calls(tmp_path) == []
