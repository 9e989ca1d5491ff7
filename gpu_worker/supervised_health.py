"""What the kubelet, Prometheus and people ask workers that share a machine, on the port of their parent.

Paths and statuses are those of `gpu_worker.health`. Live: every worker is, since a pod is replaced as a whole. Ready:
one is. Metrics: each worker's series, with its device as the label `gpu`. A model: the first answer of a worker that
has it.
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

from gpu_worker.health import Answer, json_answer

#: For a worker whose forward pass holds Python's lock; below the five of a probe.
ASK_SECONDS: Final = 4.0
GPU: Final = "gpu"

_SILENT: Final = json_answer(503, {"error": "This worker does not answer: it starts, or it hangs."})


def answer(path: Sequence[str], ports: Mapping[str, int], *, leaving: bool) -> Answer:
    """`ports`: of the workers that run, by the title of their device."""
    answers = _asked(path, ports)
    match path:
        case ["metrics"]:
            told = {title: one.body.decode() for title, one in answers.items() if one.status == 200}
            return Answer(200, generate_latest(_Merged(told)), CONTENT_TYPE_LATEST)
        case ["v2", "health", "live"]:
            live = all(one.status == 200 for one in answers.values())
            return _together(live, {"live": live}, answers)
        case ["v2", "health", "ready"]:
            ready = not leaving and any(one.status == 200 for one in answers.values())
            return _together(ready, {"ready": ready}, answers)
        case _:
            by_status = sorted(answers.values(), key=lambda one: one.status)
            return by_status[0] if by_status else _SILENT


def _together(good: bool, body: Mapping[str, Any], answers: Mapping[str, Answer]) -> Answer:
    each = {title: json.loads(one.body) for title, one in answers.items()}
    return json_answer(200 if good else 503, {**body, "gpus": each})


def _asked(path: Sequence[str], ports: Mapping[str, int]) -> Mapping[str, Answer]:
    """All side by side."""
    if not ports:
        return {}
    url = "/" + "/".join(quote(part, safe="") for part in path)
    with ThreadPoolExecutor(len(ports)) as threads:
        return dict(zip(ports, threads.map(lambda port: _ask(port, url), ports.values()), strict=True))


def _ask(port: int, url: str) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ASK_SECONDS)
    try:
        connection.request("GET", url)
        said = connection.getresponse()
        return Answer(said.status, said.read(), said.getheader("Content-Type", ""))
    except (OSError, http.client.HTTPException):
        return _SILENT
    finally:
        connection.close()


class _Merged(Collector):
    """Families of several expositions, each told once with the series of all."""

    def __init__(self, told: Mapping[str, str]) -> None:
        self._told = told

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for title, text in self._told.items():
            for family in text_string_to_metric_families(text):
                into = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    into.add_sample(sample.name, {**sample.labels, GPU: title}, sample.value)
        yield from families.values()
