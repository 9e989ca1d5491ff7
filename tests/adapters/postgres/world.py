"""The ledger contract's world on Postgres."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from uuid import UUID

from adapters.postgres.connections import Connections
from adapters.postgres.identities import PostgresIdentities
from adapters.postgres.owner.administration import Administration
from adapters.postgres.owner.seeding import SeedKey, SeedTenant, SeedUser
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.postgres.tenant_ledger import PostgresTenantLedger
from local.postgres import OWNER
from tests.contracts.ledger_world import EMAIL, ISSUER, KEY_NAME, KEY_PREFIX, KEY_SECRET, MODEL, SUBJECT
from tests.postgres import Database
from wsi.records.identity import Actor, Role
from wsi.records.quotas import Quotas, Retention
from wsi.sources.source import Source


class PostgresWorld:
    def __init__(self, database: Database, *, prepares: bool = False) -> None:
        database.seed(
            tenants=[
                SeedTenant(
                    name="one",
                    users=(SeedUser(issuer=ISSUER, subject=SUBJECT, role=Role.ANALYST, email=EMAIL),),
                    keys=(SeedKey(key=f"tsk_{KEY_PREFIX}_{KEY_SECRET}", role=Role.ANALYST, name=KEY_NAME),),
                ),
                SeedTenant(name="two", users=(SeedUser(issuer=ISSUER, subject="other", role=Role.ADMIN),)),
            ],
            models=[MODEL],
        )
        self.api, self.worker = (Connections(dsn, prepares=prepares) for dsn in (database.api_dsn, database.system_dsn))
        self.tenants, self.system = PostgresTenantLedger(self.api), PostgresSystemLedger(self.worker)
        self.identities = PostgresIdentities(self.api)
        self.actor, self.other = self._actor(SUBJECT), self._actor("other")
        self.pass_time = database.pass_time
        owner_dsn = database.server.make_dsn(OWNER, database.name)
        self.administration = Administration(lambda: owner_dsn)
        self._names = {self.actor.tenant: "one", self.other.tenant: "two"}

    def _actor(self, subject: str) -> Actor:
        actor = self.identities.find_user(ISSUER, subject)
        assert actor is not None
        return actor

    def outbox(self) -> list[tuple[str, dict[str, Any]]]:
        with self.worker.begin_transaction() as cursor:
            return [(row["topic"], row["body"]) for row in cursor.execute("SELECT * FROM outbox ORDER BY id")]

    def audit_lines(self, actor: Actor) -> list[tuple[str, str, str]]:
        with self.api.begin_transaction(actor.tenant) as cursor:
            lines = cursor.execute("SELECT * FROM audit_log ORDER BY seq")
            return [(line["actor"], line["action"], line["subject"]) for line in lines]

    def usage(self, actor: Actor) -> tuple[int, float]:
        with self.api.begin_transaction(actor.tenant) as cursor:
            used = cursor.execute("SELECT * FROM usage").fetchall()
        return sum(row["tiles"] for row in used), float(sum(row["worker_seconds"] for row in used))

    def set_quotas(self, actor: Actor | None, quotas: Quotas) -> None:
        self.administration.set_quotas(self._names[actor.tenant] if actor else None, asdict(quotas))

    def set_retention(self, actor: Actor, retention: Retention) -> None:
        self.administration.set_retention(self._names[actor.tenant], asdict(retention))

    def set_sources(self, actor: Actor, *sources: Source) -> None:
        name = self._names[actor.tenant]
        for source in self.administration.list_sources(name):
            self.administration.remove_source(name, source)
        for source in sources:
            self.administration.add_source(name, source)

    def add_admin(self, actor: Actor, email: str) -> None:
        admin = SeedUser(issuer=ISSUER, subject=email, role=Role.ADMIN, email=email)
        self.administration.add_user(self._names[actor.tenant], admin)

    def close(self) -> None:
        self.api.close()
        self.worker.close()

    def forget_stitching(self, job_id: UUID) -> None:
        with self.worker.begin_transaction() as cursor:
            cursor.execute("UPDATE jobs SET state = 'RUNNING' WHERE id = %s", (job_id,))
