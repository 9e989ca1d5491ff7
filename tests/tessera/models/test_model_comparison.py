"""`tessera models compare`: somebody's own pipeline, in plain OpenSlide, PIL and torch, beside ours."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openslide
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner, Result

from tessera.cli import app
from tessera.local_run.inputs import UsageError
from tests.inference.fidelity import CASES, by_hand, package_of
from tests.inference.packages_with_card import CARD, vit, write_card_package
from tests.shared_slides import shared_slide
from tests.slides import write_svs

SIDE = 96  #: level-0 px of a tile of 48 px at 0.5, on a slide of 0.25
INPUT = 32
RGB = (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def models(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["models", *map(str, arguments)], env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("slides") / "a.svs"
    return write_svs(path, width=1600, height=1400, mpp=0.25, levels=(1, 2), quality=60)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ours reads the level at 0.5 um per px and resizes exactly."""
    return write_card_package(tmp_path_factory.mktemp("models") / "net", vit(), batch=16)


Pipeline = Callable[[openslide.OpenSlide, int, int], Image.Image]


def from_level(level: int, how: Image.Resampling) -> Pipeline:
    def read(slide: openslide.OpenSlide, x: int, y: int) -> Image.Image:
        side = SIDE if level == 0 else SIDE // 2
        return slide.read_region((x, y), level, (side, side)).convert("RGB").resize((INPUT, INPUT), how)

    return read


def own_scores(slide: Path, path: Path, read: Pipeline, *, turned: bool = False, normal=RGB, raw: bool = False) -> Path:
    """What a researcher's script writes."""
    network = vit()
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in normal)
    with openslide.OpenSlide(slide) as opened, path.open("w", newline="") as file, torch.inference_mode():
        table = csv.writer(file)
        table.writerow(["minx", "miny", "width", "height", *(column["name"] for column in CARD["columns"])])
        for x in range(0, 1600 - SIDE, SIDE * 4):
            for y in range(0, 1400 - SIDE, SIDE * 4):
                pixels = np.asarray(read(opened, x, y)).copy()
                if turned:
                    pixels = pixels[..., ::-1].copy()
                planes = torch.from_numpy(pixels).permute(2, 0, 1)[None] / 255
                logits = network((planes - mean) / std)
                scores = logits if raw else torch.softmax(logits, 1)
                table.writerow([x, y, SIDE, SIDE, *(f"{value:.6f}" for value in scores[0].tolist())])
    return path


BILINEAR, BICUBIC = Image.Resampling.BILINEAR, Image.Resampling.BICUBIC


@pytest.mark.parametrize(
    ("level", "how", "changes", "cause"),
    [
        (1, BICUBIC, {}, "resize pillow-bicubic"),
        (0, BILINEAR, {}, "read_level finest"),
        (1, BILINEAR, {"turned": True}, "channels BGR"),
        (1, BILINEAR, {"normal": IMAGENET}, "mean and std of imagenet"),
    ],
)
def test_what_makes_the_difference_is_told(
    tmp_path: Path, slide: Path, package: Path, level: int, how: Image.Resampling, changes: dict, cause: str
) -> None:
    scores = own_scores(slide, tmp_path / "mine.csv", from_level(level, how), **changes)
    result = models("compare", package, "--scores", scores, "--slide", slide)
    assert f"Most likely your pipeline has {cause}" in result.output, result.output


def test_two_causes_together_are_told(tmp_path: Path, slide: Path, package: Path) -> None:
    scores = own_scores(slide, tmp_path / "mine.csv", from_level(1, BICUBIC), normal=IMAGENET)
    result = models("compare", package, "--scores", scores, "--slide", slide)
    assert result.exit_code == 4
    for cause in ("mean and std of imagenet", "resize pillow-bicubic"):
        assert f"ith {cause} in our place" in result.output, result.output


