"""Notices in the memory ledger: the system's side and the tenant's."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from tests.fakes.ledger_books import BookedDelivery, Books, WebhookSecret
from wsi.ledger_rules import NOTICE_WAKE_SECONDS, SECRET_GRACE_SECONDS, make_job_message, select_receivers
from wsi.notices.webhooks import make_secret
from wsi.records.deliveries import Delivery, NoticeBrief, NoticeChannel
from wsi.records.identity import Actor
from wsi.records.jobs import Job


class MemoryNotices:
    books: Books

    # --- the system's

    def claim_deliveries(self, job_id: UUID, *, seconds: float) -> NoticeBrief | None:
        with self.books.lock:
            job = self.books.jobs.get(job_id)
            if job is None:
                return None
            self._add_missing(job)
            now = self.books.now()
            due = [booked for booked in self._of(job_id) if booked.delivery.due_at and booked.delivery.due_at <= now]
            for booked in due:
                claimed_until = self.books.hence(seconds)
                booked.delivery = replace(booked.delivery, attempt=booked.delivery.attempt + 1, due_at=claimed_until)
            claimed = tuple(booked.delivery for booked in due)
            signs = any(delivery.channel is NoticeChannel.WEBHOOK for delivery in claimed)
            return NoticeBrief(job=job, deliveries=claimed, secrets=self._secrets(job.tenant) if signs else ())

    def record_delivery(
        self,
        delivery: Delivery,
        *,
        delivered: bool,
        status: int | None,
        error: str | None,
        retry_seconds: float | None,
    ) -> None:
        with self.books.lock:
            booked = self.books.deliveries[delivery.id]
            if booked.delivery.attempt != delivery.attempt or booked.delivery.due_at is None:
                return
            again: datetime | None = None
            if not delivered and retry_seconds is not None:
                again = self.books.hence(retry_seconds)
            booked.woken_at = None
            booked.delivery = replace(
                booked.delivery,
                status=status,
                error=error,
                due_at=again,
                delivered_at=self.books.now() if delivered else None,
            )

    def wake_notices(self) -> int:
        """A message for each job with a notice that is due, at most one in five minutes."""
        now, silent = self.books.now(), self.books.ago(NOTICE_WAKE_SECONDS)
        due = [
            booked
            for booked in self.books.deliveries.values()
            if booked.delivery.due_at is not None
            and booked.delivery.due_at <= now
            and (booked.woken_at is None or booked.woken_at < silent)
        ]
        for booked in due:
            booked.woken_at = now
        jobs = {booked.delivery.job_id for booked in due}
        for job in (self.books.jobs[job_id] for job_id in jobs):
            self.books.send(job.tenant, "notify", make_job_message(job.id), job.traceparent)
        return len(jobs)

    # --- the tenant's

    def list_deliveries(self, actor: Actor, job_id: UUID) -> tuple[Delivery, ...]:
        with self.books.lock:
            self.books.job_of(actor, job_id)
            return tuple(booked.delivery for booked in self._of(job_id))

    def get_webhook_secret(self, actor: Actor, *, rotate: bool = False) -> str:
        with self.books.lock:
            self._secrets(actor.tenant)
            held = self.books.webhook_secrets[actor.tenant]
            if rotate:
                held.previous, held.secret, held.rotated_at = held.secret, make_secret(), self.books.now()
                self.books.note(actor, "webhook_secret.rotate", actor.tenant)
            return held.secret

    # --- parts

    def _of(self, job_id: UUID) -> list[BookedDelivery]:
        return [booked for booked in self.books.deliveries.values() if booked.delivery.job_id == job_id]

    def _add_missing(self, job: Job) -> None:
        known = {(booked.delivery.channel, booked.delivery.target) for booked in self._of(job.id)}
        followers = self.books.followers.get(job.id, []) if job.state.is_final else []
        for channel, target in (*select_receivers(job), *followers):
            if (channel, target) not in known:
                now = self.books.now()
                delivery = Delivery(
                    id=len(self.books.deliveries) + 1,
                    tenant=job.tenant,
                    job_id=job.id,
                    job_version=job.version,
                    channel=channel,
                    target=target,
                    due_at=now,
                    created_at=now,
                )
                self.books.deliveries[delivery.id] = BookedDelivery(delivery=delivery, woken_at=now)

    def _secrets(self, tenant: UUID) -> tuple[str, ...]:
        if tenant not in self.books.webhook_secrets:
            made = WebhookSecret(secret=make_secret(), rotated_at=self.books.now())
            self.books.webhook_secrets[tenant] = made
        held = self.books.webhook_secrets[tenant]
        if held.previous is not None and held.rotated_at > self.books.ago(SECRET_GRACE_SECONDS):
            return (held.secret, held.previous)
        return (held.secret,)
