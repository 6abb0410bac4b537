"""Attention once more, in plain Python loops: slow, obvious, and sharing no line with `mha`."""

import math

import numpy as np
import pytest

# numpy's own comparison multiplies tiny numbers: under errstate(all="raise") it must not fail for that.
assert_allclose = np.errstate(under="ignore")(np.testing.assert_allclose)


def tagged(*shape, step=0.37):
    """Numbers in [-1, 1] that differ at every index, so a wrong axis or order shows."""
    return np.cos(step * np.arange(1.0, 1 + math.prod(shape))).reshape(shape)


def product(a, b):
    """The matrix product of two tables, one multiply-add at a time."""
    table = np.zeros((len(a), b.shape[1]))
    for i in range(len(a)):
        for j in range(b.shape[1]):
            for n in range(len(b)):
                table[i, j] += a[i, n] * b[n, j]
    return table


def softmax(row):
    """exp(x) / sum of exp for one list of numbers; zeros where all are -inf."""
    peak = max(row, default=-math.inf)
    if peak == -math.inf:
        return [0.0] * len(row)
    powers = [math.exp(x - peak) for x in row]
    return [p / math.fsum(powers) for p in powers]


def attention(q, k, v, mask=None, scale=None):
    """(output, weights) of one head: q, k, v and mask have 2 axes."""
    scale = 1 / math.sqrt(q.shape[1]) if scale is None else scale
    scores = product(q, k.T) * scale
    for i in range(len(q)):
        for j in range(len(k)):
            if mask is not None and mask.dtype == bool:
                scores[i, j] = scores[i, j] if mask[i, j] else -math.inf
            elif mask is not None:
                scores[i, j] += mask[i, j]
    weights = np.array([softmax(list(row)) for row in scores]).reshape(len(q), len(k))
    return product(weights, v), weights


def multihead(layer, query, key, value, mask=None):
    """The output of a layer for one sequence, one head after the other; mask is (q_len, kv_len)."""
    output = np.zeros((len(query), layer.d_model))
    if layer.b_o is not None:
        output += layer.b_o
    shared = layer.num_heads // layer.num_kv_heads
    for i in range(layer.num_heads):
        q = project(query, layer.W_q, layer.b_q, i, layer.d_k)
        k = project(key, layer.W_k, layer.b_k, i // shared, layer.d_k)
        v = project(value, layer.W_v, layer.b_v, i // shared, layer.d_v)
        head, _ = attention(q, k, v, mask, layer.scale)
        output += product(head, layer.W_o[i * layer.d_v : (i + 1) * layer.d_v])
    return output


def project(x, W, b, head, width):
    """x times one head's columns of W, plus its part of the bias."""
    columns = slice(head * width, (head + 1) * width)
    return product(x, W[:, columns]) + (0 if b is None else b[columns])


def refusal(error):
    """The message of a raised error, once it is seen to be ours and not numpy's."""
    message = str(error.value)
    for words in ("operands could not be", "matmul:", "out of bounds", "not aligned", "cannot reshape", "ufunc"):
        assert words not in message, f"this is numpy's message, not mha's: {message}"
    return message


def assert_refused(call, kind, words):
    """call() raises an error of that kind, in our own words, all of `words` among them."""
    with pytest.raises(kind) as error:
        call()
    message = refusal(error)
    assert all(word in message for word in words), message
