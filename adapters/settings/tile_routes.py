"""Where the gateway hands requests to the function `tiles`, and as what it hands pictures out."""

from __future__ import annotations

from typing import Final

#: Below BASE_PATH; everything else is the API's. In braces: one part of a path, of any content.
TILE_PATHS: Final = (
    "slides/{slide_id}/pyramid",
    "slides/{slide_id}/thumbnail",
    "slides/{slide_id}/tiles/{level}/{tile}",
)
#: What leaves the gateway as bytes, if it comes first in the request's Accept; all else as text, base64 too.
PICTURE: Final = "image/jpeg"
