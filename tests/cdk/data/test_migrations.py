"""The schema is brought up to date while the data stack is deployed, and before anything else runs; operators have a
function of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.settings.functions import TIMEOUTS
from cdk.bundling import ROOT, AssetKind, copy_sources
from tests.cdk.templates import Templates


def function(templates: Templates, name: str) -> dict[str, Any]:
    found = templates.resources("AWS::Lambda::Function", "data").values()
    [one] = [f for f in found if f["Properties"]["Handler"] == f"lambdas.{name}.handler"]
    return one


def statements(templates: Templates, name: str) -> list[dict[str, Any]]:
    role = function(templates, name)["Properties"]["Role"]["Fn::GetAtt"][0]
    return [
        statement
        for policy in templates.resources("AWS::IAM::Policy", "data").values()
        if policy["Properties"]["Roles"] == [{"Ref": role}]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    ]


def trigger(templates: Templates) -> dict[str, Any]:
    return templates.resource("Custom::Trigger", "data")


def test_migrations_run_once_the_database_may_be_reached_F52(templates: Templates) -> None:
    after = trigger(templates)["DependsOn"]
    [database] = templates.resources("AWS::RDS::DBInstance", "data")
    rules = templates.resources("AWS::EC2::SecurityGroupIngress", "data")
    [door] = [id for id, rule in rules.items() if "DatabaseOwnerClients" in json.dumps(rule["Properties"])]
    assert {database, door} <= set(after)


def test_a_migration_that_fails_fails_the_deployment_F52(templates: Templates) -> None:
    assert trigger(templates)["Properties"]["InvocationType"] == "RequestResponse"


def test_the_deployment_waits_as_long_as_a_migration_may_take(templates: Templates) -> None:
    waits = int(trigger(templates)["Properties"]["Timeout"]) / 1000
    assert function(templates, "migrate")["Properties"]["Timeout"] == TIMEOUTS["migrate"] < waits
    provider = templates.resources("AWS::Lambda::Function", "data")[
        trigger(templates)["Properties"]["ServiceToken"]["Fn::GetAtt"][0]
    ]
    assert waits < provider["Properties"]["Timeout"]


def test_migrations_run_when_their_code_changes_F52(templates: Templates) -> None:
    asked = trigger(templates)["Properties"]
    version = templates.resources("AWS::Lambda::Version", "data")[asked["HandlerArn"]["Ref"]]
    migrate = templates.resources("AWS::Lambda::Function", "data")[version["Properties"]["FunctionName"]["Ref"]]
    assert migrate["Properties"]["Handler"] == "lambdas.migrate.handler"
    assert asked["ExecuteOnHandlerChange"] is True


def test_their_code_is_the_schema_and_what_runs_it_F52() -> None:
    inside = AssetKind.MIGRATIONS.value.packages
    assert "adapters/migrations" in inside
    assert [path for path in inside if path.startswith(("wsi", "lambdas/api"))] == []


def test_the_asset_holds_all_that_they_import(tmp_path: Path) -> None:
    copy_sources(AssetKind.MIGRATIONS, tmp_path)
    script = "import lambdas.migrate, sys; print(lambdas.migrate.__file__, 'wsi' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert ran.stdout.split() == [str(tmp_path / "lambdas/migrate.py"), "False"]
    revisions = {path.name for path in (ROOT / "adapters/migrations/versions").glob("*.py")}
    assert {path.name for path in (tmp_path / "adapters/migrations/versions").glob("*.py")} == revisions


@pytest.mark.parametrize("name", ["migrate", "administer", "operate", "recover"])
def test_the_owner_goes_past_the_proxy_with_a_password_that_only_its_functions_read(
    templates: Templates, name: str
) -> None:
    variables = function(templates, name)["Properties"]["Environment"]["Variables"]
    [database] = templates.resources("AWS::RDS::DBInstance", "data")
    assert {"Fn::GetAtt": [database, "Endpoint.Address"]} in variables["TESSERA_DATABASE_DSN"]["Fn::Join"][1]
    secret = {"Fn::GetAtt": [database, "MasterUserSecret.SecretArn"]}
    assert variables["TESSERA_OWNER_SECRET"] == secret
    read = [s for s in statements(templates, name) if s["Action"] == "secretsmanager:GetSecretValue"]
    assert [s["Resource"] for s in read] == [secret]


@pytest.mark.parametrize("name", ["migrate", "administer", "operate", "recover"])
def test_reading_the_password_includes_decrypting_it_F41(templates: Templates, name: str) -> None:
    [key] = templates.resources("AWS::KMS::Key", "data")
    [decrypt] = [s for s in statements(templates, name) if s["Action"] == "kms:Decrypt"]
    assert decrypt["Resource"] == {"Fn::GetAtt": [key, "Arn"]}
    via = f"secretsmanager.{templates.deployment.region}.amazonaws.com"
    assert decrypt["Condition"] == {"StringEquals": {"kms:ViaService": via}}


def test_no_other_role_reads_the_owners_password(templates: Templates) -> None:
    readers = [
        id for id, policy in templates.resources("AWS::IAM::Policy").items() if "MasterUserSecret" in json.dumps(policy)
    ]
    assert len(readers) == 4


@pytest.mark.parametrize("name", ["administer", "recover"])
def test_what_operators_call_is_invoked_by_IAM_alone_and_its_name_is_told(templates: Templates, name: str) -> None:
    outputs = templates.by_noun["data"]["Outputs"]
    [told] = [output["Value"]["Ref"] for key, output in outputs.items() if f"{name.title()}Function" in key]
    handler = templates.resources("AWS::Lambda::Function", "data")[told]["Properties"]["Handler"]
    assert handler == f"lambdas.{name}.handler"
    opened = [
        id
        for kind in ("AWS::Lambda::Permission", "AWS::Lambda::Url", "AWS::Lambda::EventSourceMapping")
        for id, found in templates.resources(kind).items()
        if told in json.dumps(found)
    ]
    assert opened == []
