"""The directory of people and keys, for those who administer them."""

from __future__ import annotations

from adapters.postgres.administration.invitations import PostgresInvitations
from adapters.postgres.administration.keys import PostgresKeys
from adapters.postgres.administration.people import PostgresPeople
from adapters.postgres.quotas import READ, read_quotas
from wsi.records.identity import Actor
from wsi.records.quotas import Quotas


class PostgresDirectory(PostgresPeople, PostgresInvitations, PostgresKeys):
    """`wsi.ports.administration.Directory` on Postgres, in the role of the API."""

    def get_own_quotas(self, actor: Actor) -> Quotas:
        with self._transaction(actor.tenant) as cursor:
            row = cursor.execute(READ, (actor.tenant,)).fetchone()
            assert row is not None, "a row is asked for"
            return read_quotas(row)
