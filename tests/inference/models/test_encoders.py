"""The best known encoders of pathology become packages from the files that their publishers offer."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from inference.models.architectures import build_network
from inference.models.execution.scoring import score_tiles
from inference.models.making.hints import read_hints
from inference.models.making.matching import match_architecture
from inference.models.making.packaging import Stated, make_package
from inference.models.registry import load_model
from tests.inference.encoders import ENCODERS, Encoder
from tests.inference.packages_with_card import seeded, tiles


def published(encoder: Encoder, module: Any) -> dict[str, torch.Tensor]:
    return encoder.names(dict(module.state_dict()))


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_is_recognised_by_its_published_names_and_shapes(tmp_path: Path, name: str) -> None:
    """Without memory for its weights: what is built from the card is the network that its publisher builds."""
    encoder = ENCODERS[name]
    with torch.device("meta"):
        reference = encoder.build()
    assert round(sum(value.numel() for value in reference.parameters()) / 1e6) == pytest.approx(encoder.millions, abs=1)
    if encoder.config:
        (tmp_path / "config.json").write_text(json.dumps(encoder.config))
    hints = read_hints(tmp_path / "pytorch_model.bin")
    found = match_architecture(
        published(encoder, reference), architecture=hints.architecture, arguments=hints.arguments
    )
    with torch.device("meta"):
        ours: Any = build_network(found.candidate.architecture, found.candidate.arguments)
    assert ours.state_dict().keys() == reference.state_dict().keys()
    assert ours.blocks[0].attn.num_heads == reference.blocks[0].attn.num_heads == encoder.heads
    assert (ours.no_embed_class, ours.num_prefix_tokens) == (reference.no_embed_class, reference.num_prefix_tokens)
    # But for their chances of dropping out and the side that a patch embedding names, which a name shows nothing of.
    assert repr(ours.blocks[-1]) == repr(reference.blocks[-1])
    assert repr(ours.norm) == repr(reference.norm)
    assert {one.partition(".")[0] for one in found.left_out} <= {"pooler", "embeddings"}


@pytest.mark.parametrize("name", ["Lunit ViT-S/16"] if not os.environ.get("TESSERA_LONG_TESTS") else list(ENCODERS))
def test_an_encoder_gives_the_embedding_that_its_publishers_code_gives(tmp_path: Path, name: str) -> None:
    encoder = ENCODERS[name]
    with seeded():
        reference = encoder.build().eval()
    held = {key: value.contiguous() for key, value in published(encoder, reference).items()}
    save_file(held, tmp_path / "model.safetensors")
    if encoder.config:
        (tmp_path / "config.json").write_text(json.dumps(encoder.config))
    stated = Stated(mpp=0.5, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25), input_px=224, batch=2)
    made = make_package(tmp_path, tmp_path / "made", stated)
    pixels = tiles(2, 224)
    normal = (torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255 - 0.5) / 0.25
    with torch.inference_mode():
        expected = reference(normal).numpy()
    scores = score_tiles(load_model(made.card, tmp_path / "made", "cpu"), pixels)
    assert scores.shape == (2, reference.num_features)
    np.testing.assert_allclose(scores, expected, atol=1e-4)
