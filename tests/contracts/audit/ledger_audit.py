"""The ledger contract: the audit log's chain, repeated views, sessions and refused sign-ins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.contracts.ledger_world import ISSUER, KEY_PREFIX, SUBJECT, LedgerWorld, queued_job
from wsi.audit.chain import ChainReport, verify_chain
from wsi.ports.audit import Refusal
from wsi.records.audit.lines import VIEW_SECONDS, AuditFilter, AuditLine
from wsi.records.identity import Actor, Role

ANY = AuditFilter()


def read(world: LedgerWorld, actor: Actor, wanted: AuditFilter = ANY) -> list[AuditLine]:
    """Every line, oldest first, by pages of two."""
    lines: list[AuditLine] = []
    cursor = None
    while True:
        page = world.tenants.list_audit(actor, wanted, cursor=cursor, limit=2)
        lines.extend(page.items)
        if page.next_cursor is None:
            return lines[::-1]
        cursor = int(page.next_cursor)


def verify(world: LedgerWorld, actor: Actor) -> ChainReport:
    return verify_chain(read(world, actor), chain=actor.tenant)


class AuditLedgerContract:
    def test_each_tenants_lines_are_a_chain_of_their_own(self, world: LedgerWorld) -> None:
        queued_job(world)
        world.tenants.audit(world.other, "slide.view", "s", {"mpp": 1e-05, "é": [1, None, 'a"\n\x01'], "b": {"aa": 1}})
        ours, theirs = verify(world, world.actor), verify(world, world.other)
        assert (ours.lines, ours.faults, theirs.lines, theirs.faults) == (3, (), 1, ())
        assert ours.head is not None
        assert (ours.head.chain, ours.head.number) == (world.actor.tenant, 3)

    def test_lines_are_filtered_by_each_field(self, world: LedgerWorld) -> None:
        job = queued_job(world)
        now = datetime.now(UTC)
        hour = timedelta(hours=1)
        for wanted, actions in (
            (AuditFilter(action="job.submit"), ["job.submit"]),
            (AuditFilter(subject=str(job.slide_id)), ["slide.create", "slide.complete"]),
            (AuditFilter(actor="user:nobody"), []),
            (AuditFilter(actor=world.actor.subject, action="slide.create"), ["slide.create"]),
            (AuditFilter(since=now - hour, until=now + hour), ["slide.create", "slide.complete", "job.submit"]),
            (AuditFilter(since=now + hour), []),
            (AuditFilter(until=now - hour), []),
        ):
            assert [line.action for line in read(world, world.actor, wanted)] == actions
        assert read(world, world.other) == []

    def test_views_of_one_person_are_one_line_within_ten_minutes(self, world: LedgerWorld) -> None:
        colleague = Actor(tenant=world.actor.tenant, subject="user:colleague", role=Role.VIEWER)
        for actor, subject in ((world.actor, "a"), (world.actor, "a"), (world.actor, "b"), (colleague, "a")):
            assert VIEW_SECONDS - 60 < world.tenants.audit_view(actor, "slide.view", subject) <= VIEW_SECONDS
        views = [(world.actor.subject, "slide.view", "a"), (world.actor.subject, "slide.view", "b")]
        views.append(("user:colleague", "slide.view", "a"))
        assert world.audit_lines(world.actor) == views
        world.pass_time(VIEW_SECONDS + 1)
        world.tenants.audit_view(world.actor, "slide.view", "a")
        assert world.audit_lines(world.actor) == [*views, views[0]]

    def test_a_session_begins_once(self, world: LedgerWorld) -> None:
        for session in ("one", "one", "two"):
            world.identities.note_session(world.actor, session)
        assert [(line.action, line.subject, line.detail) for line in read(world, world.actor)] == [
            ("session.begin", world.actor.subject, {"by": "token"})
        ] * 2

    def test_refused_sign_ins_of_a_minute_become_a_line_for_each_subject_and_reason(self, world: LedgerWorld) -> None:
        for _ in range(50):
            world.identities.note_refusal(Refusal.WRONG_SECRET, prefix=KEY_PREFIX)
            world.identities.note_refusal(Refusal.WRONG_SECRET, prefix="zzz")
            world.identities.note_refusal(Refusal.NOT_VALID)
        world.identities.note_refusal(Refusal.EXPIRED, issuer=ISSUER, subject=SUBJECT)
        assert read(world, world.actor) == []
        world.pass_time(61)
        world.system.keep_audit(anchor_seconds=3600)
        lines = {(line.subject[:4], line.detail["reason"]) for line in read(world, world.actor)}
        assert lines == {("key:", "wrong_secret"), ("user", "expired")}
        counts = [line.detail["count"] for line in read(world, world.actor) if line.subject.startswith("key:")]
        assert sum(counts) == 50
        assert verify(world, world.actor).is_whole

    def test_heads_are_reported_once_an_hour_and_only_of_chains_that_grew(self, world: LedgerWorld) -> None:
        queued_job(world)
        first = world.system.keep_audit(anchor_seconds=3600)
        assert [(head.chain, head.number) for head in first] == [(world.actor.tenant, 3)]
        assert verify_chain(read(world, world.actor), chain=world.actor.tenant, heads=first).is_whole
        world.tenants.audit(world.actor, "slide.view", "s")
        assert world.system.keep_audit(anchor_seconds=3600) == ()
        world.pass_time(3601)
        assert [head.number for head in world.system.keep_audit(anchor_seconds=3600)] == [4]
        world.pass_time(3601)
        assert world.system.keep_audit(anchor_seconds=3600) == ()

    @pytest.mark.parametrize("text", ["", "\u2028 'é\x7f", '{"a": 1}'])
    def test_any_text_is_hashed_alike(self, world: LedgerWorld, text: str) -> None:
        world.tenants.audit(world.actor, "slide.view", text, {"text": text, "": 0.1, "large": 1e300, "zero": -0.0})
        assert verify(world, world.actor).is_whole
