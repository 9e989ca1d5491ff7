"""What webhooks are signed with, and where they may go."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from wsi.errors import Invalid
from wsi.notices.webhooks import check_url, make_secret, sign_message
from wsi.records.webhooks import WebhookAnswer

# The example of the specification's own libraries: secret, id, timestamp, body and what comes out.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
AT = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_signature_is_the_specifications() -> None:
    headers = sign_message(ID, AT, BODY, of=[SECRET])
    assert headers["webhook-signature"] == SIGNATURE
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == (ID, str(AT))


def test_two_secrets_give_two_signatures() -> None:
    new = make_secret()
    first, second = sign_message(ID, AT, BODY, of=[new, SECRET])["webhook-signature"].split(" ")
    assert second == SIGNATURE
    key = base64.b64decode(new.removeprefix("whsec_"))
    expected = hmac.new(key, f"{ID}.{AT}.".encode() + BODY, hashlib.sha256).digest()
    assert base64.b64decode(first.removeprefix("v1,")) == expected


@pytest.mark.parametrize(
    "url",
    [
        "http://lab.example/hook",
        "ftp://lab.example",
        "https://",
        "https://user:word@lab.example/",
        "https://lab.example/#part",
        "https://lab.example:99999/",
        "https://lab.example:0/",
        "https://lab.example:22/",
        "https://lab.example:8080/",
        "https://168.63.129.16/",
        "https://[64:ff9b:1::a00:1]/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://169.254.169.254/latest/meta-data",
        "https://lab.example/a b",
        "https://lab.example/\r\nx: y",
        "https://läb.example/",
        "https://lab.example/" + "a" * 2048,
    ],
)
def test_what_is_no_address_for_a_webhook_is_refused(url: str) -> None:
    with pytest.raises(Invalid):
        check_url(url)


@pytest.mark.parametrize(
    "url", ["https://lab.example", "https://lab.example:8443/hook?token=a%20b", "https://8.8.8.8/"]
)
def test_an_https_address_is_taken(url: str) -> None:
    check_url(url)


def test_only_2xx_is_delivered_and_410_ends_it() -> None:
    assert WebhookAnswer(status=204).is_delivered
    assert not WebhookAnswer(status=302).is_delivered
    assert not WebhookAnswer(error="no answer").is_delivered
    assert WebhookAnswer(status=410).is_gone
