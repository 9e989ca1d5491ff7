from __future__ import annotations

import base64
import hashlib
import time
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from botocore.stub import Stubber
from moto import mock_aws

from adapters.aws_clients import AwsClients
from adapters.provisioning import create_buckets
from adapters.s3.slides import S3SlideStore
from adapters.settings.objects import ARCHIVED
from tests.contracts.ranges import RangesContract
from tests.contracts.slide_archive import ArchivedReadsContract, SlideArchiveContract, restore
from tests.contracts.slide_store import PART, SlideAccessContract, SlideUploadsContract, list_sources, upload
from tests.ministack import REGION
from wsi.errors import Invalid
from wsi.ports.objects import Readable, UploadedPart


def put_with_checksum(url: str, data: bytes) -> int:
    """As a browser does: the checksum's header is among those that the URL signs, so it must be sent."""
    checksum = base64.b64encode(hashlib.sha256(data).digest()).decode()
    return requests.put(url, data=data, headers={"x-amz-checksum-sha256": checksum}, timeout=30).status_code


def where(uri: str) -> dict[str, str]:
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return {"Bucket": bucket, "Key": key}


class _PutsObjects:
    @pytest.fixture
    def put_part(self):
        return put_with_checksum

    @pytest.fixture
    def put_object(self, s3):
        def put(uri, data):
            s3.put_object(**where(uri), Body=data)

        return put


class _Archives:
    @pytest.fixture
    def is_marked(self, s3):
        def marked(uri):
            tags = s3.get_object_tagging(**where(uri))["TagSet"]
            return {"Key": ARCHIVED[0], "Value": ARCHIVED[1]} in tags

        return marked

    @pytest.fixture
    def move(self, s3):
        """By a copy onto itself, which no lifecycle needs."""

        def move(uri):
            s3.copy_object(**where(uri), CopySource=where(uri), StorageClass="DEEP_ARCHIVE")

        return move

    @pytest.fixture
    def bring(self, s3):
        def bring(uri):
            while 'ongoing-request="true"' in s3.head_object(**where(uri))["Restore"]:
                time.sleep(0.1)

        return bring


class TestOnMoto(_PutsObjects, _Archives, SlideAccessContract, SlideArchiveContract):
    """Not the uploads: moto lists parts without their checksums. It knows the least part size, MiniStack does not."""

    @pytest.fixture
    def clients(self, credentials):
        with mock_aws():
            yield AwsClients(REGION)

    @pytest.fixture
    def s3(self, clients):
        return clients.s3

    @pytest.fixture
    def store(self, clients):
        create_buckets(clients, ["tessera-slides", "customer-bucket"])
        return S3SlideStore(clients, "tessera-slides", ["customer-bucket", "tessera-slides"], list_sources=list_sources)

    def test_a_small_part_before_the_last_is_refused_with_a_sentence(self, store, put_part):
        uri = store.make_uri("small")
        chunks = (b"x" * 1000, b"y")
        upload_id = upload(store, put_part, uri, *chunks)
        parts = [
            UploadedPart(
                n=n,
                size=len(data),
                sha256=hashlib.sha256(data).hexdigest(),
                etag=hashlib.md5(data, usedforsecurity=False).hexdigest(),
            )
            for n, data in enumerate(chunks, start=1)
        ]
        with pytest.raises(Invalid):
            store.complete_upload(uri, upload_id, parts)

    def test_who_asks_at_the_same_moment_as_somebody_else_hears_that_it_comes(self, store, s3):
        uri = store.make_uri("k")
        with Stubber(s3) as said:
            said.add_response("delete_object_tagging", {}, where(uri))
            said.add_response("head_object", {"StorageClass": "DEEP_ARCHIVE"}, where(uri))
            asked = {"Days": 30, "GlacierJobParameters": {"Tier": "Standard"}}
            said.add_client_error(
                "restore_object",
                "RestoreAlreadyInProgress",
                http_status_code=409,
                expected_params={**where(uri), "RestoreRequest": asked},
            )
            assert restore(store, uri) == Readable(now=False)
            said.assert_no_pending_responses()

    def test_instant_retrieval_needs_no_copy(self, store, s3):
        uri = store.make_uri("k")
        s3.put_object(**where(uri), Body=b"slide", StorageClass="GLACIER_IR")
        assert restore(store, uri) == Readable(now=True)

    def test_an_upload_declares_its_checksum_when_it_begins(self, store, s3):
        """Else S3 refuses the checksums of its parts: "expected checksum Type: null" (F-40)."""
        uri = store.make_uri("k")
        with Stubber(s3) as said:
            said.add_response(
                "create_multipart_upload", {"UploadId": "u"}, {**where(uri), "ChecksumAlgorithm": "SHA256"}
            )
            assert store.begin_upload(uri) == "u"
            said.assert_no_pending_responses()

    def test_the_url_signs_length_and_checksum_with_version_4(self, store):
        uri = store.make_uri("k")
        url = store.presign_part(uri, store.begin_upload(uri), n=1, size=7, sha256="ab" * 32, seconds=60)
        query = parse_qs(urlsplit(url).query)
        assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
        assert query["X-Amz-SignedHeaders"] == ["content-length;host;x-amz-checksum-sha256"]
        assert urlsplit(url).hostname == f"tessera-slides.s3.{REGION}.amazonaws.com"


class _OnMiniStack(_PutsObjects):
    @pytest.fixture
    def s3(self, clients):
        return clients.s3

    @pytest.fixture
    def store(self, clients, fresh_name):
        create_buckets(clients, [fresh_name])
        if "customer-bucket" not in {bucket["Name"] for bucket in clients.s3.list_buckets()["Buckets"]}:
            create_buckets(clients, ["customer-bucket"])
        return S3SlideStore(clients, fresh_name, ["customer-bucket"], list_sources=list_sources)


@pytest.mark.stack
class TestOnMiniStack(_OnMiniStack, SlideUploadsContract, SlideAccessContract):
    def test_more_parts_than_a_page_are_listed(self, store, put_part, s3):
        uri = store.make_uri("many")
        upload_id = upload(store, put_part, uri, b"a" * PART, *[b"b" * PART] * 2, b"c")
        assert [part.n for part in store.list_parts(uri, upload_id)] == [1, 2, 3, 4]

    def test_a_part_of_other_bytes_is_refused(self, store):
        uri = store.make_uri("k")
        url = store.presign_part(
            uri, store.begin_upload(uri), n=1, size=3, sha256=hashlib.sha256(b"abc").hexdigest(), seconds=60
        )
        assert put_with_checksum(url, b"abd") in (400, 403)

    def test_an_expired_url_is_refused(self, store):
        uri = store.make_uri("k")
        url = store.presign_part(uri, store.begin_upload(uri), n=1, size=0, sha256="00" * 32, seconds=0)
        assert put_with_checksum(url, b"") in (400, 403)


@pytest.mark.stack
class TestArchiveOnMiniStack(_OnMiniStack, _Archives, SlideArchiveContract, ArchivedReadsContract):
    pass


@pytest.mark.stack
class TestRangesOnMiniStack(_OnMiniStack, RangesContract):
    pass
