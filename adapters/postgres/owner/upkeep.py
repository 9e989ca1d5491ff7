"""Administration of what operators look after: dead letters, and the audit logs of all tenants."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from adapters.postgres.dead_letters import redriving
from adapters.postgres.owner.auditing import OwnerAudit
from adapters.postgres.owner.system_role import begin_as_system
from adapters.postgres.owner.transactions import OwnerTransactions, lock_tenant
from wsi.audit.chain import ChainReport
from wsi.records.audit.lines import INSTALLATION, AuditFilter, AuditLine
from wsi.records.operations.dead_letters import DeadLetter
from wsi.records.pages import Page

logger = logging.getLogger(__name__)


class Upkeep(OwnerTransactions):
    """The owner's actions on dead letters and audit logs."""

    def list_dead_letters(self, *, queue: str | None, only_open: bool, limit: int) -> tuple[DeadLetter, ...]:
        """Return dead letters, the oldest first."""
        self._check_actor()
        with begin_as_system(self._owner_dsn()) as cursor:
            return redriving.list_letters(cursor, queue=queue, only_open=only_open, limit=limit)

    def redrive_dead_letters(self, *, queue: str | None, limit: int) -> tuple[DeadLetter, ...]:
        """Redrive the oldest open letters, each in a transaction of its own, and return those that were. Repeating it
        changes nothing."""
        letters = self.list_dead_letters(queue=queue, only_open=True, limit=limit)
        redriven: list[DeadLetter] = []
        for letter in letters:
            try:
                with begin_as_system(self._owner_dsn()) as cursor:
                    done = redriving.redrive_letter(cursor, letter.id, actor=self._actor)
            except Exception:  # whatever it is: this letter stays open, and the others go on
                logger.exception("a dead letter could not be redriven", extra={"letter": letter.id})
            else:
                redriven += [done] if done is not None else []
        return tuple(redriven)

    def list_audit(self, tenant: str | None, wanted: AuditFilter, *, before: int | None, limit: int) -> Page[AuditLine]:
        """Return a page of a tenant's audit log, newest first; None: of the installation's. Raises NotFound."""
        self._check_actor()
        page = OwnerAudit(self._owner_dsn).list_lines(tenant, wanted, cursor=before, limit=limit)
        self._note_audit_reading(tenant, "audit.view")
        return page

    def verify_audit(self, tenant: str | None, heads: Mapping[int, str]) -> ChainReport:
        """Verify a whole audit log, also against the hashes that lines had when somebody kept them, by number. Raises
        NotFound."""
        self._check_actor()
        report = OwnerAudit(self._owner_dsn).verify(tenant, heads)
        self._note_audit_reading(tenant, "audit.verify")
        return report

    def _note_audit_reading(self, tenant: str | None, action: str) -> None:
        with self._transaction() as connection:
            tenant_id = lock_tenant(connection, tenant) if tenant is not None else None
            self._audit(connection, tenant_id, action, str(tenant_id or INSTALLATION))
