"""The same numbers as torch: from a committed file everywhere, and live where torch is installed.

mha.interop reads the weights of torch.nn.MultiheadAttention, whose boolean mask says True = may NOT attend.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import assert_allclose

from mha import MultiHeadAttention, causal_mask, scaled_dot_product_attention
from mha.interop import from_torch

STORED = json.loads((Path(__file__).parent / "data" / "torch_values.json").read_text(encoding="utf-8"))
MASKS = ["none", "causal", "bool", "float"]
NEAR = {"rtol": 1e-5, "atol": 1e-5}


def mask_from_torch(attn_mask):
    """The mask of a torch layer as mha takes it: booleans turned round, floats as they are."""
    if attn_mask is None:
        return None
    mask = np.array(attn_mask)
    return ~mask if mask.dtype == bool else mask.astype(float)


@pytest.mark.parametrize("name", STORED["cases"])
def test_same_numbers_as_the_stored_torch_layer(name):
    case = STORED["cases"][name]
    layer = from_torch(case["parameters"], STORED["num_heads"])
    mask = mask_from_torch(case["attn_mask"])
    trace = layer.trace(*(np.array(case[x]) for x in ("query", "key", "value")), mask=mask)
    assert_allclose(trace.output, np.array(case["output"]), **NEAR)
    assert_allclose(trace.weights, np.array(case["weights"]), **NEAR)


def test_the_stored_causal_mask_is_causal_mask():
    assert (mask_from_torch(STORED["cases"]["causal"]["attn_mask"]) == causal_mask(5)).all()


# Live


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def draw_mask(rng, kind, q_len, kv_len):
    """A mask of mha that leaves each query at least its own first key."""
    if kind == "none":
        return None
    if kind == "causal":
        return causal_mask(q_len, kv_len)
    allowed = rng.random((q_len, kv_len)) < 0.6
    allowed[:, 0] = True
    return allowed if kind == "bool" else np.where(allowed, rng.normal(size=(q_len, kv_len)), -np.inf)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 999),
    lengths=st.tuples(st.integers(1, 5), st.integers(0, 2)),
    num_heads=st.integers(1, 4),
    width=st.integers(1, 3),
    bias=st.booleans(),
    own_widths=st.booleans(),
    kind=st.sampled_from(MASKS),
)
def test_same_numbers_as_a_live_torch_layer(torch, seed, lengths, num_heads, width, bias, own_widths, kind):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    q_len, kv_len, d_model = lengths[0], sum(lengths), num_heads * width
    widths = (d_model, 11, 13) if own_widths else (d_model,) * 3
    theirs = torch.nn.MultiheadAttention(
        d_model, num_heads, bias=bias, kdim=widths[1], vdim=widths[2], batch_first=True, dtype=torch.float64
    )
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter)
    layer = from_torch({name: p.detach().numpy() for name, p in theirs.named_parameters()}, num_heads)
    inputs = [rng.normal(size=(2, n, w)) for n, w in zip((q_len, kv_len, kv_len), widths)]
    mask = draw_mask(rng, kind, q_len, kv_len)
    attn_mask = None if mask is None else torch.from_numpy(~mask if mask.dtype == bool else mask)
    with torch.no_grad():
        output, weights = theirs(
            *(torch.from_numpy(x) for x in inputs), attn_mask=attn_mask, average_attn_weights=False
        )
    trace = layer.trace(*inputs, mask=mask)
    assert_allclose(trace.output, output.numpy(), **NEAR)
    assert_allclose(trace.weights, weights.numpy(), **NEAR)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 999),
    lengths=st.tuples(st.integers(1, 5), st.integers(0, 2)),
    d_k=st.integers(1, 7),
    d_v=st.integers(1, 7),
    kind=st.sampled_from(MASKS),
    scale=st.sampled_from([None, 0.3]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_same_numbers_as_torchs_function(torch, seed, lengths, d_k, d_v, kind, scale, dtype):
    rng = np.random.default_rng(seed)
    q_len, kv_len = lengths[0], sum(lengths)
    shapes = ((2, 3, q_len, d_k), (2, 3, kv_len, d_k), (2, 3, kv_len, d_v))
    q, k, v = (rng.normal(size=shape).astype(dtype) for shape in shapes)
    mask = draw_mask(rng, kind, q_len, kv_len)  # here True = may attend in torch too
    mask = mask.astype(dtype) if kind == "float" else mask
    theirs = torch.nn.functional.scaled_dot_product_attention(
        *(torch.from_numpy(x) for x in (q, k, v)),
        attn_mask=None if mask is None else torch.from_numpy(mask),
        scale=scale,
    )
    output, _ = scaled_dot_product_attention(q, k, v, mask, scale=scale)
    assert_allclose(output, theirs.numpy(), **NEAR)


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("num_kv_heads", [1, 2, 3])
def test_grouped_heads_as_torchs_function(torch, num_kv_heads, kind):
    rng = np.random.default_rng(num_kv_heads)
    layer = MultiHeadAttention.init(13, 6, rng=rng, d_k=2, d_v=5, num_kv_heads=num_kv_heads)
    mask = draw_mask(rng, kind, 5, 7)
    trace = layer.trace(rng.normal(size=(2, 5, 13)), rng.normal(size=(2, 7, 13)), mask=mask)
    theirs = torch.nn.functional.scaled_dot_product_attention(
        *(torch.from_numpy(x) for x in (trace.q, trace.k, trace.v)),
        attn_mask=None if mask is None else torch.from_numpy(mask),
        enable_gqa=True,
    )
    assert_allclose(trace.heads, theirs.numpy(), **NEAR)


def test_torchs_is_causal_is_aligned_at_the_start(torch):
    """Where the lengths are equal the two agree; elsewhere mha's last query still sees every key."""
    rng = np.random.default_rng(0)
    k = rng.normal(size=(7, 3))
    for q_len, same in ((7, True), (5, False)):
        q = rng.normal(size=(q_len, 3))
        theirs = torch.nn.functional.scaled_dot_product_attention(
            *(torch.from_numpy(x)[None] for x in (q, k, k)), is_causal=True
        )[0].numpy()
        ours, _ = scaled_dot_product_attention(q, k, k, causal_mask(q_len, 7))
        assert np.allclose(ours, theirs, **NEAR) == same
        starts, _ = scaled_dot_product_attention(q, k, k, causal_mask(7)[:q_len])
        assert_allclose(starts, theirs, **NEAR)
