"""Who gets through the door of the stack's emulator, which would take anybody for the root of the account."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import boto3
import httpx
import pytest
from botocore.client import Config
from botocore.exceptions import ClientError

from adapters.aws_clients import AwsClients
from adapters.provisioning import create_user_pool
from local.emulator_door import Door
from local.environment import LocalCredentials, make_credentials
from local.ministack import MiniStack
from tests.prerequisites import EMULATOR

REGION = "eu-central-1"
PAGE, ELSEWHERE = "http://127.0.0.1:21000", "https://evil.example"
KEY = "a folder/ä+b(1).svs"
CREDENTIALS = make_credentials()
PASSWORD = "Aa1!long-enough"


@pytest.fixture(scope="module")
def ministack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniStack]:
    EMULATOR.require()
    server = MiniStack(tmp_path_factory.mktemp("door"), region=REGION, durable=False, credentials=CREDENTIALS)
    server.start()
    server.allow_pages([PAGE])
    taken = LocalCredentials(CREDENTIALS)
    taken.take()
    try:
        yield server
    finally:
        taken.give_back()
        server.stop()


@pytest.fixture(scope="module")
def clients(ministack: MiniStack) -> AwsClients:
    clients = AwsClients(REGION, ministack.url)
    clients.s3.create_bucket(Bucket="slides", CreateBucketConfiguration={"LocationConstraint": REGION})
    clients.s3.put_object(Bucket="slides", Key=KEY, Body=b"a slide", Metadata={"of": "a  patient"})
    return clients


def presign(clients: AwsClients, method: str = "get_object", *, seconds: int = 60, **more: str) -> str:
    asked = {"Bucket": "slides", "Key": KEY, **more}
    return clients.s3.generate_presigned_url(method, Params=asked, ExpiresIn=seconds)


def with_keys(ministack: MiniStack, key_id: str, secret: str) -> Mapping[str, object]:
    how = {"endpoint_url": ministack.url, "aws_access_key_id": key_id, "aws_secret_access_key": secret}
    config = Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1})
    return {name: boto3.client(name, region_name=REGION, config=config, **how) for name in ("s3", "sqs", "cognito-idp")}


def test_what_the_stacks_key_signs_comes_in(clients: AwsClients) -> None:
    assert clients.s3.get_object(Bucket="slides", Key=KEY, Range="bytes=2-6")["Body"].read() == b"slide"
    [found] = clients.s3.list_objects_v2(Bucket="slides", Prefix="a folder/", Delimiter="")["Contents"]
    assert found["Key"] == KEY
    queue = clients.sqs.create_queue(QueueName="work")["QueueUrl"]
    clients.sqs.send_message(QueueUrl=queue, MessageBody="ä" * 1000)
    assert clients.sqs.receive_message(QueueUrl=queue)["Messages"][0]["Body"] == "ä" * 1000
    assert httpx.get(presign(clients, ResponseContentDisposition="attachment; filename*=UTF-8''%C3%A4")).content == (
        b"a slide"
    )


@pytest.mark.parametrize(
    ("key_id", "secret"), [("test", "test"), ("tessera", "guessed"), ("000000000000", "test"), ("tessera", "")]
)
def test_no_other_key_is_the_account(ministack: MiniStack, clients: AwsClients, key_id: str, secret: str) -> None:
    others = with_keys(ministack, key_id, secret or "x")
    for ask in (
        lambda: others["s3"].get_object(Bucket="slides", Key=KEY),
        lambda: others["s3"].list_buckets(),
        lambda: others["s3"].put_object(Bucket="slides", Key="mine", Body=b"x"),
        lambda: others["sqs"].list_queues(),
        lambda: others["cognito-idp"].list_user_pools(MaxResults=1),
    ):
        with pytest.raises(ClientError) as refused:
            ask()
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", f"/slides/{quote(KEY)}"),
        ("PUT", "/slides/mine"),
        ("DELETE", "/slides"),
        ("GET", "/_ministack/sqs/messages"),
        ("POST", "/_ministack/reset"),
        ("POST", "/_ministack/config"),
        ("GET", "/_ministack/health/../../slides"),
        ("POST", "/oauth2/token?list-type=2"),
        ("POST", "/?Action=ListQueues"),
    ],
)
def test_nothing_unsigned_comes_in(ministack: MiniStack, clients: AwsClients, method: str, path: str) -> None:
    assert httpx.request(method, ministack.url + path, content=b"").status_code == 403
    assert clients.s3.get_object(Bucket="slides", Key=KEY)["Body"].read() == b"a slide"


def test_only_signing_in_goes_without_a_signature(ministack: MiniStack, clients: AwsClients) -> None:
    pool = create_user_pool(clients, "people", {"a@b.example": PASSWORD})
    assert httpx.get(pool.jwks_url).json()["keys"]

    def ask(operation: str, **headers: str) -> httpx.Response:
        asked = {"USERNAME": "a@b.example", "PASSWORD": PASSWORD}
        body = {"AuthFlow": "USER_PASSWORD_AUTH", "ClientId": pool.client_id, "AuthParameters": asked}
        kind = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": operation, **headers}
        return httpx.post(f"{ministack.url}/", json=body, headers=kind)

    service = "AWSCognitoIdentityProviderService"
    assert "AccessToken" in ask(f"{service}.InitiateAuth").json()["AuthenticationResult"]
    assert ask(f"{service}.ListUserPools").status_code == 403
    assert ask(f"{service}.AdminSetUserPassword").status_code == 403
    assert ask(f"{service}.SignUp").status_code == 403
    assert ask("AmazonSQS.ListQueues").status_code == 403
    assert ask(f"{service}.InitiateAuth", **{"Content-Type": "application/x-www-form-urlencoded"}).status_code == 403


def test_a_presigned_address_opens_what_it_names_and_no_more(ministack: MiniStack, clients: AwsClients) -> None:
    clients.s3.put_object(Bucket="slides", Key="other", Body=b"another patient")
    url = presign(clients)
    assert httpx.get(url).content == b"a slide"
    assert httpx.get(url.replace(quote(KEY, safe="/"), "other")).status_code == 403
    assert httpx.put(url, content=b"x").status_code == 403
    assert httpx.get(f"{url}&versionId=1").status_code == 403
    assert httpx.get(url.replace("X-Amz-Expires=60", "X-Amz-Expires=6000")).status_code == 403
    part = presign(clients, "put_object")
    copying = {"x-amz-copy-source": "/slides/other"}
    assert httpx.put(part, headers=copying).status_code == 403, "a header of Amazon that nobody signed"
    assert httpx.get(url, headers={"Authorization": "AWS4-HMAC-SHA256 x"}).status_code == 403
    assert clients.s3.get_object(Bucket="slides", Key=KEY)["Body"].read() == b"a slide"


@pytest.mark.parametrize(("later", "is_refused"), [(0, False), (59, False), (61, True), (-2000, True)])
def test_a_presigned_address_ends(clients: AwsClients, later: int, is_refused: bool) -> None:
    url = httpx.URL(presign(clients))

    async def nothing(*_: object) -> None:
        raise AssertionError("the door alone is asked")

    secret = CREDENTIALS["AWS_SECRET_ACCESS_KEY"]
    door = Door(nothing, key_id="tessera", secret=secret, origins=Path("none"), clock=lambda: time.time() + later)
    query = [(quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in url.params.multi_items()]
    headers = {"host": url.netloc.decode()}
    refusal = door.find_refusal("GET", url.raw_path.decode().partition("?")[0], query, headers, "UNSIGNED-PAYLOAD")
    assert (refusal == "The signature has expired.") == is_refused
    assert (refusal is None) == (not is_refused)


def test_pages_of_other_origins_read_nothing(ministack: MiniStack, clients: AwsClients) -> None:
    url = presign(clients)
    ours, others = (httpx.get(url, headers={"Origin": origin}) for origin in (PAGE, ELSEWHERE))
    assert (ours.headers["access-control-allow-origin"], ours.headers["vary"]) == (PAGE, "Origin")
    assert "ETag" in ours.headers["access-control-expose-headers"]
    assert not [name for name in others.headers if name.startswith("access-control")]
    wanted = {"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "x-amz-checksum-sha256"}
    asked = [httpx.options(url, headers={"Origin": origin, **wanted}) for origin in (PAGE, ELSEWHERE)]
    assert [answer.status_code for answer in asked] == [200, 403]
    assert "access-control-allow-origin" not in asked[1].headers
    assert "PUT" in asked[0].headers["access-control-allow-methods"]


@pytest.mark.parametrize("host", ["rebound.example", "rebound.example:80", "slides.localhost", "10.0.0.1", ""])
def test_a_name_that_somebody_pointed_to_this_machine_is_refused(
    ministack: MiniStack, clients: AwsClients, host: str
) -> None:
    assert httpx.get(presign(clients), headers={"Host": host}).status_code in (400, 421)
    assert httpx.get(f"{ministack.url}/_ministack/health", headers={"Host": host}).status_code in (400, 421)


def test_nobody_else_may_read_its_files(ministack: MiniStack) -> None:
    folder = ministack._folder
    assert folder.stat().st_mode & 0o077 == 0
