"""HTTP becomes API Gateway's proxy event, and what the gateway itself refuses is refused here."""

from __future__ import annotations

import base64

import httpx
import pytest

from local.gateway.http_api import allows, make_api_app
from local.gateway.http_server import HttpServer

CALLER = {"tenant": "t", "subject": "key:1", "role": "analyst"}


def policy(effect="Allow", resource="*"):
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": resource}
    return {
        "principalId": "key:1",
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        "context": CALLER,
    }


class Api:
    """A handler that answers what it is told to, and keeps its events."""

    def __init__(self):
        self.events = []
        self.answer = {"statusCode": 200, "body": "{}"}
        self.policy = policy()

    def handle(self, event, context):
        assert context.get_remaining_time_in_millis() > 0
        self.events.append(event)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def authorize(self, event, context):
        assert event["type"] == "REQUEST"
        self.method_arn = event["methodArn"]
        if isinstance(self.policy, Exception):
            raise self.policy
        return self.policy


@pytest.fixture
def api():
    return Api()


@pytest.fixture
def url(api):
    server = HttpServer("api", lambda: make_api_app(api.handle, api.authorize, public_paths=("/health",)))
    server.start()
    yield server.url
    server.stop()


AUTHORIZED = {"Authorization": "Bearer tsk_a_b"}


def test_the_event_is_a_rest_proxy_event(api, url):
    httpx.post(
        f"{url}/jobs/1?q=a&q=b&x=1", headers=[*AUTHORIZED.items(), ("X-Two", "1"), ("X-Two", "2")], json={"a": 1}
    )
    (event,) = api.events
    assert event["httpMethod"] == "POST"
    assert event["path"] == "/jobs/1"
    assert event["resource"] == "/{proxy+}"
    assert event["pathParameters"] == {"proxy": "jobs/1"}
    assert event["queryStringParameters"] == {"q": "b", "x": "1"}
    assert event["multiValueQueryStringParameters"] == {"q": ["a", "b"], "x": ["1"]}
    assert {name.lower(): value for name, value in event["multiValueHeaders"].items()}["x-two"] == ["1", "2"]
    assert (event["body"], event["isBase64Encoded"]) == ('{"a":1}', False)
    assert event["requestContext"]["authorizer"] == {**CALLER, "principalId": "key:1"}
    assert api.method_arn.endswith("/POST/jobs/1")


def test_absent_parts_are_null_as_on_aws(api, url):
    httpx.get(f"{url}/jobs", headers=AUTHORIZED)
    (event,) = api.events
    assert event["body"] is event["queryStringParameters"] is event["multiValueQueryStringParameters"] is None
    assert event["isBase64Encoded"] is False


def test_bytes_travel_as_base64_both_ways(api, url):
    api.answer = {
        "statusCode": 201,
        "body": base64.b64encode(b"\xff\xd8").decode(),
        "isBase64Encoded": True,
        "headers": {"Content-Type": "image/jpeg", "ETag": '"1"'},
    }
    sent = {**AUTHORIZED, "Content-Type": "image/png", "Accept": "image/jpeg"}
    answer = httpx.put(f"{url}/x", headers=sent, content=b"\x89PNG")
    assert base64.b64decode(api.events[0]["body"]) == b"\x89PNG"
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (201, b"\xff\xd8", "image/jpeg")


@pytest.mark.parametrize(
    ("accept", "is_picture"),
    [("image/jpeg", True), ("image/jpeg;q=0.9, */*", True), ("*/*", False), ("image/webp,image/jpeg", False)],
)
def test_a_picture_is_handed_out_to_whoever_asks_for_one_first(api, url, accept, is_picture):
    text = base64.b64encode(b"\xff\xd8").decode()
    api.answer = {"statusCode": 200, "body": text, "isBase64Encoded": True, "headers": {"Content-Type": "image/jpeg"}}
    answer = httpx.get(f"{url}/x", headers={**AUTHORIZED, "Accept": accept})
    assert answer.content == (b"\xff\xd8" if is_picture else text.encode())


@pytest.mark.parametrize(
    ("method", "path", "function"),
    [
        ("GET", "slides/1/pyramid", "tiles"),
        ("GET", "slides/1/thumbnail", "tiles"),
        ("GET", "slides/1/tiles/2/3_4.jpeg", "tiles"),
        ("POST", "slides/1/pyramid", "api"),
        ("GET", "slides/1", "api"),
        ("GET", "slides/1/tiles/2", "api"),
        ("GET", "slides/1/tiles/2/3_4.jpeg/5", "api"),
        ("GET", "jobs/1/pyramid", "api"),
        ("POST", "jobs", "submit"),
        ("POST", "jobs/?dry_run=true", "submit"),
        ("GET", "jobs", "api"),
        ("POST", "jobs/1/cancel", "api"),
    ],
)
def test_tiles_and_new_jobs_have_functions_of_their_own_behind_the_same_authorizer(api, method, path, function):
    asked = []

    def other(event, context):
        asked.append((context.function_name, event["requestContext"]["authorizer"]["tenant"]))
        return {"statusCode": 200, "body": "{}"}

    server = HttpServer(
        "api", lambda: make_api_app(api.handle, api.authorize, public_paths=(), tiles=other, submit=other)
    )
    server.start()
    try:
        address = f"{server.url}/api/v1/wsi/{path}"
        assert httpx.request(method, address).status_code == 401
        assert httpx.request(method, address, headers=AUTHORIZED).status_code == 200
    finally:
        server.stop()
    assert (asked, len(api.events)) == (([], 1) if function == "api" else ([(function, "t")], 0))


