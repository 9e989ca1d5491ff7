"""S3 Object Lock on moto, which refuses to delete locked versions as S3 does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from moto import mock_aws

from adapters.aws_clients import AwsClients
from adapters.s3.locks import S3Locks
from adapters.s3.objects import S3Objects
from adapters.s3.slides import S3SlideStore
from tests.contracts.erasure.object_locks import FIRST, ObjectLocksContract
from tests.ministack import REGION
from wsi.errors import ObjectLocked
from wsi.ports.objects import ObjectLock

BUCKET = "tessera-slides"


@pytest.fixture
def s3(clients: AwsClients) -> Any:
    return clients.s3


@pytest.fixture
def clients(credentials: None) -> Iterator[AwsClients]:
    with mock_aws():
        made = AwsClients(REGION)
        made.s3.create_bucket(
            Bucket=BUCKET,
            CreateBucketConfiguration={"LocationConstraint": REGION},
            ObjectLockEnabledForBucket=True,
        )
        yield made


@pytest.fixture
def locks(clients: AwsClients) -> S3Locks:
    return S3Locks(clients, BUCKET)


@pytest.fixture
def put(s3: Any) -> Callable[[str], str]:
    return lambda key: s3.put_object(Bucket=BUCKET, Key=key, Body=b"tissue")["VersionId"]


@pytest.fixture
def retain(s3: Any) -> Callable[[str, datetime], None]:
    def retain(key: str, until: datetime) -> None:
        s3.put_object_retention(Bucket=BUCKET, Key=key, Retention={"Mode": "GOVERNANCE", "RetainUntilDate": until})

    return retain


def list_versions(s3: Any) -> list[str]:
    return [version["Key"] for version in s3.list_object_versions(Bucket=BUCKET).get("Versions", ())]


class TestOnMoto(ObjectLocksContract):
    pass


def test_versions_that_are_hidden_or_overwritten_count_too(locks: S3Locks, put: Any, s3: Any) -> None:
    """A deletion deletes them: a lock of any of them refuses it."""
    first = put("slide/00000")
    put("slide/00000")
    s3.put_object_legal_hold(Bucket=BUCKET, Key="slide/00000", VersionId=first, LegalHold={"Status": "ON"})
    assert locks.find_lock("slide/") == ObjectLock(None)
    s3.delete_object(Bucket=BUCKET, Key="slide/00000")
    assert locks.find_lock("slide/") == ObjectLock(None)
    locks.set_legal_hold("slide/", held=False)
    assert locks.find_lock("slide/") is None


@pytest.mark.parametrize("locked", ["hold", "retention"])
def test_a_deletion_of_what_is_locked_says_so_and_deletes_the_rest(
    clients: AwsClients, locks: S3Locks, put: Any, retain: Any, s3: Any, locked: str
) -> None:
    for key in ("slide/00000", "slide/00001"):
        put(key)
    if locked == "hold":
        locks.set_legal_hold("slide/00000", held=True)
    else:
        retain("slide/00000", FIRST)
    store = S3SlideStore(clients, BUCKET)
    for delete in (lambda: store.delete_below("slide/"), lambda: store.delete(store.make_uri("slide/00000"))):
        with pytest.raises(ObjectLocked, match="S3 Object Lock keeps some of the objects"):
            delete()
        assert list_versions(s3) == ["slide/00000"]
    if locked == "hold":
        locks.set_legal_hold("slide/00000", held=False)
        assert S3Objects(clients, BUCKET).delete_below("slide/") == 1
        assert list_versions(s3) == []


def test_an_object_that_goes_between_listing_and_head_is_not_locked(clients: AwsClients, put: Any, s3: Any) -> None:
    class Late(S3Locks):
        def _read_lock(self, version: dict[str, Any]) -> ObjectLock | None:
            s3.delete_object(**version)
            return super()._read_lock(version)

    put("slide/00000")
    assert Late(clients, BUCKET).find_lock("slide/") is None
