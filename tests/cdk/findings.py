"""What rules find: cdk-nag in the constructs; cloudformation-validate, and our own on IAM, in the templates."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import cloudformation_validate as validate
from cdk_nag import AwsSolutionsChecks, HIPAASecurityChecks

from cdk.acknowledgements import ACKNOWLEDGED, Acknowledgement
from tests.cdk.policies import statements
from tests.cdk.templates import Templates


@dataclass(frozen=True, order=True)
class Finding:
    rule: str
    subject: str  #: what the rule names in brackets, or nothing
    path: str  #: of the construct, from the stack's noun on
    type: str  #: of the resource
    preset: str
    message: str

    def __str__(self) -> str:
        named = f"[{self.subject}]" if self.subject else ""
        return f"{self.rule}{named} at {self.path} ({self.type}): {self.message}"


def acknowledged_by(finding: Finding) -> dict[Acknowledgement, tuple[str, ...]]:
    """Entries of the table that cover it, with what of theirs it meets."""
    f = finding
    met = {e: e.match(rule=f.rule, subject=f.subject, type=f.type, path=f.path, preset=f.preset) for e in ACKNOWLEDGED}
    return {entry: parts for entry, parts in met.items() if parts}


def unacknowledged(findings: Iterable[Finding]) -> list[str]:
    return sorted(str(finding) for finding in findings if not acknowledged_by(finding))


def found_by_nag(templates: Templates) -> list[Finding]:
    """By AwsSolutions and HIPAA.Security. Looks at the constructs, so it does not see what damages the templates."""
    types = {path: resource["Type"] for path, resource in templates.by_path().items()}
    findings = []
    for pack in (AwsSolutionsChecks(templates.app), HIPAASecurityChecks(templates.app)):
        for violation in pack.validate_scope(templates.app).violations:
            rule, _, subject = violation.rule_name.removesuffix("]").partition("[")
            for violating in violation.violating_resources:
                assert violating.construct_path
                path = templates.short(violating.construct_path)
                findings.append(
                    Finding(rule, subject, path, types[path], templates.deployment.environment, violation.description)
                )
    return findings


def found_by_validate(templates: Templates) -> list[Finding]:
    """Warnings and worse: a value outside its enumeration is no more than a warning there (W3030)."""
    config = validate.ValidateConfig(severity_level=validate.Severity.WARN)
    findings = []
    for noun, template in templates.by_noun.items():
        paths = {
            id: r["Metadata"]["aws:cdk:path"] for id, r in template.get("Resources", {}).items() if "Metadata" in r
        }
        for diagnostic in _engine().validate_template(json.dumps(template).encode(), config).diagnostics:
            id = diagnostic.entity.logical_id if diagnostic.entity else ""
            findings.append(
                Finding(
                    diagnostic.rule_id,
                    diagnostic.property_path or "",
                    templates.short(paths[id]) if id in paths else f"{noun}/{id}",
                    (diagnostic.entity.resource_type if diagnostic.entity else None) or "",
                    templates.deployment.environment,
                    diagnostic.message,
                )
            )
    return findings


def found_in_policies(templates: Templates) -> list[Finding]:
    """Actions with a wildcard, and actions allowed on any resource. In the own policy of a key or of an endpoint, any
    resource means that key or what that endpoint leads to."""
    findings = []
    for statement in statements(templates):
        if not statement.allows:
            continue
        found = [("IAM.WildcardAction", action) for action in statement.actions if re.search(r":.*[*?]", action)]
        if not statement.principals and "*" in statement.resources:
            found += [("IAM.AnyResource", action) for action in statement.actions]
        preset = templates.deployment.environment
        said = str(statement)
        findings += [Finding(rule, action, statement.path, statement.type, preset, said) for rule, action in found]
    return findings


@cache
def _engine() -> validate.CompositeEngine:
    return validate.CompositeEngine()
