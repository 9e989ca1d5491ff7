"""The ledger in memory: for tests of the use cases, and to read what a ledger does without reading SQL."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID, uuid4

from tests.fakes.audit.ledger_audit import MemoryAudit
from tests.fakes.ledger_books import Books, Clock
from tests.fakes.ledger_system import MemorySystemLedger
from tests.fakes.ledger_tenant import MemoryTenantLedger
from wsi.records.identity import Actor, Membership, Role
from wsi.sources.source import Source


class MemoryLedger(MemoryTenantLedger, MemorySystemLedger, MemoryAudit):
    """TenantLedger, SystemLedger and Identities over one set of books. Thread-safe; time passes as `clock` says."""

    def __init__(self, clock: Clock) -> None:
        self.books = Books(clock=clock)
        self.tenant_names: dict[str, UUID] = {}  #: of those that single sign-on knows
        self._signed_on: dict[tuple[str, str], datetime] = {}

    # --- Identities

    def find_user(self, issuer: str, subject: str) -> Actor | None:
        with self.books.lock:
            return self.books.users.get((issuer, subject))

    def admit_member(self, issuer: str, subject: str, membership: Membership) -> Actor | None:
        with self.books.lock:
            person, tenant = (issuer, subject), self.tenant_names.get(membership.tenant)
            if tenant is None:
                return None
            if person not in self.books.users:
                self.add_user(tenant, issuer, subject, membership.role, membership.email)
            known = self.books.users[person]
            if known.tenant != tenant:
                return None
            if person not in self._signed_on or self._signed_on[person] < membership.issued_at:
                self._signed_on[person] = membership.issued_at
                self.books.users[person] = replace(known, role=membership.role)
            return self.books.users[person]

    def find_api_key(self, prefix: str, secret_sha256: str) -> Actor | None:
        with self.books.lock:
            return self.books.keys.get((prefix, secret_sha256))

    def accept_invitation(self, issuer: str, subject: str, email: str | None) -> Actor | None:
        return self.find_user(issuer, subject)  # nobody is invited in memory

    def is_suspended(self, tenant: UUID) -> bool:
        return False

    # --- sources

    def list_sources(self, tenant: UUID) -> tuple[Source, ...]:
        with self.books.lock:
            return self.books.sources.get(tenant, ())

    # --- what seeding does to a database

    def set_sources(self, tenant: UUID, *sources: Source) -> None:
        with self.books.lock:
            self.books.sources[tenant] = sources

    def add_user(self, tenant: UUID, issuer: str, subject: str, role: Role, email: str | None = None) -> Actor:
        with self.books.lock:
            actor = Actor(tenant=tenant, subject=f"user:{uuid4()}", role=role)
            self.books.users[issuer, subject] = actor
            if email is not None:
                self.books.names[actor.subject] = (tenant, email)
            return actor

    def add_api_key(self, tenant: UUID, prefix: str, secret_sha256: str, role: Role, name: str = "seed") -> Actor:
        with self.books.lock:
            actor = Actor(tenant=tenant, subject=f"key:{uuid4()}", role=role)
            self.books.keys[prefix, secret_sha256] = actor
            self.books.names[actor.subject] = (tenant, name)
            return actor
