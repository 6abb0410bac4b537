"""Attention block after block: any shapes, dtypes, masks and layouts give what the whole gives, in little memory."""

import math
import os
import subprocess
import sys
import tracemalloc
from unittest import mock

import numpy as np
import plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from plain import assert_allclose, tagged

from mha import MultiHeadAttention, attention, causal_mask, scaled_dot_product_attention
from mha.attention import blocks

pytestmark = pytest.mark.filterwarnings("error")
INF = np.inf
NEAR = {np.float16: 1e-2, np.float32: 2e-5, np.float64: 1e-12}


def tiny(numbers):
    """Blocks of that many numbers, so that small arrays are cut too."""
    return mock.patch.object(attention, "BLOCK", numbers)


# How an array is cut


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=5), st.integers(1, 40))
def test_blocks_cover_each_number_once(shape, numbers):
    seen = np.zeros(shape, int)
    with tiny(numbers):
        for block in blocks(*shape):
            seen[block] += 1
            assert seen[block].size <= max(numbers, shape[-1]), "no more than a block, or than one row"
    assert (seen == 1).all()


def test_blocks_by_hand():
    with tiny(12):
        assert list(blocks(2, 3, 4)) == [(slice(0, 1),), (slice(1, 2),)]
        assert list(blocks(2, 4, 4)) == [(i, slice(start, start + 3)) for i in (0, 1) for start in (0, 3)]
        assert list(blocks(2, 13)) == [(slice(0, 1),), (slice(1, 2),)]


# Any arrays

LAYOUTS = {
    "as made": lambda a: a,
    "columns first": np.asfortranarray,
    "every second": lambda a: np.repeat(a, 2, axis=-2)[..., ::2, :],
    "reversed": lambda a: a[..., ::-1, :].copy()[..., ::-1, :],
    "read-only": lambda a: np.broadcast_to(a, a.shape),
    "swapped": lambda a: a.swapaxes(-1, -2).copy().swapaxes(-1, -2),
}


@st.composite
def leads(draw):
    """Leading axes of q, k, v and the mask: each has some of the joint ones, or 1 there."""
    joint = draw(st.lists(st.integers(0, 3), max_size=2))

    def part():
        kept = joint[draw(st.integers(0, len(joint))) :]
        return tuple(draw(st.sampled_from((1, size))) for size in kept)

    return [part() for _ in range(4)]


@st.composite
def masks(draw, lead, q_len, kv_len, rng):
    """None, or a mask of 1 to 4 axes: boolean or float, whole rows forbidden, -inf among its numbers."""
    shape = draw(st.sampled_from([(*lead, q_len, kv_len), (q_len, kv_len), (1, kv_len), (q_len, 1), (kv_len,)]))
    allowed = rng.random(shape) < draw(st.sampled_from((0, 0.3, 1)))
    kind = draw(st.sampled_from(("none", "boolean", "float64", "float32", "float16")))
    if kind in ("none", "boolean"):
        return None if kind == "none" else allowed
    return np.where(allowed, rng.normal(size=shape), -INF).astype(kind)


@pytest.mark.slow  # hundreds of shapes, each in a plain loop
@settings(deadline=None, max_examples=200)
@given(st.data())
def test_any_arrays_agree_with_a_plain_loop(data):
    q_len, kv_len = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 7))
    d_k, d_v = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    *lead, over = data.draw(leads())
    made = []
    for shape in ((*lead[0], q_len, d_k), (*lead[1], kv_len, d_k), (*lead[2], kv_len, d_v)):
        dtype = data.draw(st.sampled_from(list(NEAR)))
        made.append(data.draw(st.sampled_from(list(LAYOUTS.values())))(rng.normal(size=shape).astype(dtype)))
    mask = data.draw(masks(over, q_len, kv_len, rng))
    scale = data.draw(st.sampled_from([None, 0.7, -2]))
    with tiny(data.draw(st.sampled_from((1, 5, 12, 2**17)))), np.errstate(all="raise"):
        output, weights = scaled_dot_product_attention(*made, mask, scale=scale)

    joint = np.broadcast_shapes(*lead, () if mask is None else mask.shape[:-2])
    wide = np.result_type(*made)
    assert output.dtype == weights.dtype == wide
    assert output.shape == (*joint, q_len, d_v) and weights.shape == (*joint, q_len, kv_len)
    full = [np.broadcast_to(a, (*joint, *a.shape[-2:])).astype(float) for a in made]
    full_mask = None if mask is None else np.broadcast_to(mask, weights.shape)
    near = NEAR[wide.type]
    for n in np.ndindex(joint):
        seen = None if full_mask is None else full_mask[n]
        expected, expected_weights = plain.attention(*(a[n] for a in full), seen, scale)
        assert_allclose(output[n], expected, rtol=near, atol=near)
        assert_allclose(weights[n], expected_weights, rtol=near, atol=near)


