"""Makes the tables of this folder with WSInfer 0.6.1; README.md says in which environment.

    python -m tests.inference.goldens.wsinfer.make

Calls what `wsinfer run` calls, with its defaults: the command itself asks the Hugging Face hub for the zoo's list of
models even when the model lies in a folder.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import torch
from wsinfer.modellib.models import LocalModelTorchScript
from wsinfer.modellib.run_inference import run_inference
from wsinfer.patchlib import segment_and_patch_directory_of_slides
from wsinfer_zoo.client import ModelConfiguration

from tests.inference.goldens.wsinfer.cases import BLOCKS, REAL, Case


def make(case: Case) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, slides, results = Path(name), Path(name) / "slides", Path(name) / "results"
        slides.mkdir()
        slide = shutil.copy(case.slide(folder), slides)
        package = case.package(folder)
        config = ModelConfiguration.from_dict(json.loads((package / "config.json").read_text()))
        segment_and_patch_directory_of_slides(
            slides, results, patch_size_px=config.patch_size_pixels, patch_spacing_um_px=config.spacing_um_px
        )
        model = LocalModelTorchScript(config=config, model_path=str(package / "torchscript_model.pt"))
        failed = run_inference(slides, results, model, num_workers=0)
        assert failed == ([], []), failed
        shutil.copy(results / "model-outputs-csv" / f"{Path(slide).stem}.csv", case.table)


if __name__ == "__main__":
    os.environ["WSINFER_FORCE_CPU"] = "1"
    torch.set_num_threads(1)
    for case in (*BLOCKS, *REAL):
        make(case)
