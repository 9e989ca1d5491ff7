"""The schema as AppSync reads it: its directives, who may use a field, which mutation feeds which subscription."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from graphql import (
    DirectiveNode,
    DocumentNode,
    FieldNode,
    GraphQLField,
    GraphQLNamedType,
    GraphQLSchema,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    build_schema,
    value_from_ast_untyped,
    visit,
)

#: What AppSync adds to every schema.
PRELUDE = """
directive @aws_subscribe(mutations: [String!]!) on FIELD_DEFINITION
directive @aws_api_key on OBJECT | FIELD_DEFINITION
directive @aws_iam on OBJECT | FIELD_DEFINITION
directive @aws_oidc on OBJECT | FIELD_DEFINITION
directive @aws_lambda on OBJECT | FIELD_DEFINITION
directive @aws_cognito_user_pools(cognito_groups: [String!]) on OBJECT | FIELD_DEFINITION
scalar AWSDateTime
scalar AWSTimestamp
scalar AWSJSON
scalar AWSEmail
scalar AWSURL
"""


class Mode(StrEnum):
    """The way in which a caller is authenticated; the values are the schema's directives."""

    IAM = "aws_iam"
    LAMBDA = "aws_lambda"


DEFAULT_MODE = Mode.LAMBDA


def load_schema(path: Path) -> GraphQLSchema:
    return build_schema(PRELUDE + path.read_text())


def group_subscriptions(schema: GraphQLSchema) -> Mapping[str, tuple[str, ...]]:
    """Return the subscription fields by the mutation that feeds them (`@aws_subscribe`)."""
    fields = schema.subscription_type.fields if schema.subscription_type else {}
    fed: dict[str, tuple[str, ...]] = {}
    for name, field in fields.items():
        for directive in _directives(field):
            if directive.name.value == "aws_subscribe":
                for mutation in _argument(directive):
                    fed[mutation] = (*fed.get(mutation, ()), name)
    return fed


def find_forbidden(schema: GraphQLSchema, document: DocumentNode, mode: Mode) -> str | None:
    """Return the first field that callers of `mode` may not use, as "publishJobUpdate on type Mutation"; None if there
    is none."""
    types = TypeInfo(schema)
    found: list[str] = []

    class Check(Visitor):
        def enter_field(self, node: FieldNode, *_: Any) -> None:
            parent, field = types.get_parent_type(), types.get_field_def()
            if parent and field and mode not in _modes(field, parent):
                found.append(f"{node.name.value} on type {parent.name}")

    visit(document, TypeInfoVisitor(types, Check()))
    return found[0] if found else None


def _modes(field: GraphQLField, parent: GraphQLNamedType) -> set[str]:
    """Return the modes that may use a field. A directive on the field wins over those on its type; without any, the
    API's default mode applies."""
    known = {mode.value for mode in Mode}
    for place in (field, parent):
        named = {directive.name.value for directive in _directives(place)} & known
        if named:
            return named
    return {DEFAULT_MODE.value}


def _argument(directive: DirectiveNode) -> Any:
    return next(value_from_ast_untyped(argument.value) for argument in directive.arguments or ())


def _directives(place: GraphQLField | GraphQLNamedType) -> Iterable[DirectiveNode]:
    return (place.ast_node and place.ast_node.directives) or ()
