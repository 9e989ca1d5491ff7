"""Migration to the newest schema. It needs a direct connection, as the owner: never through the proxy."""

from __future__ import annotations

from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

import adapters.migrations

_LOCK = 0x7E55E7A  #: advisory lock: one runner at a time (F-52)


def migrate(owner_dsn: str, revision: str = "head") -> str:
    """Upgrade to a revision, by default the newest, and return its name; do nothing if the database has it. Two runners
    take turns.

    A statement that waits over 3 s for a lock fails, and the deployment with it, instead of stopping all queries behind
    itself.
    """
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(owner_dsn), poolclass=NullPool)
    config = Config()
    config.set_main_option("script_location", str(Path(adapters.migrations.__file__).parent))
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": _LOCK})
        connection.execute(text("SET lock_timeout = '3s'"))
        connection.commit()  # the lock is the session's; it goes with the connection
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        connection.commit()
        return str(MigrationContext.configure(connection).get_current_revision())
