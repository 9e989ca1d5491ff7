"""Actions of operators, passed on to the function that has the owner's rights."""

from __future__ import annotations

from typing import Any

from lambdas.schemas.common import Body
from lambdas.wiring import AdministrationPorts
from wsi.access import require_operator
from wsi.records.identity import Actor


def carry_out(caller: Actor, action: str, asked: Body, ports: AdministrationPorts) -> dict[str, Any]:
    """Carry out one action of `lambdas/schemas/administration.py`, and return its answer. Raises Forbidden unless the
    caller is an operator, which the function asks the database again."""
    require_operator(caller)
    return ports.operations.carry_out(caller, action, asked.model_dump(mode="json", exclude_unset=True))
