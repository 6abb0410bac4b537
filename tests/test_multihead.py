"""split_heads, merge_heads, MultiHeadAttention and Trace: laws, a plain loop, refusals."""

import dataclasses

import numpy as np
import plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from plain import assert_allclose, assert_refused, refusal, tagged

from mha import MultiHeadAttention, Trace, causal_mask, merge_heads, scaled_dot_product_attention, split_heads

pytestmark = pytest.mark.filterwarnings("error")
INF = np.inf
MATRICES = ("W_q", "W_k", "W_v", "W_o")
BIASES = ("b_q", "b_k", "b_v", "b_o")
STEPS = ("q", "k", "v", "scores", "mask", "weights", "heads", "concat", "output")


@pytest.fixture(autouse=True, scope="module")
def nothing_warns():
    """Every test of this file: no overflow, no division by 0, no invalid number, no underflow."""
    with np.errstate(all="raise"):
        yield


def make(num_heads=3, num_kv_heads=None, *, d_k=2, d_v=5, widths=(7, 11, 13), d_model=17, bias=True, **more):
    """A layer whose every axis has its own size: query 7, key 11, value 13, output 17, d_k 2, d_v 5."""
    kv_heads = num_kv_heads or num_heads
    columns = (num_heads * d_k, kv_heads * d_k, kv_heads * d_v, d_model)
    rows = (*widths, num_heads * d_v)
    steps = (0.37, 0.61, 0.83, 1.13)
    fields = {name: tagged(*shape, step=s) for name, *shape, s in zip(MATRICES, rows, columns, steps)}
    if bias:
        fields |= {name: tagged(n, step=s) for name, n, s in zip(BIASES, columns, steps)}
    return MultiHeadAttention(**fields, num_heads=num_heads, num_kv_heads=num_kv_heads, **more)


def make_inputs(*lead, q_len=19, kv_len=23):
    """query (..., 19, 7), key (..., 23, 11), value (..., 23, 13)."""
    return tagged(*lead, q_len, 7), tagged(*lead, kv_len, 11, step=0.71), tagged(*lead, kv_len, 13, step=0.97)


@pytest.fixture
def layer():
    return make()


@pytest.fixture
def self_layer():
    """A layer on one sequence of width 7, three heads."""
    return make(widths=(7, 7, 7), d_model=7)


@pytest.fixture
def x():
    """Batch 2, 5 tokens of width 7."""
    return tagged(2, 5, 7)


# split_heads and merge_heads


def test_merge_undoes_split():
    x = np.arange(2 * 7 * 15).reshape(2, 7, 15)
    assert_array_equal(merge_heads(split_heads(x, num_heads=3)), x)


def test_split_undoes_merge():
    heads = np.arange(2 * 3 * 7 * 5).reshape(2, 3, 7, 5)
    assert_array_equal(split_heads(merge_heads(heads), num_heads=3), heads)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 3), max_size=2), st.integers(1, 5), st.integers(0, 7), st.integers(0, 3))
def test_a_head_is_a_slice_of_the_features(lead, num_heads, seq, width):
    x = np.arange(np.prod([*lead, seq, num_heads * width], dtype=int)).reshape(*lead, seq, num_heads * width)
    heads = split_heads(x, num_heads)
    assert heads.shape == (*lead, num_heads, seq, width)
    for i in range(num_heads):
        assert_array_equal(heads[..., i, :, :], x[..., i * width : (i + 1) * width])
    assert_array_equal(merge_heads(heads), x)


def test_split_by_hand():
    assert_array_equal(split_heads([[1, 2, 3, 4], [5, 6, 7, 8]], 2), [[[1, 2], [5, 6]], [[3, 4], [7, 8]]])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, np.float64])
def test_split_and_merge_keep_the_dtype(dtype):
    heads = split_heads(np.ones((7, 15), dtype), 3)
    assert heads.dtype == merge_heads(heads).dtype == dtype


# Laws of the layer


def test_call_is_the_trace_output(layer):
    inputs = make_inputs(2)
    assert_array_equal(layer(*inputs), layer.trace(*inputs).output)
    mask = causal_mask(19, 23)
    assert_array_equal(layer(*inputs, mask=mask), layer.trace(*inputs, mask=mask).output)


