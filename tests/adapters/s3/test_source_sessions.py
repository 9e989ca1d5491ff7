"""Customers' objects are read in sessions of one role, each for one source of one tenant."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from moto import mock_aws

from adapters.aws_clients import AwsClients
from adapters.provisioning import create_buckets
from adapters.s3.slides import S3SlideStore
from adapters.s3.source_sessions import LEAST_SECONDS, SourceSession, make_policy
from tests.ministack import REGION
from wsi import keys
from wsi.errors import SourceMissing, SourceOutside
from wsi.sources.source import Source

ROLE = "arn:aws:iam::123456789012:role/tessera-test-data-SourcesRole"
ONE, OTHER = UUID(int=1), UUID(int=2)
OURS = keys.of_slide_file(ONE, UUID(int=7), 0)
SOURCES = {
    ONE: (Source("lab-slides", "labs/"), Source("lab-slides", "labs/a/"), Source("clinic-slides")),
    OTHER: (Source("lab-slides", "labs/"),),
}


class Asked:
    """What was asked of AWS: (service, operation, parameters), and the access key that signed it."""

    def __init__(self, clients: AwsClients) -> None:
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        for service in ("s3", "sts"):
            clients.get_client(service)
        clients._session.events.register("before-parameter-build.*.*", self._note)
        for client in clients._made.values():
            client.meta.events.register("before-parameter-build.*.*", self._note)

    def _note(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.calls.append((model.service_model.service_name, model.name, dict(params)))

    def named(self, operation: str) -> list[dict[str, Any]]:
        return [params for _, name, params in self.calls if name == operation]


@pytest.fixture
def clients(credentials):
    with mock_aws():
        clients = AwsClients(REGION)
        create_buckets(clients, ["tessera-slides", "lab-slides", "clinic-slides"])
        for key in ("labs/a/x.svs", "labs/b/x.svs", "private/x.svs"):
            clients.s3.put_object(Bucket="lab-slides", Key=key, Body=b"slide")
        clients.s3.put_object(Bucket="tessera-slides", Key=OURS, Body=b"ours!")
        yield clients


@pytest.fixture
def asked(clients):
    return Asked(clients)


@pytest.fixture
def store(clients):
    return S3SlideStore(
        clients,
        "tessera-slides",
        ["lab-slides", "clinic-slides"],
        list_sources=lambda tenant: SOURCES.get(tenant, ()),
        source_role=ROLE,
    )


def policies(asked: Asked) -> list[list[dict[str, Any]]]:
    return [json.loads(params["Policy"])["Statement"] for params in asked.named("AssumeRole")]


def test_an_object_is_read_in_a_session_for_its_narrowest_source(store, asked):
    assert store.look_up("s3://lab-slides/labs/a/x.svs", tenant=ONE).size == 5
    [params] = asked.named("AssumeRole")
    assert (params["RoleArn"], params["RoleSessionName"]) == (ROLE, f"tenant-{ONE}")
    [[reading, decrypting]] = policies(asked)
    assert reading == {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::lab-slides/labs/a/*"}
    assert (decrypting["Action"], decrypting["Effect"]) == ("kms:Decrypt", "Allow")


def test_range_reads_are_signed_by_the_session_and_not_by_the_process(store, clients):
    source = store.open("s3://lab-slides/labs/a/x.svs", tenant=ONE)
    given = source._store.credential_provider()
    assert given["token"]
    assert given["access_key_id"] != clients.get_credentials().access_key
    ours = store.open(f"s3://tessera-slides/{OURS}", tenant=ONE)
    assert ours._store.credential_provider()["access_key_id"] == clients.get_credentials().access_key


def test_a_session_is_kept_for_its_source_and_tenant(store, asked):
    for _ in range(3):
        store.look_up("s3://lab-slides/labs/b/x.svs", tenant=ONE)
        store.open("s3://lab-slides/labs/b/x.svs", tenant=ONE)
    assert len(asked.named("AssumeRole")) == 1
    store.look_up("s3://lab-slides/labs/b/x.svs", tenant=OTHER)
    assert [params["RoleSessionName"] for params in asked.named("AssumeRole")] == [f"tenant-{ONE}", f"tenant-{OTHER}"]


@pytest.mark.parametrize(
    "uri",
    [
        "s3://lab-slides/private/x.svs",
        "s3://lab-slides/private/missing.svs",
        "s3://no-such-bucket/x.svs",
        f"s3://tessera-slides/{OURS}",
    ],
)
def test_nothing_is_asked_about_an_address_outside(store, asked, uri):
    said = set()
    for call in (store.look_up, store.check_readable):
        if uri.startswith("s3://tessera-slides/") and call == store.check_readable:
            continue
        with pytest.raises(SourceOutside) as refusal:
            call(uri, tenant=ONE)
        said.add(refusal.value.sentence)
    assert len(said) == 1
    assert asked.calls == []


def test_our_own_slides_need_no_session(store, asked):
    assert store.open(f"s3://tessera-slides/{OURS}", tenant=ONE).size == 5
    assert asked.named("AssumeRole") == []


def test_without_a_role_the_process_reads_by_itself(clients, asked):
    store = S3SlideStore(clients, "tessera-slides", ["lab-slides"], list_sources=SOURCES.__getitem__)
    assert store.look_up("s3://lab-slides/labs/a/x.svs", tenant=OTHER).size == 5
    assert asked.named("AssumeRole") == []


class EndingRole:
    """`AwsClients` whose role gives sessions of these lengths, and refuses after them."""

    def __init__(self, clients: AwsClients, *lengths: float) -> None:
        self._clients = clients
        self._lengths = list(lengths)
        self.begun = 0

    def get_client(self, service: str) -> EndingRole:
        return self

    def make_client(self, service: str, credentials: Any) -> Any:
        return self._clients.make_client(service, credentials)

    def assume_role(self, **asked: Any) -> Any:
        answer = self._clients.get_client("sts").assume_role(**asked)
        answer["Credentials"]["Expiration"] = datetime.now(UTC) + timedelta(seconds=self._lengths[self.begun])
        self.begun += 1
        return answer


def test_a_session_that_ends_soon_is_replaced(clients):
    role: Any = EndingRole(clients, LEAST_SECONDS - 1, LEAST_SECONDS + 60)
    session = SourceSession(role, ROLE, ONE, Source("lab-slides"))
    first = session.get_credentials()
    second = session.get_credentials()
    assert first != second
    assert session.get_credentials() == second
    assert role.begun == 2


def test_threads_that_ask_at_once_begin_one_session(clients):
    role: Any = EndingRole(clients, *[3600.0] * 8)
    session = SourceSession(role, ROLE, ONE, Source("lab-slides"))
    threads = [threading.Thread(target=session.get_credentials) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert role.begun == 1


def test_an_object_that_the_session_finds_missing_is_missing(store):
    with pytest.raises(SourceMissing):
        store.look_up("s3://lab-slides/labs/a/missing.svs", tenant=ONE)


def test_the_policy_of_a_session_fits_into_its_room_and_follows_the_partition():
    longest = make_policy(Source("b" * 63, "p" * 255 + "/"), partition="aws-us-gov")
    assert len(longest) < 2048
    assert json.loads(longest)["Statement"][0]["Resource"].startswith("arn:aws-us-gov:s3:::")
