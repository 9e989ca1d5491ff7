"""Who may do what. Reading is for every role; writing is for analysts and admins."""

from __future__ import annotations

from wsi.errors import Forbidden
from wsi.records.identity import Actor, Role

_RANK = {Role.VIEWER: 0, Role.ANALYST: 1, Role.ADMIN: 2}


def require(actor: Actor, role: Role) -> None:
    """Raises Forbidden unless the actor's role is `role` or above it."""
    if _RANK[actor.role] < _RANK[role]:
        raise Forbidden(f"Your role is {actor.role.value}; this needs the role {role.value}. Ask an admin for it.")
