"""Mail through SES, webhooks through a function."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber
from moto import mock_aws

from adapters.aws_clients import AwsClients
from adapters.ses import SesMail
from adapters.webhooks import LambdaWebhooks
from wsi.errors import Invalid, SourceUnavailable
from wsi.records.webhooks import WebhookAnswer, WebhookRequest

REGION = "eu-central-1"
SENDER = "tessera@wsi.example.org"
REQUEST = WebhookRequest(url="https://lab.example/", headers={"webhook-id": "1"}, body=b"{}")


@pytest.fixture
def aws(credentials) -> Iterator[AwsClients]:
    with mock_aws():
        yield AwsClients(REGION)


def test_a_mail_leaves_from_the_verified_sender(aws: AwsClients) -> None:
    ses = boto3.client("sesv2", region_name=REGION)
    ses.create_email_identity(EmailIdentity=SENDER)
    SesMail(aws, SENDER, None).send(to="a@lab.example", subject="Done", text="Look.")
    assert boto3.client("ses", region_name=REGION).get_send_quota()["SentLast24Hours"] == 1


def test_a_mail_goes_through_the_configuration_set(aws: AwsClients) -> None:
    """It demands TLS and hears of bounces."""
    content = {"Simple": {"Subject": {"Data": "Done"}, "Body": {"Text": {"Data": "Look."}}}}
    expected = {
        "FromEmailAddress": SENDER,
        "Destination": {"ToAddresses": ["a@lab.example"]},
        "Content": content,
        "ConfigurationSetName": "set",
    }
    with Stubber(aws.get_client("sesv2")) as stub:
        stub.add_response("send_email", {"MessageId": "1"}, expected)
        SesMail(aws, SENDER, "set").send(to="a@lab.example", subject="Done", text="Look.")
        stub.assert_no_pending_responses()


def test_a_sender_that_is_not_verified_is_final(aws: AwsClients) -> None:
    with pytest.raises(Invalid, match="MessageRejected"):
        SesMail(aws, SENDER, None).send(to="a@lab.example", subject="Done", text="Look.")


def test_a_service_that_is_busy_is_asked_again_later(aws: AwsClients) -> None:
    with Stubber(aws.get_client("sesv2")) as stub:
        stub.add_client_error("send_email", "TooManyRequestsException")
        with pytest.raises(SourceUnavailable):
            SesMail(aws, SENDER, None).send(to="a@lab.example", subject="Done", text="Look.")


def answered(payload: Any, **more: Any) -> dict[str, Any]:
    raw = json.dumps(payload).encode()
    return {"StatusCode": 200, "Payload": StreamingBody(io.BytesIO(raw), len(raw)), **more}


def test_the_function_gets_the_bytes_that_were_signed(aws: AwsClients) -> None:
    expected = {"url": REQUEST.url, "headers": {"webhook-id": "1"}, "body": base64.b64encode(b"{}").decode()}
    with Stubber(aws.get_client("lambda")) as stub:
        payload = json.dumps(expected).encode()
        stub.add_response("invoke", answered({"status": 204}), {"FunctionName": "send", "Payload": payload})
        assert LambdaWebhooks(aws, "send").send(REQUEST) == WebhookAnswer(status=204)


def test_a_function_that_ran_out_of_time_is_a_receiver_that_did_not_answer(aws: AwsClients) -> None:
    with Stubber(aws.get_client("lambda")) as stub:
        stub.add_response("invoke", answered({"errorMessage": "Task timed out"}, FunctionError="Unhandled"))
        answer = LambdaWebhooks(aws, "send").send(REQUEST)
    assert answer == WebhookAnswer(error="The receiver did not answer in time.")


def test_a_function_that_can_not_be_called_counts_as_no_try(aws: AwsClients) -> None:
    with Stubber(aws.get_client("lambda")) as stub:
        stub.add_client_error("invoke", "TooManyRequestsException")
        with pytest.raises(SourceUnavailable):
            LambdaWebhooks(aws, "send").send(REQUEST)
