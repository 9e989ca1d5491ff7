"""How the owner signs in: at the instance itself, with the password that RDS keeps and rotates.

No authority that machines trust vouches for an instance's certificate, so TLS alone would not know an impostor. In
SCRAM, which RDS is told to use, the server proves that it knows the password, and nobody is told it
(docs/decisions/0019).
"""

from __future__ import annotations

import json
import logging
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from adapters.aws_clients import AwsClients
from adapters.postgres.connections import CONNECT_SECONDS, iam_password
from adapters.settings.processes import Owner

logger = logging.getLogger(__name__)

#: What RDS asks of members of its role rds_iam; a password is never sent so.
_CLEAR_TEXT = "cleartext password"


def owner_dsn(settings: Owner, clients: AwsClients) -> str:
    """A DSN that opens at once: the password changes every week. Raises psycopg.OperationalError."""
    if settings.owner_secret is None:
        return settings.database_dsn
    answer = clients.client("secretsmanager").get_secret_value(SecretId=settings.owner_secret)
    secret: dict[str, Any] = json.loads(answer["SecretString"])
    return signed_in(
        make_conninfo(settings.database_dsn, user=secret["username"], sslmode="require"),
        secret["password"],
        region=settings.region,
    )


def signed_in(dsn: str, password: str, *, region: str) -> str:
    """`dsn` with the password; or with an IAM token, where the server takes nothing else from this user.

    The owner makes the roles that sign in by IAM, and so Postgres counts it among their members, and among those of
    rds_iam. A Postgres as it comes would then ask the owner for a token too. RDS documents nothing about it.
    """
    with_password = make_conninfo(dsn, password=password, require_auth="!password,!none")
    try:
        psycopg.connect(with_password, connect_timeout=CONNECT_SECONDS).close()
    except psycopg.OperationalError as refusal:
        if _CLEAR_TEXT not in str(refusal):
            raise
        logger.warning("the owner is a member of rds_iam and signs in by token")
        return make_conninfo(dsn, password=iam_password(dsn, region)())
    return with_password
