"""The audit log of the memory ledger, as the API, the authorizer and the sweep write and read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from tests.fakes.ledger_books import Books
from wsi.audit.chain import compute_line_hash
from wsi.ports.audit import Refusal
from wsi.records.audit.lines import INSTALLATION, VIEW_SECONDS, AuditFilter, AuditHead, AuditLine
from wsi.records.identity import Actor, Role
from wsi.records.pages import Page

_SESSION, _DAY = 30 * 86_400.0, 86_400.0


class MemoryAudit:
    """`TenantAudit`, `SystemAudit` and `SignInAudit` in this process's memory."""

    books: Books

    def audit(self, actor: Actor, action: str, subject: str, detail: Mapping[str, Any] | None = None) -> None:
        with self.books.lock:
            self.books.note(actor, action, subject, detail)

    def audit_view(self, actor: Actor, action: str, subject: str) -> float:
        return self._note_once(actor, action, subject, mark=subject, seconds=VIEW_SECONDS)

    def list_audit(self, actor: Actor, wanted: AuditFilter, *, cursor: int | None, limit: int) -> Page[AuditLine]:
        with self.books.lock:
            lines = [line for line in self._lines(actor.tenant) if _is_wanted(line, wanted)]
        older = [line for line in reversed(lines) if cursor is None or line.number < cursor]
        page = tuple(older[:limit])
        return Page(page, str(page[-1].number) if len(older) > limit else None)

    def keep_audit(self, *, anchor_seconds: float) -> tuple[AuditHead, ...]:
        with self.books.lock:
            now = self.books.now()
            for key in sorted(self.books.refusals, key=lambda key: (key[1], key[0], *key[2:])):
                minute, tenant, subject, reason = key
                if minute < now.replace(second=0, microsecond=0):
                    nobody = Actor(tenant=tenant, subject="nobody", role=Role.VIEWER)
                    count = self.books.refusals.pop(key)
                    detail = {"reason": reason, "count": count, "minute": minute.strftime("%Y-%m-%dT%H:%MZ")}
                    self.books.note(nobody, "session.refuse", subject, detail)
            return tuple(self._anchor(anchor_seconds))

    def note_session(self, actor: Actor, session: str) -> None:
        is_key = actor.subject.startswith("key:")
        detail = {"by": "key" if is_key else "token"}
        seconds = _DAY if is_key else _SESSION
        self._note_once(actor, "session.begin", actor.subject, mark=session, seconds=seconds, detail=detail)

    def note_refusal(
        self, reason: Refusal, *, issuer: str | None = None, subject: str | None = None, prefix: str | None = None
    ) -> None:
        with self.books.lock:
            claimed = self.books.users.get((issuer or "", subject or ""))
            if prefix is not None:
                claimed = next((actor for (known, _), actor in self.books.keys.items() if known == prefix), None)
                reason = reason if claimed else Refusal.UNKNOWN
            minute = self.books.now().replace(second=0, microsecond=0)
            key = (
                minute,
                claimed.tenant if claimed else INSTALLATION,
                claimed.subject if claimed else "nobody",
                reason,
            )
            self.books.refusals[key] = self.books.refusals.get(key, 0) + 1

    def _note_once(
        self,
        actor: Actor,
        action: str,
        subject: str,
        *,
        mark: str,
        seconds: float,
        detail: Mapping[str, Any] | None = None,
    ) -> float:
        with self.books.lock:
            key = (actor.tenant, actor.subject, action, mark)
            if (until := self.books.audit_marks.get(key)) is None or until <= self.books.now():
                until = self.books.audit_marks[key] = self.books.hence(seconds)
                self.books.note(actor, action, subject, detail)
            return (until - self.books.now()).total_seconds()

    def _lines(self, chain: UUID) -> Iterator[AuditLine]:
        previous = ""
        booked = [line for line in self.books.audit if line.actor.tenant == chain]
        for number, line in enumerate(booked, start=1):
            made = AuditLine(
                number=number,
                tenant=None if chain == INSTALLATION else chain,
                at=line.at,
                actor=line.actor.subject,
                action=line.action,
                subject=line.subject,
                detail=line.detail,
                hash="",
            )
            previous = compute_line_hash(made, previous)
            yield replace(made, hash=previous)

    def _anchor(self, seconds: float) -> Iterator[AuditHead]:
        for chain in sorted({line.actor.tenant for line in self.books.audit}):
            *_, last = self._lines(chain)
            number, at = self.books.anchors.get(chain, (0, self.books.now() - timedelta(seconds=seconds)))
            if last.number > number and at <= self.books.ago(seconds):
                self.books.anchors[chain] = (last.number, self.books.now())
                yield AuditHead(chain=chain, number=last.number, hash=last.hash)


def _is_wanted(line: AuditLine, wanted: AuditFilter) -> bool:
    return (
        wanted.actor in (None, line.actor)
        and wanted.action in (None, line.action)
        and wanted.subject in (None, line.subject)
        and (wanted.since is None or line.at >= wanted.since)
        and (wanted.until is None or line.at < wanted.until)
    )
