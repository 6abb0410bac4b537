"""softmax, causal_mask and scaled_dot_product_attention: laws, hand values, a plain loop, refusals."""

import math

import numpy as np
import plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from plain import assert_allclose, assert_refused, tagged

from mha import causal_mask, scaled_dot_product_attention, softmax

pytestmark = pytest.mark.filterwarnings("error")
INF = np.inf
FLOATS = [np.float16, np.float32, np.float64]


@pytest.fixture(autouse=True, scope="module")
def nothing_warns():
    """Every test of this file: no overflow, no division by 0, no invalid number, no underflow."""
    with np.errstate(all="raise"):
        yield


@pytest.fixture
def qkv():
    """q (2, 5, 3), k (2, 7, 3), v (2, 7, 11): batch 2, q_len 5, kv_len 7, d_k 3, d_v 11."""
    return tagged(2, 5, 3), tagged(2, 7, 3, step=0.61), tagged(2, 7, 11, step=0.83)


@pytest.fixture
def allowed():
    """A boolean mask (5, 7): each query may see some keys, each its own."""
    return (3 * np.arange(5)[:, None] + np.arange(7)) % 4 > 1


# softmax


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_softmax_sums_to_one_along_its_axis(axis):
    x = tagged(3, 5, 7)
    weights = softmax(x, axis=axis)
    assert weights.shape == (3, 5, 7)
    assert_allclose(weights.sum(axis=axis), 1)
    assert_allclose(weights, np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True))


def test_softmax_default_axis_is_the_last():
    x = tagged(3, 5)
    assert_array_equal(softmax(x), softmax(x, axis=1))


@pytest.mark.parametrize("shift", [1, -1e5, 1e5])
def test_softmax_does_not_see_a_shift(shift):
    assert_allclose(softmax(tagged(3, 5) + shift), softmax(tagged(3, 5)), rtol=1e-9)


def test_softmax_by_hand():
    assert_allclose(softmax([0, math.log(2), math.log(5)]), [1 / 8, 2 / 8, 5 / 8])


def test_softmax_of_huge_scores():
    assert_array_equal(softmax([[1e5, -1e5], [-1e5, 1e5], [1e5, 1e5]]), [[1, 0], [0, 1], [0.5, 0.5]])


def test_softmax_of_only_forbidden_scores_is_zero():
    assert_allclose(softmax([[-INF, -INF], [-INF, 3], [3, 3]]), [[0, 0], [0, 1], [0.5, 0.5]])
    assert_allclose(softmax([[-INF, -INF], [-INF, 3]], axis=0), [[0, 0], [0, 1]])


def test_nan_stays_in_its_row():
    weights = softmax([[1, np.nan, -INF], [1, 1, -INF]])
    assert np.isnan(weights[0]).all()
    assert_array_equal(weights[1], [0.5, 0.5, 0])


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5)])
def test_softmax_of_nothing_is_nothing(shape):
    assert softmax(np.zeros(shape)).shape == shape


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_keeps_floats(dtype):
    assert softmax(tagged(3, 5).astype(dtype)).dtype == dtype


def test_softmax_of_whole_numbers_is_float64():
    weights = softmax([[1, 2], [3, 3]])
    assert weights.dtype == np.float64
    assert_array_equal(weights[1], [0.5, 0.5])


def test_softmax_of_float16_is_computed_in_float32():
    x = (4 * tagged(3, 257)).astype(np.float16)
    with np.errstate(under="ignore"):  # of the cast below
        assert_array_equal(softmax(x), softmax(x.astype(np.float32)).astype(np.float16))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-1e5, 1e5) | st.just(-INF), min_size=1, max_size=11))
def test_softmax_agrees_with_a_plain_loop(row):
    assert_allclose(softmax(row), plain.softmax(row), rtol=1e-9, atol=1e-300)


# causal_mask


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 11), st.integers(0, 11))
def test_the_last_query_sees_every_key(q_len, kv_len):
    mask = causal_mask(q_len, kv_len)
    assert (mask.dtype, mask.shape) == (bool, (q_len, kv_len))
    for i in range(q_len):
        for j in range(kv_len):
            assert mask[i, j] == (j <= kv_len - q_len + i)


