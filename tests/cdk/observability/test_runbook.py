"""docs/how-to/runbook.md: an entry for each alarm, and no entry that nothing leads to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest
import yaml

from adapters.settings.functions import TIMEOUTS
from adapters.settings.queues import QUEUES
from cdk.observability.prometheus import RULES
from cdk.runbook import RUNBOOK
from lambdas.schemas.administration import Action
from tests.cdk.templates import ROOT, Templates

TEXT = (ROOT / RUNBOOK).read_text()
PARTS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TEXT, flags=re.MULTILINE | re.DOTALL))
#: Told by AWS Budgets and Cost Explorer, whose notices carry no text of ours.
WITHOUT_A_LINK = {"costs"}


def entries(text: str) -> Mapping[str, str]:
    """Bodies by heading of the third level; headings are their own anchors."""
    return dict(re.findall(r"^### (.+?)\n(.*?)(?=^##|\Z)", text, flags=re.MULTILINE | re.DOTALL))


PROCEDURES = entries(PARTS["Procedures"])
ENTRIES = {name: body for name, body in entries(TEXT).items() if name not in PROCEDURES}


def linked(templates: Templates) -> set[str]:
    kinds = ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")
    told = [one["Properties"]["AlarmDescription"] for kind in kinds for one in templates.resources(kind).values()]
    for file in RULES.glob("*.yaml"):
        told += [json.dumps(rule) for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]
    return {anchor for text in told for anchor in re.findall(rf"{RUNBOOK}#([\w-]+)", text)}


def test_every_alarm_leads_to_an_entry(templates: Templates) -> None:
    assert linked(templates) - ENTRIES.keys() == set()


def test_every_entry_has_an_alarm(templates: Templates, furnished: Templates) -> None:
    assert ENTRIES.keys() - linked(templates) - linked(furnished) == WITHOUT_A_LINK
    assert linked(furnished) - linked(templates) == {"replication"}  # of a second region alone


def test_every_entry_says_what_it_means_where_to_look_what_to_do_and_when_it_is_over() -> None:
    assert ENTRIES
    for name, body in ENTRIES.items():
        labels = [label for label in ("Impact", "Check", "Do", "Resolved") if f"\n**{label}** " in f"\n{body}"]
        assert labels == ["Impact", "Check", "Do", "Resolved"], name


def test_every_procedure_says_when_what_to_do_and_when_it_is_done() -> None:
    assert PROCEDURES
    for name, body in PROCEDURES.items():
        assert [label for label in ("When", "Do", "Resolved") if f"\n**{label}** " in f"\n{body}"] == [
            *("When", "Do", "Resolved")
        ], name


def test_links_within_the_page_lead_somewhere() -> None:
    assert set(re.findall(r"\]\(#([\w-]+)\)", TEXT)) - {*ENTRIES, *PROCEDURES} == set()


def test_commands_name_functions_and_queues_that_exist() -> None:
    inline = " ".join(re.findall(r"`[^`\n]+`", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)))
    functions = set(re.findall(r"(?:`errors|`logs|\(log|\(function) ([a-z]\w*)", inline))
    assert len(functions) > 3
    assert functions - TIMEOUTS.keys() == set()
    queues = {name.removesuffix("-dlq") for name in re.findall(r"\bqueue ([a-z][a-z-]*)", TEXT) if "-dlq" in name}
    assert queues
    assert queues <= set(QUEUES)


@pytest.mark.parametrize("action", ["add_key", "revoke_key", "disable_user"])
def test_what_administer_is_asked_for_exists(action: str) -> None:
    assert action in TEXT
    assert action in Action.model_fields
