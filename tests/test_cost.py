"""Costs: the paper's numbers, sizes of a real layer's arrays, and multiply-adds counted in loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import assert_refused

from mha import MultiHeadAttention, kv_cache_bytes, multiply_adds, parameters, softmax_entries
from mha.cost import breakdown

HEADS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]


@st.composite
def sizes(draw):
    """(d_model, num_heads) and keyword sizes that fit together."""
    kv_heads = draw(st.integers(1, 3))
    num_heads = kv_heads * draw(st.integers(1, 3))
    more = {"num_kv_heads": kv_heads, "d_v": draw(st.none() | st.integers(1, 7))}
    if draw(st.booleans()):
        return (draw(st.integers(1, 11)), num_heads), more | {"d_k": draw(st.integers(1, 5))}
    return (num_heads * draw(st.integers(1, 3)), num_heads), more


def count_product(rows, inner, columns):
    """Multiply-adds of one matrix product, counted one by one."""
    return sum(1 for _ in range(rows) for _ in range(columns) for _ in range(inner))


def count_layer(layer, q_len, kv_len):
    """Multiply-adds of one forward pass by step, head after head."""
    projections = count_product(q_len, *layer.W_q.shape) + count_product(q_len, *layer.W_o.shape)
    projections += count_product(kv_len, *layer.W_k.shape) + count_product(kv_len, *layer.W_v.shape)
    heads = range(layer.num_heads)
    scores = sum(count_product(q_len, layer.d_k, kv_len) for _ in heads)
    sums = sum(count_product(q_len, kv_len, layer.d_v) for _ in heads)
    return {"projections": projections, "scores": scores, "weighted sums": sums}


@pytest.mark.parametrize("num_heads", HEADS)
def test_heads_are_free_at_the_papers_sizes(num_heads):
    assert parameters(512, num_heads) == 1_048_576
    assert multiply_adds(128, 128, 512, num_heads) == 150_994_944
    assert softmax_entries(128, 128, num_heads) == num_heads * 16_384


def test_by_hand():
    assert parameters(6, 3, bias=True) == 4 * 36 + 4 * 6
    assert parameters(6, 3, d_k=5, d_v=7, num_kv_heads=1) == 6 * (15 + 5 + 7 + 21)
    assert multiply_adds(2, 5, 6, 3) == (2 + 5 + 5 + 2) * 36 + 2 * 5 * 12
    assert breakdown(2, 5, 6, 3, d_v=7) == {"projections": 2 * 6 * 27 + 5 * 6 * 27, "scores": 60, "weighted sums": 210}
    assert parameters(6, 3, d_k=5, d_v=7, bias=True) == 6 * (15 + 15 + 21 + 21) + (15 + 15 + 21 + 6)
    assert multiply_adds(2, 5, 6, 3, d_k=5, d_v=7) == 2 * 6 * (15 + 21) + 5 * 6 * (15 + 21) + 2 * 5 * 3 * (5 + 7)
    assert softmax_entries(2, 5, 3) == 30
    assert kv_cache_bytes(5, 6, 3) == 5 * (6 + 6) * 2
    assert kv_cache_bytes(5, 6, 3, d_k=5, d_v=7) == 5 * 3 * (5 + 7) * 2
    assert kv_cache_bytes(5, 6, 3, num_kv_heads=1, bytes_per_number=4) == 5 * (2 + 2) * 4


@settings(deadline=None, max_examples=40)
@given(sizes(), st.booleans())
def test_parameters_are_the_sizes_of_a_layers_arrays(given_sizes, bias):
    args, more = given_sizes
    layer = MultiHeadAttention.init(*args, rng=0, bias=bias, **more)
    arrays = [a for a in vars(layer).values() if isinstance(a, np.ndarray)]
    assert parameters(*args, bias=bias, **more) == sum(a.size for a in arrays)


@settings(deadline=None, max_examples=40)
@given(sizes(), st.integers(0, 5), st.integers(0, 7))
def test_multiply_adds_are_those_counted_in_loops(given_sizes, q_len, kv_len):
    args, more = given_sizes
    layer = MultiHeadAttention.init(*args, rng=0, **more)
    counted = count_layer(layer, q_len, kv_len)
    assert breakdown(q_len, kv_len, *args, **more) == counted
    assert multiply_adds(q_len, kv_len, *args, **more) == sum(counted.values())


@settings(deadline=None, max_examples=40)
@given(sizes(), st.integers(0, 7))
def test_entries_and_cache_are_the_sizes_of_a_traces_arrays(given_sizes, kv_len):
    args, more = given_sizes
    trace = MultiHeadAttention.init(*args, rng=0, **more).trace(np.ones((5, args[0])), np.ones((kv_len, args[0])))
    assert softmax_entries(5, kv_len, args[1]) == trace.weights.size
    assert kv_cache_bytes(kv_len, *args, bytes_per_number=8, **more) == trace.k.nbytes + trace.v.nbytes


def test_costs_are_whole_numbers_of_any_size():
    big = 10**12
    assert parameters(big, 1) == 4 * 10**24
    assert {type(n) for n in (parameters(np.int64(8), 2), kv_cache_bytes(np.int8(3), 8, 2))} == {int}


REFUSED = {
    "not divided": (lambda: parameters(10, 4), ValueError, ["d_model=10", "num_heads=4", "10 / 4 leaves 2 over"]),
    "d_model 0": (lambda: parameters(0, 1), ValueError, ["d_model=0"]),
    "d_model float": (lambda: parameters(512.0, 8), TypeError, ["d_model", "512.0"]),
    "num_heads 0": (lambda: parameters(512, 0), ValueError, ["num_heads=0"]),
    "num_heads text": (lambda: parameters(512, "8"), TypeError, ["num_heads", "'8'"]),
    "d_k 0": (lambda: parameters(512, 8, d_k=0), ValueError, ["d_k=0"]),
    "d_v negative": (lambda: parameters(512, 8, d_v=-1), ValueError, ["d_v=-1"]),
    "kv heads": (lambda: parameters(512, 8, num_kv_heads=3), ValueError, ["num_kv_heads=3", "num_heads=8"]),
    "kv heads 0": (lambda: parameters(512, 8, num_kv_heads=0), ValueError, ["num_kv_heads=0"]),
    "q_len": (lambda: multiply_adds(-1, 5, 512, 8), ValueError, ["q_len=-1"]),
    "kv_len": (lambda: multiply_adds(5, -1, 512, 8), ValueError, ["kv_len=-1"]),
    "adds not divided": (lambda: multiply_adds(5, 7, 10, 4), ValueError, ["d_model=10", "num_heads=4"]),
    "entries q_len": (lambda: softmax_entries(1.5, 5, 8), TypeError, ["q_len", "1.5"]),
    "entries num_heads": (lambda: softmax_entries(1, 5, 0), ValueError, ["num_heads=0"]),
    "cache kv_len": (lambda: kv_cache_bytes(-1, 512, 8), ValueError, ["kv_len=-1"]),
    "cache bytes": (lambda: kv_cache_bytes(1, 512, 8, bytes_per_number=0), ValueError, ["bytes_per_number=0"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_names_argument_and_value(case):
    assert_refused(*REFUSED[case])
