"""The URI prefix of all problems of the API, those of functions and those that the gateway answers for them."""

from __future__ import annotations

MEDIA_TYPE = "application/problem+json"
PROBLEMS = "/problems/"  #: before the stable code, in `type`
BASE_PATH = "/api/v1/wsi"  #: of all routes
