"""Queries and mutations over HTTP, and what a subscription asks for: parsed, validated, authorised field by field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    DocumentNode,
    ExecutionResult,
    FieldNode,
    GraphQLError,
    GraphQLResolveInfo,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    Undefined,
    execute,
    get_operation_ast,
    parse,
    validate,
    value_from_ast_untyped,
)

from local.appsync.callers import Caller
from local.appsync.resolvers import ResolverRefused, Resolvers
from local.appsync.schema import find_forbidden
from local.appsync.subscriptions import Subscriptions, select_fields


class OperationRefused(Exception):
    """An error in AppSync's words: its type and a message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


@dataclass(frozen=True, slots=True)
class Operation:
    document: DocumentNode
    node: OperationDefinitionNode
    name: str | None
    variables: Mapping[str, Any]

    @property
    def field(self) -> FieldNode:
        """The first root field; of a subscription the only one."""
        first = self.node.selection_set.selections[0]
        if not isinstance(first, FieldNode):
            raise OperationRefused("BadRequestException", "Fragments at the root are not supported.")
        return first

    @property
    def arguments(self) -> dict[str, Any]:
        """The root field's given arguments, without variables that were declared and left out."""
        named = {
            argument.name.value: value_from_ast_untyped(argument.value, dict(self.variables))
            for argument in self.field.arguments or ()
        }
        return {name: value for name, value in named.items() if value is not Undefined}


def read_request(text: str | bytes) -> Mapping[str, Any]:
    """Read {"query", "operationName", "variables"} from a body or from a `start`. Raises OperationRefused."""
    request = read_object(text)
    name, variables = request.get("operationName"), request.get("variables")
    if not isinstance(name, str | None) or not isinstance(variables, dict | None):
        raise OperationRefused("BadRequestException", "The operation's name must be text, its variables an object.")
    return request


def read_object(text: str | bytes) -> Mapping[str, Any]:
    """Parse a JSON object. Raises OperationRefused."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise OperationRefused("BadRequestException", "This is not JSON.") from error
    if not isinstance(value, dict):
        raise OperationRefused("BadRequestException", "This is not a JSON object.")
    return value


def read_operation(schema: GraphQLSchema, request: Mapping[str, Any], caller: Caller) -> Operation:
    """Parse a request, validate it against the schema, and check that the caller may use its fields. Raises
    OperationRefused."""
    try:
        document = parse(str(request.get("query", "")))
    except GraphQLError as error:
        raise OperationRefused("BadRequestException", error.message) from error
    faults = validate(schema, document)
    if faults:
        raise OperationRefused("ValidationError", faults[0].message)
    name = request.get("operationName")
    node = get_operation_ast(document, name)
    if node is None:
        raise OperationRefused("BadRequestException", "The request must name one of its operations.")
    forbidden = find_forbidden(schema, document, caller.mode)
    if forbidden:
        raise OperationRefused("Unauthorized", f"Not Authorized to access {forbidden}")
    return Operation(document, node, name, request.get("variables") or {})


async def execute_operation(
    schema: GraphQLSchema, resolvers: Resolvers, subscriptions: Subscriptions, operation: Operation, caller: Caller
) -> dict[str, Any]:
    """Execute a query or mutation, and return the response. What a mutation selected goes to the subscribers. Raises
    OperationRefused for a subscription."""
    if operation.node.operation == OperationType.SUBSCRIPTION:
        raise OperationRefused("BadRequestException", "Subscriptions are started over the realtime endpoint.")

    async def resolve(source: Any, info: GraphQLResolveInfo, **arguments: Any) -> Any:
        if source is not None:
            return source.get(info.field_name)
        if not resolvers.has(info.field_name):
            return None  # AppSync answers null for a field without a resolver
        evaluated = await resolvers.resolve(info.field_name, make_resolver_context(caller, arguments))
        for invalidation in evaluated.invalidations:
            subscriptions.end(invalidation["subscriptionField"], invalidation["payload"])
        return evaluated.result

    executing = execute(
        schema,
        operation.document,
        variable_values=dict(operation.variables),
        operation_name=operation.name,
        field_resolver=resolve,
    )
    result = executing if isinstance(executing, ExecutionResult) else await executing
    if operation.node.operation == OperationType.MUTATION and result.data:
        for node in operation.node.selection_set.selections:
            if isinstance(node, FieldNode) and isinstance(value := result.data[(node.alias or node.name).value], dict):
                subscriptions.publish(node.name.value, select_fields(value, node.selection_set))
    errors = [make_error(_kind(error), error.message, path=error.path) for error in result.errors or ()]
    return {"data": result.data, **({"errors": errors} if errors else {})}


def make_resolver_context(caller: Caller, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return `ctx` as resolvers get it."""
    return {"args": dict(arguments), "arguments": dict(arguments), "identity": caller.as_identity(), "stash": {}}


def make_error(kind: str, message: str, *, path: Any = None) -> dict[str, Any]:
    return {"path": path, "data": None, "errorType": kind, "errorInfo": None, "message": message}


def _kind(error: GraphQLError) -> str:
    origin = error.original_error
    return origin.kind if isinstance(origin, ResolverRefused) else "ExecutionError"
