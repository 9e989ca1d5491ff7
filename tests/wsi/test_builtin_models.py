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


REGISTERED = {
    # A version of an earlier release stays here, and is never given to another card.
    ("stain-density", "1.0"): "of algorithm 1",
    ("stain-density", "1.1"): "c8ee116ee4cc1d65a041a683aeb5bc7e376f7ee9659b4bd5ec93cdb9308f458f",
    ("epithelium", "0.9.1"): "c2eb58fddb78833bdb5ad23c5e39639729bb25ef353af6b8562d2689c526ed2a",
}


def test_a_version_stays_one_card_since_installations_have_registered_it():
    """A changed digest is a new version: add it."""
    for card in BUILTIN.values():
        assert REGISTERED[card.name, card.version] == card.digest


@pytest.mark.parametrize("module", ["wsi.builtin_models", "wsi.estimate", "wsi.numerics", "wsi.shards", "wsi.scale"])
def test_what_the_api_imports_loads_no_numpy(module):
    code = f"import sys, {module}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
