"""Postgres and its proxy: who reaches them and how, how many at once, what is kept, what is logged."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from cdk.capacity import INSTANCE_TYPES
from cdk.data.database import PARAMETERS
from local.postgres import SUPERUSER
from tests.cdk.templates import Templates
from tests.postgres import PostgresServer

PORT = 5432


def instance(templates: Templates) -> dict[str, Any]:
    return templates.resource("AWS::RDS::DBInstance", "data")["Properties"]


def proxy(templates: Templates) -> dict[str, Any]:
    return templates.resource("AWS::RDS::DBProxy", "data")["Properties"]


def parameters(templates: Templates) -> dict[str, str]:
    return templates.resource("AWS::RDS::DBParameterGroup", "data")["Properties"]["Parameters"]


def subnets(ids: list[dict[str, Any]]) -> set[str]:
    """Names of the outputs by which subnets of the network stack are told."""
    return {id["Fn::GetStackOutput"]["OutputName"] for id in ids}


def logical(value: dict[str, Any]) -> str:
    """Id of the security group that a reference means, in this stack or the network's."""
    return json.dumps(value)


def let_in(templates: Templates, group: str) -> list[dict[str, Any]]:
    """Ingress rules of a security group of the data stack, by the path of its construct."""
    id = next(
        id
        for id, found in templates.resources("AWS::EC2::SecurityGroup", "data").items()
        if templates.short(found["Metadata"]["aws:cdk:path"]) == f"data/Database/{group}/Resource"
    )
    rules = templates.resources("AWS::EC2::SecurityGroupIngress", "data").values()
    return [r["Properties"] for r in rules if r["Properties"]["GroupId"] == {"Fn::GetAtt": [id, "GroupId"]}]


def test_the_database_is_private_and_has_no_way_out(templates: Templates) -> None:
    assert instance(templates)["PubliclyAccessible"] is False
    group = templates.resource("AWS::RDS::DBSubnetGroup", "data")["Properties"]
    for found in (group["SubnetIds"], proxy(templates)["VpcSubnetIds"]):
        names = subnets(found)
        assert len(names) == len(templates.deployment.zones)
        assert all("isolated" in name for name in names)


def test_only_the_proxy_and_the_owners_functions_reach_the_database(templates: Templates) -> None:
    sources = [logical(rule["SourceSecurityGroupId"]) for rule in let_in(templates, "SecurityGroup")]
    assert len(sources) == 2
    assert sum("DatabaseProxySecurityGroup" in source for source in sources) == 1
    assert sum("DatabaseOwnerClients" in source for source in sources) == 1


def test_the_proxy_lets_in_who_may_reach_the_database_and_its_own_port_only(templates: Templates) -> None:
    [rule] = let_in(templates, "ProxySecurityGroup")
    assert "DatabaseClients" in logical(rule["SourceSecurityGroupId"])
    assert (rule["FromPort"], rule["ToPort"], rule["IpProtocol"]) == (PORT, PORT, "tcp")


def test_database_and_proxy_open_no_connection_of_their_own_accord(templates: Templates) -> None:
    for name in ("SecurityGroup", "ProxySecurityGroup"):
        group = templates.by_path()[f"data/Database/{name}/Resource"]["Properties"]
        assert "0.0.0.0/0" not in json.dumps(group.get("SecurityGroupEgress", []))
    # A rule of its own takes the place of the one that allows all.
    leaving = templates.resource("AWS::EC2::SecurityGroupEgress", "data")["Properties"]
    assert "DatabaseProxySecurityGroup" in logical(leaving["GroupId"])
    assert "DatabaseSecurityGroup" in logical(leaving["DestinationSecurityGroupId"])


def test_everybody_speaks_TLS(templates: Templates) -> None:
    assert proxy(templates)["RequireTLS"] is True
    assert parameters(templates)["rds.force_ssl"] == "1"


def test_processes_sign_in_by_IAM_all_the_way_and_no_password_is_stored_F50(templates: Templates) -> None:
    assert instance(templates)["EnableIAMDatabaseAuthentication"] is True
    assert proxy(templates)["DefaultAuthScheme"] == "IAM_AUTH"
    assert "Auth" not in proxy(templates)


def test_the_proxy_may_sign_in_as_the_two_roles_and_nobody_else_F50(templates: Templates) -> None:
    policy = templates.by_path()["data/Database/ProxyRole/DefaultPolicy/Resource"]["Properties"]["PolicyDocument"]
    [statement] = policy["Statement"]
    assert statement["Action"] == "rds-db:connect"
    assert {arn["Fn::Join"][1][-1] for arn in statement["Resource"]} == {"/tessera_api", "/tessera_system"}