def test_concat_times_W_o_is_the_sum_over_heads(layer):
    trace = layer.trace(*make_inputs(2))
    d_v = layer.d_v
    parts = [trace.heads[:, i] @ layer.W_o[i * d_v : (i + 1) * d_v] for i in range(3)]
    assert_allclose(trace.concat @ layer.W_o + layer.b_o, trace.output, rtol=1e-9)
    assert_allclose(sum(parts) + layer.b_o, trace.output, rtol=1e-9)


@pytest.mark.parametrize("head", [0, 1, 2])
def test_columns_of_W_are_the_heads_own(layer, head):
    query, key, value = make_inputs(2)
    keys, values = slice(head * 2, head * 2 + 2), slice(head * 5, head * 5 + 5)
    output, weights = scaled_dot_product_attention(
        query @ layer.W_q[:, keys] + layer.b_q[keys],
        key @ layer.W_k[:, keys] + layer.b_k[keys],
        value @ layer.W_v[:, values] + layer.b_v[values],
    )
    trace = layer.trace(query, key, value)
    assert_allclose(trace.heads[:, head], output)
    assert_allclose(trace.weights[:, head], weights)


def test_an_order_of_keys_changes_nothing(layer):
    query, key, value = make_inputs(2)
    order = np.arange(23) * 5 % 23
    mask = tagged(19, 23, step=1.7) > 0
    expected = layer(query, key, value, mask=mask)
    assert_allclose(layer(query, key[:, order], value[:, order], mask=mask[:, order]), expected, rtol=1e-9)


def test_self_attention_follows_the_order_of_tokens(self_layer, x):
    order = [3, 0, 4, 2, 1]
    assert_allclose(self_layer(x[:, order]), self_layer(x)[:, order], rtol=1e-9)


def test_the_future_cannot_move_the_past(self_layer, x):
    before = self_layer(x, mask=causal_mask(5))
    x[:, 3:] += 100
    after = self_layer(x, mask=causal_mask(5))
    assert_allclose(after[:, :3], before[:, :3])
    assert (np.abs(after[:, 3:] - before[:, 3:]).max(axis=-1) > 1).all()


def test_the_last_token_alone_with_all_keys_is_the_last_row(self_layer, x):
    last = self_layer(x[:, -1:], x, mask=causal_mask(1, 5))
    assert_allclose(last, self_layer(x, mask=causal_mask(5))[:, -1:], rtol=1e-9)


def test_batch_entries_do_not_meet(layer):
    query, key, value = make_inputs(2)
    both = layer(query, key, value)
    for n in range(2):
        assert_allclose(both[n], layer(query[n], key[n], value[n]), rtol=1e-9)


def test_one_head_is_one_attention():
    layer = make(1, bias=False)
    query, key, value = make_inputs()
    output, _ = scaled_dot_product_attention(query @ layer.W_q, key @ layer.W_k, value @ layer.W_v)
    assert_allclose(layer(query, key, value), output @ layer.W_o, rtol=1e-9)


def test_key_is_query_and_value_is_key_where_not_given(x):
    layer = make(widths=(7, 7, 7))
    other = tagged(2, 11, 7, step=0.7)
    assert_array_equal(layer(x), layer(x, x, x))
    assert_array_equal(layer(x, other), layer(x, other, other))
    assert_array_equal(layer(x, value=x + 1), layer(x, x, x + 1))


def test_scale_is_one_over_the_root_of_d_k(layer):
    assert layer.scale == pytest.approx(2**-0.5)
    inputs = make_inputs()
    assert_allclose(make(scale=2**-0.5)(*inputs), layer(*inputs), rtol=1e-9)
    assert_allclose(make(scale=3).trace(*inputs).scores, layer.trace(*inputs).scores * 3 * 2**0.5, atol=1e-12)
    assert_allclose(make(scale=0).trace(*inputs).weights, 1 / 23)


