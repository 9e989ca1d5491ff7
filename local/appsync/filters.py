"""AppSync's subscription filters, evaluated as AppSync does: groups of which one must hold, conditions that all must.

https://docs.aws.amazon.com/appsync/latest/devguide/aws-appsync-real-time-enhanced-filtering.html
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "le": operator.le,
    "lt": operator.lt,
    "ge": operator.ge,
    "gt": operator.gt,
    "contains": lambda held, wanted: wanted in held,
    "notContains": lambda held, wanted: wanted not in held,
    "beginsWith": lambda held, wanted: held.startswith(wanted),
    "in": lambda held, wanted: held in wanted,
    "notIn": lambda held, wanted: held not in wanted,
    "between": lambda held, wanted: wanted[0] <= held <= wanted[1],
    "containsAny": lambda held, wanted: any(value in held for value in wanted),
}


def matches_filter(subscription_filter: Mapping[str, Any], payload: Mapping[str, Any]) -> bool:
    """Return whether a payload matches. That of a mutation reaches the subscriber then, that of an invalidation ends
    the subscription. A field that the payload lacks fails its condition.

    Raises KeyError for an operator that AppSync does not know.
    """
    return any(
        all(_holds(condition, payload) for condition in group["filters"])
        for group in subscription_filter["filterGroup"]
    )


def _holds(condition: Mapping[str, Any], payload: Mapping[str, Any]) -> bool:
    compare = OPERATORS[condition["operator"]]
    held = payload.get(condition["fieldName"])
    return held is not None and compare(held, condition["value"])


def matches_arguments(arguments: Mapping[str, Any], payload: Mapping[str, Any]) -> bool:
    """Return whether every given argument equals the payload's field of that name, as AppSync decides without a
    filter."""
    return all(value is None or payload.get(name) == value for name, value in arguments.items())
