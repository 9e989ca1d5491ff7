from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.contracts.ledger import LedgerContract
from tests.contracts.ledger_world import (
    EMAIL,
    ISSUER,
    KEY_NAME,
    KEY_PREFIX,
    KEY_SECRET,
    MODEL,
    SUBJECT,
    LedgerWorld,
    sha256,
)
from tests.fakes.ledger import MemoryLedger
from wsi.records.identity import Actor, Role
from wsi.records.quotas import Quotas, Retention
from wsi.sources.source import Source
from wsi.states import JobState


class MemoryWorld:
    def __init__(self) -> None:
        self._passed = timedelta()
        self.tenants = self.system = self.identities = MemoryLedger(lambda: datetime.now(UTC) + self._passed)
        tenant = uuid4()
        self.actor = self.tenants.add_user(tenant, ISSUER, SUBJECT, Role.ANALYST, EMAIL)
        self.other = self.tenants.add_user(uuid4(), ISSUER, "other", Role.ADMIN)
        self.tenants.tenant_names = {"one": tenant, "two": self.other.tenant}
        self.tenants.add_api_key(tenant, KEY_PREFIX, sha256(KEY_SECRET), Role.ANALYST, KEY_NAME)
        self.tenants.register_model(MODEL)

    def pass_time(self, seconds: float) -> None:
        self._passed += timedelta(seconds=seconds)

    def outbox(self) -> list[tuple[str, dict[str, Any]]]:
        return [(entry.row.topic, entry.row.body) for entry in self.tenants.books.outbox]

    def audit_lines(self, actor: Actor) -> list[tuple[str, str, str]]:
        lines = self.tenants.books.audit
        return [(line.actor.subject, line.action, line.subject) for line in lines if line.actor.tenant == actor.tenant]

    def usage(self, actor: Actor) -> tuple[int, float]:
        used = [usage for (tenant, _), usage in self.tenants.books.usage.items() if tenant == actor.tenant]
        return sum(usage.tiles for usage in used), float(sum(usage.worker_seconds for usage in used))

    def set_quotas(self, actor: Actor | None, quotas: Quotas) -> None:
        self.tenants.books.quotas[actor.tenant if actor else None] = quotas

    def set_retention(self, actor: Actor, retention: Retention) -> None:
        self.tenants.books.retention[actor.tenant] = retention

    def set_sources(self, actor: Actor, *sources: Source) -> None:
        self.tenants.set_sources(actor.tenant, *sources)

    def add_admin(self, actor: Actor, email: str) -> None:
        self.tenants.add_user(actor.tenant, ISSUER, email, Role.ADMIN, email)

    def forget_stitching(self, job_id: UUID) -> None:
        jobs = self.tenants.books.jobs
        jobs[job_id] = replace(jobs[job_id], state=JobState.RUNNING)


class TestMemoryLedger(LedgerContract):
    @pytest.fixture
    def world(self) -> LedgerWorld:
        return MemoryWorld()