def test_a_bias_of_zeros_is_no_bias():
    fields = vars(make(bias=False))
    zeros = {b: np.zeros(fields[W].shape[1]) for b, W in zip(BIASES, MATRICES)}
    inputs = make_inputs(2)
    assert_array_equal(MultiHeadAttention(**fields | zeros)(*inputs), MultiHeadAttention(**fields)(*inputs))


@pytest.mark.parametrize("name", BIASES)
def test_each_bias_is_added_where_it_belongs(layer, name):
    alone = MultiHeadAttention(**vars(make(bias=False)) | {name: getattr(layer, name)})
    inputs = make_inputs()
    assert_allclose(alone(*inputs), plain.multihead(alone, *inputs), rtol=1e-9)
    trace, free = alone.trace(*inputs), make(bias=False).trace(*inputs)
    changed = {step for step in "qkv" if (getattr(trace, step) != getattr(free, step)).any()}
    assert changed == {name[-1]} - {"o"}


# Grouped key/value heads


@pytest.mark.parametrize("kv_heads", [1, 2, 3])
def test_grouped_heads_equal_a_layer_with_repeated_heads(kv_heads):
    grouped = make(6, kv_heads)
    fields, times = vars(grouped).copy(), 6 // kv_heads
    for name, width in (("W_k", 2), ("W_v", 5), ("b_k", 2), ("b_v", 5)):
        heads = [fields[name][..., i * width : (i + 1) * width] for i in range(kv_heads)]
        fields[name] = np.concatenate([head for head in heads for _ in range(times)], axis=-1)
    repeated = MultiHeadAttention(**fields | {"num_kv_heads": 6})
    inputs = make_inputs(2)
    assert_allclose(grouped(*inputs), repeated(*inputs), rtol=1e-9)


def test_a_trace_keeps_the_heads_that_are_shared():
    trace = make(6, 2).trace(*make_inputs(2))
    assert trace.q.shape == (2, 6, 19, 2)
    assert trace.k.shape == (2, 2, 23, 2)
    assert trace.v.shape == (2, 2, 23, 5)
    assert trace.weights.shape == (2, 6, 19, 23)


# Against a plain loop


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_agrees_with_a_plain_loop(data):
    num_heads, kv_heads = data.draw(st.sampled_from([(1, 1), (3, 3), (3, 1), (4, 2)]))
    d_k, d_v = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    bias, scale = data.draw(st.booleans()), data.draw(st.sampled_from([None, 0.7]))
    layer = make(num_heads, kv_heads, d_k=d_k, d_v=d_v, d_model=5, bias=bias, scale=scale)
    q_len, kv_len = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 5))
    query, key, value = make_inputs(2, q_len=q_len, kv_len=kv_len)
    seen = tagged(q_len, kv_len, step=1.7) > 0
    mask = data.draw(st.sampled_from([None, seen, np.where(seen, 0.5, -INF), causal_mask(q_len, kv_len)]))
    dtype, near = data.draw(st.sampled_from([(np.float32, 1e-5), (np.float64, 1e-12)]))
    narrow = MultiHeadAttention(
        **{k: a.astype(dtype) if isinstance(a, np.ndarray) else a for k, a in vars(layer).items()}
    )
    output = narrow(query.astype(dtype), key.astype(dtype), value.astype(dtype), mask=mask)
    assert output.dtype == dtype
    for n in range(2):
        expected = plain.multihead(layer, query[n], key[n], value[n], mask)
        assert_allclose(output[n], expected, rtol=near, atol=10 * near)


# Trace


def test_trace_names_every_step_with_its_shape(layer):
    trace = layer.trace(*make_inputs(2), mask=causal_mask(19, 23))
    assert tuple(vars(trace)) == STEPS
    assert {name: a.shape for name, a in vars(trace).items()} == {
        "q": (2, 3, 19, 2),
        "k": (2, 3, 23, 2),
        "v": (2, 3, 23, 5),
        "scores": (2, 3, 19, 23),
        "mask": (19, 23),
        "weights": (2, 3, 19, 23),
        "heads": (2, 3, 19, 5),
        "concat": (2, 19, 15),
        "output": (2, 19, 17),
    }


