"""`scripts/restore.sh` between its deployments: has the function `recover` record all objects where they are now.

    python -m tools.account.recovering [--reads-results] -c environment=NEW …

Exit 0: everything is there; 3: it is done, and the listed objects are missing or differ; 1, 2: it was not done.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from adapters.aws_clients import AwsClients
from cdk.deployment import WrongDeployment
from tools.account.account import Account
from tools.account.context import read_deployment
from wsi.recovery.driving import Invoke, RecoveryRefused, call, recover

_OUTPUT = "RecoverFunction"


def make_invoke(account: Account) -> Invoke:
    """Return the call of the deployment's function `recover`. Raises RecoveryRefused if the data stack is not
    there."""
    function = _find_function(account)
    client = account.clients.get_client("lambda")

    def invoke(action: dict[str, Any]) -> dict[str, Any]:
        answer = client.invoke(FunctionName=function, Payload=json.dumps(action).encode())
        body: dict[str, Any] = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            raise RecoveryRefused(f"The function recover failed: {body.get('errorMessage', 'no message')}")
        return body

    return invoke


def _find_function(account: Account) -> str:
    name = f"{account.deployment.prefix}-data"
    [stack] = account.clients.get_client("cloudformation").describe_stacks(StackName=name)["Stacks"]
    found = [one["OutputValue"] for one in stack.get("Outputs", ()) if _OUTPUT in one["OutputKey"]]
    if not found:
        raise RecoveryRefused(f"The stack {name} has no output {_OUTPUT}: deploy this release of it first.")
    return found[0]


def run(account: Account, *, reads_results: bool) -> int:
    """Run the recovery, print what is done and what is missing, and return the exit code."""
    invoke = make_invoke(account)
    sys.stdout.write(f"{json.dumps(call(invoke, {'count_records': {}}), indent=2)}\n")
    done = recover(invoke, reads_results=reads_results, report=_report)
    for finding in done.findings:
        sys.stdout.write(f"{finding['problem']:<8} {finding['kind']} {finding['subject']} {finding['part']}\n")
    return 3 if done.findings else 0


def _report(action: str, counts: Mapping[str, int]) -> None:
    sums = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
    sys.stdout.write(f"{action.replace('_', ' ')}: {sums}\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    reads_results = "--reads-results" in arguments
    try:
        deployment = read_deployment([one for one in arguments if one != "--reads-results"])
        clients = AwsClients(deployment.region)
        return run(Account(deployment, clients, clients), reads_results=reads_results)
    except WrongDeployment as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 2
    except RecoveryRefused as refused:
        sys.stderr.write(f"{refused}\n")
        return 1
    except ClientError as error:
        sys.stderr.write(f"{error.operation_name} answered {error.response['Error']['Code']}: {error}\n")
        return 1
    except BotoCoreError as error:
        sys.stderr.write(f"AWS cannot be reached: {error} Sign in with the AWS command line and try again.\n")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
