"""Roles of Postgres: for the processes that sign in as them, and for the servers that let them in. Revision 0002 makes
the two that processes have."""

from __future__ import annotations

#: The schema's owner: runs migrations and administration, nothing else. No superuser, so row-level security binds it.
OWNER = "tessera_owner"
API_ROLE = "tessera_api"  #: sees one tenant's rows
SYSTEM_ROLE = "tessera_system"  #: of workers, relay and sweep: sees all rows
