"""Actions of an operator on the emulated deployment, with the proof of who asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.deploying import DeploymentFailed
from adapters.operators import add_proof
from local.emulated.installation import EmulatedInstallation


def carry_out(installation: EmulatedInstallation, action: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out an action of `lambdas/administer.py` and return its answer. Raises DeploymentFailed."""
    function = installation.functions["administer"]
    event = add_proof(action, function=function, clients=installation.clients)
    answer = installation.deploying.invoke(function, event)
    if "error" in answer:
        raise DeploymentFailed(f"administer {next(iter(action))}: {answer['error']}")
    return answer
