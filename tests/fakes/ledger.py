"""The ledger in memory: for tests of the use cases, and to read what a ledger does without reading SQL."""

from __future__ import annotations

from uuid import UUID, uuid4

from tests.fakes.audit.ledger_audit import MemoryAudit
from tests.fakes.ledger_books import Books, Clock
from tests.fakes.ledger_system import MemorySystemLedger
from tests.fakes.ledger_tenant import MemoryTenantLedger
from wsi.records.identity import Actor, Role


class MemoryLedger(MemoryTenantLedger, MemorySystemLedger, MemoryAudit):
    """TenantLedger, SystemLedger and Identities over one set of books. Thread-safe; time passes as `clock` says."""

    def __init__(self, clock: Clock) -> None:
        self.books = Books(clock=clock)

    # --- Identities

    def find_user(self, issuer: str, subject: str) -> Actor | None:
        with self.books.lock:
            return self.books.users.get((issuer, subject))

    def find_api_key(self, prefix: str, secret_sha256: str) -> Actor | None:
        with self.books.lock:
            return self.books.keys.get((prefix, secret_sha256))

    # --- what seeding does to a database

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
