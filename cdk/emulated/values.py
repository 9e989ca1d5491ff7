"""Values of the emulated installation in place of AWS: parameters that every transformed template may take, and
the values made of them."""

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
    """Return the URL of https://service.region.amazonaws.com/path at the emulator's address."""
    path = {"Fn::Select": [1, {"Fn::Split": [".amazonaws.com/", url]}]}
    return {"Fn::Join": ["/", [{"Ref": ENDPOINT}, path]]}


def _make_embedded_dsn(dsn: Any) -> Any:
    """Return the DSN of the same database and role in the embedded Postgres, which needs no password; without a role,
    the owner's."""
    words = {"user": OWNER, **dict(re.findall(r"\b(dbname|user)=(\w+)", str(dsn)))}
    where = f"host=${{{DATABASE_HOST}}} port=${{{DATABASE_PORT}}}"
    return {"Fn::Sub": f"{where} dbname={words['dbname']} user={words['user']}"}


def _variable(field: str) -> str:
    return PREFIX + field.upper()


#: Environment variable -> a function from its old value to the new one; None removes it. Variables that a process does
#: not have are not added.
VARIABLES: Mapping[str, Callable[[Any], Any | None]] = {
    _variable("database_dsn"): _make_embedded_dsn,
    _variable("database_iam"): lambda _: "False",
    _variable("owner_secret"): lambda _: None,
    _variable("jwks_url"): _at_endpoint,
    _variable("appsync_url"): lambda _: {"Ref": PUBLISH_URL},
    _variable("realtime_url"): lambda _: {"Ref": REALTIME_URL},
}
REGION = _variable("region")  #: a process that has it calls AWS
ENDPOINT_URL = _variable("endpoint_url")


def rewrite_variables(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return a process's environment variables for the emulated installation."""
    changed = {name: VARIABLES[name](value) if name in VARIABLES else value for name, value in variables.items()}
    if REGION in changed:
        changed[ENDPOINT_URL] = {"Ref": ENDPOINT}
    return {name: value for name, value in changed.items() if value is not None}
