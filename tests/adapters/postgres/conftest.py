from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.adapters.postgres.world import PostgresWorld
from tests.postgres import Database, database, postgres

__all__ = ["database", "postgres", "world"]


@pytest.fixture
def world(database: Database) -> Iterator[PostgresWorld]:
    world = PostgresWorld(database)
    yield world
    world.close()
