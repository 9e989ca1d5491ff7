from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
import gpu_worker.heavy
import gpu_worker.worker
from gpu_worker.models.registry import load_model
from gpu_worker.models.package import read_package
from wsi.builtin_models import STAIN_DENSITY
from wsi.plan import Numerics
model = load_model(STAIN_DENSITY, None, "cpu")
model.infer(np.zeros((1, 4, 4, 3), np.uint8), Numerics(version="1", precision="fp32", batch=1, threads=1))
sys.exit("torch" in sys.modules)
"""


def test_a_numpy_model_loads_no_torch():
    assert subprocess.run([sys.executable, "-c", PROGRAM], check=False).returncode == 0
