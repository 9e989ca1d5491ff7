"""The API on the in-memory ports."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from lambdas.wiring import AdministrationPorts, ApiWiring
from tests.installation import ADMIN, ANALYST, SCALING, STRANGER, VIEWER, Installation
from tests.lambdas.rest import Caller, whole_handler


class Unreached:
    """Ports of administration that no request may reach: `tests/lambdas/administration` has real ones."""

    def __getattr__(self, name):
        raise AssertionError(f"{name} was called for somebody who may not")


@pytest.fixture
def installation():
    return Installation()


@pytest.fixture
def wiring(installation):
    return ApiWiring(
        ledger=installation.ledger,
        slides=installation.slides,
        packages=installation.packages,
        objects=installation.objects,
        queues=installation.queues,
        dollars_per_gpu_hour=1.0,
        scaling=SCALING,
        realtime_url="wss://push.example/graphql/realtime",
        clock=installation.clock,
        administration=AdministrationPorts(directory=Unreached(), operations=Unreached()),
    )


@pytest.fixture
def callers(wiring):
    handler = whole_handler(wiring)
    people = {"viewer": VIEWER, "analyst": ANALYST, "admin": ADMIN, "stranger": STRANGER, "nobody": None}
    by_name = {name: Caller(handler, actor) for name, actor in people.items()}
    return SimpleNamespace(**by_name, of=lambda actor: Caller(handler, actor))


@pytest.fixture
def analyst(callers):
    return callers.analyst


@pytest.fixture
def slide(installation):
    return installation.ready()
