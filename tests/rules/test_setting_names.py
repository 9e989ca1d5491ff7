"""Settings write the names of environment variables; what cannot call them must at least not invent one."""

from __future__ import annotations

import re
from pathlib import Path

from adapters.settings.environment import PREFIX
from adapters.settings.processes import WorkerSettings

ROOT = Path(__file__).parents[2]


def test_the_image_sets_only_what_the_worker_reads() -> None:
    named = set(re.findall(rf"\b{PREFIX}[A-Z_]+", (ROOT / "gpu_worker/Dockerfile").read_text()))
    assert named
    assert named <= {PREFIX + field.upper() for field in WorkerSettings.model_fields}