def test_trace_steps_follow_from_each_other(layer):
    query, key, value = make_inputs(2)
    mask = causal_mask(19, 23)
    trace = layer.trace(query, key, value, mask=mask)
    assert_allclose(trace.q, split_heads(query @ layer.W_q + layer.b_q, 3))
    assert_allclose(trace.k, split_heads(key @ layer.W_k + layer.b_k, 3))
    assert_allclose(trace.v, split_heads(value @ layer.W_v + layer.b_v, 3))
    assert_allclose(trace.scores, np.einsum("bhqd,bhkd->bhqk", trace.q, trace.k) / 2**0.5)
    assert_array_equal(trace.mask, mask)
    assert_array_equal(trace.weights > 0, np.broadcast_to(mask, (2, 3, 19, 23)))
    assert_allclose(trace.weights.sum(axis=-1), 1)
    assert_allclose(trace.heads, np.einsum("bhqk,bhkd->bhqd", trace.weights, trace.v))
    assert_allclose(trace.concat, np.concatenate([trace.heads[:, i] for i in range(3)], axis=-1))


def test_trace_scores_are_from_before_the_mask(layer):
    inputs = make_inputs(2)
    free = layer.trace(*inputs)
    assert free.mask is None
    for mask in (np.zeros((19, 23), bool), np.full((19, 23), 2.5)):
        assert_array_equal(layer.trace(*inputs, mask=mask).scores, free.scores)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_trace_gives_every_step_in_the_dtype_of_the_result(dtype):
    layer = MultiHeadAttention.init(15, 3, rng=0)
    layer = MultiHeadAttention(*(getattr(layer, W).astype(dtype) for W in MATRICES), num_heads=3)
    trace = layer.trace(tagged(5, 15).astype(dtype))
    assert {a.dtype for a in vars(trace).values() if a is not None} == {np.dtype(dtype)}


def test_a_trace_is_frozen_and_says_its_shapes(self_layer, x):
    trace = self_layer.trace(x)
    assert isinstance(trace, Trace)
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.output = None
    assert "mask: none" in repr(trace)
    assert "weights: (2, 3, 5, 5)" in repr(trace)


# Masks


def test_a_mask_of_queries_by_keys_serves_every_head_and_batch_entry(layer):
    seen = tagged(19, 23, step=1.7) > 0
    weights = layer.trace(*make_inputs(2), mask=seen).weights
    assert_array_equal(weights > 0, np.broadcast_to(seen, (2, 3, 19, 23)))


@pytest.mark.parametrize("shape", [(2, 3, 19, 23), (2, 1, 19, 23), (1, 3, 19, 23), (1, 1, 1, 23), (2, 1, 1, 23)])
def test_a_mask_of_all_axes(layer, shape):
    seen = tagged(*shape, step=1.7) > 0
    weights = layer.trace(*make_inputs(2), mask=seen).weights
    assert_array_equal(weights > 0, np.broadcast_to(seen, (2, 3, 19, 23)))


def test_a_mask_of_three_axes_is_per_head_where_there_is_no_batch(layer):
    seen = tagged(3, 19, 23, step=1.7) > 0
    assert_array_equal(layer.trace(*make_inputs(), mask=seen).weights > 0, seen)


def test_a_mask_of_batch_by_queries_by_keys_is_refused_even_where_it_would_fit():
    layer, seen = make(), tagged(3, 19, 23, step=1.7) > 0
    inputs = make_inputs(3)  # batch 3, and 3 heads: numpy would lay the batch over the heads
    with pytest.raises(ValueError, match=r"mask \(3, 19, 23\).*mask\[:, None\]"):
        layer(*inputs, mask=seen)
    for n in range(3):
        alone = layer(*(a[n] for a in inputs), mask=seen[n])
        assert_allclose(layer(*inputs, mask=seen[:, None])[n], alone, rtol=1e-9)


def test_minus_infinity_forbids_as_false_does(layer):
    seen, inputs = tagged(19, 23, step=1.7) > 0, make_inputs(2)
    assert_array_equal(layer(*inputs, mask=np.where(seen, 0, -INF)), layer(*inputs, mask=seen))


