"""Users of an embedded stack: two tenants, a person for each role, an API key each. Kept between starts."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from adapters.postgres.owner.seeding import OPERATORS_NAME, SeedKey, SeedTenant, SeedUser
from adapters.provisioning import UserPool
from wsi.records.identity import Role
from wsi.sources.source import Source


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

    def get_key(self, tenant: str, role: Role = Role.ANALYST) -> str:
        return next(key.key for key in self.keys if (key.tenant, key.role) == (tenant, role))

    def seed_tenants(self, pool: UserPool, sources: Mapping[str, tuple[Source, ...]]) -> tuple[SeedTenant, ...]:
        """Return the tenants as they are seeded, with their sources by name."""
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
                    SeedKey(key=key.key, role=key.role, name=KEY_NAMES[key.role])
                    for key in self.keys
                    if key.tenant == name
                ),
                sources=sources.get(name, ()),
            )
            for name in names
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


FIRST, SECOND = "first", "second"
#: Names of the keys, which jobs show: of the keys that `python -m local key` prints.
KEY_NAMES = {
    Role.ANALYST: "command line",
    Role.ADMIN: "command line of an admin",
    Role.OPERATOR: "command line of an operator",
}
OPERATOR = (OPERATORS_NAME, Role.OPERATOR)
PEOPLE = ((FIRST, Role.VIEWER), (FIRST, Role.ANALYST), (FIRST, Role.ADMIN), (SECOND, Role.ANALYST), OPERATOR)
KEYS = ((FIRST, Role.ANALYST), (FIRST, Role.ADMIN), (SECOND, Role.ANALYST), OPERATOR)


def load_access(path: Path) -> Access:
    """Read the users and keys from `path`, or create the file, readable by nobody else. Add those that an older file
    lacks."""
    held = _read_access(path)
    users, keys = ({(one.tenant, one.role) for one in had} for had in (held.users, held.keys))
    access = Access(users=(*held.users, *_new_users(users)), keys=(*held.keys, *_new_keys(keys)))
    if access != held:
        write_private(path, access.as_json())
    return access


def _read_access(path: Path) -> Access:
    if not path.exists():
        return Access(users=(), keys=())
    held = json.loads(path.read_text())
    return Access(
        users=tuple(User(**{**user, "role": Role(user["role"])}) for user in held["users"]),
        keys=tuple(Key(**{**key, "role": Role(key["role"])}) for key in held["keys"]),
    )


def _new_users(had: Collection[tuple[str, Role]]) -> Iterator[User]:
    for tenant, role in PEOPLE:
        if (tenant, role) not in had:
            email = f"{role.value}@{'operators' if tenant == OPERATORS_NAME else tenant}.example"
            yield User(tenant=tenant, role=role, email=email, password=_password())


def _new_keys(had: Collection[tuple[str, Role]]) -> Iterator[Key]:
    for tenant, role in KEYS:
        if (tenant, role) not in had:
            yield Key(tenant=tenant, role=role, key=f"tsk_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}")


def write_private(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file whole or not at all, with mode 0600: it holds passwords."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = path.with_name(f".{path.name}.partial")
    staging.touch(mode=0o600)
    staging.write_text(json.dumps(value, indent=2) + "\n")
    staging.replace(path)


def _password() -> str:
    """Return a password with what Cognito demands: an upper-case and a lower-case letter, a digit and a symbol."""
    return f"Aa1!{secrets.token_urlsafe(12)}"
