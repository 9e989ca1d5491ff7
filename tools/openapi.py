"""The API's description, printed: `python -m tools.openapi > docs/openapi.json`."""

from __future__ import annotations

import sys

from lambdas.api import make_whole_api
from lambdas.http.openapi import make_openapi_json

if __name__ == "__main__":
    sys.stdout.write(make_openapi_json(make_whole_api()))
