"""The API's description; `make openapi` writes it to docs/openapi.json."""

from __future__ import annotations

import json
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver

from lambdas.http.tiles_description import describe_tile_paths, describe_tile_schemas
from lambdas.schemas.common import Problem

OPEN = "health"  #: tag of routes that need no credential
TITLE = "Tessera"
VERSION = "1"
DESCRIPTION = (
    "AI models over whole-slide images: upload a slide in presigned parts, ask for an analysis, watch it, fetch the "
    "results. Errors are problem+json (RFC 9457). Lists are paged by cursor."
)


#: Requests that a tenant's quota may refuse, by method and end of path.
_LIMITED = (("post", "/jobs"), ("post", "/jobs/{job_id}/retry"), ("post", "/uploads"))
_BEYOND_QUOTA = "A quota of your organisation is reached: `detail` says which one, its value and when it is free again."


def make_openapi_json(app: APIGatewayRestResolver) -> str:
    """Return the description as OpenAPI 3.1, the same text for the same code."""
    schema: dict[str, Any] = json.loads(
        app.get_openapi_json_schema(title=TITLE, version=VERSION, description=DESCRIPTION)
    )
    schema["servers"] = [{"url": "/"}]
    schemas = schema["components"]["schemas"]
    for unused in ("HTTPValidationError", "ResponseValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["Problem"] = Problem.model_json_schema()
    schemas |= describe_tile_schemas()
    schema["paths"] |= describe_tile_paths()
    schema["components"]["securitySchemes"] = {
        "authorization": {
            "type": "http",
            "scheme": "bearer",
            "description": "A Cognito token or an API key (tsk_...), after 'Bearer' and one space.",
        }
    }
    schema["security"] = [{"authorization": []}]
    problem = {
        "description": "What went wrong, in one sentence.",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    beyond_quota = {
        **problem,
        "description": _BEYOND_QUOTA,
        "headers": {"Retry-After": {"description": "Seconds until asking again.", "schema": {"type": "integer"}}},
    }
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = problem
            if any(method == limited and path.endswith(f"/wsi{end}") for limited, end in _LIMITED):
                operation["responses"]["429"] = beyond_quota
            if operation["tags"] == [OPEN]:
                operation["security"] = []
            if path.endswith("/openapi.json"):  # the route returns it as a text, made once
                operation["responses"]["200"]["content"]["application/json"]["schema"] = {"type": "object"}
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
