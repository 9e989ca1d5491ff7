"""Two tenants with an admin, an analyst and a key each, and an operator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

import psycopg
import pytest

from adapters.postgres.administration.directory import PostgresDirectory
from adapters.postgres.connections import Connections
from adapters.postgres.identities import PostgresIdentities
from adapters.postgres.owner.administration import Administration
from adapters.postgres.owner.seeding import SeedUser, split_key
from local.postgres import OWNER
from tests.postgres import Database
from wsi.records.identity import Actor, Role

ISSUER = "https://issuer.example"


@dataclass
class Administered:
    database: Database
    owner: Administration = field(init=False)
    directory: PostgresDirectory = field(init=False)
    identities: PostgresIdentities = field(init=False)
    tenants: dict[str, UUID] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.owner = Administration(lambda: self.database.server.make_dsn(OWNER, self.database.name))
        self.connections = Connections(self.database.api_dsn)
        self.directory = PostgresDirectory(self.connections)
        self.identities = PostgresIdentities(self.connections)
        for name in ("hospital", "rival"):
            self.tenants[name] = self.owner.add_tenant(name)
            for role in (Role.ADMIN, Role.ANALYST):
                self.add_person(name, f"{role}@{name}.example", role)
        self.owner.add_operator(ISSUER, "operator", "operator@installation.example")

    def add_person(self, tenant: str, email: str, role: Role) -> UUID:
        return self.owner.add_user(tenant, SeedUser(issuer=ISSUER, subject=email, role=role, email=email))

    def person(self, email: str) -> Actor:
        found = self.identities.find_user(ISSUER, email)
        assert found is not None
        return found

    def key(self, key: str) -> Actor | None:
        return self.identities.find_api_key(*split_key(key))

    @property
    def admin(self) -> Actor:
        return self.person("admin@hospital.example")

    @property
    def operator(self) -> Actor:
        return self.person("operator")

    def audited(self, tenant: str) -> list[tuple[str, str, str]]:
        with psycopg.connect(self.database.api_dsn) as connection:
            connection.execute("SELECT tessera.enter(%s)", (self.tenants[tenant],))
            return connection.execute("SELECT actor, action, subject FROM audit_log ORDER BY seq").fetchall()


def id_of(actor: Actor) -> UUID:
    return UUID(actor.subject.partition(":")[2])


@pytest.fixture
def administered(database: Database) -> Iterator[Administered]:
    made = Administered(database)
    yield made
    made.connections.close()
