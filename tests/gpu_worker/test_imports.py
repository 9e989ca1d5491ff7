from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
import gpu_worker.heavy
import gpu_worker.worker
from inference.models.registry import load_model
from inference.models.package import read_package
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import Numerics
model = load_model(STAIN_DENSITY, None, "cpu")
model.infer(np.zeros((1, 4, 4, 3), np.uint8), Numerics(version="1", precision="fp32", batch=1, threads=1))
sys.exit("torch" in sys.modules)
"""


def test_a_numpy_model_loads_no_torch():
    assert subprocess.run([sys.executable, "-c", PROGRAM], check=False).returncode == 0


TORCHSCRIPT = """
import sys
import inference.models.registry
import inference.models.torchscript
sys.exit(bool({"pydantic", "timm", "torchvision", "boto3", "imagecodecs"} & set(sys.modules)))
"""

WITHOUT_TIMM = """
import sys
from dataclasses import replace
from pathlib import Path
from inference.models.registry import load_model
from wsi.models.builtin import STAIN_DENSITY
from wsi.errors import ModelError
sys.modules["timm"] = None
try:
    load_model(replace(STAIN_DENSITY, kind="safetensors"), Path(), "cpu")
except ModelError as error:
    sys.exit("needs timm, which is not installed here" not in error.sentence)
sys.exit(1)
"""

WITHOUT_TORCH = """
import sys
from inference.models.registry import load_model
from wsi.models.builtin import EFFICIENTNET_LITE0
from wsi.errors import ModelError
sys.modules["torch"] = None
try:
    load_model(EFFICIENTNET_LITE0, None, "cpu")
except ModelError as error:
    sys.exit('needs torch, which is not installed here: pip install "tessera-wsi[models]"' not in error.sentence)
sys.exit(1)
"""

NUCLEI_WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
from inference.models.registry import load_model
from wsi.models.builtin import NUCLEI
load_model(NUCLEI, None, "cpu")
"""


def test_the_demonstrations_objects_need_no_torch():
    assert subprocess.run([sys.executable, "-c", NUCLEI_WITHOUT_TORCH], check=False).returncode == 0


def test_a_torchscript_model_needs_torch_alone():
    assert subprocess.run([sys.executable, "-c", TORCHSCRIPT], check=False).returncode == 0


def test_a_library_that_is_not_installed_is_named():
    for program in (WITHOUT_TIMM, WITHOUT_TORCH):
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
