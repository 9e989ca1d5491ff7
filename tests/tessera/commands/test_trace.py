"""`tessera admin trace`, of a stack's folder and of X-Ray; tests/stack has it on a whole stack."""

from __future__ import annotations

import json

import boto3
import pytest
from click.testing import Result
from moto import mock_aws
from typer.testing import CliRunner

from adapters.tracing.otlp_files import OtlpFile
from adapters.tracing.recording import OpenTelemetryTracer
from adapters.tracing.xray import XRayApi
from tessera.cli import app
from tests.tessera.server import Installation, served
from tests.tessera.traces.spans import JOB, TRACE, make_trace

REGION = "eu-central-1"


def trace(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "120"}).invoke(app, ["admin", "trace", *arguments])


@pytest.fixture
def installation():
    installation = Installation(job={"status": "COMPLETED", "traceparent": f"00-{TRACE}-{3:016x}-01"})
    with served(installation) as installation.url:
        yield installation


@pytest.fixture
def stack(installation, tmp_path):
    """The folder of a stack that runs: its traces are in files."""
    tracer = OpenTelemetryTracer(OtlpFile(tmp_path / "traces/stack.jsonl"), in_background=False)
    for span in make_trace():
        tracer.record(span)
    described = {"api_url": installation.url, "api_key": "tsk_1", "traces": str(tmp_path / "traces")}
    (tmp_path / "stack.json").write_text(json.dumps(described))
    return tmp_path


def test_the_waterfall_of_a_stack_on_this_machine(stack):
    result = trace(JOB, "--stack", str(stack))
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == f"Job {JOB}: COMPLETED, 11 spans in 10.0 s"
    assert sum("gpu_worker" in line for line in lines) == 7 + 1  # spans, and the summary
    assert any("attempt 1 ✗ worker lost" in line for line in lines)


def test_levels_can_be_left_out(stack):
    result = trace(JOB, "--stack", str(stack), "--depth", "2")
    assert "start job" in result.output
    assert "lease shard" not in result.output


def test_json_names_spans_and_where_the_time_went(stack):
    described = json.loads(trace(JOB, "--stack", str(stack), "--json").output)
    assert (described["job_id"], described["trace_id"]) == (JOB, TRACE)
    assert [span["name"] for span in described["spans"] if span["is_lost"]] == ["lease shard"]
    assert sum(described["time"].values()) == pytest.approx(10.0)


def test_a_trace_without_spans_says_why_that_may_be(stack):
    (stack / "traces/stack.jsonl").unlink()
    result = trace(JOB, "--stack", str(stack))
    assert result.exit_code == 1
    assert "no span of its trace" in result.output


def test_the_spans_of_an_installation_on_aws_come_from_x_ray(installation, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws(config={"core": {"passthrough": {"urls": ["127.0.0.1"]}}}):
        tracer = OpenTelemetryTracer(XRayApi(boto3.client("xray", region_name=REGION)), in_background=False)
        for span in make_trace():
            tracer.record(span)
        result = trace(JOB, "--api", installation.url, "--api-key", "tsk_1", "--region", REGION)
    assert result.exit_code == 0, result.output
    assert result.output.startswith(f"Job {JOB}: COMPLETED, 11 spans in 10.0 s")
    assert installation.credentials == {"Bearer tsk_1"}


def test_options_that_do_not_fit_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("TESSERA_API", "TESSERA_API_KEY", "AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    assert "no stack runs in .tessera" in str(trace(JOB).exception)
    assert "needs an API key" in str(trace(JOB, "--api", "http://127.0.0.1:9").exception)
    assert "give one of them" in str(trace(JOB, "--api", "http://127.0.0.1:9", "--stack", ".").exception)
    assert "--region" in str(trace(JOB, "--api", "http://127.0.0.1:9", "--api-key", "k").exception)
