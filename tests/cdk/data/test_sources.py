"""The role that reads customers' buckets, and who may begin sessions of it."""

from __future__ import annotations

import json

from tests.cdk.policies import Statement, statements
from tests.cdk.templates import Templates, synthesized

ROLE = "data/Sources/Role/Resource"
#: Constructs that read slides; the parts of their roles' paths.
READERS = ("functions/api", "functions/inspect", "functions/plan", "functions/tiles", "gpuworker", "heavyworker")


def rights(templates: Templates) -> list[Statement]:
    return [one for one in statements(templates) if one.path == "data/Sources/Role/DefaultPolicy/Resource"]


def test_the_role_for_sources_reads_objects_of_the_named_buckets_and_does_nothing_else(furnished: Templates) -> None:
    reading, decrypting = rights(furnished)
    assert (reading.actions, decrypting.actions) == (["s3:GetObject"], ["kms:Decrypt"])
    [resource] = reading.resources
    assert resource == "arn:aws:s3:::lab-slides/*"
    assert decrypting.resources == ["arn:aws:kms:us-east-1:111122223333:key/x"]


def test_roles_of_this_installation_alone_assume_the_role_for_sources(furnished: Templates) -> None:
    [trust] = [one for one in statements(furnished) if one.path == ROLE and one.where == "AssumeRolePolicyDocument"]
    assert set(trust.actions) == {"sts:AssumeRole", "sts:TagSession"}
    [principal] = trust.principals
    assert ":root" in principal
    [(kind, condition)] = trust.said["Condition"].items()
    assert kind == "ArnLike"
    assert list(condition) == ["aws:PrincipalArn"]
    assert json.dumps(condition).endswith(':role/tessera-prod-*"]]}}')


def test_nobody_but_the_role_for_sources_reads_customers_buckets(furnished: Templates) -> None:
    found = [one for one in statements(furnished) if one.allows and "lab-slides" in json.dumps(one.resources)]
    assert {one.path for one in found} == {"data/Sources/Role/DefaultPolicy/Resource"}


def test_who_reads_slides_begins_sessions_of_the_role_for_sources_and_nobody_else_does(furnished: Templates) -> None:
    found = [one for one in statements(furnished) if "sts:AssumeRole" in one.actions and one.where == "PolicyDocument"]
    for one in found:
        assert "SourcesRole" in json.dumps(one.resources), str(one)
    paths = [one.path.lower() for one in found]
    assert len(paths) == len(READERS)
    assert [reader for reader in READERS if not any(reader in path for path in paths)] == []


def test_without_named_buckets_the_role_reads_nothing_and_keeps_its_name(dev: Templates) -> None:
    assert rights(dev) == []
    assert ROLE in dev.by_path()
    named = synthesized(environment="dev", allowed_buckets="lab-slides")
    [reading] = rights(named)
    assert "lab-slides" in json.dumps(reading.resources)
