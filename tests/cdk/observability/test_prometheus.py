"""What is scraped from pods and GPUs, the rules over it, the page that draws it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from adapters.settings.processes import WorkerSettings
from cdk.observability.prometheus import FOLDER, RULES, SCRAPE
from cdk.scraping import make_annotations
from cdk.workload import gpu_worker, warm_nodes
from tests.cdk.exporters import EXPORTED, OF_THE_SCRAPER, metrics_of
from tests.cdk.manifests import chart_values, objects
from tests.cdk.templates import Templates

PAGES = sorted((FOLDER / "grafana").glob("*.json"))
FILES = sorted(RULES.glob("*.yaml"))


def rules() -> Iterator[dict[str, Any]]:
    for file in FILES:
        for group in yaml.safe_load(file.read_text())["groups"]:
            yield from group["rules"]


def alerts() -> list[dict[str, Any]]:
    return [rule for rule in rules() if "alert" in rule]


def expressions() -> Iterator[tuple[str, str]]:
    """(where it stands, expression)"""
    for rule in rules():
        yield rule.get("alert") or rule["record"], rule["expr"]
    for page in PAGES:
        for panel in json.loads(page.read_text())["panels"]:
            for target in panel.get("targets", ()):
                yield f"{page.name}: {panel['title']}", target["expr"]


def exported() -> set[str]:
    return {name for names in EXPORTED.values() for name in names} | OF_THE_SCRAPER


def kept() -> re.Pattern[str]:
    """What the scraper keeps of all that it reads."""
    (job,) = yaml.safe_load(SCRAPE.read_text())["scrape_configs"]
    (rule,) = job["metric_relabel_configs"]
    assert (rule["source_labels"], rule["action"]) == (["__name__"], "keep")
    return re.compile(rule["regex"])


# --- names


def test_metrics_are_found_in_expressions() -> None:
    assert metrics_of('avg by (pod) (rate(a_total{x="y_z"}[5m])) / on () group_left (q) b > 20 and c:d offset 30m') == {
        *("a_total", "b", "c:d")
    }


def test_every_metric_of_a_rule_or_a_panel_is_told_by_somebody() -> None:
    known = exported() | {rule["record"] for rule in rules() if "record" in rule}
    assert {where: unknown for where, expr in expressions() if (unknown := metrics_of(expr) - known)} == {}


def test_every_metric_of_a_rule_or_a_panel_is_kept_by_the_scraper() -> None:
    keep = kept()
    used = {name for _, expr in expressions() for name in metrics_of(expr)} & exported()
    assert {name for name in used if not keep.fullmatch(name)} == set()


def test_the_scraper_leaves_what_nobody_uses_in_the_cluster() -> None:
    assert not kept().fullmatch("go_gc_duration_seconds")
    assert not kept().fullmatch("kube_pod_labels")


def test_brackets_are_closed() -> None:
    for where, expr in expressions():
        for opened, closed in ("()", "[]", "{}"):
            assert expr.count(opened) == expr.count(closed), where


# --- rules


def test_every_alert_says_what_it_means_and_what_to_do() -> None:
    assert len(alerts()) >= 8
    for alert in alerts():
        assert re.fullmatch(r"[A-Z].*\.", alert["annotations"]["summary"]), alert["alert"]
        assert re.fullmatch(r"docs/how-to/runbook\.md#[a-z-]+", alert["annotations"]["runbook"]), alert["alert"]


def test_alerts_have_names_of_their_own() -> None:
    names = [alert["alert"] for alert in alerts()]
    assert len(set(names)) == len(names)


def test_rules_hold_nothing_that_prometheus_does_not_know() -> None:
    known = {"alert", "record", "expr", "for", "labels", "annotations"}
    assert [rule for rule in rules() if not rule.keys() <= known or not {"alert", "record"} & rule.keys()] == []


def test_a_busy_gpu_is_one_that_a_pod_of_work_holds() -> None:
    (rule,) = [rule for rule in rules() if rule.get("record") == "tessera:gpu_utilisation:avg"]
    assert 'pod!=""' in rule["expr"]
    assert f'pod!~"{warm_nodes.NAME}-.*"' in rule["expr"]


def test_a_worker_that_hangs_is_told_before_its_watchdog_ends_it() -> None:
    (alert,) = [alert for alert in alerts() if alert["alert"] == "WorkerHangs"]
    seconds = float(alert["expr"].rpartition(">")[2])
    assert seconds == WorkerSettings.model_fields["stuck_seconds"].default / 2


@pytest.mark.parametrize(
    ("name", "waits"),
    [("GpuIdleWhileWorkWaits", "15m"), ("GpuSaturated", "2h"), ("PodsPending", "1m"), ("SpotGhosts", "1m")],
)
def test_alerts_on_capacity_wait_for_what_passes_by_itself(name: str, waits: str) -> None:
    (alert,) = [alert for alert in alerts() if alert["alert"] == name]
    assert alert["for"] == waits


def test_idle_gpus_and_full_ones_are_told_only_while_work_waits() -> None:
    for name, line in (("GpuIdleWhileWorkWaits", "< 20"), ("GpuSaturated", "> 95")):
        (alert,) = [alert for alert in alerts() if alert["alert"] == name]
        assert line in alert["expr"]
        assert f'keda_scaler_metrics_value{{scaledObject="{gpu_worker.NAME}"}}' in alert["expr"]


# --- the workspace


def test_the_workspace_has_all_rules_and_tells_the_topic(templates: Templates) -> None:
    spaces = templates.resources("AWS::APS::RuleGroupsNamespace", "observability").values()
    assert {one["Properties"]["Name"]: one["Properties"]["Data"] for one in spaces} == {
        file.stem: file.read_text() for file in FILES
    }
    definition = templates.resource("AWS::APS::Workspace")["Properties"]["AlertManagerDefinition"]
    (topic,) = templates.resources("AWS::SNS::Topic", "observability")
    text = "".join(part if isinstance(part, str) else f"<{part['Ref']}>" for part in definition["Fn::Join"][1])
    config = yaml.safe_load(yaml.safe_load(text)["alertmanager_config"])
    (receiver,) = config["receivers"]
    assert config["route"]["receiver"] == receiver["name"]
    (sns,) = receiver["sns_configs"]
    assert sns["topic_arn"] == f"<{topic}>"
    assert sns["sigv4"]["region"] == templates.deployment.region
    assert sns["send_resolved"]


def test_the_scraper_reads_the_cluster_from_the_private_subnets(templates: Templates) -> None:
    scraper = templates.resource("AWS::APS::Scraper")["Properties"]
    assert scraper["ScrapeConfiguration"]["ConfigurationBlob"] == SCRAPE.read_text()
    source = scraper["Source"]["EksConfiguration"]
    assert len(source["SubnetIds"]) >= 2
    assert all("private" in json.dumps(subnet) for subnet in source["SubnetIds"])
    assert "SecurityGroup" in json.dumps(source["SecurityGroupIds"])


def test_what_prometheus_itself_says_is_kept_for_a_while(templates: Templates) -> None:
    groups = templates.resources("AWS::Logs::LogGroup", "observability")
    workspace = templates.resource("AWS::APS::Workspace")["Properties"]["LoggingConfiguration"]
    scraper = templates.resource("AWS::APS::Scraper")["Properties"]["ScraperLoggingConfiguration"]
    named = [
        workspace["LogGroupArn"],
        scraper["LoggingDestination"]["CloudWatchLogs"]["LogGroupArn"],
    ]
    assert len({json.dumps(arn) for arn in named}) == 2
    for arn in named:
        name = groups[arn["Fn::GetAtt"][0]]["Properties"]["LogGroupName"]
        assert name.startswith("/aws/vendedlogs/")


def test_pods_are_found_by_the_annotations_that_they_carry() -> None:
    (job,) = yaml.safe_load(SCRAPE.read_text())["scrape_configs"]
    sources = [source for rule in job["relabel_configs"] for source in rule["source_labels"]]
    for annotation in make_annotations(8080):
        label = "__meta_kubernetes_pod_annotation_" + re.sub(r"\W", "_", annotation)
        assert label in sources


def test_everybody_who_tells_metrics_asks_to_be_read(templates: Templates) -> None:
    (worker,) = [one for one in objects(templates, "ScaledJob") if one["metadata"]["name"] == gpu_worker.NAME]
    annotations = {
        "gpu-worker": worker["spec"]["jobTargetRef"]["template"]["metadata"]["annotations"],
        "dcgm-exporter": chart_values(templates, "dcgm-exporter")["podAnnotations"],
        "keda-operator": chart_values(templates, "keda")["podAnnotations"]["keda"],
        "kube-state-metrics": chart_values(templates, "kube-state-metrics")["podAnnotations"],
    }
    assert annotations.keys() == EXPORTED.keys()
    for name, found in annotations.items():
        assert make_annotations(int(found["prometheus.io/port"])).items() <= found.items(), name


# --- pages


def test_pages_ask_the_prometheus_that_is_chosen_when_they_are_imported() -> None:
    assert PAGES
    for page in PAGES:
        read = json.loads(page.read_text())
        (variable,) = read["templating"]["list"]
        graphs = [panel for panel in read["panels"] if panel["type"] != "row"]
        assert {panel["datasource"]["uid"] for panel in graphs} == {f"${{{variable['name']}}}"}


def test_panels_have_numbers_and_places_of_their_own() -> None:
    for page in PAGES:
        panels = json.loads(page.read_text())["panels"]
        assert len({panel["id"] for panel in panels}) == len(panels)
        cells = [
            (x, y)
            for panel in panels
            for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
            for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
        ]
        assert len(set(cells)) == len(cells)
        assert max(x for x, _ in cells) < 24
