from __future__ import annotations

import httpx
import pytest
from moto import mock_aws

from adapters.aws_clients import AwsClients
from adapters.provisioning import create_buckets
from adapters.s3.objects import S3Objects
from tests.contracts.objects import ObjectsContract
from tests.ministack import REGION


class TestOnMoto(ObjectsContract):
    @pytest.fixture
    def objects(self, credentials):
        with mock_aws():
            clients = AwsClients(REGION)
            create_buckets(clients, ["tessera-results"])
            yield S3Objects(clients, "tessera-results")


@pytest.mark.stack
class TestOnMiniStack(ObjectsContract):
    @pytest.fixture
    def objects(self, clients, fresh_name):
        create_buckets(clients, [fresh_name])
        return S3Objects(clients, fresh_name)

    def test_a_link_gives_the_bytes_under_the_file_name(self, objects):
        objects.put("t/results/tiles.csv", b"minx")
        answer = httpx.get(objects.link("t/results/tiles.csv", filename="tiles.csv", seconds=60))
        assert answer.content == b"minx"
        assert answer.headers["content-disposition"] == 'attachment; filename="tiles.csv"'

    def test_a_tampered_link_is_refused(self, objects):
        objects.put("a", b"1")
        objects.put("b", b"2")
        assert httpx.get(objects.link("a", filename="f", seconds=60).replace("/a?", "/b?")).status_code == 403
