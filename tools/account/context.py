"""The deployment that a command line describes, as the CDK's command reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from cdk.deployment import Deployment, WrongDeployment

_CDK_JSON = Path(__file__).resolve().parents[2] / "cdk.json"


def read_deployment(arguments: Sequence[str]) -> Deployment:
    """Return the deployment of cdk.json's context and of `-c name=value` arguments. Raises WrongDeployment."""
    context = dict(json.loads(_CDK_JSON.read_text())["context"])
    rest = list(arguments)
    while rest:
        option = rest.pop(0)
        name, is_pair, value = (rest.pop(0) if rest else "").partition("=")
        if option not in {"-c", "--context"} or not is_pair:
            raise WrongDeployment(f"Give settings as -c name=value: {option} {name} is none.")
        context[name] = value
    return Deployment.from_context(context)