def test_minus_a_billion_is_only_a_large_number(layer):
    inputs = make_inputs(2)
    assert_allclose(layer(*inputs, mask=np.full((19, 23), -1e9)), layer(*inputs), atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
def test_a_query_that_may_see_no_key_gives_b_o(bias):
    layer, seen = make(bias=bias), np.ones((19, 23), bool)
    seen[4] = False
    for mask in (seen, np.where(seen, 0, -INF)):
        trace = layer.trace(*make_inputs(2), mask=mask)
        assert (trace.weights[..., 4, :] == 0).all()
        assert (trace.heads[..., 4, :] == 0).all()
        assert_array_equal(trace.output[:, 4], np.broadcast_to(layer.b_o if bias else 0, (2, 17)))
        assert_array_equal(trace.output[:, 5], layer(*make_inputs(2))[:, 5])


# Leading axes and empty sequences


@pytest.mark.parametrize("leads", [((), (), ()), ((2, 3), (2, 3), (2, 3)), ((2, 1), (3,), ()), ((), (), (2,))], ids=str)
def test_leading_axes_broadcast(layer, leads):
    query, key, value = (make_inputs(*lead, q_len=3, kv_len=5)[i] for i, lead in enumerate(leads))
    output, lead = layer(query, key, value), np.broadcast_shapes(*leads)
    assert output.shape == (*lead, 3, 17)
    full = [np.broadcast_to(a, (*lead, *a.shape[-2:])) for a in (query, key, value)]
    for n in np.ndindex(lead):
        assert_allclose(output[n], plain.multihead(layer, *(a[n] for a in full)), rtol=1e-9)


def test_no_query_no_key_no_batch(layer):
    assert layer(*make_inputs(2, q_len=0)).shape == (2, 0, 17)
    assert layer(*make_inputs(0)).shape == (0, 19, 17)
    assert layer(*make_inputs(0), mask=causal_mask(19, 23)).shape == (0, 19, 17)
    assert_array_equal(layer(*make_inputs(2, kv_len=0)), np.broadcast_to(layer.b_o, (2, 19, 17)))
    assert_array_equal(make(bias=False)(*make_inputs(2, kv_len=0)), np.zeros((2, 19, 17)))


# Numbers


def test_whole_numbers_become_float64():
    layer = MultiHeadAttention([[1]], [[0]], [[2]], [[3]], num_heads=1)
    output = layer([[1], [2]])  # equal scores: the mean of 2 and 4, times 3
    assert output.dtype == np.float64
    assert_array_equal(output, [[9], [9]])


def test_the_widest_of_inputs_and_weights_decides_the_dtype(layer):
    query, key, value = (a.astype(np.float32) for a in make_inputs())
    assert layer(query, key, value).dtype == np.float64  # the layer's own weights are


def test_float16_is_computed_in_float32():
    fields = {k: a.astype(np.float16) if isinstance(a, np.ndarray) else a for k, a in vars(make()).items()}
    half, inputs = MultiHeadAttention(**fields), [(300 * a).astype(np.float16) for a in make_inputs()]
    wide = MultiHeadAttention(**{k: a.astype(np.float32) if k[1] == "_" else a for k, a in fields.items()})
    expected = wide(*(a.astype(np.float32) for a in inputs))
    assert half(*inputs).dtype == np.float16
    assert_array_equal(half(*inputs), expected.astype(np.float16))  # scores beyond 65504 on the way


def test_scores_of_a_hundred_thousand_stay_finite(self_layer, x):
    trace = self_layer.trace(x * 1000, mask=causal_mask(5))
    assert np.abs(trace.scores).max() > 1e5
    assert_array_equal(self_layer(x * 1000, mask=causal_mask(5)), trace.output)
    assert np.isfinite(trace.output).all()
    assert_allclose(trace.weights.sum(axis=-1), 1)


def test_nan_stays_with_its_query(layer):
    query, key, value = make_inputs(2)
    query[1, 3, 0] = np.nan
    output = layer(query, key, value)
    assert_array_equal(np.argwhere(np.isnan(output).any(axis=-1)), [[1, 3]])


def test_weights_too_small_for_their_dtype_become_zero_in_silence():
    one = np.ones((1, 1), np.float16)
    layer, x = MultiHeadAttention(one, one, one, one, num_heads=1), np.linspace(0, 5, 31).astype(np.float16)[:, None]
    trace = layer.trace(x)
    assert (trace.weights == 0).any()
    assert_array_equal(layer(x), trace.output)


# Inputs are only read


def test_nothing_is_changed_in_place():
    arrays = [*make_inputs(2), np.where(causal_mask(19, 23), 0.5, -INF)]
    fields = vars(make(6, 2))
    arrays += [fields[name] for name in (*MATRICES, *BIASES)]
    before = [a.copy() for a in arrays]
    for a in arrays:
        a.flags.writeable = False
    layer = MultiHeadAttention(**fields)
    layer(*arrays[:3], mask=arrays[3])
    layer.trace(*arrays[:3], mask=arrays[3])
    for a, b in zip(arrays, before, strict=True):
        assert_array_equal(a, b)


def test_memory_order_does_not_matter(layer):
    inputs = make_inputs(2)
    fields = {k: np.asfortranarray(a) if isinstance(a, np.ndarray) else a for k, a in vars(layer).items()}
    scattered = [np.asfortranarray(inputs[0]), np.repeat(inputs[1], 2, axis=1)[:, ::2], inputs[2][..., ::-1].copy()]
    scattered[2] = scattered[2][..., ::-1]
    assert not any(a.flags.c_contiguous for a in scattered)
    assert_allclose(MultiHeadAttention(**fields)(*scattered), layer(*inputs), rtol=1e-9)


# Making a layer


def test_a_layer_is_frozen(layer):
    with pytest.raises(dataclasses.FrozenInstanceError):
        layer.num_heads = 1


def test_a_layer_says_its_sizes(layer):
    assert (layer.d_model, layer.num_heads, layer.num_kv_heads, layer.d_k, layer.d_v) == (17, 3, 3, 2, 5)
    assert repr(layer) == "MultiHeadAttention(d_model=17, num_heads=3, d_k=2, d_v=5)"


INITS = {
    "defaults": ({}, [(15, 15), (15, 15), (15, 15), (15, 15)]),
    "d_k": ({"d_k": 2}, [(15, 6), (15, 6), (15, 6), (6, 15)]),
    "d_v": ({"d_v": 7}, [(15, 15), (15, 15), (15, 21), (21, 15)]),
    "grouped": ({"d_k": 2, "d_v": 7, "num_kv_heads": 1}, [(15, 6), (15, 2), (15, 7), (21, 15)]),
}


@pytest.mark.parametrize("case", INITS)
@pytest.mark.parametrize("bias", [True, False])
def test_init_shapes(case, bias):
    more, shapes = INITS[case]
    layer = MultiHeadAttention.init(15, 3, rng=0, bias=bias, **more)
    assert [getattr(layer, W).shape for W in MATRICES] == shapes
    for b, (_, columns) in zip(BIASES, shapes, strict=True):
        if bias:
            assert_array_equal(getattr(layer, b), np.zeros(columns))
        else:
            assert getattr(layer, b) is None
    assert layer(tagged(2, 5, 15)).shape == (2, 5, 15)


def test_init_draws_the_same_numbers_from_the_same_seed():
    a, b, c = (MultiHeadAttention.init(15, 3, rng=rng) for rng in (7, np.random.default_rng(7), 8))
    for W in MATRICES:
        assert_array_equal(getattr(a, W), getattr(b, W))
        assert (getattr(a, W) != getattr(c, W)).all()
    assert not np.array_equal(a.W_q, a.W_k)


def test_init_variance_is_one_over_the_rows():
    layer = MultiHeadAttention.init(101, 1, rng=0, d_k=211, d_v=53)
    for W in MATRICES:
        matrix = getattr(layer, W)
        assert matrix.std() == pytest.approx(len(matrix) ** -0.5, rel=0.05)
        assert abs(matrix.mean()) < 0.05 * matrix.std()


# Refusals


def refused_layer(**fields):
    return lambda: MultiHeadAttention(**vars(make()) | fields)


def refused_call(*inputs, **mask):
    return lambda: make()(*inputs, **mask)


def refused_init(*args, rng=0, **more):
    return lambda: MultiHeadAttention.init(*args, rng=rng, **more)


Q, K, V = make_inputs(2)
REFUSED = {
    "split not divided": (
        lambda: split_heads(np.ones((7, 10)), 4),
        ValueError,
        ["d_model=10", "num_heads=4", "2 over"],
    ),
    "split in 0": (lambda: split_heads(np.ones((7, 10)), 0), ValueError, ["num_heads=0"]),
    "split in 2.0": (lambda: split_heads(np.ones((7, 10)), 2.0), TypeError, ["num_heads", "2.0"]),
    "split 1 axis": (lambda: split_heads(np.ones(10), 2), ValueError, ["x needs", "2 axes", "(10,)"]),
    "split text": (lambda: split_heads([["a", "b"]], 2), TypeError, ["x ", "<U1"]),
    "merge 2 axes": (lambda: merge_heads(np.ones((7, 10))), ValueError, ["x needs", "3 axes", "(7, 10)"]),
    "num_heads 0": (refused_layer(num_heads=0), ValueError, ["num_heads=0"]),
    "num_heads float": (refused_layer(num_heads=3.0), TypeError, ["num_heads", "3.0"]),
    "num_heads does not divide": (
        refused_layer(num_heads=4, num_kv_heads=4),
        ValueError,
        ["width of W_q=6", "num_heads=4", "leaves 2 over"],
    ),
    "W_o height": (refused_layer(W_o=np.ones((16, 17))), ValueError, ["height of W_o=16", "num_heads=3", "1 over"]),
    "kv heads do not divide": (refused_layer(num_kv_heads=2), ValueError, ["num_kv_heads=2", "num_heads=3"]),
    "more kv heads": (refused_layer(num_kv_heads=6), ValueError, ["num_kv_heads=6", "num_heads=3"]),
    "kv heads 0": (refused_layer(num_kv_heads=0), ValueError, ["num_kv_heads=0"]),
    "W_k columns": (
        refused_layer(W_k=np.ones((11, 8)), b_k=None),
        ValueError,
        ["W_k", "8 columns", "num_kv_heads=3", "6"],
    ),
    "W_v columns": (
        refused_layer(W_v=np.ones((13, 6)), b_v=None),
        ValueError,
        ["W_v", "6 columns", "num_kv_heads=3", "15"],
    ),
    "W_q 1 axis": (refused_layer(W_q=np.ones(6)), ValueError, ["W_q", "2 axes", "(6,)"]),
    "W_q 3 axes": (refused_layer(W_q=np.ones((3, 7, 2))), ValueError, ["W_q", "2 axes", "(3, 7, 2)"]),
    "W_v empty": (refused_layer(W_v=np.ones((0, 15))), ValueError, ["W_v", "(0, 15)"]),
    "W_o missing": (refused_layer(W_o=None), TypeError, ["W_o", "object"]),
    "W_k complex": (refused_layer(W_k=np.ones((11, 6), complex)), TypeError, ["W_k", "complex128"]),
    "b_q shape": (refused_layer(b_q=np.ones(7)), ValueError, ["b_q", "(7,)", "W_q (7, 6)", "(6,)"]),
    "b_v 2 axes": (refused_layer(b_v=np.ones((1, 15))), ValueError, ["b_v", "(1, 15)", "W_v (13, 15)", "(15,)"]),
    "b_o text": (refused_layer(b_o=["a"] * 17), TypeError, ["b_o", "<U1"]),
    "scale nan": (refused_layer(scale=np.nan), ValueError, ["scale=nan"]),
    "scale text": (refused_layer(scale="big"), TypeError, ["scale", "'big'"]),
    "init not divided": (refused_init(10, 4), ValueError, ["d_model=10", "num_heads=4", "10 / 4 leaves 2 over"]),
    "init d_model 0": (refused_init(0, 1), ValueError, ["d_model=0"]),
    "init d_model float": (refused_init(15.0, 3), TypeError, ["d_model", "15.0"]),
    "init num_heads bool": (refused_init(15, True), TypeError, ["num_heads", "True"]),
    "init d_k 0": (refused_init(15, 3, d_k=0), ValueError, ["d_k=0"]),
    "init d_v negative": (refused_init(15, 3, d_v=-1), ValueError, ["d_v=-1"]),
    "init kv heads": (refused_init(15, 3, num_kv_heads=2), ValueError, ["num_kv_heads=2", "num_heads=3"]),
    "init rng none": (refused_init(15, 3, rng=None), TypeError, ["rng", "None"]),
    "init rng negative": (refused_init(15, 3, rng=-1), ValueError, ["rng=-1"]),
    "query features": (refused_call(K, K, V), ValueError, ["query (2, 23, 11)", "11 features", "W_q takes 7"]),
    "key features": (refused_call(Q, V, V), ValueError, ["key (2, 23, 13)", "13 features", "W_k takes 11"]),
    "value features": (refused_call(Q, K, K), ValueError, ["value (2, 23, 11)", "11 features", "W_v takes 13"]),
    "key is query": (refused_call(Q), ValueError, ["key (2, 19, 7)", "7 features", "W_k takes 11"]),
    "query 1 axis": (refused_call(Q[0, 0], K, V), ValueError, ["query needs", "2 axes", "(7,)"]),
    "query object": (refused_call(Q.astype(object), K, V), TypeError, ["query", "object"]),
    "value complex": (refused_call(Q, K, V + 0j), TypeError, ["value", "complex128"]),
    "kv_len": (refused_call(Q, K, V[:, :19]), ValueError, ["key and value", "kv_len", "23", "19"]),
    "batches": (
        refused_call(Q, np.ones((3, 23, 11)), V),
        ValueError,
        ["leading axes", "query (2,)", "key (3,)", "value (2,)"],
    ),
    "mask of integers": (
        refused_call(Q, K, V, mask=np.ones((19, 23), np.uint8)),
        TypeError,
        ["mask", "uint8", "boolean", "True = may attend", "float", "-inf forbids"],
    ),
    "mask nan": (refused_call(Q, K, V, mask=np.full((19, 23), np.nan)), ValueError, ["mask", "NaN"]),
    "mask +inf": (refused_call(Q, K, V, mask=np.full((19, 23), INF)), ValueError, ["mask", "+inf"]),
    "mask 1 axis": (
        refused_call(Q, K, V, mask=np.ones(23, bool)),
        ValueError,
        ["mask (23,)", "(q_len, kv_len)", "4 axes"],
    ),
    "mask 3 axes": (
        refused_call(Q, K, V, mask=np.ones((2, 19, 23), bool)),
        ValueError,
        ["mask (2, 19, 23)", "4 axes", "mask[:, None]"],
    ),
    "mask 5 axes": (refused_call(Q, K, V, mask=np.ones((1, 2, 3, 19, 23), bool)), ValueError, ["(1, 2, 3, 19, 23)"]),
    "mask turned": (
        refused_call(Q, K, V, mask=np.ones((23, 19), bool)),
        ValueError,
        ["(23, 19)", "q_len=19", "kv_len=23"],
    ),
    "mask heads": (
        refused_call(Q, K, V, mask=np.ones((2, 5, 19, 23), bool)),
        ValueError,
        ["leading axes", "mask (2, 5)", "scores (2, 3)"],
    ),
    "mask of more heads": (
        lambda: MultiHeadAttention.init(6, 1, rng=0)(np.ones((2, 5, 6)), mask=np.ones((2, 3, 5, 5), bool)),
        ValueError,
        ["mask (2, 3, 5, 5)", "3 heads", "num_heads=1"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_names_argument_and_value(case):
    assert_refused(*REFUSED[case])


def test_the_advice_of_one_more_axis_is_given_only_where_it_helps():
    with pytest.raises(ValueError) as error:
        make()(*make_inputs(2, 5), mask=np.ones((5, 19, 23), bool))
    assert "mask[:, None]" not in refusal(error)  # it would make 4 axes, and 5 are needed
