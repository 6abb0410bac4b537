"""Exercises: softmax, scores and their scale, attention with its weights."""

import math

import numpy as np

from mha.attention import softmax

from . import steps
from .draw import normal, qkv
from .engine import Exercise, wrong
from .ways import any_way

# ---- softmax --------------------------------------------------------------------------------


def softmax_of(normalise=softmax):
    def program(scores):
        return normalise(scores)

    return program


def less(peak, axis=-1, room=0.0, dtype=float):
    """exp(scores - peak) / sum: right only where nothing overflows and no row vanishes."""

    def normalise(scores):
        scores = scores.astype(dtype)
        weights = np.exp(scores - peak(scores))
        return weights / (weights.sum(axis=axis, keepdims=True) + dtype(room))

    return normalise


def nothing(scores):
    return 0


PEAKS = (
    nothing,
    *(lambda s, of=of: of(s) for of in (np.max, np.min, np.mean)),
    *(lambda s, axis=axis: s.max(axis=axis, keepdims=True) for axis in (0, 1, -2, (-2, -1))),
    lambda s: s.mean(axis=-1, keepdims=True),
    lambda s: s.min(axis=-1, keepdims=True),
)


def clipped(scores):
    return less(nothing)(np.clip(scores, -700, 700))


def zeroed(scores):
    return np.nan_to_num(less(nothing)(scores))


def by_math(scores):
    weights = np.vectorize(math.exp)(scores)
    return weights / weights.sum(axis=-1, keepdims=True)


def softmax_probes(rng):
    levels = np.array([1000.0, -1000.0, 0.0, 100.0])[np.add.outer(np.add.outer(range(2), range(3)), range(4)) % 4]
    big = np.round(4 * rng.standard_normal((2, 3, 4, 5))) / 4 + levels[..., None]
    wide = normal(rng, 2, 3, 4, 5) + np.array([1000.0, -1000.0, 1000.0, -1000.0, -1000.0])
    return {
        "2 samples, 3 heads": (normal(rng, 2, 3, 4, 5, spread=1.5),),
        "3 samples, 2 heads": (normal(rng, 3, 2, 7, 4, spread=1.5),),
        "as many queries as keys": (normal(rng, 2, 3, 5, 5, spread=1.5),),
        "rows near 1000 and near -1000": (big,),
        "1000 and -1000 in each row": (np.round(wide * 4) / 4,),
    }


def by_loops(scores):
    weights = np.zeros(scores.shape)
    for index in np.ndindex(*scores.shape[:-1]):
        e = np.exp(scores[index] - max(scores[index]))
        weights[index] = e / e.sum()
    return weights


def by_logsumexp(scores):
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))


SOFTMAX = Exercise(
    name="softmax",
    title="weights that add up to 1, one distribution for each query",
    call="softmax(scores)",
    prompt=(
        "scores has shape (B, num_heads, q_len, kv_len). Return the attention weights, of the same shape: each "
        "query's weights over the keys add up to 1. Scores can be as large as 1000 or as low as -1000, and one "
        "row may lie thousands above another: no NaN may come out."
    ),
    build=softmax_of,
    probes=softmax_probes,
    result=("B, num_heads, q_len, kv_len",),
    wrong=(
        *steps.QUERY_SOFTMAX,
        *steps.HEAD_SOFTMAX,
        *(wrong(number, normalise=less(nothing, axis)) for number, axis in ((9, -2), (10, 0), (10, 1))),
        *(wrong(31, normalise=less(peak, **more))
          for peak in PEAKS for more in ({}, {"room": 1e-9}, {"dtype": np.float32})),
        wrong(31, "You cut scores off so that exp stays finite: large scores became equal.", normalise=clipped),
        wrong(31, "You replaced NaN by zeros: the rows where exp overflowed are empty.", normalise=zeroed),
        wrong(31, "math.exp has no infinity to return: it raises where the result is too large.", normalise=by_math,
              by_error=True),
    ),
    variants=(by_loops, by_logsumexp, *any_way(softmax)),
    laws=(("the rows don't add up to 1", lambda f, args: np.allclose(f(*args)[0].sum(axis=-1), 1, atol=1e-3)),),
    chapter="01_single_head",
)  # fmt: skip

# ---- scores and scale -----------------------------------------------------------------------


def scores_of(product=steps.dots, scale=steps.root_d_k):
    def program(q, k):
        return product(q, k) * scale(q, ())

    return program


def scores_probes(rng):
    return {
        "2 samples, 3 heads": qkv(rng, 2, 3, 4, 7, 5, 1)[:2],
        "3 samples, 2 heads": qkv(rng, 3, 2, 6, 4, 11, 1)[:2],
        "as many samples, heads, keys and features": qkv(rng, 3, 3, 4, 3, 3, 1)[:2],
    }


