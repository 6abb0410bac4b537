"""What several questions compute with: small layers, their heads moved about, calls that may be refused."""

from dataclasses import replace
from functools import cache

import numpy as np

from .. import MultiHeadAttention, examples


@cache
def tokens(n, d_model):
    """n token vectors (n, d_model), no two alike."""
    return examples.uniform(f"question {n} {d_model}", (n, d_model))


@cache
def traced(d_model, h, n):
    """Every step of the toy layer on `tokens(n, d_model)`."""
    return examples.layer(d_model, h).trace(tokens(n, d_model))


def band(layer, name, i):
    """Where head i stands in W_q, W_k and W_v (columns) or in W_o (rows), as an index."""
    width = layer.d_v if name in ("v", "o") else layer.d_k
    columns = slice(i * width, (i + 1) * width)
    return columns if name == "o" else (slice(None), columns)


def with_bands(layer, order, names="qkvo"):
    """The layer with head order[i]'s part of the named matrices in the place of head i."""
    changed = {}
    for name in names:
        W = getattr(layer, f"W_{name}")
        changed[f"W_{name}"] = new = W.copy()
        for i, source in enumerate(order):
            new[band(layer, name, i)] = W[band(layer, name, source)]
    return replace(layer, **changed)


@cache
def accepted(d_model, h, **widths):
    """Does the package make such a layer?"""
    try:
        MultiHeadAttention.init(d_model, h, rng=0, **widths)
    except ValueError:
        return False
    return True


def divisors(d_model, below):
    """Every number of heads under `below` that the package accepts."""
    return [h for h in range(1, below) if accepted(d_model, h)]


def same(a, b):
    """Are two arrays equal, in shape and but for rounding?"""
    return np.shape(a) == np.shape(b) and np.allclose(a, b)
