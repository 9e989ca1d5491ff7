"""A signature holds for one caller, one place, one time and exactly the bytes sent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from botocore.credentials import ReadOnlyCredentials
from hypothesis import given
from hypothesis import strategies as st

from adapters.sigv4 import find_refusal, sign_post

OURS = ReadOnlyCredentials("AKOURS", "secret", None, None)
URL = "http://127.0.0.1:4000/graphql"
HOST = "127.0.0.1:4000"
BODY = b'{"query":"mutation"}'


def signed(credentials=OURS, *, body=BODY, region="eu-central-1", service="appsync"):
    prepared = sign_post(URL, body, credentials, region=region, service=service)
    headers = {name.lower(): _text(value) for name, value in prepared.headers.items()}
    return {**headers, "host": HOST}


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


def refused(headers, *, url=URL, body=BODY, method="POST", credentials=OURS, now=None):
    now = now or datetime.now(UTC)
    return find_refusal(method, url, headers, body, credentials, region="eu-central-1", service="appsync", now=now)


def test_our_own_signature_is_accepted():
    assert refused(signed()) is None


def test_temporary_credentials_are_accepted_with_their_token_only():
    temporary = ReadOnlyCredentials("AKTEMP", "secret", "token", None)
    headers = signed(temporary)
    assert refused(headers, credentials=temporary) is None
    assert refused({**headers, "x-amz-security-token": "other"}, credentials=temporary)


@given(body=st.binary(max_size=200))
def test_other_bytes_are_refused(body):
    assert (refused(signed(), body=body) is None) == (body == BODY)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer tsk_a_b"},
        signed(ReadOnlyCredentials("AKOURS", "another", None, None)),
        signed(ReadOnlyCredentials("AKTHEIRS", "secret", None, None)),
        signed(region="us-east-1"),
        signed(service="s3"),
        {**signed(), "host": "elsewhere:4000"},
        {**signed(), "x-amz-date": "never"},
        {**signed(), "x-amz-content-sha256": "UNSIGNED-PAYLOAD"},
        {**signed(), "x-amz-security-token": "unasked"},
    ],
    ids=["none", "key", "secret", "person", "region", "service", "host", "date", "unsigned body", "token"],
)
def test_what_is_not_ours_is_refused(headers):
    assert refused(headers)


@pytest.mark.parametrize("change", [{"url": URL + "?admin=1"}, {"url": URL + "x"}, {"method": "PUT"}])
def test_another_request_is_refused(change):
    assert refused(signed(), **change)


@pytest.mark.parametrize("minutes", [-6, 6])
def test_an_old_or_early_signature_is_refused(minutes):
    assert "expired" in refused(signed(), now=datetime.now(UTC) + timedelta(minutes=minutes))


def test_a_signature_that_leaves_out_the_host_is_refused():
    headers = signed()
    headers["authorization"] = headers["authorization"].replace("host;", "")
    assert "host" in refused(headers)
