"""Resources that are deployed, but need other properties to work on MiniStack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cdk.emulated.values import rewrite_variables

Properties = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewritten:
    """A change to a type's properties. `how` returns them, changed or as they were."""

    what: str
    why: str
    how: Callable[[Properties], Properties]


def _rewrite_environment(function: Properties) -> Properties:
    variables = function.get("Environment", {}).get("Variables", {})
    return {**function, "Environment": {"Variables": rewrite_variables(variables)}} if variables else function


def _require_signature(api: Properties) -> Properties:
    without = {name: value for name, value in api.items() if name not in _AUTHORIZATION}
    return {**without, "AuthenticationType": "AWS_IAM"}


def _allow_http(policy: Properties) -> Properties:
    document = policy["PolicyDocument"]
    kept = [one for one in document["Statement"] if one.get("Condition") != _PLAIN_HTTP]
    return {**policy, "PolicyDocument": {**document, "Statement": kept}}


def _allow_batches(policy: Properties) -> Properties:
    document = policy["PolicyDocument"]
    statements = [_add_batch(one) for one in document["Statement"]]
    return {**policy, "PolicyDocument": {**document, "Statement": statements}}


def _add_batch(statement: Properties) -> Properties:
    given = statement.get("Action", [])
    actions: list[str] = [given] if isinstance(given, str) else given
    return {**statement, "Action": [*actions, _SEND_BATCH]} if _SEND in actions else statement


def _allow_passwords(client: Properties) -> Properties:
    flows = [*client.get("ExplicitAuthFlows", ()), "ALLOW_USER_PASSWORD_AUTH"]
    return {**client, "ExplicitAuthFlows": list(dict.fromkeys(flows))}


_SEND, _SEND_BATCH = "sqs:SendMessage", "sqs:SendMessageBatch"
_PLAIN_HTTP = {"Bool": {"aws:SecureTransport": "false"}}
_TLS_ONLY = Rewritten(
    what="without the statement that refuses plain http",
    why="MiniStack is reached over http, and does enforce the statement",
    how=_allow_http,
)
_AUTHORIZATION = ("AuthenticationType", "AdditionalAuthenticationProviders", "LambdaAuthorizerConfig")

REWRITTEN: Mapping[str, Rewritten] = {
    "AWS::Lambda::Function": Rewritten(
        what="settings: the addresses of MiniStack, the embedded Postgres and the local AppSync server",
        why="they are not AWS's",
        how=_rewrite_environment,
    ),
    "AWS::IAM::Policy": Rewritten(
        what="allows batches where messages are allowed",
        why="AWS counts a batch as `sqs:SendMessage`, MiniStack as an action of its own",
        how=_allow_batches,
    ),
    "AWS::S3::BucketPolicy": _TLS_ONLY,
    "AWS::SQS::QueuePolicy": _TLS_ONLY,
    "AWS::Cognito::UserPoolClient": Rewritten(
        what="lets people sign in with their password alone too",
        why="nobody sits at the hosted page, and the command line speaks no SRP",
        how=_allow_passwords,
    ),
    "AWS::AppSync::GraphQLApi": Rewritten(
        what="takes the publisher's signature only; the local AppSync server asks the authorizer about subscribers",
        why="MiniStack asks the authorizer about signed requests too, and knows no subscriptions",
        how=_require_signature,
    ),
}
