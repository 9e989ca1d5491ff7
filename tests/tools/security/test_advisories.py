"""Reports of pip-audit 2.10 and npm 11, in the form in which they come."""

from __future__ import annotations

import json
from datetime import date

import pytest

from tools.security.advisories import (
    EXCEPTIONS,
    NoAdvisories,
    read_exceptions,
    read_npm_report,
    read_pip_report,
    select_open,
)

PIP_FAULT = {
    "id": "PYSEC-2026-1",
    "fix_versions": ["2.8.1"],
    "aliases": ["CVE-2026-1", "GHSA-aaaa-bbbb-cccc"],
    "description": "It follows redirects to other hosts with the credentials.",
}
PIP_REPORT = json.dumps(
    {
        "dependencies": [
            {"name": "urllib3", "version": "2.8.0", "vulns": [PIP_FAULT]},
            {"name": "idna", "version": "3.20", "vulns": []},
        ],
        "fixes": [],
    }
)
NPM_REPORT = json.dumps(
    {
        "auditReportVersion": 2,
        "vulnerabilities": {
            "esbuild": {
                "name": "esbuild",
                "severity": "moderate",
                "via": [
                    {
                        "source": 1102341,
                        "name": "esbuild",
                        "title": "Any page may read the development server",
                        "url": "https://github.com/advisories/GHSA-67mh-4wv8-2f99",
                        "severity": "moderate",
                        "range": "<=0.24.2",
                    }
                ],
                "range": "<=0.24.2",
            },
            "vite": {"name": "vite", "severity": "moderate", "via": ["esbuild"], "range": "0.11.0 - 6.1.6"},
        },
    }
)


def test_a_known_fault_is_told_with_its_names_and_its_remedy() -> None:
    [fault] = read_pip_report(PIP_REPORT)
    assert str(fault) == "urllib3 2.8.0: CVE-2026-1, GHSA-aaaa-bbbb-cccc, PYSEC-2026-1; mended in 2.8.1"
    [fault] = read_npm_report(NPM_REPORT)
    assert str(fault).startswith("esbuild <=0.24.2: GHSA-67mh-4wv8-2f99; moderate: ")


@pytest.mark.parametrize(
    "report",
    [
        *("", "no json", "{}"),
        json.dumps({"dependencies": [{"name": "idna", "skip_reason": "Dependency not found on PyPI"}]}),
    ],
)
def test_packages_that_nobody_looked_up_do_not_count_as_safe(report: str) -> None:
    with pytest.raises(NoAdvisories):
        read_pip_report(report)


@pytest.mark.parametrize("report", ["", json.dumps({"message": "405 Method Not Allowed", "error": {"summary": ""}})])
def test_an_index_that_refuses_npm_does_not_count_as_safe(report: str) -> None:
    with pytest.raises(NoAdvisories):
        read_npm_report(report)


def test_an_exception_covers_a_fault_by_any_name_until_its_last_day() -> None:
    exceptions = read_exceptions('[CVE-2026-1]\nwhy = "No redirect is followed."\nuntil = 2026-12-31\n')
    faults = read_pip_report(PIP_REPORT)
    assert select_open(faults, exceptions, date(2026, 12, 31)) == []
    assert select_open(faults, exceptions, date(2027, 1, 1)) == faults
    assert select_open(faults, {}, date(2026, 1, 1)) == faults


def test_an_exception_needs_a_reason_and_an_end() -> None:
    with pytest.raises(KeyError):
        read_exceptions("[CVE-2026-1]\nuntil = 2026-12-31\n")
    read_exceptions(EXCEPTIONS.read_text())
