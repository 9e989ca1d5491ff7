"""Finds the references in a template's values, and replaces those whose resource is gone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Value = Any  #: what a property may hold, JSON
#: (logical id, attribute; None: a Ref) -> its replacement; None: it stays as it is.
Substitute = Callable[[str, str | None], Value | None]

_VARIABLE = re.compile(r"\$\{([^!}][^}]*)\}")


def resolve_references(value: Value, substitute: Substitute) -> Value:
    """Return a copy in which every Ref, Fn::GetAtt and Fn::Sub variable that `substitute` knows is replaced."""
    if isinstance(value, list):
        return [resolve_references(item, substitute) for item in value]
    if not isinstance(value, dict):
        return value
    if (target := _target(value)) is not None and (instead := substitute(*target)) is not None:
        return instead
    if "Fn::Sub" in value:
        return {"Fn::Sub": _resolve_sub(value["Fn::Sub"], substitute)}
    return {key: resolve_references(item, substitute) for key, item in value.items()}


def iterate_references(value: Value) -> Iterator[tuple[str, str | None]]:
    """Yield (logical id or parameter, attribute) of every reference in `value`."""
    if isinstance(value, list):
        for item in value:
            yield from iterate_references(item)
    elif isinstance(value, dict):
        if (target := _target(value)) is not None:
            yield target
        elif "Fn::Sub" in value:
            text, named = _sub(value["Fn::Sub"])
            yield from (_split(name) for name in _VARIABLE.findall(text) if name not in named)
            yield from iterate_references(list(named.values()))
        else:
            yield from iterate_references(list(value.values()))


def _target(value: Mapping[str, Value]) -> tuple[str, str | None] | None:
    """Return the target of {"Ref": …} or {"Fn::GetAtt": …}."""
    if isinstance(name := value.get("Ref"), str):
        return name, None
    attribute = value.get("Fn::GetAtt")
    if isinstance(attribute, str):
        return _split(attribute)
    return (attribute[0], attribute[1]) if isinstance(attribute, list) else None


def _resolve_sub(sub: Value, substitute: Substitute) -> Value:
    text, named = _sub(sub)
    named = {name: resolve_references(value, substitute) for name, value in named.items()}
    for name in dict.fromkeys(_VARIABLE.findall(text)):
        if name not in named and (instead := substitute(*_split(name))) is not None:
            plain = re.sub(r"\W", "", name)  # names of Fn::Sub's own map take no dots
            text = text.replace(f"${{{name}}}", f"${{{plain}}}")
            named[plain] = instead
    return [text, named] if named else text


def _sub(value: Value) -> tuple[str, dict[str, Value]]:
    return (value, {}) if isinstance(value, str) else (value[0], dict(value[1]))


def _split(name: str) -> tuple[str, str | None]:
    id, _, attribute = name.partition(".")
    return id, attribute or None