def test_boxes_at_fractions_of_a_pixel_are_told(tmp_path: Path, slide: Path) -> None:
    """A box of 97 level-0 px has 48.5 px of the level, of which whole boxes take 48."""
    package = write_card_package(tmp_path / "net", vit(), batch=16, mpp=0.5053, resize="pillow-bilinear")

    def read(opened: openslide.OpenSlide, x: int, y: int) -> Image.Image:
        crop = opened.read_region((x // 2 * 2, y // 2 * 2), 1, (50, 50)).convert("RGB")
        box = (x % 2 / 2, y % 2 / 2, x % 2 / 2 + 48.5, y % 2 / 2 + 48.5)
        return crop.crop((0, 0, 49, 49)).resize((INPUT, INPUT), BILINEAR, box=box)

    scores = own_scores(slide, tmp_path / "mine.csv", read)
    result = models("compare", package, "--scores", scores, "--slide", slide)
    assert "Most likely your pipeline has boxes resampled" in result.output, result.output


@pytest.mark.parametrize(
    ("card", "other", "cause"),
    [
        (
            "level 0, pillow-bilinear",
            "level 0, Macenko",
            "stain normalisation macenko towards torchstain's own reference",
        ),
        ("level 0, Reinhard", "level 0, pillow-bilinear", "no stain normalisation"),
    ],
)
def test_stain_normalisation_that_lacks_or_is_too_much_is_told(
    tmp_path: Path, card: str, other: str, cause: str
) -> None:
    slide, cases = shared_slide("derived/cmu-small-region.pyramid-jpeg-ycbcr.tif"), {case.name: case for case in CASES}
    places = [(x, y, 261) for x in range(783, 1800, 261) for y in range(783, 2400, 261)]
    scores = tmp_path / "mine.csv"
    with scores.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["minx", "miny", *(column["name"] for column in CARD["columns"])])
        for (x, y, _), row in zip(places, by_hand(cases[other], slide, places).tolist(), strict=True):
            table.writerow([x, y, *row])
    result = models("compare", package_of(cases[card], tmp_path / "net"), "--scores", scores, "--slide", slide)
    assert f"Most likely your pipeline has {cause}" in result.output, result.output


def test_equal_scores_are_said_to_be(tmp_path: Path, slide: Path) -> None:
    package = write_card_package(tmp_path / "net", vit(), batch=16, resize="pillow-bilinear")
    scores = own_scores(slide, tmp_path / "mine.csv", from_level(1, BILINEAR))
    result = models("compare", package, "--scores", scores, "--slide", slide)
    assert result.exit_code == 0, result.output
    assert "0 change their class" in result.output
    assert "Most likely" not in result.output


def test_tables_that_can_not_be_compared_are_named(tmp_path: Path, slide: Path, package: Path) -> None:
    mine = tmp_path / "mine.csv"
    for text, words in (
        ("minx,miny,a\n0,0,1\n", "no column named prob_other"),
        ("x,y\n0,0\n", "no column named minx"),
        ("minx,miny,prob_Other,prob_Stroma,prob_Tumor\n", "holds no tiles"),
        ("minx,miny,prob_Other,prob_Stroma,prob_Tumor\n0,0,a,0,0\n", "line 2: a cell is no number"),
        ("minx,miny,prob_Other,prob_Stroma,prob_Tumor\n0,9999,0,0,1\n", "a tile at 0, 9999 lies off a"),
    ):
        mine.write_text(text)
        result = models("compare", package, "--scores", mine, "--slide", slide)
        assert isinstance(result.exception, UsageError), result.output
        assert words in str(result.exception)


def test_tiles_of_another_width_are_told(tmp_path: Path, slide: Path, package: Path) -> None:
    scores = own_scores(slide, tmp_path / "mine.csv", from_level(1, BILINEAR))
    scores.write_text(scores.read_text().replace(f",{SIDE},{SIDE},", ",48,48,"))
    result = models("compare", package, "--scores", scores, "--slide", slide)
    assert "Your tiles are 48 px wide at level 0, ours 96: tile_px 48 at mpp 0.5" in result.output
