"""The tracer: what is lost is counted, and costs nobody anything."""

from __future__ import annotations

import logging
import threading

import pytest
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from adapters.tracing.recording import QUEUE_SPANS, OpenTelemetryTracer
from tests.adapters.tracing.spans import make_span
from wsi.tracing import make_traceparent


class Exporter(SpanExporter):
    """Keeps what it gets, unless `fails`; waits at `gate` first."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.gate = threading.Event()
        self.gate.set()
        self.names: list[str] = []

    def export(self, spans):
        self.gate.wait(30)
        if self.fails:
            raise ConnectionError("https://xray.example/v1?token=secret")
        self.names += [span.name for span in spans]
        return SpanExportResult.SUCCESS


@pytest.fixture
def exporter():
    return Exporter()


@pytest.fixture
def tracer(exporter):
    tracer = OpenTelemetryTracer(exporter)
    yield tracer
    exporter.gate.set()
    tracer.close()


def test_spans_are_exported_on_a_thread_and_a_flush_waits_for_them(tracer, exporter):
    tracer.record(make_span(name="a"))
    tracer.record(make_span(name="b"))
    tracer.flush(30)
    assert exporter.names == ["a", "b"]
    assert tracer.lost == 0


def test_recording_never_waits_for_the_exporter_and_what_the_queue_cannot_hold_is_counted(tracer, exporter):
    exporter.gate.clear()
    held = QUEUE_SPANS // 4  # a batch, which the thread has taken already
    for number in range(QUEUE_SPANS + held + 10):
        tracer.record(make_span(name=str(number)))
    exporter.gate.set()
    tracer.flush(30)
    assert len(exporter.names) + tracer.lost == QUEUE_SPANS + held + 10
    assert tracer.lost >= 10


def test_a_flush_gives_up_in_time(tracer, exporter):
    exporter.gate.clear()
    tracer.record(make_span())
    tracer.flush(0.01)
    assert exporter.names == []


def test_lost_spans_are_counted_reported_and_logged_once_without_the_text_of_the_error(caplog):
    heard: list[int] = []
    exporter = Exporter(fails=True)
    tracer = OpenTelemetryTracer(exporter, on_lost=heard.append)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            tracer.record(make_span())
            tracer.flush(30)
    assert tracer.lost == sum(heard) == 3
    assert len(caplog.records) == 1
    exporter.fails = False
    tracer.record(make_span())
    tracer.flush(30)
    exporter.fails = True
    tracer.record(make_span())
    tracer.flush(30)
    assert (tracer.lost, len(caplog.records)) == (4, 2)  # a new row of failures is a new line
    tracer.close()


def test_a_span_that_is_exported_at_once_needs_no_flush():
    exporter = Exporter()
    tracer = OpenTelemetryTracer(exporter, in_background=False)
    tracer.record(make_span(name="a"))
    assert exporter.names == ["a"]


def test_a_failure_at_once_reaches_nobody():
    tracer = OpenTelemetryTracer(Exporter(fails=True), in_background=False)
    tracer.record(make_span())
    assert tracer.lost == 1


def test_processes_agree_on_the_traces_that_a_share_records():
    traces = [make_traceparent() for _ in range(400)]
    kept: list[set[str]] = []
    for _ in range(2):
        exporter = Exporter()
        tracer = OpenTelemetryTracer(exporter, share=0.25, in_background=False)
        for trace in traces:
            tracer.record(make_span(name=trace, traceparent=trace))
        kept.append(set(exporter.names))
    assert kept[0] == kept[1]
    assert 40 < len(kept[0]) < 160  # 100 of 400, and seven standard deviations


def test_a_share_of_zero_records_nothing_and_loses_nothing():
    exporter = Exporter()
    tracer = OpenTelemetryTracer(exporter, share=0.0, in_background=False)
    tracer.record(make_span())
    assert (exporter.names, tracer.lost) == ([], 0)


def test_a_clients_flag_decides_nothing():
    exporter = Exporter()
    unsampled = make_traceparent()[:-2] + "00"
    OpenTelemetryTracer(exporter, in_background=False).record(make_span(name="a", traceparent=unsampled))
    assert exporter.names == ["a"]
