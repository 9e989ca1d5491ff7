from __future__ import annotations

import httpx
import pytest
from moto import mock_aws

from adapters.aws_clients import AwsClients
from adapters.provisioning import create_buckets
from adapters.s3.objects import S3Objects
from tests.contracts.objects import ObjectsContract
from tests.ministack import REGION


class _OnVersionedBucket(ObjectsContract):
    @pytest.fixture
    def objects(self, clients, bucket):
        create_buckets(clients, [bucket])
        return S3Objects(clients, bucket)

    @pytest.fixture
    def s3(self, clients):
        return clients.s3

    def test_what_is_deleted_leaves_no_version_behind(self, objects, s3, bucket):
        objects.put("t/slides/s/thumbnail.jpeg", b"a patient's tissue")
        objects.put("t/slides/s/thumbnail.jpeg", b"again")
        s3.delete_object(Bucket=bucket, Key="t/slides/s/thumbnail.jpeg")  # a marker: it hides them
        assert objects.delete_below("t/slides/s/") == 1
        assert "Versions" not in s3.list_object_versions(Bucket=bucket)

    def test_one_marker_stays_which_replication_carries_on(self, objects, s3, bucket):
        objects.put("t/a", b"tissue")
        objects.put("t/b", b"tissue")
        assert (objects.delete_below("t/"), objects.delete_below("t/")) == (2, 0)
        markers = s3.list_object_versions(Bucket=bucket)["DeleteMarkers"]
        assert [(marker["Key"], marker["IsLatest"]) for marker in markers] == [("t/a", True), ("t/b", True)]


class TestOnMoto(_OnVersionedBucket):
    @pytest.fixture
    def bucket(self):
        return "tessera-results"

    @pytest.fixture
    def clients(self, credentials):
        with mock_aws():
            yield AwsClients(REGION)


@pytest.mark.stack
class TestOnMiniStack(_OnVersionedBucket):
    @pytest.fixture
    def bucket(self, fresh_name):
        return fresh_name

    def test_a_link_gives_the_bytes_under_the_file_name(self, objects):
        objects.put("t/results/tiles.csv", b"minx")
        answer = httpx.get(objects.presign_download("t/results/tiles.csv", filename="tiles.csv", seconds=60))
        assert answer.content == b"minx"
        assert answer.headers["content-disposition"] == 'attachment; filename="tiles.csv"'

    def test_a_tampered_link_is_refused(self, objects):
        objects.put("a", b"1")
        objects.put("b", b"2")
        assert (
            httpx.get(objects.presign_download("a", filename="f", seconds=60).replace("/a?", "/b?")).status_code == 403
        )
