"""The stack as a library: who gets in, what stack.json says, and that nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import stat
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from adapters.aws_clients import AwsClients
from adapters.cognito import sign_in
from local.options import DATABASE, REGION, SLIDES, StackOptions
from local.processes import children
from local.stack import Stack
from tests.local.appsync_server import job_update
from tests.local.subscribers import ALL, hear
from tests.prerequisites import EMULATOR, NODE
from wsi.models.builtin import BUILTIN
from wsi.records.identity import Role

pytestmark = [
    pytest.mark.stack,
    EMULATOR.mark,
    NODE.mark,
]


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    made = Stack(tmp_path_factory.mktemp("stack"), StackOptions(workers=0, durable=False))
    made.start()
    yield made
    made.stop()


def get(stack, path, credential=None):
    headers = {"Authorization": f"Bearer {credential}"} if credential else {}
    return httpx.get(f"{stack.api_url}{path}", headers=headers)


def token(stack, user):
    return sign_in(stack.clients, stack.addresses.client_id, user.email, user.password)


def test_a_browser_finds_the_list_of_addresses(stack):
    answer = httpx.get(stack.api_url.replace("api/v1/wsi", "stack.html"))
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert stack.api_url in answer.text
    assert stack.api_key not in answer.text


def test_health_and_description_are_public_and_the_rest_is_not(stack):
    assert get(stack, "/health").json()["realtime_url"] == stack.realtime_url
    assert get(stack, "/openapi.json").json()["openapi"].startswith("3.")
    assert get(stack, "/jobs").status_code == 401
    assert get(stack, "/jobs", "tsk_made_up").status_code == 401
    assert get(stack, "/jobs", "eyJhbGciOiJub25lIn0.e30.").status_code == 401


def test_keys_of_both_tenants_and_every_person_get_in(stack):
    for key in stack.access.keys:
        assert get(stack, "/jobs", key.key).json()["items"] == []
    assert {(user.tenant, user.role) for user in stack.access.users} == {
        ("first", Role.VIEWER),
        ("first", Role.ANALYST),
        ("first", Role.ADMIN),
        ("second", Role.ANALYST),
        ("(operators)", Role.OPERATOR),
    }
    for user in stack.access.users:
        assert get(stack, "/models", token(stack, user)).status_code == 200


def test_keys_and_people_hear_their_own_tenants_jobs_alone(stack):
    ours = job_update(str(stack.tenants["first"]), job="ours")
    theirs = job_update(str(stack.tenants["second"]), job="theirs")
    people = {user.tenant: token(stack, user) for user in stack.access.users}
    callers = [stack.api_key, people["first"], stack.other_api_key, people["second"]]
    heard = hear(stack.graphql_url.removesuffix("/graphql"), [(caller, ALL) for caller in callers], [ours, theirs])
    jobs = [[data["onJobUpdate"]["jobId"] for data in each] for each in heard]
    assert jobs == [["ours"], ["ours"], ["theirs"], ["theirs"]]


def test_the_built_in_models_are_there(stack):
    found = [model["name"] for model in get(stack, "/models", stack.api_key).json()["items"]]
    assert sorted(found) == sorted(BUILTIN)


def test_stack_json_is_for_this_user_alone(stack):
    path = stack.folder / "stack.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    said = json.loads(path.read_text())
    assert said["pid"] == os.getpid()
    assert said["api_url"] == stack.api_url
    assert [user["password"] for user in said["users"]] == [user.password for user in stack.access.users]


def test_a_second_stack_in_the_same_folder_is_refused(stack):
    with pytest.raises(RuntimeError, match="running"):
        Stack(stack.folder).start()
    assert get(stack, "/health").status_code == 200
    assert (stack.folder / "stack.json").exists()


def test_what_was_started_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "of-the-developer")
    before = dict(os.environ)
    made = Stack(tmp_path, StackOptions(workers=2, durable=False))
    try:
        made.start()
        assert "AWS_PROFILE" not in os.environ
        first, second = made.workers.pids
        assert made.workers.stop(first) in (0, -signal.SIGTERM)  # the latter when it had not come up yet
        made.workers.kill(second)
        assert made.workers.pids == {}
        made.workers.start()
        pids = [made.ministack.pid, *made.workers.pids.values()]
    finally:
        made.stop()
    made.stop()
    assert not any(children.is_alive(pid) for pid in pids)
    assert not (tmp_path / "stack.json").exists()
    assert dict(os.environ) == before
    with pytest.raises(httpx.ConnectError):
        get(made, "/health")


def test_no_other_user_of_this_machine_reads_a_secret(stack: Stack) -> None:
    said = stack.as_json()
    secrets = [key.key for key in stack.access.keys] + [user.password for user in stack.access.users]
    secrets += [stack.credentials["AWS_SECRET_ACCESS_KEY"], urlsplit(stack.addresses.api_dsn).password or "none"]
    assert all(len(secret) > 12 for secret in secrets)
    assert said["credentials"] == stack.credentials
    closed = [path for path in stack.folder.iterdir() if path.is_dir() and not path.stat().st_mode & 0o077]
    assert {"logs", "models", "workers", "ministack"} <= {path.name for path in closed}
    open_files = [path for path in stack.folder.iterdir() if path.is_file() and path.stat().st_mode & 0o077]
    for path in open_files:
        text = path.read_bytes()
        assert not [secret for secret in secrets if secret.encode() in text], path.name


def test_servers_answer_only_who_holds_the_stacks_secrets(stack: Stack) -> None:
    at = urlsplit(stack.addresses.system_dsn)
    for role in ("postgres", "tessera_owner", "tessera_api", "tessera_system"):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(f"host=127.0.0.1 port={at.port} dbname={DATABASE} user={role}")
    with psycopg.connect(stack.addresses.api_dsn) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("tessera_api",)
    unsigned = httpx.get(f"{stack.ministack.url}/{SLIDES}?list-type=2")
    assert unsigned.status_code == 403
    as_root = AwsClients(REGION, stack.ministack.url).get_credentials().get_frozen_credentials()
    assert (as_root.access_key, as_root.secret_key) == ("tessera", stack.credentials["AWS_SECRET_ACCESS_KEY"])
