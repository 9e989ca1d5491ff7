"""Transactions of the owner in the role of workers and sweep.

The owner reads no tenant's rows (docs/decisions/0007). For what needs them it takes the role that does, for one
transaction: so that no other session ever has it, and it is gone however the transaction ends.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import psycopg
from psycopg.rows import dict_row

from adapters.postgres.connections import CONNECT_SECONDS, Cursor
from adapters.settings.database_roles import SYSTEM_ROLE

_LOCK = 0x7E55E7B  #: advisory lock: two that grant a role at once would fail


@contextmanager
def begin_as_system(owner_dsn: str, *, also: Sequence[str] = ()) -> Generator[Cursor]:
    """Yield the cursor of one transaction in the system's role, with the rights `also` (`DELETE ON shards`) besides."""
    with (
        psycopg.connect(owner_dsn, connect_timeout=CONNECT_SECONDS, prepare_threshold=None) as connection,
        connection.cursor(row_factory=dict_row) as cursor,
    ):
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        cursor.execute(f"GRANT {SYSTEM_ROLE} TO CURRENT_USER WITH INHERIT FALSE, SET TRUE".encode())
        for right in also:
            cursor.execute(f"GRANT {right} TO {SYSTEM_ROLE}".encode())
        cursor.execute(f"SET LOCAL ROLE {SYSTEM_ROLE}".encode())
        yield cursor
        cursor.execute("RESET ROLE")
        for right in also:
            cursor.execute(f"REVOKE {right} FROM {SYSTEM_ROLE}".encode())
        cursor.execute(f"REVOKE {SYSTEM_ROLE} FROM CURRENT_USER".encode())
