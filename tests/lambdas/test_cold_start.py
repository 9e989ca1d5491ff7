"""Handlers are built by their first event, from the environment."""

from __future__ import annotations

import importlib

import pytest
from pydantic import ValidationError

from adapters.settings.environment import Environment
from lambdas.cold_start import make_entry


class Settings(Environment):
    region: str


def test_the_first_event_builds_what_all_events_share(monkeypatch):
    built = []

    def wire(settings):
        built.append(settings.region)
        return lambda event, context: {"region": settings.region, **event}

    handler = make_entry(Settings, wire)
    assert built == []
    monkeypatch.setenv("TESSERA_REGION", "eu-central-1")
    assert [handler({"n": n}, None) for n in range(2)] == [{"region": "eu-central-1", "n": n} for n in range(2)]
    assert built == ["eu-central-1"]


@pytest.mark.parametrize(
    "name",
    [
        "api",
        "submit",
        "tiles",
        "authorizer",
        "inspect",
        "plan",
        "stitch",
        "relay",
        "sweep",
        "notify",
        "administer",
        "operate",
    ],
)
def test_a_lambda_without_its_settings_names_those_that_lack(monkeypatch, name):
    monkeypatch.delenv("TESSERA_DATABASE_DSN", raising=False)
    with pytest.raises(ValidationError, match="database_dsn"):
        importlib.import_module(f"lambdas.{name}").handler({}, None)
