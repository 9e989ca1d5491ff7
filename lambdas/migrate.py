"""Brings the database to the newest schema: called by CloudFormation while the data stack is deployed, before any new
code runs. What it raises fails the deployment (F-52).

It has an asset of its own, which holds neither the domain nor the API: it runs when a migration changes, not with
every commit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from adapters.aws_clients import AwsClients
from adapters.postgres.migrate import migrate
from adapters.postgres.owner import owner_dsn
from adapters.settings.processes import Owner
from lambdas.cold_start import Handler, entry

logger = logging.getLogger(__name__)


def owner(settings: Owner) -> Callable[[], str]:
    return partial(owner_dsn, settings, AwsClients(settings.region, settings.endpoint_url))


def make_handler(dsn: Callable[[], str]) -> Handler:
    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        revision = migrate(dsn())
        logger.info("the schema is at revision %s", revision)
        return {"revision": revision}

    return handle


handler = entry(Owner, owner, make_handler)
