"""A slide as viewers need it. Needs no numpy: the API describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from pydantic import Field

from adapters.settings.problems import BASE_PATH
from lambdas.schemas.common import Answer
from wsi.viewer.deep_zoom import ViewLevel

if TYPE_CHECKING:
    from wsi.viewer.viewing import View


class PyramidLevel(Answer):
    width: int = Field(description="Pixels of this level.")
    height: int
    downsample: float = Field(description="Pixels of level 0 of the file per pixel of this level.")
    tile_width: int = Field(description="Pixels; tiles of the last column end with the level.")
    tile_height: int
    columns: int
    rows: int
    source: Literal["file", "made", "overview"] = Field(
        description="file: a level of the file. made: shrunk from the next finer one. overview: from the one picture "
        "that inspection keeps."
    )

    @staticmethod
    def of(level: ViewLevel) -> PyramidLevel:
        of_file: Literal["file", "made"] = "file" if level.reduction == 1 else "made"
        return PyramidLevel(
            width=level.width,
            height=level.height,
            downsample=level.downsample,
            tile_width=level.tile_width,
            tile_height=level.tile_height,
            columns=level.columns,
            rows=level.rows,
            source="overview" if level.level is None else of_file,
        )


class Pyramid(Answer):
    etag: str = Field(description="Of all that decides the tiles; it is `v` of their addresses.")
    width: int = Field(description="Pixels of level 0 of the file.")
    height: int
    mpp_x: float | None = Field(description="Microns a pixel of level 0.")
    mpp_y: float | None
    bounds: tuple[int, int, int, int] | None = Field(
        description="x, y, width, height in pixels of level 0: what was scanned, where the format tells."
    )
    levels: list[PyramidLevel] = Field(description="Coarsest first.")
    tile_url: str = Field(description="Of a tile, with {level}, {x} (column) and {y} (row) to be filled in.")
    note: str | None = Field(description="To be shown beside the picture: why less can be seen than the file holds.")
    warnings: list[str] = Field(description="Of inspection.")
    choice: dict[str, Any] | None = Field(
        description="Which image of several this is, as `options.choice` of a job says it: results of a job with "
        "another one do not belong on it."
    )

    @staticmethod
    def of(slide_id: UUID, view: View) -> Pyramid:
        inspection = view.inspection
        return Pyramid(
            etag=view.etag,
            width=inspection.width,
            height=inspection.height,
            mpp_x=inspection.mpp_x,
            mpp_y=inspection.mpp_y,
            bounds=inspection.bounds,
            levels=[PyramidLevel.of(level) for level in view.levels],
            tile_url=f"{BASE_PATH}/slides/{slide_id}/tiles/{{level}}/{{x}}_{{y}}.jpeg?v={view.etag}",
            note=view.note,
            warnings=list(inspection.warnings),
            choice=view.choice and view.choice.as_json(),
        )