@pytest.mark.parametrize("numbers", [1, 30, 200, 1000])
@pytest.mark.parametrize("kv_heads", [6, 2, 1])
def test_a_layer_in_blocks_is_the_layer(numbers, kv_heads):
    layer = MultiHeadAttention.init(12, 6, rng=3, bias=True, num_kv_heads=kv_heads)
    x, context = tagged(3, 5, 12), tagged(3, 7, 12, step=0.61)
    for mask in (
        None,
        causal_mask(5, 7),
        tagged(3, 6, 5, 7, step=1.7) > 0,
        np.where(tagged(1, 1, 5, 7) > 0, 0.5, -INF),
    ):
        whole = layer.trace(x, context, mask=mask)
        with tiny(numbers):
            cut = layer.trace(x, context, mask=mask)
            assert_array_equal(layer(x, context, mask=mask), cut.output)
        for step in ("scores", "weights", "heads", "output"):
            assert_allclose(getattr(cut, step), getattr(whole, step), rtol=1e-12, atol=1e-14)


def test_a_mask_may_bring_the_batch():
    layer, x = MultiHeadAttention.init(6, 3, rng=1), tagged(1, 5, 6)
    mask = tagged(4, 1, 5, 5, step=1.7) > 0
    output = layer(x, mask=mask)
    assert output.shape == (4, 5, 6)
    for n in range(4):
        assert_allclose(output[n], layer(x[0], mask=mask[n, 0]), atol=1e-12)


# What else is computed beside it


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_rest_of_a_batch_changes_nothing(dtype):
    rng = np.random.default_rng(5)
    layer = MultiHeadAttention.init(64, 4, rng=0)
    layer = MultiHeadAttention(
        **{name: a.astype(dtype) if isinstance(a, np.ndarray) else a for name, a in vars(layer).items()}
    )
    batch = rng.normal(size=(7, 131, 64)).astype(dtype)
    alone = [layer(sequence) for sequence in batch]
    batch[:3] *= 100
    assert_allclose(layer(batch)[3:], np.array(alone[3:]), rtol=1e-6, atol=1e-6)


THREADS = """
import sys, numpy as np
from mha import MultiHeadAttention
layer = MultiHeadAttention.init(256, 8, rng=0)
x = np.random.default_rng(1).normal(size=(2, 300, 256)).astype(np.float32)
np.save(sys.stdout.buffer, layer(x))
"""


@pytest.mark.slow  # three processes
def test_the_number_of_threads_changes_nothing():
    outputs = []
    for threads in ("1", "2", "4"):
        counts = {f"{name}_NUM_THREADS": threads for name in ("OMP", "OPENBLAS", "MKL")}
        printed = subprocess.check_output([sys.executable, "-c", THREADS], env=os.environ | counts)
        outputs.append(np.frombuffer(printed[-8 * 2 * 300 * 256 :]))
    for output in outputs[1:]:
        assert_allclose(output, outputs[0], rtol=1e-6, atol=1e-6)


# Memory


def peak(call):
    """Bytes that a call had in use at most, beyond those before it."""
    tracemalloc.start()
    call()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@pytest.mark.slow  # long inputs
def test_a_call_makes_no_array_of_all_weights():
    layer = MultiHeadAttention.init(16, 4, rng=0)
    x = np.random.default_rng(0).normal(size=(1500, 16))
    weights = math.prod((4, 1500, 1500)) * x.itemsize
    assert peak(lambda: layer(x)) < 0.1 * weights
    assert peak(lambda: layer(x, mask=causal_mask(1500))) < 0.2 * weights
    assert 2 * weights < peak(lambda: layer.trace(x)) < 2.2 * weights, "scores and weights, which a trace keeps"
