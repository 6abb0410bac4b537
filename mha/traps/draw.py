"""Inputs for probes. Sizes of one probe differ from each other, so that no axis can be taken for another.

Numbers have two decimals and come from RandomState, whose stream numpy has frozen: a seed gives the same
probes on every machine.
"""

import numpy as np


def normal(rng, *shape, spread=1.0):
    """Normal numbers with two decimals."""
    return np.round(rng.standard_normal(shape) * spread, 2)


def qkv(rng, B, h, q_len, kv_len, d_k, d_v, kv_heads=None):
    """q, k and v of several heads; scaled scores spread by about 1.5, far from saturation."""
    g = h if kv_heads is None else kv_heads
    q = normal(rng, B, h, q_len, d_k, spread=1.2)
    return q, normal(rng, B, g, kv_len, d_k, spread=1.2), normal(rng, B, g, kv_len, d_v)


def matrix(rng, rows, columns, spread=1.2):
    """A weight matrix (in, out) that keeps the spread of its input, times `spread`."""
    return normal(rng, rows, columns, spread=spread / rows**0.5)


def some_keys(rng, q_len, kv_len):
    """A boolean mask with an allowed and a forbidden key in each row, and no symmetry."""
    mask = rng.uniform(size=(q_len, kv_len)) < 0.6
    for i in range(q_len):
        mask[i, (2 * i) % kv_len] = True
        mask[i, (2 * i + 1) % kv_len] = False
    return mask
