"""A revision expands the schema, so that the release before it works on while functions and workers are replaced, and
after a rollback. It contracts what no such release uses any more, and says so:

    CONTRACTS = {"slides.choice": "0.3.0"}  # the last release whose code used it
"""

from __future__ import annotations

import importlib
import itertools
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

import adapters.migrations
import adapters.migrations.versions
from tests.adapters.postgres.schema_shape import SchemaShape, list_contractions, read_shape
from tests.postgres import Database, PostgresServer

CHANGELOG = (Path(__file__).parents[3] / "CHANGELOG.md").read_text()
MODULES = sorted(entry.name[:-3] for entry in files(adapters.migrations.versions).iterdir() if entry.name[0] == "r")
#: Older than the first release, so no code of a release ran on the schema before it.
OLDER_THAN_RELEASES = {"r0006_notices"}

Version = tuple[int, ...]


def parse_version(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))


def list_releases(changelog: str) -> list[Version]:
    """The releases that exist: those whose section is not called unreleased."""
    return [parse_version(found) for found in re.findall(r"^## (\d+\.\d+\.\d+)(?! \(unreleased\))", changelog, re.M)]


def list_faults(contractions: Mapping[str, str], declared: Mapping[str, str], releases: list[Version]) -> Iterator[str]:
    """What is wrong with a revision, a sentence each."""
    for name, sentence in contractions.items():
        if name not in declared:
            yield f"{name} {sentence}, and CONTRACTS does not name it."
    for name, last in declared.items():
        if name not in contractions:
            yield f"{name} is in CONTRACTS, and this revision does not contract it."
        elif parse_version(last) not in releases:
            yield f"{name} is said to be used last by {last}, which is no release."
        elif not any(release > parse_version(last) for release in releases):
            yield f"{name} is used by the newest release, {last}: contract it in the release after the next."


@pytest.fixture(scope="module")
def shapes(postgres: PostgresServer) -> dict[str, SchemaShape]:
    """The schema after each revision, by its module."""
    owner = postgres.empty_database()
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(owner), poolclass=NullPool)
    config = Config()
    config.set_main_option("script_location", str(Path(adapters.migrations.__file__).parent))
    found: dict[str, SchemaShape] = {}
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        for module in MODULES:
            command.upgrade(config, module[1:5])
            connection.commit()
            found[module] = read_shape(owner)
    return found


@pytest.mark.parametrize(("before", "after"), list(itertools.pairwise(MODULES)))
def test_a_revision_contracts_only_what_no_release_uses_any_more(
    shapes: dict[str, SchemaShape], before: str, after: str
) -> None:
    declared = getattr(importlib.import_module(f"adapters.migrations.versions.{after}"), "CONTRACTS", {})
    contractions = list_contractions(shapes[before], shapes[after])
    if after in OLDER_THAN_RELEASES:
        assert contractions
    else:
        assert list(list_faults(contractions, declared, list_releases(CHANGELOG))) == []


def test_the_shape_holds_columns_functions_and_grants(shapes: dict[str, SchemaShape]) -> None:
    newest = shapes[MODULES[-1]]
    assert len(newest.columns) > 100
    assert any(signature.startswith("tessera.names_of(") for signature in newest.functions)
    assert {"tessera_api SELECT slides", "tessera_api EXECUTE names_of"} <= newest.grants


# --- the rule, checked: what somebody could write into the next revision


@pytest.mark.parametrize(
    ("statement", "name", "sentence"),
    [
        ("ALTER TABLE users DROP COLUMN email", "users.email", "is dropped or renamed"),
        ("ALTER TABLE users RENAME email TO mail", "users.email", "is dropped or renamed"),
        ("DROP TABLE idempotency_keys CASCADE", "idempotency_keys.key", "is dropped or renamed"),
        ("ALTER TABLE users RENAME TO people", "users.role", "is dropped or renamed"),
        ("ALTER TABLE slides ADD COLUMN lab text NOT NULL", "slides.lab", "is new, NOT NULL and has no default"),
        ("ALTER TABLE users ALTER email SET NOT NULL", "users.email", "becomes NOT NULL or loses its default"),
        ("ALTER TABLE jobs ALTER worker_seconds DROP DEFAULT", "jobs.worker_seconds", "becomes NOT NULL"),
        (
            "ALTER TABLE jobs ALTER worker_seconds TYPE numeric",
            "jobs.worker_seconds",
            "changes its type from double precision to numeric",
        ),
        ("DROP FUNCTION tessera.names_of(text[])", "tessera.names_of(text[])", "is dropped"),
        ("REVOKE UPDATE ON slides FROM tessera_system", "tessera_system UPDATE slides", "is revoked"),
    ],
)
def test_a_contraction_is_found(database: Database, statement: str, name: str, sentence: str) -> None:
    owner = database.server.make_dsn("tessera_owner", database.name)
    before = read_shape(owner)
    with psycopg.connect(owner) as connection:
        connection.execute(statement.encode())
    found = list_contractions(before, read_shape(owner))
    assert found[name].startswith(sentence)
    assert list(list_faults(found, {}, []))


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE labs (name text NOT NULL)",
        "ALTER TABLE slides ADD COLUMN lab text",
        "ALTER TABLE slides ADD COLUMN seen boolean NOT NULL DEFAULT false",
        "ALTER TABLE slides ALTER created_by DROP NOT NULL",
        "CREATE INDEX slides_by_lab ON slides (choice)",
        "GRANT SELECT ON users TO tessera_system",
    ],
)
def test_an_expansion_is_none(database: Database, statement: str) -> None:
    owner = database.server.make_dsn("tessera_owner", database.name)
    before = read_shape(owner)
    with psycopg.connect(owner) as connection:
        connection.execute(statement.encode())
    assert list_contractions(before, read_shape(owner)) == {}


RELEASES = [(0, 2, 0), (0, 3, 0)]
DROPPED = {"slides.choice": "is dropped or renamed"}


def test_a_declared_contraction_is_allowed_a_release_after_the_last_use() -> None:
    assert list(list_faults(DROPPED, {"slides.choice": "0.2.0"}, RELEASES)) == []


@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        ({}, "CONTRACTS does not name it"),
        ({"slides.choice": "0.3.0"}, "is used by the newest release"),
        ({"slides.choice": "0.2.9"}, "which is no release"),
        ({"slides.choice": "0.2.0", "slides.state": "0.2.0"}, "does not contract it"),
    ],
)
def test_any_other_declaration_is_refused(declared: dict[str, str], sentence: str) -> None:
    [fault] = list_faults(DROPPED, declared, RELEASES)
    assert sentence in fault


def test_the_section_of_the_next_release_is_no_release() -> None:
    assert list_releases("## 0.3.0 (unreleased)\n\n## 0.2.0\n\n## 0.1.0 – May 2026\n") == [(0, 2, 0), (0, 1, 0)]
