"""The owners of tokens and keys, as far as the authorizer may know them: SQL answers, the tables stay closed to it."""

from __future__ import annotations

from adapters.postgres import rows
from adapters.postgres.connections import Connections
from wsi.records.identity import Actor


class PostgresIdentities:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def find_user(self, issuer: str, subject: str) -> Actor | None:
        with self._connections.begin_transaction() as cursor:
            found = cursor.execute("SELECT * FROM tessera.identify_user(%s, %s)", (issuer, subject))
            return rows.read_actor(found.fetchone())

    def find_api_key(self, prefix: str, secret_sha256: str) -> Actor | None:
        with self._connections.begin_transaction() as cursor:
            found = cursor.execute("SELECT * FROM tessera.identify_api_key(%s, %s)", (prefix, secret_sha256))
            return rows.read_actor(found.fetchone())
