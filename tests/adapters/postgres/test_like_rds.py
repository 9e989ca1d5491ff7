"""What RDS has and other servers have not: the role rds_iam, whose members sign in by token."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import boto3
import psycopg
import pytest
from moto import mock_aws
from psycopg.conninfo import conninfo_to_dict

from adapters.aws_clients import AwsClients
from adapters.postgres.owner.connection import add_password, make_owner_dsn
from adapters.postgres.owner.migrate import migrate
from adapters.settings.processes import OwnerSettings
from local.postgres import OWNER, SUPERUSER, EmbeddedPostgres
from tests.adapters.postgres.tls_front import self_signed, tls_front

REGION = "eu-central-1"
DATABASE = "tessera"
PASSWORD = "word of the owner"


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example")


@pytest.fixture(scope="module")
def rds() -> Iterator[EmbeddedPostgres]:
    """A migrated server that has rds_iam, which the owner may grant, and knows the owner's password."""
    with tempfile.TemporaryDirectory(prefix="tessera-rds-") as folder:
        server = EmbeddedPostgres(Path(folder), durable=False)
        server.start()
        try:
            owner = server.create_database(DATABASE)
            as_superuser(
                server,
                "CREATE ROLE rds_iam",
                f"GRANT rds_iam TO {OWNER} WITH ADMIN OPTION",
            )
            migrate(owner)
            as_superuser(server, f"ALTER ROLE {OWNER} PASSWORD '{PASSWORD}'")
            yield server
        finally:
            server.stop()


def as_superuser(server: EmbeddedPostgres, *statements: str) -> list[tuple[object, ...]]:
    with psycopg.connect(server.make_dsn(SUPERUSER, DATABASE), autocommit=True) as connection:
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def ask_for(server: EmbeddedPostgres, method: str, *, of: str) -> None:
    """How `of`, a role or the members of one, must sign in from now on."""
    [(file,)] = as_superuser(server, "SHOW hba_file")
    Path(str(file)).write_text(f"host all {SUPERUSER} all trust\nhost all {of} all {method}\nhost all all all trust\n")
    before = as_superuser(server, "SELECT pg_conf_load_time()")
    as_superuser(server, "SELECT pg_reload_conf()")
    for _ in range(500):
        if as_superuser(server, "SELECT pg_conf_load_time()") != before:
            return
        time.sleep(0.01)
    raise AssertionError("the server did not read its rules again")


def owner_at(server: EmbeddedPostgres) -> str:
    return f"host=127.0.0.1 port={server.port} dbname={DATABASE} user={OWNER}"


@pytest.mark.parametrize("role", ["tessera_api", "tessera_system"])
def test_processes_sign_in_by_token_F50(rds: EmbeddedPostgres, role: str) -> None:
    granted = as_superuser(
        rds,
        f"""
        SELECT grantor FROM pg_auth_members
        WHERE roleid = 'rds_iam'::regrole AND member = '{role}'::regrole AND inherit_option
        """,
    )
    assert len(granted) == 1


def test_the_owner_signs_in_with_its_password(rds: EmbeddedPostgres) -> None:
    ask_for(rds, "scram-sha-256", of=OWNER)
    opened = add_password(owner_at(rds), PASSWORD, region=REGION)
    assert conninfo_to_dict(opened)["password"] == PASSWORD
    with psycopg.connect(opened) as connection:
        assert connection.execute("SELECT current_user").fetchone() == (OWNER,)


def test_a_wrong_password_is_an_error_and_no_reason_to_try_a_token(rds: EmbeddedPostgres) -> None:
    ask_for(rds, "scram-sha-256", of=OWNER)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        add_password(owner_at(rds), "wrong", region=REGION)


def test_an_owner_who_counts_as_a_member_of_rds_iam_sends_a_token_and_never_its_password(rds: EmbeddedPostgres) -> None:
    # Whoever makes a role is a member of it, and so of what that role is a member of. RDS asks members for a token
    # by PAM, which on the wire is the method "password".
    ask_for(rds, "password", of="+tessera_api")
    opened = conninfo_to_dict(add_password(owner_at(rds), PASSWORD, region=REGION))
    assert PASSWORD not in str(opened.values())
    assert str(opened["password"]).startswith(f"127.0.0.1:{rds.port}/?")
    assert f"DBUser={OWNER}" in str(opened["password"])


def test_the_password_comes_out_of_the_secret_that_RDS_keeps(rds: EmbeddedPostgres, tmp_path: Path) -> None:
    ask_for(rds, "scram-sha-256", of=OWNER)
    with mock_aws(), tls_front(self_signed(tmp_path, "instance.example"), rds.port) as port:
        secrets = boto3.client("secretsmanager", region_name=REGION)
        kept = json.dumps({"username": OWNER, "password": PASSWORD})
        arn = secrets.create_secret(Name="master", SecretString=kept)["ARN"]
        settings = OwnerSettings(
            region=REGION, database_dsn=f"host=127.0.0.1 port={port} dbname={DATABASE}", owner_secret=arn
        )
        with psycopg.connect(make_owner_dsn(settings, AwsClients(REGION))) as connection:
            assert connection.execute("SELECT current_user").fetchone() == (OWNER,)


def test_the_owner_speaks_to_an_instance_by_TLS_only(rds: EmbeddedPostgres) -> None:
    with mock_aws():
        secrets = boto3.client("secretsmanager", region_name=REGION)
        arn = secrets.create_secret(Name="master", SecretString='{"username": "x", "password": "y"}')["ARN"]
        settings = OwnerSettings(region=REGION, database_dsn=owner_at(rds), owner_secret=arn)
        with pytest.raises(psycopg.OperationalError, match="does not support SSL"):
            make_owner_dsn(settings, AwsClients(REGION))
