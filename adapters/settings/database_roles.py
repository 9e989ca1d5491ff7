"""Roles of Postgres: for who signs in as them, and for who lets them in. Revision 0002 makes the two that processes
have."""

from __future__ import annotations

#: Of the schema: runs migrations and administration, nothing else. No superuser, so row-level security binds it too.
OWNER = "tessera_owner"
API_ROLE = "tessera_api"  #: sees one tenant's rows
SYSTEM_ROLE = "tessera_system"  #: of workers, relay and sweep: sees all rows
