"""`wsi.ports.queues.Queues` on SQS."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from botocore.exceptions import BotoCoreError, ClientError

from adapters.aws_clients import AwsClients
from wsi.errors import LeaseLost, SourceUnavailable
from wsi.records.notices import OutgoingMessage, QueueMessage

TRACEPARENT = "traceparent"  #: message attribute
LONGEST_POLL = 20  #: s, SQS's own bound
#: The receipt is of an earlier receive, or the message is gone.
_VOID_RECEIPT = {"ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue"}


class SqsQueues:
    """Queues named `prefix` + name. Bodies are JSON objects; the tenant is the MessageGroupId (fair queues).

    Every method raises SourceUnavailable when SQS does not answer or refuses.
    """

    def __init__(self, clients: AwsClients, prefix: str) -> None:
        self._clients = clients
        self._prefix = prefix
        self._urls: dict[str, str] = {}

    def send(self, queue: str, body: Mapping[str, Any], *, group: str, traceparent: str) -> None:
        self._call("send_message", queue, **_make_entry(body, group=group, traceparent=traceparent))

    def send_batch(self, queue: str, messages: Sequence[OutgoingMessage]) -> Mapping[int, str]:
        entries = [
            {"Id": str(place), **_make_entry(message.body, group=message.group, traceparent=message.traceparent)}
            for place, message in enumerate(messages)
        ]
        # An answer of 200 may name entries that failed.
        answer = self._call("send_message_batch", queue, Entries=entries)
        return {int(failed["Id"]): str(failed["Code"]) for failed in answer.get("Failed", [])}

    def receive(
        self, queue: str, *, limit: int, wait_seconds: float, visibility_seconds: int
    ) -> Sequence[QueueMessage]:
        answer = self._call(
            "receive_message",
            queue,
            MaxNumberOfMessages=limit,
            WaitTimeSeconds=min(LONGEST_POLL, math.ceil(wait_seconds)),
            VisibilityTimeout=visibility_seconds,
            MessageSystemAttributeNames=["ApproximateReceiveCount", "SentTimestamp"],
            MessageAttributeNames=[TRACEPARENT],
        )
        return tuple(map(_message, answer.get("Messages", [])))

    def extend(self, queue: str, receipt: str, *, seconds: int) -> None:
        self._call("change_message_visibility", queue, ReceiptHandle=receipt, VisibilityTimeout=seconds)

    def delete(self, queue: str, receipt: str) -> None:
        """Delete the message, unless another receiver got it, who will delete it under the newer receipt."""
        with contextlib.suppress(LeaseLost):
            self._call("delete_message", queue, ReceiptHandle=receipt)

    def _call(self, operation: str, queue: str, **parameters: Any) -> Any:
        try:
            return getattr(self._clients.sqs, operation)(QueueUrl=self._url(queue), **parameters)
        except ClientError as error:
            code = str(error.response["Error"]["Code"]).rpartition(".")[2]
            if code in _VOID_RECEIPT and "ReceiptHandle" in parameters:
                raise LeaseLost("The message was given to somebody else or is gone.") from error
            raise SourceUnavailable(
                f"The queue service refused the request ({code}); try again in a minute."
            ) from error
        except BotoCoreError as error:
            raise SourceUnavailable("The queue service did not answer; try again in a minute.") from error

    def _url(self, queue: str) -> str:
        if queue not in self._urls:
            answer = self._clients.sqs.get_queue_url(QueueName=self._prefix + queue)
            self._urls[queue] = answer["QueueUrl"]
        return self._urls[queue]


def _make_entry(body: Mapping[str, Any], *, group: str, traceparent: str) -> dict[str, Any]:
    return {
        "MessageBody": json.dumps(body, separators=(",", ":")),
        "MessageGroupId": group,
        # SQS refuses an empty string as an attribute's value.
        "MessageAttributes": {TRACEPARENT: {"DataType": "String", "StringValue": traceparent}} if traceparent else {},
    }


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object in `text`, or an empty one. Receivers find their ids missing and leave the message for the
    dead-letter queue; raising here would cost the whole poll, again and again."""
    try:
        value: Any = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _message(raw: Mapping[str, Any]) -> QueueMessage:
    attributes = raw.get("Attributes", {})
    trace = raw.get("MessageAttributes", {}).get(TRACEPARENT)
    sent = attributes.get("SentTimestamp")
    return QueueMessage(
        body=read_object(raw["Body"]),
        receipt=raw["ReceiptHandle"],
        receives=int(attributes.get("ApproximateReceiveCount", 1)),
        traceparent=trace["StringValue"] if trace else None,
        sent_at=datetime.fromtimestamp(int(sent) / 1000, UTC) if sent else None,
        message_id=raw["MessageId"],
        text=raw["Body"],
    )
