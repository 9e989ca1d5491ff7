from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from adapters.aws_clients import AwsClients
from adapters.cognito import sign_in
from adapters.provisioning import create_user_pool
from wsi.errors import Unauthenticated


def link(clients):
    return urlsplit(clients.s3.generate_presigned_url("get_object", Params={"Bucket": "bucket", "Key": "k"}))


def test_all_threads_share_one_client_a_service(credentials):
    made = AwsClients("eu-central-1")
    with ThreadPoolExecutor(8) as threads:
        assert len({id(client) for client in threads.map(lambda _: made.s3, range(32))}) == 1
    assert made.s3 is not made.sqs


def test_s3_is_asked_slower_when_it_refuses_by_rate(credentials):
    assert AwsClients("eu-central-1").s3.meta.config.retries["mode"] == "adaptive"


def test_links_are_signed_with_version_4_where_boto3_would_take_version_2(credentials):
    assert "X-Amz-Algorithm=AWS4-HMAC-SHA256" in link(AwsClients("us-east-1")).query


def test_buckets_are_in_the_host_on_aws_and_in_the_path_of_an_emulator(credentials):
    assert link(AwsClients("eu-central-1")).hostname == "bucket.s3.eu-central-1.amazonaws.com"
    local = link(AwsClients("eu-central-1", "http://127.0.0.1:4566"))
    assert (local.netloc, local.path) == ("127.0.0.1:4566", "/bucket/k")


@pytest.mark.stack
def test_a_wrong_password_is_a_typed_error(clients, fresh_name):
    pool = create_user_pool(clients, fresh_name, {"a@b.example": "Aa1!aaaaaaaa"})
    assert sign_in(clients, pool.client_id, "a@b.example", "Aa1!aaaaaaaa").count(".") == 2
    for user, password in (("a@b.example", "wrong"), ("nobody@b.example", "Aa1!aaaaaaaa")):
        with pytest.raises(Unauthenticated):
            sign_in(clients, pool.client_id, user, password)
