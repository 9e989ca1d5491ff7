"""Roles, what each of them may do, and the form of an API key.

Every role of a tenant may read; analysts and admins may write. Operators stand apart: they administer tenants, have no
slides or jobs of their own, and may do nothing that needs a role of a tenant.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable

from wsi.errors import Forbidden
from wsi.records.identity import Actor, Role

_API_KEY = re.compile(r"tsk_([A-Za-z0-9]+)_(\S+)")
_RANK = {Role.VIEWER: 0, Role.ANALYST: 1, Role.ADMIN: 2}


def require(actor: Actor, role: Role) -> None:
    """Raise Forbidden unless the actor's role is `role` or above it. Operators have no role of a tenant."""
    if actor.role is Role.OPERATOR:
        raise Forbidden("You are an operator, who administers tenants; this needs a role of a tenant.")
    if _RANK[actor.role] < _RANK[role]:
        raise Forbidden(f"Your role is {actor.role.value}; this needs the role {role.value}. Ask an admin for it.")


def may_see_name(actor: Actor, subject: str) -> bool:
    """Return whether the actor may see what this subject is called: viewers see no e-mail address of others."""
    return actor.role is not Role.VIEWER or not subject.startswith("user:") or subject == actor.subject


def may_see_receivers(actor: Actor, requester: str, *, is_retry: bool) -> bool:
    """Return whether the actor may see where the notices of a job go: its requester and admins. A webhook's URL often
    holds a secret, so a viewer never sees one. A retry has the receivers of a job that may be somebody else's."""
    return actor.role is Role.ADMIN or (actor.role is Role.ANALYST and actor.subject == requester and not is_retry)


def get_highest(roles: Iterable[Role]) -> Role:
    """Return the role that includes the others. Raises ValueError if there is none."""
    return max(roles, key=lambda role: _RANK[role])


def require_administrator(actor: Actor) -> None:
    """Raise Forbidden unless the actor administers people and keys: those of the own tenant, or of every tenant."""
    if actor.role is not Role.OPERATOR:
        require(actor, Role.ADMIN)


def require_operator(actor: Actor) -> None:
    """Raise Forbidden unless the actor is an operator of the installation."""
    if actor.role is not Role.OPERATOR:
        raise Forbidden(f"Your role is {actor.role.value}; this needs an operator of the installation.")


def split_api_key(key: str) -> tuple[str, str] | None:
    """Return (prefix, hex sha256 of the secret) of "tsk_<prefix>_<secret>", which is all that is stored of a key.
    Return None for text of another form. The hash needs no salt and no stretching, since secrets are random and
    long."""
    found = _API_KEY.fullmatch(key)
    return (found[1], hashlib.sha256(found[2].encode()).hexdigest()) if found else None


def make_api_key() -> str:
    """Return a key of 256 random bits behind a prefix that finds them."""
    return f"tsk_{secrets.token_hex(6)}_{secrets.token_urlsafe(32)}"
