"""Who may use an embedded stack: two tenants, a person for each role, an API key each. Kept between starts."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from adapters.postgres.seeding import SeedKey, SeedTenant, SeedUser
from adapters.provisioning import UserPool
from wsi.records.identity import Role


@dataclass(frozen=True, kw_only=True, slots=True)
class User:
    tenant: str
    role: Role
    email: str
    password: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    tenant: str
    role: Role
    key: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    users: tuple[User, ...]
    keys: tuple[Key, ...]

    @property
    def passwords(self) -> Mapping[str, str]:
        return {user.email: user.password for user in self.users}

    def key_of(self, tenant: str) -> str:
        return next(key.key for key in self.keys if key.tenant == tenant)

    def seed_tenants(self, pool: UserPool) -> tuple[SeedTenant, ...]:
        names = dict.fromkeys(user.tenant for user in self.users)
        return tuple(
            SeedTenant(
                name=name,
                users=tuple(
                    SeedUser(issuer=pool.issuer, subject=pool.subjects[user.email], role=user.role, email=user.email)
                    for user in self.users
                    if user.tenant == name
                ),
                keys=tuple(
                    SeedKey(key=key.key, role=key.role, name=KEY_NAME) for key in self.keys if key.tenant == name
                ),
            )
            for name in names
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


FIRST, SECOND = "first", "second"
KEY_NAME = "command line"  #: what jobs say that were asked for with the key of `python -m local key`
PEOPLE = ((FIRST, Role.VIEWER), (FIRST, Role.ANALYST), (FIRST, Role.ADMIN), (SECOND, Role.ANALYST))


def kept_access(path: Path) -> Access:
    """Read from `path`, or made there, readable by nobody else."""
    if path.exists():
        held = json.loads(path.read_text())
        return Access(
            users=tuple(User(**{**user, "role": Role(user["role"])}) for user in held["users"]),
            keys=tuple(Key(**{**key, "role": Role(key["role"])}) for key in held["keys"]),
        )
    access = Access(
        users=tuple(
            User(tenant=tenant, role=role, email=f"{role.value}@{tenant}.example", password=_password())
            for tenant, role in PEOPLE
        ),
        keys=tuple(
            Key(tenant=tenant, role=Role.ANALYST, key=f"tsk_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}")
            for tenant in (FIRST, SECOND)
        ),
    )
    write_private(path, access.as_json())
    return access


def write_private(path: Path, value: Mapping[str, Any]) -> None:
    """Whole or not at all, mode 0600: it holds passwords."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = path.with_name(f".{path.name}.partial")
    staging.touch(mode=0o600)
    staging.write_text(json.dumps(value, indent=2) + "\n")
    staging.replace(path)


def _password() -> str:
    """Cognito wants an upper-case and a lower-case letter, a digit and a symbol."""
    return f"Aa1!{secrets.token_urlsafe(12)}"