def test_the_owners_password_is_kept_and_rotated_by_RDS_under_our_key(templates: Templates) -> None:
    found = instance(templates)
    [key] = templates.resources("AWS::KMS::Key", "data")
    assert found["ManageMasterUserPassword"] is True
    assert "MasterUserPassword" not in found
    assert found["MasterUserSecret"]["KmsKeyId"] == found["KmsKeyId"] == {"Fn::GetAtt": [key, "Arn"]}
    assert found["StorageEncrypted"] is True
    assert templates.resources("AWS::SecretsManager::Secret", "data") == {}


@pytest.mark.parametrize("name", sorted(INSTANCE_TYPES))
def test_connections_follow_processors_not_memory_F49(name: str) -> None:
    known = INSTANCE_TYPES[name]
    connections = known.max_connections * known.proxy_percent / 100
    assert 10 <= connections / known.processors <= 20


def test_the_proxy_opens_no_more_and_who_waits_is_told_soon_F49(templates: Templates) -> None:
    pool = templates.resource("AWS::RDS::DBProxyTargetGroup", "data")["Properties"]["ConnectionPoolConfigurationInfo"]
    known = INSTANCE_TYPES[templates.deployment.database_instance_type]
    assert pool["MaxConnectionsPercent"] == known.proxy_percent < 100
    assert 5 <= pool["ConnectionBorrowTimeout"] <= 10


def test_clients_hang_up_before_the_proxy_does(templates: Templates) -> None:
    assert proxy(templates)["IdleClientTimeout"] > 600


def test_production_survives_a_zone_and_thirty_days_of_mistakes(prod: Templates) -> None:
    assert instance(prod)["MultiAZ"] is True
    assert instance(prod)["BackupRetentionPeriod"] == 30
    assert instance(prod)["DeletionProtection"] is True
    assert instance(prod)["DeleteAutomatedBackups"] is False
    database = prod.resource("AWS::RDS::DBInstance", "data")
    assert database["DeletionPolicy"] == database["UpdateReplacePolicy"] == "Snapshot"


def test_storage_grows_by_itself(templates: Templates) -> None:
    assert instance(templates)["StorageType"] == "gp3"
    assert instance(templates)["MaxAllocatedStorage"] > int(instance(templates)["AllocatedStorage"])


def test_slow_statements_are_logged_and_no_value_of_theirs(templates: Templates) -> None:
    assert int(parameters(templates)["log_min_duration_statement"]) > 0
    assert parameters(templates)["log_error_verbosity"] == "terse"


def test_the_log_holds_statements_and_no_names_of_patients(postgres: PostgresServer) -> None:
    verbosity = PARAMETERS["log_error_verbosity"]
    owner = postgres.empty_database()
    with psycopg.connect(postgres.server.make_dsn(SUPERUSER, owner.rpartition("/")[2]), autocommit=True) as connection:
        connection.execute("SET log_min_duration_statement = 0")  # as if all were slow
        connection.execute(f"SET log_error_verbosity = {verbosity}".encode())
        connection.execute("CREATE TABLE slides (name text PRIMARY KEY)")
        connection.execute("INSERT INTO slides VALUES (%s)", ("Jane Doe 1970.svs",))
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO slides VALUES (%s)", ("Jane Doe 1970.svs",))
    log = postgres.server.log.read_text()
    assert "INSERT INTO slides VALUES ($1)" in log
    assert "duplicate key value" in log
    assert "Jane Doe" not in log


def test_how_the_database_does_is_measured(templates: Templates) -> None:
    assert instance(templates)["EnablePerformanceInsights"] is True
    assert instance(templates)["MonitoringInterval"] == 60


def test_logs_of_database_and_proxy_go_to_groups_of_ours_that_exist_before_them(templates: Templates) -> None:
    groups = templates.resources("AWS::Logs::LogGroup", "data")
    ids = {group["Properties"].get("LogGroupName"): id for id, group in groups.items()}
    name = instance(templates)["DBInstanceIdentifier"]
    database = templates.resource("AWS::RDS::DBInstance", "data")
    for export in instance(templates)["EnableCloudwatchLogsExports"]:
        assert ids[f"/aws/rds/instance/{name}/{export}"] in database["DependsOn"]
    behind = templates.resource("AWS::RDS::DBProxy", "data")
    assert ids[f"/aws/rds/proxy/{proxy(templates)['DBProxyName']}"] in behind["DependsOn"]
