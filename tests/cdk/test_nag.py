"""cdk-nag: the AwsSolutions and HIPAA.Security packs over both presets, and over a deployment with every setting.

And the table of reasons itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3

from cdk.acknowledgements import ACKNOWLEDGED
from tests.cdk.findings import (
    Finding,
    acknowledged_by,
    found_by_nag,
    found_by_validate,
    found_in_policies,
    unacknowledged,
)
from tests.cdk.templates import Templates


@pytest.fixture(scope="module")
def nagged(dev: Templates, prod: Templates, furnished: Templates) -> list[Finding]:
    return [*found_by_nag(dev), *found_by_nag(prod), *found_by_nag(furnished)]


def test_every_finding_is_mended_or_acknowledged(nagged: list[Finding]) -> None:
    found = unacknowledged(nagged)
    assert not found, "\n".join(found)


@pytest.fixture(scope="module")
def all_findings(nagged: list[Finding], dev: Templates, prod: Templates, furnished: Templates) -> list[Finding]:
    others = [f for preset in (dev, prod, furnished) for f in (*found_by_validate(preset), *found_in_policies(preset))]
    return [*nagged, *others]


def test_every_part_of_the_table_is_needed(all_findings: list[Finding]) -> None:
    met = {(e, part) for finding in all_findings for e, parts in acknowledged_by(finding).items() for part in parts}
    listed = {(e, part) for e in ACKNOWLEDGED for part in (*e.rules, *e.kinds, *e.subjects)}
    assert {(part, entry.reason) for entry, part in listed - met} == set()


def test_no_finding_has_two_reasons(all_findings: list[Finding]) -> None:
    assert [str(finding) for finding in all_findings if len(acknowledged_by(finding)) > 1] == []


def test_a_bucket_that_somebody_adds_in_a_hurry_is_found(dev: Templates, tmp_path: Path) -> None:
    app = cdk.App(context={"aws:cdk:enable-path-metadata": True}, outdir=str(tmp_path))
    stack = cdk.Stack(app, f"{dev.deployment.prefix}-data")
    s3.Bucket(stack, "Hurried")
    template = app.synth().get_stack_by_name(stack.stack_name).template
    hurried = replace(dev, by_noun={"data": template}, app=app)
    rules = {line.split()[0] for line in unacknowledged(found_by_nag(hurried)) if "data/Hurried/Resource" in line}
    assert {"AwsSolutions-S1", "AwsSolutions-S10", "HIPAA.Security-S3BucketVersioningEnabled"} <= rules


def test_every_reason_is_one_sentence() -> None:
    reasons = [entry.reason for entry in ACKNOWLEDGED]
    assert [reason for reason in reasons if not reason.endswith(".") or ". " in reason or len(reason) < 30] == []
