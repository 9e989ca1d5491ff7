"""The reports of two indexes of advisories: pip-audit's on a lock, and npm's on a package-lock.json."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

EXCEPTIONS = Path(__file__).with_name("exceptions.toml")


class NoAdvisories(Exception):
    """The index gave no answer, so that nothing is known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownFault:
    package: str
    version: str  #: or npm's range of versions
    names: frozenset[str]  #: its id and what else it is called: GHSA-…, CVE-…, PYSEC-…
    advice: str

    def __str__(self) -> str:
        return f"{self.package} {self.version}: {', '.join(sorted(self.names))}; {self.advice}"


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultException:
    name: str
    why: str
    until: date


def read_pip_report(report: str) -> list[KnownFault]:
    """Return the faults of pip-audit's JSON. Raises NoAdvisories when a package was not looked up."""
    try:
        packages: list[dict[str, Any]] = json.loads(report)["dependencies"]
    except (ValueError, KeyError) as error:
        raise NoAdvisories("pip-audit gave no report.") from error
    if skipped := [one["name"] for one in packages if "vulns" not in one]:
        raise NoAdvisories(f"The index answered for {len(packages) - len(skipped)} of {len(packages)} packages.")
    return [
        KnownFault(
            package=package["name"],
            version=package["version"],
            names=frozenset((fault["id"], *fault.get("aliases", ()))),
            advice=f"mended in {', '.join(fault['fix_versions'])}" if fault.get("fix_versions") else "not mended yet",
        )
        for package in packages
        for fault in package["vulns"]
    ]


def read_npm_report(report: str) -> list[KnownFault]:
    """Return the faults of `npm audit --json`. Raises NoAdvisories."""
    try:
        packages: dict[str, dict[str, Any]] = json.loads(report)["vulnerabilities"]
    except (ValueError, KeyError) as error:
        raise NoAdvisories("The index of advisories did not answer npm.") from error
    # A `via` that is a text names another package, which is listed itself.
    return [
        KnownFault(
            package=name,
            version=package["range"],
            names=frozenset((str(fault["url"]).rpartition("/")[2],)),
            advice=f"{fault['severity']}: {fault['title']}",
        )
        for name, package in packages.items()
        for fault in package["via"]
        if isinstance(fault, dict)
    ]


def read_exceptions(text: str) -> Mapping[str, FaultException]:
    """Return the exceptions by their names. Raises KeyError where one lacks its reason or its end."""
    stated = tomllib.loads(text)
    return {name: FaultException(name=name, why=one["why"], until=one["until"]) for name, one in stated.items()}


def select_open(
    faults: Iterable[KnownFault], exceptions: Mapping[str, FaultException], today: date
) -> list[KnownFault]:
    """Return the faults that no exception covers today."""
    excused = {name for name, one in exceptions.items() if today <= one.until}
    return [fault for fault in faults if not fault.names & excused]
