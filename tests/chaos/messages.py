"""What the queues hold, as the proxies saw it: messages in hand, bodies of long ago, dead letters. The time that a
message stays invisible is up to 90 minutes: it passes here when the harness says so."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from adapters.settings.queues import DEAD_LETTERS, QUEUES
from local.options import QUEUE_PREFIX
from tests.chaos.proxies.http import Exchange

MANY_RECEIVES = 3  #: then a message is sent anew, as an operator's redrive does, before its last receive ends its job


@dataclass(frozen=True, kw_only=True, slots=True)
class InHand:
    """A message that a process received and has not deleted."""

    holder: str
    url: str
    body: str
    receives: int
    since: float  #: monotonic


class Messages:
    def __init__(self, sqs: Any) -> None:
        self._sqs = sqs
        self._held: dict[str, InHand] = {}  #: by receipt
        self._seen: list[tuple[str, str]] = []  #: URL and body of each message that was ever received
        self._lock = threading.Lock()
        self.count: Counter[str] = Counter()

    def observe(self, sender: str, exchange: Exchange) -> None:
        """See what a process received or deleted; called by the proxies."""
        if exchange.name == "SQS.ReceiveMessage":
            url = exchange.read_json().get("QueueUrl", "")
            with self._lock:
                for one in exchange.read_json(of_answer=True).get("Messages") or ():
                    receives = int(one.get("Attributes", {}).get("ApproximateReceiveCount", 1))
                    self._held[one["ReceiptHandle"]] = InHand(
                        holder=sender, url=url, body=one["Body"], receives=receives, since=time.monotonic()
                    )
                    self._seen.append((url, one["Body"]))
        elif exchange.name == "SQS.DeleteMessage":
            with self._lock:
                self._held.pop(exchange.read_json().get("ReceiptHandle", ""), None)

    def expire(self, *, older: float, holder: str | None = None) -> int:
        """Make messages in hand visible again that are `older` in seconds."""
        now = time.monotonic()
        with self._lock:
            chosen = {
                receipt: held
                for receipt, held in self._held.items()
                if now - held.since >= older and holder in (None, held.holder)
            }
            for receipt in chosen:
                del self._held[receipt]
        for receipt, held in chosen.items():
            try:
                if held.receives >= MANY_RECEIVES:
                    self.send(held.url, held.body)
                    self._sqs.delete_message(QueueUrl=held.url, ReceiptHandle=receipt)
                else:
                    self._sqs.change_message_visibility(QueueUrl=held.url, ReceiptHandle=receipt, VisibilityTimeout=0)
            except ClientError:
                continue  # it is visible already, or gone: what was wanted
            self.count["visibility expired"] += 1
        return len(chosen)

    def send(self, url: str, body: str, *, delay: int = 0) -> None:
        self._sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId="chaos", DelaySeconds=delay)

    def send_again(self, chance: random.Random, *, newest: bool) -> int:
        """Send up to ten messages that were received before: the newest ones doubled, or any of long ago, in another
        order and each with a delay of its own."""
        with self._lock:
            seen = [one for one in self._seen if not one[0].endswith("wake")]
        chosen = seen[-10:] if newest else chance.sample(seen, min(10, len(seen)))
        chance.shuffle(chosen)
        for url, body in chosen:
            self.send(url, body, delay=chance.randrange(4))
        self.count["doubled" if newest else "stale"] += len(chosen)
        return len(chosen)

    def redrive(self) -> int:
        """Send all dead letters to their queues again."""
        found = 0
        for name in QUEUES:
            url = self._url(name + DEAD_LETTERS)
            while batch := self._sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
                for one in batch:
                    self.send(self._url(name), one["Body"])
                    self._sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
                    found += 1
        self.count["redriven"] += found
        return found

    def _url(self, name: str) -> str:
        return self._sqs.get_queue_url(QueueName=QUEUE_PREFIX + name)["QueueUrl"]