def test_text_that_is_not_utf8_travels_as_base64(api, url):
    httpx.post(f"{url}/x", headers={**AUTHORIZED, "Content-Type": "application/json"}, content=b'"\xff"')
    (event,) = api.events
    assert (base64.b64decode(event["body"]), event["isBase64Encoded"]) == (b'"\xff"', True)


def test_a_body_is_not_unpacked_by_the_gateway(api, url):
    httpx.post(f"{url}/x", headers={**AUTHORIZED, "Content-Encoding": "gzip"}, content=b"not gzip")
    assert base64.b64decode(api.events[0]["body"]) == b"not gzip"


def test_an_encoded_line_feed_is_a_part_of_the_path(api, url):
    assert httpx.get(f"{url}/jobs/1%0a", headers=AUTHORIZED).status_code == 200
    assert api.events[0]["path"] == "/jobs/1\n"


def test_headers_with_several_values_are_all_sent(api, url):
    api.answer = {"statusCode": 200, "body": "", "multiValueHeaders": {"X-Many": ["1", "2"]}}
    assert httpx.get(f"{url}/x", headers=AUTHORIZED).headers.get_list("x-many") == ["1", "2"]


def assert_problem(answer, status):
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert "access-control-allow-origin" not in answer.headers
    value = answer.json()
    assert value["status"] == status
    assert value["detail"].endswith(".")


def test_without_credentials_neither_function_is_called(api, url):
    api.policy = AssertionError("called")
    assert_problem(httpx.get(f"{url}/jobs"), 401)
    assert api.events == []


def test_public_paths_need_no_credentials(api, url):
    assert httpx.get(f"{url}/health").status_code == 200
    assert "authorizer" not in api.events[0]["requestContext"]


def test_unauthorized_is_401_and_a_denial_403(api, url):
    api.policy = Exception("Unauthorized")
    assert_problem(httpx.get(f"{url}/jobs", headers=AUTHORIZED), 401)
    api.policy = policy("Deny")
    assert_problem(httpx.get(f"{url}/jobs", headers=AUTHORIZED), 403)
    api.policy = policy(resource="arn:aws:execute-api:*/other-stage/*")
    assert_problem(httpx.get(f"{url}/jobs", headers=AUTHORIZED), 403)
    assert api.events == []


def test_a_broken_authorizer_is_500_and_lets_nobody_in(api, url):
    api.policy = ValueError("boom")
    assert_problem(httpx.get(f"{url}/jobs", headers=AUTHORIZED), 500)
    assert api.events == []


@pytest.mark.parametrize("answer", [ValueError("boom"), {"body": "no status"}, {"statusCode": "ok"}, None])
def test_a_failed_or_malformed_answer_is_502(api, url, answer):
    api.answer = answer
    assert_problem(httpx.get(f"{url}/jobs", headers=AUTHORIZED), 502)


def test_a_body_above_ten_megabytes_is_413(api, url):
    assert httpx.post(f"{url}/x", headers=AUTHORIZED, content=b" " * (10 * 1024**2)).status_code == 200
    assert_problem(httpx.post(f"{url}/x", headers=AUTHORIZED, content=b" " * (10 * 1024**2 + 1)), 413)
    assert len(api.events) == 1


def test_a_preflight_of_another_origin_is_a_request_without_a_credential(api, url):
    answer = httpx.options(f"{url}/jobs", headers={"Origin": "https://page.example"})
    assert (answer.status_code, api.events) == (401, [])


def test_a_deny_wins_over_an_allow():
    both = policy()
    both["policyDocument"]["Statement"].append({"Effect": "Deny", "Resource": ["arn:x/POST/*"]})
    assert allows(both, "arn:x/GET/jobs")
    assert not allows(both, "arn:x/POST/jobs")


@pytest.mark.parametrize("host", ["rebound.example", "rebound.example:80", "10.0.0.1", "169.254.169.254"])
def test_a_name_that_somebody_pointed_to_this_machine_is_refused(api, url, host):
    answer = httpx.get(f"{url}/jobs", headers={**AUTHORIZED, "Host": host})
    assert (answer.status_code, api.events) == (421, [])


def test_this_machine_is_reached_by_both_of_its_names(api, url):
    for host in ("127.0.0.1:1", "localhost", "localhost:21000"):
        assert httpx.get(f"{url}/jobs", headers={**AUTHORIZED, "Host": host}).status_code == 200


def test_no_page_of_another_origin_reads_an_answer(api, url):
    for answer in (
        httpx.get(f"{url}/jobs", headers={**AUTHORIZED, "Origin": "https://evil.example"}),
        httpx.get(f"{url}/jobs", headers={"Origin": "https://evil.example"}),
    ):
        assert not [name for name in answer.headers if name.startswith("access-control")]
