"""Who may do what: every policy of every template. Facts without exception here; wildcards in the table of reasons."""

from __future__ import annotations

import json
import re

import pytest

from tests.cdk.data import test_sources as sources
from tests.cdk.findings import found_in_policies, unacknowledged
from tests.cdk.policies import Statement, statements
from tests.cdk.templates import Templates

#: What the account that owns a key must keep, or nobody could ever change the key's policy again.
KEYS_OF_THE_ACCOUNT = ("AWS::KMS::Key", "kms:*")


@pytest.fixture(params=["dev", "prod", "furnished"])
def templates(request: pytest.FixtureRequest) -> Templates:
    return request.getfixturevalue(request.param)


def test_no_policy_escapes_the_facts_below(templates: Templates) -> None:
    """They go through resources by path, and find policies as objects."""
    resources = [resource for _, resource, _ in templates.all_resources()]
    assert len(templates.by_path()) == len(resources)
    assert [resource for resource in resources if '\\"Effect' in json.dumps(resource)] == []


def test_no_policy_allows_all_actions_of_a_service(templates: Templates) -> None:
    found = [
        s for s in statements(templates) if s.allows and any(re.fullmatch(r"(\w[\w-]*:)?\*", a) for a in s.actions)
    ]
    assert [str(s) for s in found if not _is_the_accounts_own_key(s)] == []


def test_wildcards_in_actions_and_resources_are_in_the_table_of_reasons(templates: Templates) -> None:
    found = unacknowledged(found_in_policies(templates))
    assert not found, "\n".join(found)


def test_no_policy_allows_by_exclusion(templates: Templates) -> None:
    excluding = {"NotAction", "NotResource", "NotPrincipal"}
    assert [str(s) for s in statements(templates) if s.allows and excluding & s.said.keys()] == []


def test_nobody_is_let_in_without_a_name(templates: Templates) -> None:
    """An endpoint's policy names no caller: what the caller's own role allows still decides."""
    found = [s for s in statements(templates) if s.allows and {"*", "AWS *"} & set(s.principals)]
    assert [str(s) for s in found if "Condition" not in s.said and s.type != "AWS::EC2::VPCEndpoint"] == []


def test_roles_are_assumed_by_services_of_aws_alone(templates: Templates) -> None:
    """But for the role for sources, which has facts of its own."""
    trusts = [s for s in statements(templates) if s.where == "AssumeRolePolicyDocument"]
    assert trusts
    assert [
        str(s)
        for s in trusts
        if s.path != sources.ROLE
        and not all(re.fullmatch(r"Service [a-z0-9.-]+\.amazonaws\.com", p) for p in s.principals)
    ] == []


def test_no_role_has_a_managed_policy_for_everything(templates: Templates) -> None:
    roles = templates.resources("AWS::IAM::Role")
    attached = {id: json.dumps(role["Properties"].get("ManagedPolicyArns", [])) for id, role in roles.items()}
    assert [
        id for id, arns in attached.items() if re.search(r"AdministratorAccess|PowerUserAccess|FullAccess", arns)
    ] == []


def _is_the_accounts_own_key(statement: Statement) -> bool:
    owner = re.compile(r'AWS .*arn:[^"]*:iam::.*"AWS::AccountId".*:root')
    return (statement.type, *statement.actions) == KEYS_OF_THE_ACCOUNT and all(map(owner.match, statement.principals))
