from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from wsi.builtin_models import BUILTIN, STAIN_DENSITY, _with_digest
from wsi.model_card import ModelCard


def test_cards_survive_the_ledger():
    for name, card in BUILTIN.items():
        assert card.name == name
        assert ModelCard.from_json(card.as_json()) == card


def test_a_changed_card_has_another_digest():
    assert _with_digest(replace(STAIN_DENSITY, digest="")).digest == STAIN_DENSITY.digest
    assert _with_digest(replace(STAIN_DENSITY, digest="", tile_px=128)).digest != STAIN_DENSITY.digest


@pytest.mark.parametrize("module", ["wsi.builtin_models", "wsi.estimate", "wsi.numerics", "wsi.shards", "wsi.scale"])
def test_what_the_api_imports_loads_no_numpy(module):
    code = f"import sys, {module}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
