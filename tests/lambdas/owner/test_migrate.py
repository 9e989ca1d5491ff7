"""What CloudFormation calls before new code runs."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.resources import files

import psycopg
import pytest
from pydantic import ValidationError

import adapters.migrations.versions
from lambdas import migrate
from lambdas.migrate import make_handler

NEWEST = max(
    re.findall(r'^revision = "(\d+)"$', entry.read_text(), re.MULTILINE)[0]
    for entry in files(adapters.migrations.versions).iterdir()
    if entry.name.startswith("r")
)


def test_an_empty_database_comes_to_the_newest_schema_and_again_to_the_same(postgres):
    owner = postgres.empty_database()
    handler = make_handler(lambda: owner)
    assert [handler({}, None) for _ in range(2)] == [{"revision": NEWEST}] * 2
    with psycopg.connect(owner) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (NEWEST,)


def test_a_migration_that_fails_fails_the_deployment_and_leaves_nothing_F52(postgres):
    owner = postgres.empty_database()
    with psycopg.connect(owner) as connection:
        connection.execute("CREATE TABLE jobs (id int)")
    with pytest.raises(Exception, match='relation "jobs" already exists'):
        make_handler(lambda: owner)({}, None)
    with psycopg.connect(owner) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert ("tenants",) not in tables


def test_it_names_the_setting_that_it_lacks(monkeypatch):
    monkeypatch.delenv("TESSERA_DATABASE_DSN", raising=False)
    with pytest.raises(ValidationError, match="database_dsn"):
        migrate.handler({}, None)


def test_its_asset_needs_neither_the_domain_nor_the_api():
    """Else every commit would change the asset, and every deployment would run it."""
    loaded = "import sys, lambdas.migrate; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    packages = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    assert {"wsi", "aws_lambda_powertools", "numpy"} & set(packages) == set()
