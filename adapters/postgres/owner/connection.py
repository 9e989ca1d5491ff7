"""The owner's connection: to the instance itself, with the password that RDS keeps and rotates.

No authority that machines trust vouches for an instance's certificate, so TLS alone would not detect an impostor. In
SCRAM, which RDS is configured to use, the server proves that it knows the password, and the password is never sent
(docs/decisions/0019).
"""

from __future__ import annotations

import json
import logging
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from adapters.aws_clients import AwsClients
from adapters.postgres.connections import CONNECT_SECONDS, make_token_source
from adapters.settings.processes import OwnerSettings

logger = logging.getLogger(__name__)

#: RDS requires it of members of its role rds_iam; a password is never sent in clear text.
_CLEAR_TEXT = "cleartext password"


def make_owner_dsn(settings: OwnerSettings, clients: AwsClients) -> str:
    """Return a DSN to open at once, since the password changes every week. Raises psycopg.OperationalError."""
    if settings.owner_secret is None:
        return settings.database_dsn
    answer = clients.get_client("secretsmanager").get_secret_value(SecretId=settings.owner_secret)
    secret: dict[str, Any] = json.loads(answer["SecretString"])
    return add_password(
        make_conninfo(settings.database_dsn, user=secret["username"], sslmode="require"),
        secret["password"],
        region=settings.region,
    )


def add_password(dsn: str, password: str, *, region: str) -> str:
    """Return `dsn` with the password; or with an IAM token, if the server accepts nothing else from this user.

    The owner makes the roles that sign in by IAM, so Postgres counts it among their members, and among those of
    rds_iam. A standard Postgres would then require a token of the owner too. RDS documents nothing about it.
    """
    with_password = make_conninfo(dsn, password=password, require_auth="!password,!none")
    try:
        psycopg.connect(with_password, connect_timeout=CONNECT_SECONDS).close()
    except psycopg.OperationalError as refusal:
        if _CLEAR_TEXT not in str(refusal):
            raise
        logger.warning("the owner is a member of rds_iam and signs in by token")
        return make_conninfo(dsn, password=make_token_source(dsn, region)())
    return with_password
