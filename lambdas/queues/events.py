"""SQS events: each message is handled on its own, and only failed ones are delivered again (F-7)."""

# Powertools types its contexts as bare dicts.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from adapters.settings.queues import RECEIVES
from lambdas.cold_start import Handler
from wsi.errors import NewerSchema
from wsi.ports.tracing import NO_TRACER, Tracer
from wsi.records.spans import SpanAttributes, SpanKind
from wsi.spans import OpenSpan, record_wait, with_span

Work = Callable[[dict[str, Any], str | None], None]  #: message body and traceparent


def make_queue_handler(
    work: Work,
    logger: Logger,
    *,
    give_up: Callable[[dict[str, Any]], None] | None = None,
    tracer: Tracer = NO_TRACER,
) -> Handler:
    """Return a handler that calls `work` for each message. `give_up` records in SQL that the last attempt failed, so
    that nobody waits for a message that is not delivered again. Work for a newer release is not given up: the sweep
    offers it again for a day. Each message gives two spans: its wait, and the work."""
    service = logger.service

    def handle_record(record: SQSRecord) -> None:
        received = time.time()
        body = record.json_body
        attribute = record.raw_event.get("messageAttributes", {}).get("traceparent", {})
        traceparent = attribute.get("stringValue")
        receives = int(record.attributes.approximate_receive_count)
        context = {**body, "traceparent": traceparent, "receives": receives}
        described = _describe(body, receives)
        sent = record.raw_event["attributes"].get("SentTimestamp")
        record_wait(
            tracer,
            service,
            f"queue {service}",
            parent=traceparent,
            began=int(sent) / 1000 if sent else None,
            ended=received,
            **described,
        )
        span = OpenSpan(tracer, service, service, parent=traceparent, kind=SpanKind.CONSUMER, began=received)
        span.describe(**described)
        try:
            with with_span(span):
                work(body, traceparent)
        except Exception as error:
            logger.exception("failed", extra=context)
            if receives >= RECEIVES:
                if isinstance(error, NewerSchema):
                    return  # no dead letter, which would end it
                if give_up is not None:
                    give_up(body)
            raise
        logger.info("done", extra=context)

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        # A processor keeps its batch's state, so each event has its own. A failed batch of one is no error of the
        # function: the answer names the failed message (F-7).
        processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
        answer = process_partial_response(
            event=event, record_handler=handle_record, processor=processor, context=context
        )
        return dict(answer)

    return handle


def _describe(body: Mapping[str, Any], receives: int) -> SpanAttributes:
    described: SpanAttributes = {"receives": receives}
    if "job_id" in body:
        described["job_id"] = str(body["job_id"])
    if "slide_id" in body:
        described["slide_id"] = str(body["slide_id"])
    return described
