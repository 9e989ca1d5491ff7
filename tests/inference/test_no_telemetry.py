from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_onnx_runtime_numbers_no_machine_and_gathers_nothing_to_send(tmp_path):
    # Without what CI sets, which would keep it quiet too.
    environment = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    script = "import inference.models.onnx.network, onnxruntime; onnxruntime.SessionOptions()"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, check=True)
    assert list(tmp_path.rglob("*")) == []