def scores_by_loops(q, k):
    B, h, n, d = q.shape
    scores = np.zeros((B, h, n, k.shape[2]))
    for b, i, s, t in np.ndindex(*scores.shape):
        scores[b, i, s, t] = sum(q[b, i, s, j] * k[b, i, t, j] for j in range(d)) / np.sqrt(d)
    return scores


def scores_by_einsum(q, k):
    return np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(k.shape[-1])


SCORES = Exercise(
    name="scores",
    title="scaled scores of all heads, before the softmax",
    call="scores(q, k)",
    prompt=(
        "q has shape (B, num_heads, q_len, d_k), k has shape (B, num_heads, kv_len, d_k). Return the scaled "
        "scores q·k / √d_k of the paper, of shape (B, num_heads, q_len, kv_len): no softmax yet."
    ),
    build=scores_of,
    probes=scores_probes,
    result=("B, num_heads, q_len, kv_len",),
    wrong=(*steps.SCALES, *steps.HEAD_SCALE, *steps.ALL_AXES),
    variants=(scores_by_loops, scores_by_einsum, *any_way(scores_of())),
    chapter="01_single_head",
)

# ---- attention ------------------------------------------------------------------------------


def attention_of(show=lambda weights: weights, **chosen):
    def program(q, k, v):
        output, weights = steps.attend(q, k, v, **chosen)
        return output, show(weights)

    return program


def output_scaled(weights, k, v):
    return weights @ v / k.shape[-1] ** 0.5


def attention_probes(rng):
    return {
        "2 samples, 3 heads": qkv(rng, 2, 3, 4, 7, 5, 11),
        "3 samples, 2 heads": qkv(rng, 3, 2, 6, 4, 11, 5),
        "as many samples, heads, keys and features": qkv(rng, 3, 3, 4, 3, 3, 3),
        "d_v = d_k": qkv(rng, 2, 3, 7, 5, 4, 4),
    }


def attention_by_loops(q, k, v):
    output = np.zeros((*q.shape[:3], v.shape[-1]))
    weights = np.zeros((*q.shape[:3], k.shape[2]))
    for b, i, t in np.ndindex(*q.shape[:3]):
        e = np.exp(k[b, i] @ q[b, i, t] / np.sqrt(q.shape[-1]))
        weights[b, i, t] = e / e.sum()
        output[b, i, t] = sum(w * row for w, row in zip(weights[b, i, t], v[b, i]))
    return output, weights


def attention_by_einsum(q, k, v):
    weights = np.exp(np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1]))
    weights /= weights.sum(-1, keepdims=True)
    return [np.einsum("bhqk,bhkd->bhqd", weights, v), weights]


ATTENTION = Exercise(
    name="attention",
    title="scaled dot-product attention in every head: output and weights",
    call="attention(q, k, v)",
    prompt=(
        "q has shape (B, num_heads, q_len, d_k), k (B, num_heads, kv_len, d_k), v (B, num_heads, kv_len, d_v). "
        "Return two arrays: the output softmax(q kᵀ / √d_k) v of shape (B, num_heads, q_len, d_v), and the "
        "weights of every head, of shape (B, num_heads, q_len, kv_len). No mask. The scores are small here."
    ),
    build=attention_of,
    probes=attention_probes,
    result=("B, num_heads, q_len, d_v", "B, num_heads, q_len, kv_len"),
    wrong=(
        *steps.ATTENTION,
        wrong(8, "You divided the output by √d_k, after the softmax.", scale=steps.no_scale, mix=output_scaled),
        wrong(32, show=lambda w: w.mean(axis=1)),
        wrong(32, show=lambda w: w.mean(axis=1, keepdims=True)),
        wrong(32, "You returned the sum of all heads' weights.", show=lambda w: w.sum(axis=1)),
        wrong(32, "You returned the largest of all heads' weights.", show=lambda w: w.max(axis=1)),
        wrong(32, show=lambda w: np.broadcast_to(w.mean(axis=1, keepdims=True), w.shape)),
    ),
    styles=({"normalise": steps.plain_softmax},),
    variants=(attention_by_loops, attention_by_einsum, *any_way(attention_of())),
    laws=(("the rows of the weights don't add up to 1",
           lambda f, args: np.allclose(f(*args)[1].sum(axis=-1), 1, atol=1e-3)),),
    chapter="02_one_view",
)  # fmt: skip

EXERCISES = (SOFTMAX, SCORES, ATTENTION)
