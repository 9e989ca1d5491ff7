"""S3 Object Lock on two imitations of S3, which refuse to delete locked versions as S3 does."""

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


class _OnLockedBucket(ObjectLocksContract):
    @pytest.fixture
    def s3(self, clients: AwsClients, bucket: str) -> Any:
        clients.s3.create_bucket(
            Bucket=bucket,
            CreateBucketConfiguration={"LocationConstraint": REGION},
            ObjectLockEnabledForBucket=True,
        )
        return clients.s3

    @pytest.fixture
    def locks(self, clients: AwsClients, bucket: str) -> S3Locks:
        return S3Locks(clients, bucket)

    @pytest.fixture
    def put(self, s3: Any, bucket: str) -> Callable[[str], str]:
        return lambda key: s3.put_object(Bucket=bucket, Key=key, Body=b"tissue")["VersionId"]

    @pytest.fixture
    def retain(self, s3: Any, bucket: str) -> Callable[[str, datetime], None]:
        def retain(key: str, until: datetime) -> None:
            s3.put_object_retention(Bucket=bucket, Key=key, Retention={"Mode": "GOVERNANCE", "RetainUntilDate": until})

        return retain

    def list_versions(self, s3: Any, bucket: str) -> list[str]:
        found = s3.list_object_versions(Bucket=bucket, Prefix="slide/").get("Versions", ())
        return [version["Key"] for version in found]

    def test_versions_that_are_overwritten_or_hidden_count_too(
        self, locks: S3Locks, put: Any, s3: Any, bucket: str
    ) -> None:
        """A deletion deletes them: a lock of any of them refuses it."""
        first = put("slide/00002")
        put("slide/00002")
        s3.put_object_legal_hold(Bucket=bucket, Key="slide/00002", VersionId=first, LegalHold={"Status": "ON"})
        assert locks.find_lock("slide/") == ObjectLock(None)
        s3.delete_object(Bucket=bucket, Key="slide/00002")
        assert locks.find_lock("slide/") == ObjectLock(None)
        locks.set_legal_hold("slide/", held=False)
        assert locks.find_lock("slide/") is None

    @pytest.mark.parametrize("locked", ["hold", "retention"])
    def test_a_deletion_of_what_is_locked_says_so_and_deletes_the_rest(
        self, clients: AwsClients, locks: S3Locks, retain: Any, s3: Any, bucket: str, locked: str
    ) -> None:
        if locked == "hold":
            locks.set_legal_hold("slide/00000", held=True)
        else:
            retain("slide/00000", FIRST)
        store = S3SlideStore(clients, bucket)
        for delete in (lambda: store.delete_below("slide/"), lambda: store.delete(store.make_uri("slide/00000"))):
            with pytest.raises(ObjectLocked, match="S3 Object Lock keeps some of the objects"):
                delete()
            assert self.list_versions(s3, bucket) == ["slide/00000"]

    def test_what_was_held_is_deleted_after_its_hold(
        self, clients: AwsClients, locks: S3Locks, s3: Any, bucket: str
    ) -> None:
        objects = S3Objects(clients, bucket)
        locks.set_legal_hold("slide/", held=True)
        with pytest.raises(ObjectLocked):
            objects.delete_below("slide/")
        locks.set_legal_hold("slide/", held=False)
        assert objects.delete_below("slide/") == 2
        assert self.list_versions(s3, bucket) == []

    def test_an_object_that_goes_between_listing_and_head_is_not_locked(
        self, clients: AwsClients, s3: Any, bucket: str
    ) -> None:
        class Late(S3Locks):
            def _read_lock(self, version: dict[str, Any]) -> ObjectLock | None:
                s3.delete_object(**version)
                return super()._read_lock(version)

        assert Late(clients, bucket).find_lock("slide/") is None


class TestOnMoto(_OnLockedBucket):
    @pytest.fixture
    def bucket(self) -> str:
        return "tessera-slides"

    @pytest.fixture
    def clients(self, credentials: None) -> Iterator[AwsClients]:
        with mock_aws():
            yield AwsClients(REGION)


@pytest.mark.stack
class TestOnMiniStack(_OnLockedBucket):
    @pytest.fixture
    def bucket(self, fresh_name: str) -> str:
        return fresh_name

    def test_a_default_retention_of_the_owner_is_found(self, locks: S3Locks, put: Any, s3: Any, bucket: str) -> None:
        rule = {"DefaultRetention": {"Mode": "COMPLIANCE", "Days": 3}}
        s3.put_object_lock_configuration(
            Bucket=bucket, ObjectLockConfiguration={"ObjectLockEnabled": "Enabled", "Rule": rule}
        )
        put("slide3/00000")
        lock = locks.find_lock("slide3/")
        assert lock is not None
        assert lock.until is not None
