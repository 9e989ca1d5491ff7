from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from wsi.models.builtin import BUILTIN, EPITHELIUM, STAIN_DENSITY, _with_digest, read_registered_card
from wsi.records.model_card import ModelCard
from wsi.records.models import ModelVersion


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
    ("efficientnet-lite0", "0.1.0"): "58cbc98b051ff1b479053495a31b95cc85ef0e571de1c6fc9734e89176e974d5",
    ("nuclei", "1.0"): "dacc23195ea9b3cda8e07307e00047d51bc2b5f81f4de8cb012a8f73004867a7",
    ("nuclei-zeiss", "0.1.2"): "5d543fff190da19b49401e9ee4cc7df975ba79b5bb1ce7d9b4cb030c52bb80b6",
}


def test_a_version_stays_one_card_since_installations_have_registered_it():
    """A changed digest is a new version: add it."""
    for card in BUILTIN.values():
        assert REGISTERED[card.name, card.version] == card.digest


def registered(card: dict, digest: str) -> ModelVersion:
    return ModelVersion(name=card["name"], version=card["version"], digest=digest, card=card, package_uri=None)


def test_a_built_in_model_that_an_earlier_release_registered_has_the_fields_that_came_later():
    old = {name: value for name, value in EPITHELIUM.as_json().items() if name != "needs_stains"}
    assert not ModelCard.from_json(old).needs_stains
    assert read_registered_card(registered(old, EPITHELIUM.digest)) == EPITHELIUM


@pytest.mark.parametrize("change", [{"kind": "onnx"}, {"digest": "0" * 64}])
def test_a_card_that_is_not_the_built_in_one_stays_as_it_was_registered(change):
    card = {**EPITHELIUM.as_json(), "needs_stains": False, **change}
    assert read_registered_card(registered(card, card["digest"])) == ModelCard.from_json(card)


@pytest.mark.parametrize(
    "module",
    ["wsi.models.builtin", "wsi.planning.estimate", "wsi.numerics", "wsi.planning.shards", "wsi.planning.scale"],
)
def test_what_the_api_imports_loads_no_numpy(module):
    code = f"import sys, {module}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
