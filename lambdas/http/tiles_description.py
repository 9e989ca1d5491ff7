"""The routes of `lambdas.tiles` as OpenAPI: they have no resolver that would describe them."""

from __future__ import annotations

from typing import Any, Final

from adapters.settings.problems import BASE_PATH
from lambdas.schemas.pyramid import Pyramid

REFERENCES: Final = "#/components/schemas/{model}"
_ID: Final = {"type": "string", "format": "uuid"}
_NUMBER: Final = {"type": "integer", "minimum": 0}
_JPEG: Final = {"schema": {"type": "string", "format": "binary"}}


def describe_tile_paths() -> dict[str, Any]:
    slide = _parameter("slide_id", _ID)
    tile = [slide, *(_parameter(name, _NUMBER) for name in ("level", "x", "y"))]
    etag = _query("v", "`etag` of the pyramid.", required=True)
    version = _query("v", "`version` of the slide: with it the answer may be kept for a day.", required=False)
    pyramid = {"application/json": {"schema": {"$ref": REFERENCES.format(model="Pyramid")}}}
    jpeg = {"image/jpeg": _JPEG}
    found = {
        "pyramid": _operation("What a viewer can ask of the slide", [slide], pyramid),
        "thumbnail": _operation("A picture for lists, at most 512 pixels", [slide, version], jpeg),
        "tiles/{level}/{x}_{y}.jpeg": _operation("One tile for a viewer", [*tile, etag], jpeg),
    }
    return {f"{BASE_PATH}/slides/{{slide_id}}/{path}": {"get": operation} for path, operation in found.items()}


def describe_tile_schemas() -> dict[str, Any]:
    """Return the schemas of the tile routes by name."""
    schema = Pyramid.model_json_schema(ref_template=REFERENCES)
    return {**schema.pop("$defs"), "Pyramid": schema}


def _parameter(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _query(name: str, description: str, *, required: bool) -> dict[str, Any]:
    schema = {"type": "string"}
    return {"name": name, "in": "query", "required": required, "schema": schema, "description": description}


def _operation(summary: str, parameters: list[Any], content: dict[str, Any]) -> dict[str, Any]:
    return {
        "tags": ["viewer"],
        "summary": summary,
        "parameters": parameters,
        "responses": {"200": {"description": "Successful Response", "content": content}},
    }
