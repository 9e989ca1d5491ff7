"""Answers the kubelet, Prometheus and people about workers that share a machine, on the port of their parent.

Paths and statuses are those of `gpu_worker.health.server`. The pod is live if every worker is, since it is replaced as
a whole, and ready if one is. Metrics are each worker's series, with its device as the label `gpu`. The first worker
that has a model answers about it.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final
from urllib.parse import quote

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from gpu_worker.health.server import HealthAnswer, make_json_answer

#: A worker whose forward pass holds Python's lock answers late; a probe waits five seconds.
ASK_SECONDS: Final = 4.0
GPU: Final = "gpu"

_SILENT: Final = make_json_answer(503, {"error": "This worker does not answer: it starts, or it hangs."})


def answer_for_workers(path: Sequence[str], ports: Mapping[str, int], *, leaving: bool) -> HealthAnswer:
    """Return the answer for all workers. `ports`: their health ports, by the title of their device."""
    answers = _ask_all(path, ports)
    match path:
        case ["metrics"]:
            texts = {title: one.body.decode() for title, one in answers.items() if one.status == 200}
            return HealthAnswer(200, generate_latest(_MergedMetrics(texts)), CONTENT_TYPE_LATEST)
        case ["v2", "health", "live"]:
            live = all(one.status == 200 for one in answers.values())
            return _combine(live, {"live": live}, answers)
        case ["v2", "health", "ready"]:
            ready = not leaving and any(one.status == 200 for one in answers.values())
            return _combine(ready, {"ready": ready}, answers)
        case _:
            by_status = sorted(answers.values(), key=lambda one: one.status)
            return by_status[0] if by_status else _SILENT


def _combine(good: bool, body: Mapping[str, Any], answers: Mapping[str, HealthAnswer]) -> HealthAnswer:
    each = {title: json.loads(one.body) for title, one in answers.items()}
    return make_json_answer(200 if good else 503, {**body, "gpus": each})


def _ask_all(path: Sequence[str], ports: Mapping[str, int]) -> Mapping[str, HealthAnswer]:
    """Ask all workers in parallel."""
    if not ports:
        return {}
    url = "/" + "/".join(quote(part, safe="") for part in path)
    with ThreadPoolExecutor(len(ports)) as threads:
        return dict(zip(ports, threads.map(lambda port: _ask(port, url), ports.values()), strict=True))


def _ask(port: int, url: str) -> HealthAnswer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ASK_SECONDS)
    try:
        connection.request("GET", url)
        response = connection.getresponse()
        return HealthAnswer(response.status, response.read(), response.getheader("Content-Type", ""))
    except (OSError, http.client.HTTPException):
        return _SILENT
    finally:
        connection.close()


class _MergedMetrics(Collector):
    """The metric families of several workers' texts, each once with the series of all."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for title, text in self._texts.items():
            for family in text_string_to_metric_families(text):
                into = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    into.add_sample(sample.name, {**sample.labels, GPU: title}, sample.value)
        yield from families.values()
