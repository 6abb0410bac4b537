"""The stored results of other libraries on one mask: whole, and in agreement with mha."""

from pathlib import Path

import numpy as np
import pytest

from mha import causal_mask, scaled_dot_product_attention, stored

FATES = stored.read(Path(__file__).parents[1] / "book" / "data" / "mask_fates.json")
SCORES, REAL, LEFT = (np.array(FATES[name]) for name in ("scores", "real", "padded_left"))
CALLS = FATES["calls"]
each = pytest.mark.parametrize("call", CALLS, ids=[f"{c['library']}: {c['call']}" for c in CALLS])


def weights(mask):
    """(batch, num_heads, q_len, kv_len) by mha; scores are q·kᵀ / √4."""
    q = np.broadcast_to(2 * np.eye(4), (2, 2, 4, 4))
    return scaled_dot_product_attention(q, SCORES.T, np.eye(4), mask=mask[:, None])[1]


def test_all_five_libraries_and_the_runtime_are_there():
    assert {call["library"] for call in CALLS} == {"torch", "keras", "jax", "flax", "onnx", "onnxruntime"}


@each
def test_the_same_mask_gives_the_same_weights(call):
    np.testing.assert_allclose(call["given"], weights(causal_mask(4) & REAL[:, None]), atol=1e-6)


@each
@pytest.mark.parametrize("name", ["inverted", "empty"])
def test_rows_that_see_something_are_those_of_mha(call, name):
    if name in call:
        mask = ~(causal_mask(4) & REAL[:, None]) if name == "inverted" else causal_mask(4) & LEFT[:, None]
        seen = np.broadcast_to(mask.any(axis=-1)[:, None], (2, 2, 4))
        np.testing.assert_allclose(np.array(call[name], float)[seen], weights(mask)[seen], atol=1e-6)


@each
def test_causal_switch_is_aligned_at_the_start(call):
    if "short" in call:
        seen = np.array(call["short"]) > 0
        assert (seen == np.tri(2, 4, dtype=bool)).all()
