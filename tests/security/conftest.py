from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.adapters.postgres.world import PostgresWorld
from tests.postgres import PostgresServer
from tests.security.two_tenants import TwoTenants


@pytest.fixture(scope="module")
def tenants(postgres: PostgresServer) -> Iterator[TwoTenants]:
    database = postgres.clone()
    world = PostgresWorld(database)
    yield TwoTenants(world)
    world.close()
    postgres.drop(database)
