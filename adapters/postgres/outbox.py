"""The outbox: rows leave after the commit that made them, at least once, in no guaranteed order (F-29)."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.postgres import rows
from adapters.postgres.connections import Cursor, Transactions
from wsi.ledger_rules import PUSH_DAYS, SENT_DAYS
from wsi.records.notices import PUSH, OutboxRow


class PostgresOutbox(Transactions):
    """The relay's operations on the outbox."""

    def claim_outbox(self, *, limit: int, seconds: float) -> tuple[OutboxRow, ...]:
        with self._transaction() as cursor:
            found = cursor.execute(
                """
                WITH free AS (
                    SELECT id FROM outbox
                    WHERE sent_at IS NULL AND (claimed_until IS NULL OR claimed_until < now())
                    ORDER BY (topic = 'push'), id LIMIT %s FOR UPDATE SKIP LOCKED
                )
                UPDATE outbox SET claimed_until = now() + make_interval(secs => %s) FROM free WHERE outbox.id = free.id
                RETURNING outbox.*
                """,
                (limit, seconds),
            )
            return tuple(sorted(map(rows.read_outbox_row, found), key=lambda row: (row.topic == PUSH, row.id)))

    def mark_sent(self, ids: Sequence[int]) -> None:
        with self._transaction() as cursor:
            cursor.execute("UPDATE outbox SET sent_at = now() WHERE id = ANY(%s) AND sent_at IS NULL", (list(ids),))

    def release_outbox(self, ids: Sequence[int]) -> None:
        with self._transaction() as cursor:
            cursor.execute("UPDATE outbox SET claimed_until = NULL WHERE id = ANY(%s)", (list(ids),))


def forget(cursor: Cursor) -> None:
    """Delete rows that were sent long ago, and unsent updates that no subscriber waits for any more."""
    cursor.execute(
        """
        DELETE FROM outbox WHERE sent_at < now() - make_interval(days => %s)
            OR sent_at IS NULL AND topic = %s AND created_at < now() - make_interval(days => %s)
        """,
        (SENT_DAYS, PUSH, PUSH_DAYS),
    )
