"""The API on a real Postgres, with the function `operate` behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from adapters.postgres.administration.directory import PostgresDirectory
from adapters.postgres.connections import Connections
from adapters.postgres.identities import PostgresIdentities
from adapters.postgres.owner.administration import Administration
from adapters.postgres.owner.seeding import SeedUser, split_key
from adapters.postgres.tenant_ledger import PostgresTenantLedger
from lambdas import operate
from lambdas.wiring import AdministrationPorts, ApiWiring
from local.operations import OperationsInProcess
from local.postgres import OWNER
from tests.installation import SCALING, Installation
from tests.lambdas.rest import Caller, whole_handler
from tests.postgres import Database, database, postgres
from wsi.records.administration.people import SignInAccount
from wsi.records.identity import Actor, Role

__all__ = ["database", "postgres"]

ISSUER = "https://issuer.example"


@dataclass
class KnownAccounts:
    """A sign-in that keeps what it was asked."""

    asked: list[tuple[str, str]] = field(default_factory=list)

    def invite(self, email: str) -> SignInAccount:
        self.asked.append(("invite", email))
        return SignInAccount(issuer=ISSUER, subject=f"sub of {email}", password="first")

    def disable(self, subject: str) -> None:
        self.asked.append(("disable", subject))

    def enable(self, subject: str) -> None:
        self.asked.append(("enable", subject))


@dataclass
class Site:
    """An installation with the tenants hospital and rival, an admin and an analyst each, and an operator."""

    owner: Administration
    connections: Connections

    def __post_init__(self) -> None:
        self.identities = PostgresIdentities(self.connections)
        self.accounts = KnownAccounts()
        memory = Installation()
        self.wiring = ApiWiring(
            ledger=PostgresTenantLedger(self.connections),
            slides=memory.slides,
            packages=memory.packages,
            objects=memory.objects,
            queues=memory.queues,
            dollars_per_gpu_hour=1.0,
            scaling=SCALING,
            administration=AdministrationPorts(
                directory=PostgresDirectory(self.connections),
                operations=OperationsInProcess(operate.make_handler(self.owner)),
                accounts=self.accounts,
            ),
        )
        self.handler = whole_handler(self.wiring)
        for tenant in ("hospital", "rival"):
            self.owner.add_tenant(tenant)
            for role in (Role.ADMIN, Role.ANALYST):
                email = f"{role}@{tenant}.example"
                self.owner.add_user(tenant, SeedUser(issuer=ISSUER, subject=email, role=role, email=email))
        self.owner.add_operator(ISSUER, "operator", "operator@installation.example")

    def sign_in(self, subject: str) -> Caller:
        return Caller(self.handler, self.find(subject))

    def find(self, subject: str) -> Actor | None:
        return self.identities.find_user(ISSUER, subject)

    def use_key(self, key: str) -> Caller:
        return Caller(self.handler, self.identities.find_api_key(*split_key(key)))

    def claim(self, subject: str, role: Role) -> Caller:
        """Return a caller whose role the authorizer would have to have got wrong."""
        found = self.find(subject)
        assert found is not None
        return Caller(self.handler, replace(found, role=role))


@pytest.fixture
def site(database: Database) -> Iterator[Site]:
    connections = Connections(database.api_dsn)
    yield Site(Administration(lambda: database.server.make_dsn(OWNER, database.name)), connections)
    connections.close()


@pytest.fixture
def admin(site: Site) -> Caller:
    return site.sign_in("admin@hospital.example")


@pytest.fixture
def operator(site: Site) -> Caller:
    return site.sign_in("operator")


def find_person(caller: Caller, email: str, tenant: str | None = None) -> str:
    query = {"tenant": tenant} if tenant else None
    people = caller("GET", "/admin/people", query=query).body["items"]
    return next(one["person_id"] for one in people if one["email"] == email)
