"""The migration of the database to the newest schema. CloudFormation calls it while the data stack is deployed, before
any new code runs. An exception fails the deployment (F-52).

It has an asset of its own, which holds neither the domain nor the API: it runs when a migration changes, not with every
commit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from adapters.aws_clients import AwsClients
from adapters.postgres.owner.connection import make_owner_dsn
from adapters.postgres.owner.migrate import migrate
from adapters.settings.processes import OwnerSettings
from lambdas.cold_start import Handler, make_entry

logger = logging.getLogger(__name__)


def make_handler(dsn: Callable[[], str]) -> Handler:
    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        revision = migrate(dsn())
        logger.info("the schema is at revision %s", revision)
        return {"revision": revision}

    return handle


def wire(settings: OwnerSettings) -> Handler:
    return make_handler(partial(make_owner_dsn, settings, AwsClients(settings.region, settings.endpoint_url)))


handler = make_entry(OwnerSettings, wire)
