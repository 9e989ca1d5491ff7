"""`tessera admin people|keys|tenants|quotas|models` over HTTP, on the API's handler and a real Postgres."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from adapters.postgres.owner.seeding import OPERATORS_NAME
from lambdas.authorizer import AuthorizerWiring, make_handler
from local.gateway.http_api import make_api_app
from local.gateway.http_server import HttpServer
from tessera.cli import app
from tests.lambdas.administration.conftest import Site, database, postgres, site
from wsi.errors import TesseraError
from wsi.records.identity import Role

__all__ = ["database", "postgres", "site"]

Run = Callable[..., Result]


@pytest.fixture
def run(site: Site) -> Iterator[Run]:
    """Run a command as an operator, or with another key."""
    authorizer = make_handler(
        AuthorizerWiring(identities=site.identities, issuer="i", client_id="c", jwks_url="http://127.0.0.1:1/")
    )
    server = HttpServer("api", lambda: make_api_app(site.handler, authorizer, public_paths=()))
    server.start()
    operator = site.owner.add_key(OPERATORS_NAME, "robot", Role.OPERATOR)

    def invoke(*arguments: str, key: str = operator) -> Result:
        return CliRunner().invoke(app, ["admin", *arguments, "--api", server.url, "--api-key", key])

    yield invoke
    server.stop()


def ask(run: Run, *arguments: str, **how: Any) -> Any:
    done = run(*arguments, "--json", **how)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_from_a_new_tenant_to_its_admins_first_key(run: Run) -> None:
    assert run("tenants", "add", "clinic").exit_code == 0
    invited = run("people", "invite", "ada@clinic.example", "--role", "admin", "--tenant", "clinic")
    assert invited.stdout.startswith("ada@clinic.example is invited as admin until ")
    assert "password for the first sign-in, shown this once: first" in invited.stdout
    [pending] = ask(run, "people", "invitations", "--tenant", "clinic")["items"]
    assert pending["email"] == "ada@clinic.example"
    assert run("people", "withdraw", "ada@clinic.example", "--tenant", "clinic").exit_code == 0
    key = ask(run, "keys", "add", "robot", "--role", "admin", "--tenant", "clinic")["key"]
    assert [one["name"] for one in ask(run, "keys", "list", key=key)["items"]] == ["robot"]
    assert ask(run, "people", "list", key=key) == {"items": []}


def test_people_are_named_by_their_address(run: Run) -> None:
    at = ("--tenant", "hospital")
    assert (
        run("people", "role", "ANALYST@hospital.example", "admin", *at).stdout == "analyst@hospital.example is admin\n"
    )
    assert run("people", "disable", "admin@hospital.example", *at).stdout == "admin@hospital.example is disabled\n"
    assert run("people", "enable", "admin@hospital.example", *at).exit_code == 0
    handed = run("people", "hand-over", "admin@hospital.example", "analyst@hospital.example", *at)
    assert handed.stdout == "analyst@hospital.example has taken over 0 slides and 0 unfinished jobs\n"
    moved = run("people", "move", "admin@hospital.example", "--to", "rival", "--role", "viewer", *at)
    assert moved.stdout == "admin@hospital.example is now viewer of rival\n"
    listed = run("people", "list", *at).stdout
    assert "analyst@hospital.example" in listed
    assert "admin@hospital.example" not in listed
    refused = run("people", "role", "nobody@hospital.example", "admin", *at)
    assert isinstance(refused.exception, TesseraError)
    assert refused.exception.sentence == "There is no person with this address or id."


def test_keys_are_named_by_name_or_prefix(run: Run) -> None:
    at = ("--tenant", "hospital")
    made = ask(run, "keys", "add", "scanner", "--role", "analyst", "--expires", "2030-01-31", *at)
    successor = ask(run, "keys", "rotate", "scanner", "--hours", "0", *at)
    listed = run("keys", "list", *at).stdout
    assert successor["prefix"] in listed
    assert made["prefix"] not in listed
    assert made["prefix"] in run("keys", "list", "--all", *at).stdout
    never = ask(run, "keys", "expire", successor["prefix"], "--never", *at)
    assert never["expires_at"] is None
    revoked = run("keys", "revoke", "scanner", *at)
    assert revoked.stdout == f"key scanner (tsk_{successor['prefix']}_) is revoked\n"
    assert run("keys", "expire", "scanner", *at).exit_code != 0


def test_quotas_and_models_and_tenants_of_operators(run: Run) -> None:
    at = ("--tenant", "hospital")
    assert ask(run, "quotas", "set", "--tiles-a-day", "1000", "--top-priority", "low", *at)["tiles_a_day"] == 1000
    assert ask(run, "quotas", "set", "--tiles-a-day", "none", *at)["tiles_a_day"] is None
    assert "top priority" in run("quotas", "show", *at).stdout
    for wrong in (("--tiles-a-day", "many"), ()):
        assert run("quotas", "set", *wrong, *at).exit_code != 0
    assert run("models", "builtin", "stain-density").stdout.startswith("model stain-density ")
    assert "stain-density" in run("models", "list").stdout
    assert run("tenants", "suspend", "rival").stdout == "tenant rival is suspended\n"
    assert "suspended" in run("tenants", "list").stdout
    assert run("tenants", "resume", "rival").exit_code == 0
    assert run("tenants", "rename", "rival", "partner").stdout == "tenant rival is now partner\n"
