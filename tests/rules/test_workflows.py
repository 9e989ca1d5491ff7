"""GitHub's workflows: what they run exists, and those that may act on AWS run nothing that nobody has approved."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
DEPLOY = ROOT / ".github/workflows/deploy.yml"
GUIDE = (ROOT / "docs/how-to/deploy-from-github.md").read_text()
JOBS: Mapping[str, Any] = yaml.safe_load(DEPLOY.read_text())["jobs"]
#: A commit, which unlike a tag nobody can move, and the version that it is.
PINNED = re.compile(r"uses: [\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def steps_of(job: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from job["steps"]


def commands_of(job: Mapping[str, Any]) -> str:
    return "\n".join(step.get("run", "") for step in steps_of(job))


def loose_actions(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if "uses:" in line and not PINNED.search(line)]


def inserted_into_commands(jobs: Mapping[str, Any]) -> list[str]:
    """Return the commands into which GitHub writes a value before a shell reads them: whoever sets it runs code."""
    return [step["run"] for job in jobs.values() for step in steps_of(job) if "${{" in step.get("run", "")]


@pytest.mark.parametrize(
    "line", ["- uses: actions/checkout@v4", f"- uses: a/b@{'0' * 40}", "- uses: a/b@main # v1.0.0"]
)
def test_the_rule_finds_an_action_that_can_be_moved(line: str) -> None:
    assert loose_actions(line)
    assert not loose_actions(f"- uses: a/b@{'0' * 40} # v1.0.0; what for")


def test_the_rule_finds_a_value_in_a_command() -> None:
    assert inserted_into_commands({"job": {"steps": [{"run": "echo ${{ github.head_ref }}"}]}})


def test_the_workflow_that_deploys_pins_its_actions_by_commit() -> None:
    assert loose_actions(DEPLOY.read_text()) == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_what_a_workflow_runs_exists(workflow: Path) -> None:
    jobs: Mapping[str, Any] = yaml.safe_load(workflow.read_text())["jobs"]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = "\n".join(map(commands_of, jobs.values()))
    assert {name for name in re.findall(r"^make ([a-z-]+)", commands, re.MULTILINE) if name not in targets} == set()
    assert {name for name in re.findall(r"\b(scripts/\w+\.sh)", commands) if not (ROOT / name).is_file()} == set()


def test_no_value_of_others_gets_into_a_command() -> None:
    assert inserted_into_commands(JOBS) == []


def test_only_two_jobs_can_sign_in_to_aws_and_neither_before_the_checks() -> None:
    assert yaml.safe_load(DEPLOY.read_text())["permissions"] == {"contents": "read"}
    signing = {name for name, job in JOBS.items() if job.get("permissions", {}).get("id-token")}
    assert signing == {"diff", "deploy"}
    assert {JOBS[name]["needs"] for name in signing} == {"check"}
    assert all("secrets." not in json.dumps(job) for name, job in JOBS.items() if name not in signing)


def test_the_job_that_comments_runs_no_code_of_the_pull_request() -> None:
    diff = JOBS["diff"]
    (checkout,) = [step for step in steps_of(diff) if step.get("uses", "").startswith("actions/checkout@")]
    assert checkout["with"]["ref"] == "${{ github.event.pull_request.base.sha }}"
    assert "npm ci --prefix tools --ignore-scripts" in commands_of(diff)
    assert "--app" in commands_of(diff)  # the templates that are there: cdk.json's app is not started
    assert "--method template" in commands_of(diff)  # a change set would need the role that deploys
    assert "github.event.pull_request.head.repo.full_name == github.repository" in diff["if"]


def test_a_deployment_asks_nobody_and_is_never_cut_off() -> None:
    deploy = JOBS["deploy"]
    assert 'make deploy APPROVAL=never CONTEXT="$CONTEXT"' in commands_of(deploy)
    assert deploy["concurrency"]["cancel-in-progress"] is False
    assert deploy["environment"] in deploy["concurrency"]["group"]
    (signing,) = [step for step in steps_of(deploy) if "configure-aws-credentials" in step.get("uses", "")]
    # A session of the default hour ends before the first deployment does; the role must allow the longer one.
    assert signing["with"]["role-duration-seconds"] == deploy["timeout-minutes"] * 60
    assert f"--max-session-duration {signing['with']['role-duration-seconds']}" in GUIDE


def test_the_guide_explains_each_variable_and_secret() -> None:
    used = set(re.findall(r"\b(?:vars|secrets)\.(\w+)", DEPLOY.read_text()))
    assert used == set(re.findall(r"^\| `(\w+)` \|", GUIDE, re.MULTILINE))


def test_the_roles_trust_one_repository_and_no_pattern() -> None:
    policies = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)]
    trusts = [one for policy in policies for one in policy["Statement"] if "Principal" in one]
    assert len(trusts) == 2
    for trust in trusts:
        assert trust["Action"] == "sts:AssumeRoleWithWebIdentity"
        assert list(trust["Condition"]) == ["StringEquals"]
        stated = {key.rpartition(":")[2]: value for key, value in trust["Condition"]["StringEquals"].items()}
        assert stated["aud"] == "sts.amazonaws.com"
        assert "*" not in stated["sub"]
        assert stated["sub"].endswith((":environment:dev", ":pull_request"))
    granted = [one for policy in policies for one in policy["Statement"] if "Resource" in one]
    assert {one["Action"] for one in granted} == {"sts:AssumeRole"}
    resources = [resource for one in granted for resource in one["Resource"]]
    assert all(re.search(r":role/cdk-hnb659fds-[a-z-]+-role-\d{12}-", resource) for resource in resources)
