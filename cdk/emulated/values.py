"""What the emulated installation has in place of AWS: parameters that every transformed template may take, and the
values made of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from adapters.settings.database_roles import OWNER
from adapters.settings.environment import PREFIX

ENDPOINT = "EmulatedEndpoint"
DATABASE_HOST = "EmulatedDatabaseHost"
DATABASE_PORT = "EmulatedDatabasePort"
PUBLISH_URL = "EmulatedPublishUrl"
REALTIME_URL = "EmulatedRealtimeUrl"

#: Parameter -> what it is. All are strings.
PARAMETERS: Mapping[str, str] = {
    ENDPOINT: "Where MiniStack answers, for all services",
    DATABASE_HOST: "Of the embedded Postgres",
    DATABASE_PORT: "Of the embedded Postgres",
    PUBLISH_URL: "Of the local AppSync server, for mutations",
    REALTIME_URL: "Of the local AppSync server, for subscriptions",
}


def _at_endpoint(url: Any) -> Any:
    """https://service.region.amazonaws.com/path -> the emulator's address and the path."""
    path = {"Fn::Select": [1, {"Fn::Split": [".amazonaws.com/", url]}]}
    return {"Fn::Join": ["/", [{"Ref": ENDPOINT}, path]]}


def _embedded_dsn(dsn: Any) -> Any:
    """The same database and role in the embedded Postgres, which asks for no password; without a role, as the owner."""
    words = {"user": OWNER, **dict(re.findall(r"\b(dbname|user)=(\w+)", str(dsn)))}
    where = f"host=${{{DATABASE_HOST}}} port=${{{DATABASE_PORT}}}"
    return {"Fn::Sub": f"{where} dbname={words['dbname']} user={words['user']}"}


def _variable(field: str) -> str:
    return PREFIX + field.upper()


#: Environment variable -> its new value from the old one, or None: without it. What a process does not have is not
#: added.
VARIABLES: Mapping[str, Callable[[Any], Any | None]] = {
    _variable("database_dsn"): _embedded_dsn,
    _variable("database_iam"): lambda _: "False",
    _variable("owner_secret"): lambda _: None,
    _variable("jwks_url"): _at_endpoint,
    _variable("appsync_url"): lambda _: {"Ref": PUBLISH_URL},
    _variable("realtime_url"): lambda _: {"Ref": REALTIME_URL},
}
REGION = _variable("region")  #: who has it talks to AWS
ENDPOINT_URL = _variable("endpoint_url")


def rewritten(variables: Mapping[str, Any]) -> dict[str, Any]:
    """The environment of a process, as the emulated installation gives it."""
    changed = {name: VARIABLES[name](value) if name in VARIABLES else value for name, value in variables.items()}
    if REGION in changed:
        changed[ENDPOINT_URL] = {"Ref": ENDPOINT}
    return {name: value for name, value in changed.items() if value is not None}
