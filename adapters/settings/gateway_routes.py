"""Routes that the gateway passes to the functions `tiles` and `submit`, and the media types of its images."""

from __future__ import annotations

from typing import Final

#: Paths below BASE_PATH, as all here. The function `tiles` answers GET. Braces match one part of a path.
TILE_PATHS: Final = (
    "slides/{slide_id}/pyramid",
    "slides/{slide_id}/thumbnail",
    "slides/{slide_id}/tiles/{level}/{tile}",
)
#: The function `submit` answers POST; the API answers every other method and path.
JOBS_PATH: Final = "jobs"
#: The gateway sends this type as bytes if it comes first in the request's Accept; all else as text, base64 too.
PICTURE: Final = "image/jpeg"
