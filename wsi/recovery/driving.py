"""A whole recovery, by calls of its function page by page: the same for a function on AWS and for the embedded stack.

The order matters: models and slides get their places before jobs are sent to be planned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from wsi.errors import TesseraError

#: Calls the function with one action, and returns its answer.
Invoke = Callable[[dict[str, Any]], dict[str, Any]]
_SUMMED = (
    *("models", "files", "slides", "etags_changed", "checked_by_digest", "uploads_lost"),
    *("jobs", "results", "restarted"),
)


class RecoveryRefused(TesseraError):
    """The function refused an action, or the records are not those of the backup."""


@dataclass(slots=True)
class Recovered:
    """The sums of all pages."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    findings: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    def add(self, answer: Mapping[str, Any]) -> None:
        for name in _SUMMED:
            if name in answer:
                self.counts[name] = self.counts.get(name, 0) + answer[name]
        self.findings.extend(answer["findings"])


def recover(
    invoke: Invoke,
    *,
    reads_results: bool,
    report: Callable[[str, Mapping[str, int]], None],
) -> Recovered:
    """Run the recovery and return its sums; `report` hears of each page. Can be run again after a failure.
    Raises RecoveryRefused."""
    recovered = Recovered()
    for action, arguments in (
        ("recover_models", {}),
        ("recover_slides", {}),
        ("recover_jobs", {"reads_results": reads_results}),
    ):
        after: str | None = None
        while True:
            page = {} if after is None else {"after": after}
            answer = call(invoke, {action: {**arguments, **page}})
            recovered.add(answer)
            report(action, recovered.counts)
            after = answer.get("next")
            if after is None:
                break
    return recovered


def call(invoke: Invoke, action: dict[str, Any]) -> dict[str, Any]:
    """Return the function's answer. Raises RecoveryRefused."""
    answer = invoke(action)
    if "error" in answer:
        raise RecoveryRefused(answer["error"])
    return answer