def test_causal_masks_by_hand():
    assert_array_equal(causal_mask(3), [[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    assert_array_equal(causal_mask(2, 3), [[1, 1, 0], [1, 1, 1]])
    assert_array_equal(causal_mask(3, 2), [[0, 0], [1, 0], [1, 1]])  # the first query comes before every key
    assert_array_equal(causal_mask(np.int64(1), 5), [[1, 1, 1, 1, 1]])


# scaled_dot_product_attention: laws


def test_each_output_is_an_average_of_values(qkv):
    q, k, v = qkv
    output, weights = scaled_dot_product_attention(q, k, v)
    assert (output.shape, weights.shape) == ((2, 5, 11), (2, 5, 7))
    assert_allclose(weights.sum(axis=-1), 1)
    assert (weights > 0).all()
    assert_allclose(output, weights @ v)
    assert (output <= v.max(axis=1, keepdims=True)).all()
    assert (output >= v.min(axis=1, keepdims=True)).all()


def test_an_order_of_keys_changes_nothing(qkv, allowed):
    q, k, v = qkv
    order = [3, 0, 6, 2, 5, 1, 4]
    output, weights = scaled_dot_product_attention(q, k, v, allowed)
    moved, moved_weights = scaled_dot_product_attention(q, k[:, order], v[:, order], allowed[:, order])
    assert_allclose(moved, output)
    assert_allclose(moved_weights, weights[..., order])


def test_an_order_of_queries_orders_the_output(qkv):
    q, k, v = qkv
    order = [3, 0, 4, 2, 1]
    assert_allclose(
        scaled_dot_product_attention(q[:, order], k, v)[0], scaled_dot_product_attention(q, k, v)[0][:, order]
    )


def test_the_future_cannot_move_the_past(qkv):
    _, k, v = qkv
    output, _ = scaled_dot_product_attention(k, k, v, causal_mask(7))
    later_k, later_v = k.copy(), v.copy()
    later_k[:, 4:] += 100
    later_v[:, 4:] -= 100
    moved, _ = scaled_dot_product_attention(k, later_k, later_v, causal_mask(7))
    assert_array_equal(moved[:, :4], output[:, :4])
    assert (moved[:, 4:] != output[:, 4:]).all()


def test_a_forbidden_key_is_as_good_as_absent(qkv):
    q, k, v = qkv
    seen = np.array([True, False, True, True, False, True, False])
    output, weights = scaled_dot_product_attention(q, k, v, seen)
    fewer, fewer_weights = scaled_dot_product_attention(q, k[:, seen], v[:, seen])
    assert_allclose(output, fewer)
    assert_allclose(weights[..., seen], fewer_weights)
    assert (weights[..., ~seen] == 0).all()


def test_batch_entries_do_not_meet(qkv):
    q, k, v = qkv
    both, _ = scaled_dot_product_attention(q, k, v)
    for n in range(2):
        assert_allclose(both[n], scaled_dot_product_attention(q[n], k[n], v[n])[0], rtol=1e-12)


def test_equal_keys_share_the_weight_equally(qkv):
    q, k, v = qkv
    output, weights = scaled_dot_product_attention(q, np.ones_like(k), v)
    assert_allclose(weights, 1 / 7)
    assert_allclose(output, np.broadcast_to(v.mean(axis=1, keepdims=True), output.shape))


def test_values_enter_linearly(qkv):
    q, k, v = qkv
    output, _ = scaled_dot_product_attention(q, k, v)
    assert_allclose(scaled_dot_product_attention(q, k, 3 * v + 2)[0], 3 * output + 2)


# scaled_dot_product_attention: hand values


def test_one_query_by_hand():
    q, k, v = [[2.0, 0.0, 0.0, 0.0]], [[math.log(3), 5, 5, 5], [0.0, 5, 5, 5]], [[8.0], [16.0]]
    output, weights = scaled_dot_product_attention(q, k, v)  # scores 2 log(3) / sqrt(4) and 0
    assert_allclose(weights, [[3 / 4, 1 / 4]])
    assert_allclose(output, [[10]])


def test_scale_by_hand():
    q, k, v = [[1.0, 0.0, 0.0, 0.0]], [[math.log(3), 5, 5, 5], [0.0, 5, 5, 5]], [[8.0], [16.0]]
    for scale, weight in ((1, 3 / 4), (2, 9 / 10), (0, 1 / 2), (-1, 1 / 4)):
        assert_allclose(scaled_dot_product_attention(q, k, v, scale=scale)[1], [[weight, 1 - weight]])


# scaled_dot_product_attention: against a plain loop


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_agrees_with_a_plain_loop(data):
    q_len, kv_len = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 7))
    d_k, d_v = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    q, k, v = (rng.normal(size=shape) for shape in ((q_len, d_k), (kv_len, d_k), (kv_len, d_v)))
    mask = data.draw(
        st.sampled_from(
            [
                None,
                rng.random((q_len, kv_len)) < 0.5,
                rng.normal(size=(q_len, kv_len)),
                np.where(rng.random((q_len, kv_len)) < 0.5, -INF, 1.5),
            ]
        )
    )
    scale = data.draw(st.sampled_from([None, 0.7, -2]))
    dtype, near = data.draw(st.sampled_from([(np.float16, 1e-2), (np.float32, 1e-5), (np.float64, 1e-12)]))
    q, k, v = q.astype(dtype), k.astype(dtype), v.astype(dtype)
    output, weights = scaled_dot_product_attention(q, k, v, mask, scale=scale)
    expected_output, expected_weights = plain.attention(*(a.astype(float) for a in (q, k, v)), mask, scale)
    assert output.dtype == weights.dtype == dtype
    assert_allclose(output, expected_output, rtol=near, atol=near)
    assert_allclose(weights, expected_weights, rtol=near, atol=near)


# Leading axes


LEADS = {
    "none": ((), (), ()),
    "batch and heads": ((2, 13), (2, 13), (2, 13)),
    "one q for all": ((), (2,), (2,)),
    "one k for all": ((2, 13), (13,), (1, 13)),
    "q and k cross": ((2, 1), (13,), (1, 1)),
    "only v has a batch": ((), (), (2,)),
    "empty batch": ((0,), (0,), (1,)),
}


@pytest.mark.parametrize("leads", LEADS.values(), ids=LEADS)
def test_leading_axes_broadcast(leads, allowed):
    q, k, v = tagged(*leads[0], 5, 3), tagged(*leads[1], 7, 3, step=0.61), tagged(*leads[2], 7, 11, step=0.83)
    output, weights = scaled_dot_product_attention(q, k, v, allowed)
    lead = np.broadcast_shapes(*leads)
    assert output.shape == (*lead, 5, 11)
    full = [np.broadcast_to(a, (*lead, *a.shape[-2:])) for a in (q, k, v, weights)]
    for n in np.ndindex(lead):
        one_output, one_weights = plain.attention(*(a[n] for a in full[:3]), allowed)
        assert_allclose(output[n], one_output, atol=1e-12)
        assert_allclose(full[3][n], one_weights, atol=1e-12)


# Empty sequences


def test_no_query_gives_no_output(qkv):
    q, k, v = qkv
    output, weights = scaled_dot_product_attention(q[:, :0], k, v, np.ones((0, 7), bool))
    assert (output.shape, weights.shape) == ((2, 0, 11), (2, 0, 7))


def test_no_key_gives_zeros(qkv):
    q, k, v = qkv
    output, weights = scaled_dot_product_attention(q, k[:, :0], v[:, :0], causal_mask(5, 0))
    assert_array_equal(output, np.zeros((2, 5, 11)))
    assert weights.shape == (2, 5, 0)


# Masks


def test_true_means_may_attend(qkv, allowed):
    _, weights = scaled_dot_product_attention(*qkv, allowed)
    assert_array_equal(weights > 0, np.broadcast_to(allowed, (2, 5, 7)))


def test_a_float_mask_is_added_to_the_scaled_scores():
    q, k = [[0.0]], [[1.0], [1.0], [1.0]]
    _, weights = scaled_dot_product_attention(q, k, k, np.log([[1.0, 2.0, 5.0]]), scale=0.1)
    assert_allclose(weights, [[1 / 8, 2 / 8, 5 / 8]])


def test_minus_infinity_forbids_as_false_does(qkv, allowed):
    as_bool = scaled_dot_product_attention(*qkv, allowed)
    as_float = scaled_dot_product_attention(*qkv, np.where(allowed, 0, -INF))
    for one, other in zip(as_bool, as_float, strict=True):
        assert_array_equal(one, other)


def test_minus_a_billion_is_only_a_large_number(qkv):
    q, k, v = qkv
    free, _ = scaled_dot_product_attention(q, k, v)
    shifted, weights = scaled_dot_product_attention(q, k, v, np.full((5, 7), -1e9))
    assert_allclose(weights.sum(axis=-1), 1)  # nothing is forbidden: every score moved alike
    assert_allclose(shifted, free, atol=1e-6)
    zeros, _ = scaled_dot_product_attention(q, k, v, np.full((5, 7), -INF))
    assert (zeros == 0).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_float64_mask_may_be_beyond_the_scores_dtype(qkv, dtype):
    mask = np.full((5, 7), -1e300)
    mask[:, 2] = 1e-300
    output, weights = scaled_dot_product_attention(*(a.astype(dtype) for a in qkv), mask)
    assert_array_equal(weights[..., 2], np.ones((2, 5)))
    assert output.dtype == weights.dtype == dtype


def test_a_query_that_may_see_no_key_gets_zeros(qkv, allowed):
    allowed[3] = False
    expected, _ = plain.attention(*(a[1] for a in qkv), allowed)
    for mask in (allowed, np.where(allowed, 0, -INF)):
        output, weights = scaled_dot_product_attention(*qkv, mask)
        assert (weights[:, 3] == 0).all()
        assert (output[:, 3] == 0).all()
        assert_allclose(output[1], expected, atol=1e-12)


MASKS = {
    "keys alone": (7,),
    "one row": (1, 7),
    "one column": (5, 1),
    "one number": (1, 1),
    "q_len by kv_len": (5, 7),
    "a batch of masks": (2, 5, 7),
    "a batch of key masks": (2, 1, 7),
    "more axes than the scores": (13, 1, 5, 7),
}


@pytest.mark.parametrize("shape", MASKS.values(), ids=MASKS)
def test_a_mask_lays_over_the_scores_as_in_numpy(qkv, shape):
    mask = tagged(*shape) > 0
    output, weights = scaled_dot_product_attention(*qkv, mask)
    full = np.broadcast_to(mask, np.broadcast_shapes(shape, (2, 5, 7)))
    assert output.shape == (*full.shape[:-1], 11)
    for n in np.ndindex(full.shape[:-2]):
        expected, expected_weights = plain.attention(*(a[n[-1]] for a in qkv), full[n])
        assert_allclose(output[n], expected, atol=1e-12)
        assert_allclose(weights[n], expected_weights, atol=1e-12)


# Numbers


@pytest.mark.parametrize("size", [1, -1])
def test_scores_of_a_hundred_thousand_stay_finite(size):
    k = np.eye(7) * 1e5 * size
    output, weights = scaled_dot_product_attention(np.eye(7), k, np.eye(7), scale=1)
    other = 0 if size > 0 else 1 / 6  # -1e5 on the diagonal: the six others share the weight
    assert_allclose(weights, np.where(np.eye(7) == 1, 1 - 6 * other, other), atol=1e-15)
    assert_array_equal(output, weights)


@pytest.mark.parametrize("dtype", FLOATS)
def test_weights_too_small_for_their_dtype_become_zero_in_silence(dtype):
    q = np.linspace(0, 30, 31).astype(dtype)[:, None]
    output, weights = scaled_dot_product_attention(q, q, q / 256, scale=1)
    assert np.isfinite(output).all()
    assert_allclose(weights.sum(axis=-1), 1, rtol=2e-3)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_are_given_back_as_they_came(qkv, dtype):
    output, weights = scaled_dot_product_attention(*(a.astype(dtype) for a in qkv), np.zeros((5, 7)))
    assert output.dtype == weights.dtype == dtype


def test_whole_numbers_become_float64():
    output, weights = scaled_dot_product_attention([[1, 0]], [[0, 1], [0, 2]], [[True], [False]])
    assert output.dtype == weights.dtype == np.float64
    assert_array_equal(output, [[0.5]])


def test_the_widest_input_decides_the_dtype(qkv):
    q, k, v = qkv
    output, _ = scaled_dot_product_attention(q.astype(np.float16), k.astype(np.float32), v.astype(np.float16))
    assert output.dtype == np.float32


def test_float16_is_computed_in_float32(qkv):
    # Scores of 300 * 300 * 3 are beyond float16's 65504.
    q, k, v = ((a * 300).astype(np.float16) for a in qkv)
    output, weights = scaled_dot_product_attention(q, k, v)
    wide = scaled_dot_product_attention(*(a.astype(np.float32) for a in (q, k, v)))
    with np.errstate(under="ignore"):  # of the cast below
        assert_array_equal(output, wide[0].astype(np.float16))
        assert_array_equal(weights, wide[1].astype(np.float16))


def test_nan_in_a_query_stays_in_its_row(qkv):
    q, k, v = qkv
    q[0, 2, 1] = np.nan
    output, _ = scaled_dot_product_attention(q, k, v)
    assert_array_equal(np.argwhere(np.isnan(output).any(axis=-1)), [[0, 2]])
    assert np.isnan(output[0, 2]).all()


def test_nan_in_a_key_reaches_all_who_may_see_it(qkv):
    _, k, v = qkv
    k[1, 4, 0] = np.nan
    output, _ = scaled_dot_product_attention(tagged(2, 7, 3), k, v, causal_mask(7))
    assert_array_equal(np.argwhere(np.isnan(output).all(axis=-1)), [[1, 4], [1, 5], [1, 6]])


# Inputs are only read


def test_nothing_is_changed_in_place(qkv, allowed):
    inputs = [*qkv, np.where(allowed, 0.5, -INF), tagged(3, 5)]
    before = [a.copy() for a in inputs]
    for a in inputs:
        a.flags.writeable = False
    scaled_dot_product_attention(*inputs[:4])
    scaled_dot_product_attention(*inputs[:3], allowed)
    softmax(inputs[4])
    for a, b in zip(inputs, before, strict=True):
        assert_array_equal(a, b)


def test_results_share_no_memory_with_the_inputs(qkv):
    q, k, v = qkv
    for result in scaled_dot_product_attention(q, k, v):
        result[...] = 0
    assert all(a.any() for a in (q, k, v))


def test_memory_order_does_not_matter(qkv, allowed):
    expected, _ = scaled_dot_product_attention(*qkv, allowed)
    scattered = [np.asfortranarray(a) for a in qkv]
    scattered[1] = np.repeat(qkv[1], 2, axis=-1)[..., ::2]
    scattered[2] = qkv[2][:, ::-1].copy()[:, ::-1]
    assert not any(a.flags.c_contiguous for a in scattered)
    assert_allclose(scaled_dot_product_attention(*scattered, np.asfortranarray(allowed))[0], expected)


# Refusals


Q, K, V = np.ones((2, 5, 3)), np.ones((2, 7, 3)), np.ones((2, 7, 11))
attention = scaled_dot_product_attention
REFUSED = {
    "softmax scalar": (lambda: softmax(1.0), ValueError, ["scores", "1 axes", "()"]),
    "softmax complex": (lambda: softmax([1j]), TypeError, ["scores", "complex128"]),
    "softmax axis too high": (lambda: softmax(Q, axis=3), ValueError, ["axis=3", "(2, 5, 3)"]),
    "softmax axis too low": (lambda: softmax(Q, axis=-4), ValueError, ["axis=-4", "(2, 5, 3)"]),
    "softmax axis float": (lambda: softmax(Q, axis=1.0), TypeError, ["axis", "1.0"]),
    "softmax axis none": (lambda: softmax(Q, axis=None), TypeError, ["axis", "None"]),
    "causal float": (lambda: causal_mask(5.0), TypeError, ["q_len", "5.0"]),
    "causal negative": (lambda: causal_mask(-1), ValueError, ["q_len=-1"]),
    "causal kv negative": (lambda: causal_mask(5, -7), ValueError, ["kv_len=-7"]),
    "causal kv text": (lambda: causal_mask(5, "7"), TypeError, ["kv_len", "'7'"]),
    "q has 1 axis": (lambda: attention(Q[0, 0], K, V), ValueError, ["q needs", "2 axes", "(3,)"]),
    "k has 1 axis": (lambda: attention(Q, K[0, 0], V), ValueError, ["k needs", "2 axes", "(3,)"]),
    "v has 1 axis": (lambda: attention(Q, K, V[0, 0]), ValueError, ["v needs", "2 axes", "(11,)"]),
    "d_k differs": (lambda: attention(Q, V, V), ValueError, ["q and k", "d_k", "3", "11"]),
    "d_k 1 does not broadcast": (lambda: attention(Q[..., :1], K, V), ValueError, ["q and k", "d_k", "1", "3"]),
    "d_k 0": (lambda: attention(Q[..., :0], K[..., :0], V), ValueError, ["d_k=0"]),
    "kv_len differs": (lambda: attention(Q, K, V[:, :5]), ValueError, ["k and v", "kv_len", "7", "5"]),
    "kv_len 1 does not broadcast": (lambda: attention(Q, K, V[:, :1]), ValueError, ["k and v", "kv_len", "7", "1"]),
    "batches differ": (
        lambda: attention(Q, np.ones((13, 7, 3)), V),
        ValueError,
        ["leading axes", "q (2,)", "k (13,)", "v (2,)"],
    ),
    "complex q": (lambda: attention(Q + 0j, K, V), TypeError, ["q ", "complex128"]),
    "object k": (lambda: attention(Q, K.astype(object), V), TypeError, ["k ", "object"]),
    "text v": (lambda: attention(Q, K, V.astype(str)), TypeError, ["v ", "<U"]),
    "ragged q": (lambda: attention([[1.0], [1.0, 2.0]], K, V), ValueError, ["q is not a rectangular array"]),
    "nan scale": (lambda: attention(Q, K, V, scale=np.nan), ValueError, ["scale=nan"]),
    "text scale": (lambda: attention(Q, K, V, scale="1"), TypeError, ["scale", "'1'"]),
    "mask of integers": (
        lambda: attention(Q, K, V, np.ones((5, 7), int)),
        TypeError,
        ["mask", "int64", "boolean", "True = may attend", "float", "-inf forbids"],
    ),
    "mask holds nan": (lambda: attention(Q, K, V, np.full((5, 7), np.nan)), ValueError, ["mask", "NaN"]),
    "mask holds +inf": (lambda: attention(Q, K, V, np.full((5, 7), INF)), ValueError, ["mask", "+inf"]),
    "mask complex": (lambda: attention(Q, K, V, np.zeros((5, 7), complex)), TypeError, ["mask", "complex128"]),
    "mask without axes": (lambda: attention(Q, K, V, True), ValueError, ["mask", "1 axes", "()"]),
    "mask turned": (
        lambda: attention(Q, K, V, np.ones((7, 5), bool)),
        ValueError,
        ["mask (7, 5)", "q_len=5", "kv_len=7"],
    ),
    "mask too long": (lambda: attention(Q, K, V, np.ones(11, bool)), ValueError, ["mask (11,)", "q_len=5", "kv_len=7"]),
    "mask for more queries": (
        lambda: attention(Q[:, :1], K, V, np.ones((5, 7), bool)),
        ValueError,
        ["mask (5, 7)", "q_len=1", "kv_len=7"],
    ),
    "mask of another batch": (
        lambda: attention(Q, K, V, np.ones((13, 5, 7), bool)),
        ValueError,
        ["mask (13,)", "scores (2,)"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_names_argument_and_value(case):
    assert_refused(*REFUSED[case])
