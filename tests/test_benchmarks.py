"""The benchmark of the forward pass: its contenders compute the same, and what it stored is whole."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from mha import cost, stored

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import forward


def test_the_bare_products_are_the_layers_own_without_softmax():
    layer = forward.narrow(forward.MultiHeadAttention.init(6, 3, rng=0))
    x = np.cos(np.arange(30.0)).reshape(5, 6).astype(np.float32)
    q, k, v = (x @ W for W in (layer.W_q, layer.W_k, layer.W_v))
    heads = [(q[:, c] @ k[:, c].T) @ v[:, c] for c in (slice(0, 2), slice(2, 4), slice(4, 6))]
    np.testing.assert_allclose(forward.products(layer, x), np.concatenate(heads, axis=1) @ layer.W_o, rtol=1e-5)


def test_contenders_agree():
    pytest.importorskip("torch", reason="torch is not installed: the benchmark runs beside it")
    calls = forward.contenders(7, 16, 2)
    for name in ("with weights", "fused"):
        np.testing.assert_allclose(calls[name]().numpy(), calls["mha"](), rtol=1e-4, atol=1e-6)


def test_stored_speeds_are_whole():
    found = stored.read(forward.STORED)
    sizes = [(d_model, h, n) for d_model, h in forward.SIZES for n in forward.LENGTHS]
    for rows in found["runs"].values():
        assert [(row["d_model"], row["h"], row["n"]) for row in rows] == sizes
        for row in rows:
            assert row["multiply_adds"] == cost.multiply_adds(row["n"], row["n"], row["d_model"], row["h"])
            assert set(row["microseconds"]) == {"mha", *forward.PEERS} and min(row["microseconds"].values()) > 0
    assert "1" in found["runs"] and json.dumps(found).isascii()
