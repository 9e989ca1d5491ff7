"""Who records the way of a slide may write to X-Ray, and nobody else; the share of slides is a setting."""

from __future__ import annotations

import re
from typing import Any

import pytest

from adapters.settings.tracing import WRITING, XRAY
from tests.cdk.manifests import objects
from tests.cdk.policies import statements
from tests.cdk.templates import Templates, synthesized

ON_THE_WAY = {"api", "submit", "inspect", "plan", "stitch", "relay", "notify"}
WORKERS = {"GpuWorker", "HeavyWorker"}


@pytest.fixture(params=["dev", "prod"])
def templates(request: pytest.FixtureRequest) -> Templates:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def untraced() -> Templates:
    return synthesized(environment="dev", trace_share="0")


def variables(templates: Templates) -> dict[str, dict[str, Any]]:
    """The environment of each function of the API's stack, by its name."""
    found = templates.resources("AWS::Lambda::Function", "api").values()
    return {
        function["Metadata"]["aws:cdk:path"].split("/")[-2]: function["Properties"]
        .get("Environment", {})
        .get("Variables", {})
        for function in found
    }


def pods(templates: Templates) -> dict[str, dict[str, str]]:
    """The environment of the pods of each kind of worker, as far as it is text."""
    found: dict[str, dict[str, str]] = {}
    for scaled in objects(templates):
        if scaled["kind"] == "ScaledJob":
            (container,) = scaled["spec"]["jobTargetRef"]["template"]["spec"]["containers"]
            name = scaled["metadata"]["name"]
            found[name] = {one["name"]: one.get("value", "") for one in container["env"]}
    return found


def roles_that_write(templates: Templates) -> set[str]:
    """Whose roles those are: functions by their name, workers by their construct."""
    paths = [one.path for one in statements(templates) if one.allows and WRITING in one.actions]
    found = [re.search(r"/(\w+?)(?:Role|/Account/Role)/", path) for path in paths]
    return {match[1] for match in found if match is not None}


def test_every_function_that_records_spans_may_write_them(templates: Templates) -> None:
    recording = {name for name, told in variables(templates).items() if told.get("TESSERA_TRACES") == XRAY}
    assert recording == ON_THE_WAY
    assert recording <= roles_that_write(templates)


def test_every_worker_that_records_spans_may_write_them(templates: Templates) -> None:
    recording = {name for name, told in pods(templates).items() if told.get("TESSERA_TRACES") == XRAY}
    assert len(recording) == 2
    assert roles_that_write(templates) >= WORKERS


def test_all_of_them_record_the_same_traces(templates: Templates) -> None:
    """The share is chosen by the trace's id: with one share, a trace is whole or not there."""
    told = [*variables(templates).values(), *pods(templates).values()]
    assert {one["TESSERA_TRACE_SHARE"] for one in told if "TESSERA_TRACES" in one} == {"1.0"}


def test_without_a_share_nobody_records_and_no_worker_may_write(untraced: Templates) -> None:
    told = [*variables(untraced).values(), *pods(untraced).values()]
    assert told
    assert not any("TESSERA_TRACES" in one for one in told)
    assert not WORKERS & roles_that_write(untraced)
