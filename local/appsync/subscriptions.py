"""Subscriptions of all connections, what a mutation sends to each, and what ends one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from graphql import DocumentNode, FieldNode, GraphQLSchema, SelectionSetNode, execute_sync

from local.appsync.filters import matches_arguments, matches_filter
from local.appsync.schema import group_subscriptions


@dataclass(frozen=True, slots=True)
class Subscription:
    id: str  #: the client's, unique in its connection
    field: str
    arguments: Mapping[str, Any]
    filter: Mapping[str, Any] | None  #: what the resolver set; None: it set none
    invalidation_filter: Mapping[str, Any] | None  #: the same, of what ends the subscription
    document: DocumentNode
    variables: Mapping[str, Any]
    send: Callable[[Mapping[str, Any]], None]
    disconnect: Callable[[], None]  #: closes the connection, once all that was sent before has left

    def matches(self, payload: Mapping[str, Any]) -> bool:
        """Return whether the subscriber gets the payload. A filter that the resolver sets replaces the match of the
        arguments; nothing is added to it."""
        if self.filter is not None:
            return matches_filter(self.filter, payload)
        return matches_arguments(self.arguments, payload)


class Subscriptions:
    def __init__(self, schema: GraphQLSchema) -> None:
        self._schema = schema
        self._fed = group_subscriptions(schema)
        self._held: dict[tuple[object, str], Subscription] = {}

    def add(self, connection: object, subscription: Subscription) -> None:
        self._held[connection, subscription.id] = subscription

    def remove(self, connection: object, subscription_id: str) -> None:
        self._held.pop((connection, subscription_id), None)

    def count(self, connection: object) -> int:
        return sum(1 for owner, _ in self._held if owner is connection)

    def drop(self, connection: object) -> None:
        for key in [key for key in self._held if key[0] is connection]:
            del self._held[key]

    def publish(self, mutation: str, payload: Mapping[str, Any]) -> None:
        """Send a mutation's payload to the subscriptions that it feeds. `payload` holds only the fields that the
        mutation selected, under the schema's names."""
        for subscription in list(self._held.values()):
            if subscription.field in self._fed.get(mutation, ()) and subscription.matches(payload):
                subscription.send(
                    {"id": subscription.id, "type": "data", "payload": self._shape(subscription, payload)}
                )

    def end(self, field: str, payload: Mapping[str, Any]) -> None:
        """End the subscriptions to `field` whose invalidation filter the payload matches. As on AWS, the client reads
        that they are complete, and then its connection is closed, with whatever else it carries."""
        ended = [
            (key, subscription)
            for key, subscription in self._held.items()
            if subscription.field == field
            and subscription.invalidation_filter is not None
            and matches_filter(subscription.invalidation_filter, payload)
        ]
        for key, subscription in ended:
            del self._held[key]
            subscription.send({"id": subscription.id, "type": "complete"})
        for _, subscription in ended:
            subscription.disconnect()

    def _shape(self, subscription: Subscription, payload: Mapping[str, Any]) -> dict[str, Any]:
        result = execute_sync(
            self._schema,
            subscription.document,
            {subscription.field: payload},
            variable_values=dict(subscription.variables),
            field_resolver=lambda source, info, **_: source.get(info.field_name),
        )
        errors = {"errors": [error.formatted for error in result.errors]} if result.errors else {}
        return {"data": result.data, **errors}


def select_fields(value: Mapping[str, Any], selection: SelectionSetNode | None) -> dict[str, Any]:
    """Return a mutation's answer under the schema's names, with only what it selected: aliases undone."""
    out: dict[str, Any] = {}
    for node in selection.selections if selection else ():
        if isinstance(node, FieldNode):
            held = value.get((node.alias or node.name).value)
            out[node.name.value] = select_fields(held, node.selection_set) if isinstance(held, dict) else held
    return out
