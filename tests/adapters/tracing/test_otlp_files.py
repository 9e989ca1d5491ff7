"""Traces in files: what was recorded is what is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.settings.processes import StitchSettings
from adapters.tracing.choosing import close_file, make_tracer
from adapters.tracing.otlp_files import OtlpFile
from adapters.tracing.otlp_reading import read_folder
from adapters.tracing.recording import OpenTelemetryTracer
from tests.adapters.tracing.spans import make_span
from wsi.ports.tracing import NO_TRACER
from wsi.records.spans import SpanKind
from wsi.tracing import make_traceparent

VALUES = st.one_of(st.text(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False), st.booleans())


def record(path: Path, *spans, most_bytes: int = 16 * 1024**2) -> None:
    tracer = OpenTelemetryTracer(OtlpFile(path, most_bytes), in_background=False)
    for span in spans:
        tracer.record(span)
    assert tracer.lost == 0


@given(
    attributes=st.dictionaries(st.text(min_size=1), VALUES, max_size=5),
    kind=st.sampled_from(SpanKind),
    error=st.none() | st.text(min_size=1),
    has_parent=st.booleans(),
    has_link=st.booleans(),
)
def test_a_span_comes_back_as_it_was(tmp_path_factory, attributes, kind, error, has_parent, has_link):
    folder = tmp_path_factory.mktemp("traces")
    span = make_span(
        attributes=attributes,
        kind=kind,
        error=error,
        parent="00000000000000aa" if has_parent else None,
        link=make_traceparent() if has_link else None,
    )
    record(folder / "a.jsonl", span)
    assert read_folder(folder, span.trace_id) == (span,)


def test_the_file_is_what_a_collector_reads(tmp_path):
    """https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding: ids in hexadecimal, 64-bit numbers as text,
    enumerations as numbers."""
    span = make_span(attributes={"tiles": 3, "is_sum": True}, kind=SpanKind.CONSUMER, parent="00000000000000aa")
    record(tmp_path / "a.jsonl", span)
    (resource,) = json.loads((tmp_path / "a.jsonl").read_text())["resourceSpans"]
    assert resource["resource"]["attributes"] == [{"key": "service.name", "value": {"stringValue": "stitch"}}]
    assert resource["scopeSpans"] == [
        {
            "scope": {"name": "tessera"},
            "spans": [
                {
                    "traceId": span.trace_id,
                    "spanId": span.span_id,
                    "parentSpanId": "00000000000000aa",
                    "name": "stitch",
                    "kind": 5,
                    "startTimeUnixNano": "1796000000250000000",
                    "endTimeUnixNano": "1796000001500000000",
                    "attributes": [
                        {"key": "tessera.tiles", "value": {"intValue": "3"}},
                        {"key": "tessera.is_sum", "value": {"boolValue": True}},
                    ],
                }
            ],
        }
    ]


def test_a_trace_is_read_from_all_files_and_without_the_spans_of_others(tmp_path):
    first = make_span(service="api")
    second = make_span(service="gpu_worker", traceparent=first.traceparent[:-19] + "00000000000000bb-01")
    record(tmp_path / "stack.jsonl", first, make_span())
    record(tmp_path / "worker-1.jsonl", make_span(), second)
    assert set(map(str, read_folder(tmp_path, first.trace_id))) == {str(first), str(second)}


def test_a_line_that_a_crash_cut_off_is_passed_over(tmp_path):
    span = make_span()
    path = tmp_path / "a.jsonl"
    record(path, span, span)
    path.write_text(path.read_text()[:-40])
    assert read_folder(tmp_path, span.trace_id) == (span,)


def test_a_line_that_is_damaged_otherwise_is_an_error(tmp_path):
    span = make_span()
    record(tmp_path / "a.jsonl", span)
    (tmp_path / "a.jsonl").write_text(f"{span.trace_id} is no JSON\n")
    with pytest.raises(json.JSONDecodeError):
        read_folder(tmp_path, span.trace_id)


def test_the_files_are_bounded_and_the_newest_spans_stay(tmp_path):
    spans = [make_span() for _ in range(200)]
    record(tmp_path / "a.jsonl", *spans, most_bytes=10_000)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 20_000
    assert read_folder(tmp_path, spans[-1].trace_id)
    assert not read_folder(tmp_path, spans[0].trace_id)


def test_the_functions_of_one_process_share_the_tracer_of_a_file(tmp_path):
    def make():
        settings = StitchSettings(
            region="eu-central-1", database_dsn="", results_bucket="r", traces=str(tmp_path / "stack.jsonl")
        )
        return make_tracer(settings, clients=None)

    span, later = make_span(), make_span()
    assert make() is make()
    make().record(span)
    close_file(tmp_path / "stack.jsonl")
    assert read_folder(tmp_path, span.trace_id) == (span,)
    make().record(later)
    close_file(tmp_path / "stack.jsonl")
    close_file(tmp_path / "stack.jsonl")
    assert read_folder(tmp_path, later.trace_id) == (later,)


def test_without_the_setting_no_span_is_recorded():
    settings = StitchSettings(region="eu-central-1", database_dsn="", results_bucket="r")
    assert make_tracer(settings, clients=None) is NO_TRACER
