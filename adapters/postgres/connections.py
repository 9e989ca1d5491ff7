"""One connection a thread, kept between transactions and silent in between.

Nothing here pins a session of RDS Proxy: no SET, and no prepared statements unless asked for; timeouts belong to the
role (F-51).
"""

from __future__ import annotations

import select
import threading
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from adapters.settings.processes import DatabaseSettings

Row: TypeAlias = dict[str, Any]
Cursor: TypeAlias = psycopg.Cursor[Row]

RECYCLE_SECONDS = 600.0  #: below the 15 minutes that an IAM token lives (F-50)
CONNECT_SECONDS = 10
PREPARED_AFTER = 5  #: executions of a statement; the server itself plans five times before it keeps a plan
#: A server that disappears silently (a failover, a network policy that forgot the connection) is noticed within a
#: minute, not when a Job's deadline ends it: libpq's own keepalives wait for two hours.
_KEEPALIVES = {"keepalives_idle": 20, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}


@dataclass(frozen=True, slots=True)
class _Held:
    connection: psycopg.Connection[Row]
    opened_at: float  #: monotonic seconds


class Connections:
    """One connection for each thread. Thread-safe. Connections of ended threads are closed when the next thread
    connects.

    `iam=True` signs in with an IAM token for `region` in place of a password, over TLS. One of `authorities` must vouch
    for the server's name: a PEM file, by default the public ones that botocore brings. The proxy's certificate comes
    from Amazon Trust Services, which is among them; an instance's own does not.

    `prepares=True` keeps the plans of statements that come again in the session, which more than halves the server's
    work: for a server without RDS Proxy before it.
    """

    def __init__(
        self,
        dsn: str,
        *,
        iam: bool = False,
        region: str | None = None,
        authorities: Path | None = None,
        prepares: bool = False,
        recycle_seconds: float = RECYCLE_SECONDS,
    ) -> None:
        self._dsn = dsn
        self._prepares = prepares
        self._recycle_seconds = recycle_seconds
        self._password = make_token_source(dsn, region) if iam else None
        self._tls = (
            {"sslmode": "verify-full", "sslrootcert": str(authorities or locate_public_authorities())} if iam else {}
        )
        self._held: dict[threading.Thread, _Held] = {}
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, _close_all, self._held)

    @classmethod
    def of(cls, settings: DatabaseSettings) -> Connections:
        """Return the connections of a process with these settings. On AWS, where IAM signs in, RDS Proxy stands before
        the server, so that nothing is prepared there."""
        iam = settings.database_iam
        return cls(settings.database_dsn, iam=iam, prepares=not iam, region=settings.region)

    @contextmanager
    def begin_transaction(self, tenant: UUID | None = None) -> Generator[Cursor]:
        """Yield the cursor of one transaction, which commits at the end and rolls back on an exception. With `tenant`,
        only that tenant's rows exist in it. Raises LedgerUnavailable, and what our functions and triggers in the
        database refuse: Forbidden for a suspended tenant, for example."""
        with translate_refusals():
            connection = self._connection()
            try:
                with connection.transaction(), connection.cursor() as cursor:
                    if tenant is not None:
                        cursor.execute("SELECT tessera.enter(%s)", (tenant,))
                    yield cursor
            except errors.FeatureNotSupported:  # a migration has added a column to what a kept plan returns
                connection.close()
                raise

    def close(self) -> None:
        """Close the connections of all threads. The next transaction opens a new one."""
        with self._lock:
            _close_all(self._held)

    def _connection(self) -> psycopg.Connection[Row]:
        thread = threading.current_thread()
        held = self._held.get(thread)
        if held and time.monotonic() - held.opened_at < self._recycle_seconds and _usable(held.connection):
            return held.connection
        if held:
            held.connection.close()
        opened = _Held(self._connect(), time.monotonic())
        with self._lock:
            for ended in [other for other in self._held if not other.is_alive()]:
                self._held.pop(ended).connection.close()
            self._held[thread] = opened
        return opened.connection

    def _connect(self) -> psycopg.Connection[Row]:
        secrets: dict[str, Any] = {"password": self._password()} if self._password else {}
        return psycopg.Connection[Row].connect(
            self._dsn,
            connect_timeout=CONNECT_SECONDS,
            **_KEEPALIVES,
            prepare_threshold=PREPARED_AFTER if self._prepares else None,
            row_factory=dict_row,
            autocommit=False,
            **self._tls,
            **secrets,
        )


class Transactions:
    """A part of a ledger on these connections. Its methods hold the SQL, and open a transaction each."""

    def __init__(self, connections: Connections) -> None:
        self._transaction = connections.begin_transaction


@contextmanager
def translate_refusals() -> Generator[None]:
    """Raise Forbidden or Conflict where a function, trigger or check of ours in the database refused, and
    LedgerUnavailable where the server is gone, hung up, or let others go first: whoever asked may try again."""
    try:
        yield
    except psycopg.Error as error:
        # Not loaded before it is needed: migrations are bundled without the domain.
        from adapters.postgres.administration.refusals import raise_refusal

        raise_refusal(error)
        raise


def _usable(connection: psycopg.Connection[Row]) -> bool:
    """Return whether the connection can be used, without a round trip: between transactions the server has nothing to
    say except that it hangs up."""
    if connection.closed:
        return False
    poll = select.poll()  # not select(), which refuses descriptors above 1023
    poll.register(connection.fileno(), select.POLLIN)
    return not poll.poll(0)


def _close_all(held: dict[threading.Thread, _Held]) -> None:
    while held:
        held.popitem()[1].connection.close()


def make_token_source(dsn: str, region: str | None) -> Callable[[], str]:
    """Return a function that makes a token at each call; boto3 is loaded only where IAM is used."""
    import boto3

    parts = conninfo_to_dict(dsn)
    session: Any = boto3.Session(region_name=region)
    client: Any = session.client("rds")
    host, user, port = str(parts["host"]), str(parts["user"]), int(parts.get("port") or 5432)

    def make_token() -> str:
        return client.generate_db_auth_token(DBHostname=host, Port=port, DBUsername=user)

    return make_token


def locate_public_authorities() -> Path:
    """Return the path of public authorities, not the machine's: a Lambda, a container and a laptop keep them in
    different places."""
    import botocore

    return Path(str(botocore.__file__)).with_name("cacert.pem")
