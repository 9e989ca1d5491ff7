"""`scripts/administer.sh`: one action of an operator, with the proof of who asks.

    python -m tools.account.administering ENVIRONMENT ACTION_AS_JSON

It prints the answer. Exit 0: it was done; 1: it was refused or failed; 2: nothing was asked.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from adapters.aws_clients import AwsClients
from adapters.operators import add_proof

USAGE: Final = "usage: scripts/administer.sh ENVIRONMENT ACTION_AS_JSON"
_OUTPUT: Final = "AdministerFunction"


def invoke_action(clients: AwsClients, environment: str, action: dict[str, Any]) -> tuple[int, str]:
    """Invoke the action, and return the exit code and the answer as JSON. Raises LookupError without the function."""
    function = _find_function(clients, environment)
    payload = json.dumps(add_proof(action, function=function, clients=clients)).encode()
    answer = clients.get_client("lambda").invoke(FunctionName=function, Payload=payload)
    body: dict[str, Any] = json.loads(answer["Payload"].read())
    return int("FunctionError" in answer or "error" in body), json.dumps(body)


def _find_function(clients: AwsClients, environment: str) -> str:
    name = f"tessera-{environment}-data"
    [stack] = clients.get_client("cloudformation").describe_stacks(StackName=name)["Stacks"]
    found = [one["OutputValue"] for one in stack.get("Outputs", ()) if _OUTPUT in one["OutputKey"]]
    if not found:
        raise LookupError(f"The stack {name} has no output {_OUTPUT}: deploy this release of it first.")
    return found[0]


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        sys.stderr.write(f"{USAGE}\n")
        return 2
    environment, text = arguments
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    try:
        action = json.loads(text)
    except ValueError:
        sys.stderr.write("The action is no JSON.\n")
        return 2
    if not isinstance(action, dict) or region is None:
        sys.stderr.write("The action must be a JSON object.\n" if region else "Set AWS_REGION.\n")
        return 2
    try:
        code, answer = invoke_action(AwsClients(region, os.environ.get("AWS_ENDPOINT_URL")), environment, action)
    except (LookupError, ClientError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except (BotoCoreError, RuntimeError) as error:
        sys.stderr.write(f"AWS cannot be reached: {error} Sign in with the AWS command line and try again.\n")
        return 1
    sys.stdout.write(f"{answer}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
