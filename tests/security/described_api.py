"""The OpenAPI document as maker of requests and as judge of answers: schemathesis does the first, JSON Schema the
second."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema
import schemathesis
from hypothesis import strategies as st
from schemathesis import GenerationMode

from tests.security.two_tenants import Heard

DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parents[2] / "docs/openapi.json").read_text())
PROBLEM = "application/problem+json"


@dataclass(frozen=True)
class Asked:
    """A request as it goes out."""

    route: tuple[str, str]  #: method and path as the document has them
    path: str
    query: Mapping[str, str]
    body: str | None


def list_operations() -> list[Any]:
    """Return the routes, those last that take something away from the ones before."""
    found = [one.ok() for one in schemathesis.openapi.from_dict(DOCUMENT).get_all_operations()]
    return sorted(found, key=lambda one: one.method == "delete" or one.path.endswith("/cancel"))


def make_requests(known: Mapping[str, str]) -> st.SearchStrategy[Asked]:
    """Return requests to every route, right and wrong ones; parts of their addresses are often `known` ones."""
    return st.one_of([make_requests_to(operation, known) for operation in list_operations()])


@st.composite
def make_requests_to(draw: st.DrawFn, operation: Any, known: Mapping[str, str]) -> Asked:
    mode = draw(st.sampled_from([GenerationMode.POSITIVE, GenerationMode.POSITIVE, GenerationMode.NEGATIVE]))
    case = draw(operation.as_strategy(generation_mode=mode))
    parts = {
        name: known[name] if name in known and draw(st.booleans()) else str(value)
        for name, value in (case.path_parameters or {}).items()
    }
    query = {str(name): str(value) for name, value in (case.query or {}).items()}
    return Asked(
        route=(operation.method, operation.path),
        path=operation.path.format_map({name: quote(part, safe="") for name, part in parts.items()}),
        query={name: known[name] if name in known and draw(st.booleans()) else value for name, value in query.items()},
        body=_write(case.body) if case.media_type else None,
    )


def _write(body: Any) -> str:
    if isinstance(body, bytes):
        return body.decode(errors="surrogateescape")
    try:
        return json.dumps(body)
    except TypeError:  # schemathesis' mark for "no body"
        return ""


def judge(asked: Asked, heard: Heard) -> None:
    """Fail unless the answer is one that the document describes, and every error a problem (RFC 9457)."""
    assert heard.status < 500, heard.text
    responses = DOCUMENT["paths"][asked.route[1]][asked.route[0]]["responses"]
    described = responses.get(str(heard.status), responses["default"])
    if heard.status >= 400:
        assert heard.media_type == PROBLEM, heard.text
        said = json.loads(heard.text)
        assert said["status"] == heard.status
        assert said["type"].startswith("/problems/")
        assert said["detail"].endswith((".", "?", "!")), said["detail"]
        _validator(asked.route, "default", PROBLEM).validate(said)
    elif heard.media_type == "application/json" and described.get("content"):
        assert str(heard.status) in responses
        _validator(asked.route, str(heard.status), heard.media_type).validate(json.loads(heard.text))


@functools.cache
def _validator(route: tuple[str, str], status: str, media_type: str) -> jsonschema.Draft202012Validator:
    method, path = route
    schema = DOCUMENT["paths"][path][method]["responses"][status]["content"][media_type]["schema"]
    return jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]})
